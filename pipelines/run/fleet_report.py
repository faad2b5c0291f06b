"""Joins the reports of the clusters of a fleet: their part files become one report, their manifests are summed up."""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any, Final

import pyarrow

from auditor.base.arrow import read_parquet
from auditor.base.errors import SourceError
from auditor.causes.build import note_causes
from auditor.compare.presence import note_presence
from auditor.crds.definitions_file import FILE, DefinitionsFile
from auditor.selectors.partitions import Folders, IndexFolder
from auditor.shards.result import MOST_GIVEN_UP, is_worse
from auditor.shards.table_rows import write_parquet
from auditor.sources.source_plan import NOT_OPENED, WHOLE
from auditor.store.clusters import lifecycle_of
from pipelines.run.fleet_clusters import CAUSES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from auditor.plan.options import AuditOptions
    from pipelines.run.fleet_clusters import Answer, Cluster


pa: Any = pyarrow

_PART: Final = re.compile(r"part-(\d+)\.(?:parquet|pickle)")
_MOST_FINDINGS: Final = 100
_OF_EACH: Final = ("ratcheting", "gates", "etcd_prefix")
"""Options that may differ between the clusters of a fleet."""
_OF_CLUSTER: Final = (
    *("exit_code", "counts", "parts", "not_evaluated", "unanswered", "encryption", "namespaces"),
    *("deleting", "kinds"),
)
"""What the manifest of a fleet has of each cluster as its own manifest has it."""
_WORST: Final = (3, 1, 0)
_NOTHING: Final = 2
"""The exit code where nothing was judged."""


def join_reports(
    options: AuditOptions, parts: Path, answers: Iterable[tuple[tuple[Cluster, Path], Answer]], clock: float
) -> dict[str, Any]:
    """Join the reports of clusters, and return the manifest of the fleet, which is not written yet.

    Args:
        options: The options of the fleet.
        parts: Folder of its report.
        answers: For each cluster the folder of its report, and what `audit_clusters` yields for it.
        clock: When the run began, as `time.monotonic`.

    Raises:
        SourceError: No dump could be read.
    """
    manifests: list[tuple[Cluster, dict[str, Any]]] = []
    failed: list[tuple[Cluster, SourceError]] = []
    versions: list[Path] = []
    causes: list[list[dict[str, Any]] | None] = []
    folders = Folders()
    kind_folders: dict[tuple[str, str], str] = {}
    number = 0
    with (parts / FILE).open("wb") as stream:
        definitions = _Definitions(stream)
        for (cluster, report), manifest in answers:
            if isinstance(manifest, SourceError):
                failed.append((cluster, manifest))
                continue
            manifests.append((cluster, manifest))
            causes.append(manifest.pop(CAUSES))
            moved = _index_folders(manifest, folders)
            if options.tables:
                from auditor.server.tables.shard_tables import rename_kinds  # noqa: PLC0415 - only when asked

                moved |= rename_kinds(report, kind_folders, folders)
            first, number = number, _take_parts(report, parts, number, moved)
            manifest["parts"] = [first, number]
            versions.append(report / "versions.parquet")
            manifest["definitions"]["lines"] = definitions.take(DefinitionsFile(report))
    if not manifests:
        raise failed[0][1]
    write_parquet(pa.concat_tables(map(read_parquet, versions)).unify_dictionaries(), parts / "versions.parquet")
    manifest = _joined(manifests, failed) | {"seconds": round(time.monotonic() - clock, 3)}
    note_presence(options, manifest)
    if options.diff:
        from pipelines.run.diff import write_difference  # noqa: PLC0415 - only when asked

        write_difference(options, parts, manifest)
    if options.redact:
        from auditor.store.redact import redact_report  # noqa: PLC0415 - only when asked

        redact_report(parts, manifest)
    counted = [cause for some in causes if some is not None for cause in some]
    note_causes(options, parts, manifest, None if None in causes else counted)
    return manifest


class _Definitions:
    """Writes the definitions of all clusters, equal ones once.

    Args:
        stream: The definitions file of the fleet.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._numbers: dict[bytes, int] = {}

    def take(self, file: DefinitionsFile) -> list[int]:
        """Write those of one cluster that are not written yet; return the numbers of the lines that it has, from 0."""
        own = []
        for line in file.lines():
            digest = hashlib.sha256(line).digest()
            number = self._numbers.get(digest)
            if number is None:
                number = self._numbers[digest] = len(self._numbers)
                self._stream.write(line)
            own.append(number)
        return own


def _index_folders(manifest: dict[str, Any], folders: Folders) -> dict[str, str]:
    """Return the folder in the fleet's index for each folder in a cluster's index, and write it into the manifest."""
    moved = {}
    for row in manifest["index"]:
        moved[row["folder"]] = folders.folder(row["crd"], row["group"], row["version"], row["kind"])
        row["folder"] = moved[row["folder"]]
    return moved


def _take_parts(report: Path, parts: Path, number: int, folders: dict[str, str]) -> int:
    """Move the part files of one report into another under new numbers; return the next free number.

    Args:
        report: The report to move from.
        parts: The report to move to.
        number: The first free number.
        folders: Folders of the index and of tables that get another name.
    """
    highest = -1
    for path in sorted(report.rglob("part-*.p*")):
        match = _PART.fullmatch(path.name)
        if match is None:
            continue
        own = int(match[1])
        highest = max(highest, own)
        table, _, below = path.parent.relative_to(report).as_posix().partition("/")
        folder = parts / table / folders.get(below, below)
        if not folder.is_dir():
            folder.mkdir(parents=True)
        path.rename(folder / f"part-{number + own:05d}{path.suffix}")
    return number + highest + 1


def _common(manifests: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the options that clusters may set for themselves, null where clusters differ."""
    first = manifests[0]["options"]
    is_common = {name: all(manifest["options"][name] == first[name] for manifest in manifests) for name in _OF_EACH}
    return {name: first[name] if is_common[name] else None for name in _OF_EACH}


def _summed(rows: Iterable[dict[str, Any]], keys: tuple[str, ...], sums: tuple[str, ...]) -> list[dict[str, Any]]:
    """Sum up the rows that have the same keys."""
    out: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        known = out.setdefault(tuple(row.get(key) for key in keys), {**row, **dict.fromkeys(sums, 0)})
        for name in sums:
            known[name] += row.get(name) or 0
    return list(out.values())


def _not_evaluated(manifests: list[tuple[Cluster, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Sum up the objects whose rules were not evaluated, and name the first that exceeded limits, with cluster."""
    named: dict[tuple[str, str], list[str]] = {}
    entries = []
    for cluster, manifest in manifests:
        for entry in manifest["not_evaluated"]:
            entries.append(entry)
            first = named.setdefault((entry["crd"], entry["version"]), [])
            first += [f"{cluster.name}: {name}" for name in entry.get("first", ())][: MOST_GIVEN_UP - len(first)]
    summed = _summed(entries, ("what", "crd", "version"), ("objects", "given_up"))
    for entry in summed:
        entry.pop("first", None)
        if entry["given_up"]:
            entry["first"] = named[(entry["crd"], entry["version"])]
        else:
            del entry["given_up"]
    return summed


def _kinds(manifests: list[tuple[Cluster, dict[str, Any]]]) -> list[dict[str, Any]]:
    out: dict[tuple[str, str], dict[str, Any]] = {}
    for cluster, manifest in manifests:
        for kind in manifest["kinds"]:
            for name in ("breaking", "stuck"):
                if kind.get(name):
                    kind[name]["cluster"] = cluster.name
            known = out.get((kind["group"], kind["kind"]))
            if known is None:
                out[(kind["group"], kind["kind"])] = {**kind}
                continue
            known["objects"] += kind["objects"]
            for name in ("statuses", "impacts"):
                known[name] = dict(Counter(known[name]) + Counter(kind[name]))
            known["stuck"] = known.get("stuck") or kind.get("stuck")
            before, kinds = known["breaking"], kind["breaking"]
            if kinds and (not before or is_worse(kinds["impact"], before["impact"])):
                known["breaking"] = kinds
    return [out[key] for key in sorted(out)]


def _joined(
    manifests: list[tuple[Cluster, dict[str, Any]]], failed: list[tuple[Cluster, SourceError]]
) -> dict[str, Any]:
    """Return the manifest of a fleet: the sums of the manifests of its clusters."""
    each = [manifest for _, manifest in manifests]

    def rows(name: str) -> list[dict[str, Any]]:
        return [row for manifest in each for row in manifest[name]]

    statuses: Counter[str] = Counter()
    for manifest in each:
        statuses.update(manifest["counts"]["statuses"])
    codes = {int(manifest["exit_code"]) for manifest in each} | ({3} if failed else set())
    is_judged = any(manifest["exit_code"] != _NOTHING for manifest in each)
    codes = {3 if code == _NOTHING else code for code in codes} if is_judged else {_NOTHING}
    findings = _summed(rows("findings"), ("group", "kind", "check", "field", "type"), ("count",))
    findings.sort(key=lambda row: (-row["count"], row["group"], row["kind"], row["check"], row["field"], row["type"]))
    hashes = "\n".join(str(manifest["definitions"]["sha256"]) for manifest in each)
    return {
        **{name: value for name, value in each[0].items() if name != "parts"},
        "kubernetes_release": ", ".join(sorted({manifest["kubernetes_release"] for manifest in each})),
        "server": None,
        "clusters": [
            {
                "name": cluster.name,
                "dump": cluster.shown,
                "kubernetes_release": manifest["kubernetes_release"],
                "server": manifest["server"],
                "options": {name: manifest["options"][name] for name in _OF_EACH},
                **{name: manifest[name] for name in _OF_CLUSTER},
                "definitions": manifest["definitions"]["lines"],
            }
            for cluster, manifest in manifests
        ],
        "inputs": [
            *({**source, "cluster": cluster.name} for cluster, manifest in manifests for source in manifest["inputs"]),
            *(_unread(cluster, error) for cluster, error in failed),
        ],
        "definitions": {
            "sha256": hashlib.sha256(hashes.encode()).hexdigest(),
            "count": sum(manifest["definitions"]["count"] for manifest in each),
            "from_files": each[0]["definitions"]["from_files"],
        },
        "options": {**each[0]["options"], **_common(each), "cluster": None},
        "exit_code": next((code for code in _WORST if code in codes), max(codes)),
        "counts": {
            **{
                name: sum(manifest["counts"][name] for manifest in each)
                for name in ("keys", "rows", "out_of_scope", "internal", "bytes")
            },
            "statuses": dict(sorted(statuses.items())),
        },
        "kinds": _kinds(manifests),
        "index": sorted(_summed(rows("index"), tuple(IndexFolder._fields), ()), key=itemgetter("folder")),
        "findings": findings[:_MOST_FINDINGS],
        "stored_versions": _summed(rows("stored_versions"), ("crd", "version", "storage"), ("objects",)),
        "not_evaluated": _not_evaluated(manifests),
        "unanswered": _summed(rows("unanswered"), ("kind", "reason"), ("objects",)),
        "programs": _summed(
            rows("programs"),
            ("crd", "group", "kind", "version"),
            ("proven", "not_proven", "valid", "interpreted"),
        ),
        "fallbacks": _summed(
            rows("fallbacks"),
            ("crd", "group", "kind", "version", "part", "reason", "detail"),
            ("count", "valid"),
        ),
        "encryption": _summed(
            rows("encryption"), ("provider", "name", "key_id", "opened", "sealed", "error"), ("values",)
        ),
        **lifecycle_of(each),
        "lost": [f"{cluster.name}: {text}" for cluster, manifest in manifests for text in manifest["lost"]],
    }


def _unread(cluster: Cluster, error: SourceError) -> dict[str, Any]:
    return {
        "name": cluster.shown,
        "cluster": cluster.name,
        "format": None,
        "sha256": None,
        "revision": None,
        "compacted_revision": None,
        "is_export": None,
        "modified": None,
        "keys": 0,
        "damage": [{"where": WHOLE if error.where == cluster.shown else NOT_OPENED, "reason": str(error)}],
        "notes": [],
    }
