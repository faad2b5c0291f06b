"""The clusters of a fleet report, each as a report of its own.

A report of a fleet numbers the part files of its clusters one after another. A view of one cluster is a folder of links
to its parts, with a manifest that has its dump, its kinds and the definitions that it was judged by.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import orjson

from auditor.base.errors import PlanError
from auditor.base.visible import visible
from auditor.crds.definitions_file import DefinitionsFile
from auditor.store.manifest import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


_PART = re.compile(r"part-([0-9]+)\.parquet")
_INCOMPLETE = 3
_OF_ALL = ("findings", "distinct", "not_rechecked", "worse", "better", "kinds", "notes")
"""Entries of `diff` that count all clusters together: a manifest of some of them lacks these."""
_TABLES = ("objects", "findings", "index")


def is_fleet(manifest: dict[str, Any]) -> bool:
    """Whether a report is of several clusters."""
    return "clusters" in manifest


def part_of(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    """Return what a manifest says of one cluster that it has rows of: its counts and kinds, among others."""
    return next((cluster for cluster in manifest.get("clusters") or () if cluster["name"] == name), manifest)


def parts_of(report: Path, manifest: dict[str, Any], name: str) -> Iterator[tuple[Path, int]]:
    """Yield the part files of a cluster, by their paths below the folder of the report, and the number of each."""
    first, end = part_of(manifest, name).get("parts") or (0, 1 << 62)
    for path in report.rglob("part-*.parquet"):
        below = path.relative_to(report)
        number = _PART.fullmatch(path.name)
        if number is not None and below.parts[0] in _TABLES and first <= int(number[1]) < end:
            yield below, int(number[1])


def option_by_cluster(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an option that may differ between the clusters of a fleet, by the name of the cluster.

    Args:
        manifest: The manifest of a report; one cluster without a name is the empty text.
        name: The name of the option in ``options``.
    """
    options = manifest["options"]
    if not is_fleet(manifest):
        return {options.get("cluster") or "": options.get(name)}
    return {cluster["name"]: cluster.get("options", options).get(name) for cluster in manifest["clusters"]}


def with_other_option(before: dict[str, Any], now: dict[str, Any], name: str) -> set[str]:
    """Return the clusters of a report that an earlier report judged with another value of an option.

    Two reports of one cluster each are compared whatever its name is.
    """
    old, new = option_by_cluster(before, name), option_by_cluster(now, name)
    if not is_fleet(before) and not is_fleet(now):
        return set(new) if [*old.values()] != [*new.values()] else set()
    return {cluster for cluster, value in new.items() if cluster in old and old[cluster] != value}


def chosen_clusters(manifest: dict[str, Any], wanted: Sequence[str]) -> list[str]:
    """Return the clusters of a report that are asked for, in the order of the report; all, where none is named.

    Args:
        manifest: The manifest of the report.
        wanted: Names; several may be joined by commas.

    Raises:
        PlanError: The report has no rows of one of them.
    """
    if is_fleet(manifest):
        known = [cluster["name"] for cluster in manifest["clusters"]]
    else:
        known = [manifest["options"].get("cluster") or ""]
    names = _names(known, wanted)
    for name in names:
        if name not in known:
            raise PlanError("--cluster", _why(manifest, name), _known(known))
    if wanted and not names:
        raise PlanError("--cluster", "it names no cluster", _known(known))
    return [name for name in known if not wanted or name in names]


def _names(known: list[str], wanted: Sequence[str]) -> list[str]:
    out: list[str] = []
    for text in wanted:
        out += [text] if text in known else filter(None, (part.strip() for part in text.split(",")))
    return out


def _known(known: list[str]) -> str:
    names = sorted(filter(None, known))
    return (
        f"one of {', '.join(map(visible, names))}" if names else "nothing: the report is of one cluster, without a name"
    )


def _why(manifest: dict[str, Any], name: str) -> str:
    for source in manifest["inputs"]:
        if source.get("cluster") == name and source["damage"]:
            return f"nothing of cluster {name!r} was read: {source['damage'][0]['reason']}"
    if any(cluster["name"] == name for cluster in manifest.get("missing") or ()):
        return f"cluster {name!r} had no dump when the report was made (MISSING)"
    return f"the report has no cluster {name!r}"


def narrowed_manifest(manifest: dict[str, Any], wanted: Sequence[str]) -> dict[str, Any]:
    """Return the manifest of a fleet as if the run had been of some of its clusters; others unchanged.

    Args:
        manifest: The manifest.
        wanted: Names; several may be joined by commas; empty for all.

    Raises:
        PlanError: The report has no rows of one of them.
    """
    names = chosen_clusters(manifest, wanted)
    if not wanted or not is_fleet(manifest):
        return manifest
    own = [cluster for cluster in manifest["clusters"] if cluster["name"] in names]
    codes = [cluster["exit_code"] for cluster in own]

    def fresh(section: dict[str, Any] | None) -> dict[str, Any]:
        stale = (section or {}).get("stale") or ()
        return {"stale": [dump for dump in stale if dump.get("cluster") in names]}

    diff = {}
    if manifest.get("diff"):
        compared = [part for part in manifest["diff"].get("clusters") or () if part["name"] in names]
        kept = {name: value for name, value in manifest["diff"].items() if name not in _OF_ALL}
        diff = {"diff": {**kept, **fresh(manifest["diff"]), "clusters": compared, "not_judged": 0}}
    return {
        **manifest,
        **fresh(manifest),
        **diff,
        "clusters": own,
        "inputs": [source for source in manifest["inputs"] if source.get("cluster") in names],
        "exit_code": _INCOMPLETE if _INCOMPLETE in codes else max(codes),
        "exit_reasons": [],
        "encryption": [entry for cluster in own for entry in cluster.get("encryption") or ()],
        "stored_versions": [],
        "counts": {
            **{
                name: sum(cluster["counts"][name] for cluster in own)
                for name in manifest["counts"]
                if name != "statuses"
            },
            "statuses": dict(sum((Counter(cluster["counts"]["statuses"]) for cluster in own), Counter())),
        },
        "kinds": _kinds(own),
        **lifecycle_of(own),
        "not_evaluated": [entry for cluster in own for entry in cluster["not_evaluated"]],
        "unanswered": [entry for cluster in own for entry in cluster.get("unanswered") or ()],
        "missing": [],
        "lost": [text for text in manifest["lost"] if text.startswith(tuple(f"{name}: " for name in names))],
    }


def _kinds(clusters: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the kinds of some clusters, each once."""
    kinds: dict[tuple[str, str], dict[str, Any]] = {}
    for kind in (kind for cluster in clusters for kind in cluster["kinds"]):
        sums = kinds.setdefault((kind["group"], kind["kind"]), {**kind, "objects": 0, "statuses": {}, "impacts": {}})
        sums["objects"] += kind["objects"]
        for name in ("statuses", "impacts"):
            sums[name] = dict(Counter(sums[name]) + Counter(kind[name]))
        for name in ("breaking", "stuck"):
            sums[name] = sums[name] or kind[name]
    return [kinds[name] for name in sorted(kinds)]


def lifecycle_of(manifests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the sections `namespaces` and `deleting` of the manifests of clusters as those of one manifest."""
    known = [manifest["namespaces"] for manifest in manifests if manifest.get("namespaces") is not None]
    each = [manifest["deleting"] for manifest in manifests if manifest.get("deleting")]
    namespaces = [entry for entries in known for entry in entries] if known else None
    return {"namespaces": namespaces, "deleting": _sums_of_deleting(each) if each else None}


def _sums_of_deleting(each: Sequence[dict[str, Any]]) -> dict[str, Any]:
    finalizers = sum((Counter(deleting["finalizers"]) for deleting in each), Counter[str]())
    return {
        "objects": sum(deleting["objects"] for deleting in each),
        "long": None
        if any(deleting["long"] is None for deleting in each)
        else sum(deleting["long"] for deleting in each),
        "days": each[0]["days"],
        "unread": sum(deleting["unread"] for deleting in each),
        "finalizers": dict(sorted(finalizers.items(), key=lambda one: (-one[1], one[0]))),
    }


def cluster_view(report: Path, manifest: dict[str, Any], name: str, folder: Path) -> Path:
    """Make a folder that is the report of one cluster of a fleet, and return it.

    Args:
        report: The report of the fleet.
        manifest: Its manifest.
        name: The cluster.
        folder: Where the view is made; it lasts as long as that folder.
    """
    own = part_of(manifest, name)
    folder.mkdir(parents=True)
    for below, _ in parts_of(report, manifest, name):
        (folder / below).parent.mkdir(parents=True, exist_ok=True)
        (folder / below).symlink_to((report / below).absolute())
    if (report / "versions.parquet").exists():
        (folder / "versions.parquet").symlink_to((report / "versions.parquet").absolute())
    if (definitions := DefinitionsFile(report)).exists():
        lines = list(definitions.lines())
        DefinitionsFile(folder).path.write_bytes(
            b"".join(lines[definition] for definition in own.get("definitions", range(len(lines))))
        )
    for table in _TABLES[:2]:
        (folder / table).mkdir(exist_ok=True)
    view = {
        **{key: value for key, value in manifest.items() if key not in ("clusters", "files")},
        "inputs": [source for source in manifest["inputs"] if source.get("cluster") == name],
        "kinds": own.get("kinds", manifest["kinds"]),
        "namespaces": own.get("namespaces"),
        "deleting": own.get("deleting"),
        "counts": own["counts"],
        "options": {**manifest["options"], **own.get("options", {}), "cluster": name},
    }
    (folder / MANIFEST).write_bytes(orjson.dumps(view))
    return folder
