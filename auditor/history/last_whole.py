"""For each cluster the last report that has it whole: what a run is compared with where the newest report lacks some.

A report has a cluster whole if it has judged objects of it, no part of its dumps was lost, every helper that opens its
values answered, and the dump was not older than one that an earlier report had.

`compose` makes one report of several: a folder of links to the parts of each cluster, whose manifest says in `bases`
which report each cluster is of. Whatever compares two reports takes it as it takes any other.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from auditor.compare.compared_clusters import whole_clusters
from auditor.compare.presence import (
    cluster_names,
    inputs_of,
    judged_clusters,
    missing_clusters,
    unread_clusters,
)
from auditor.crds.definitions_file import FILE, DefinitionsFile
from auditor.store.allclear import judged_rows, stale_dumps
from auditor.store.clusters import part_of, parts_of
from auditor.store.manifest import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


_OPTIONS: Final = ("at", "skip", "scope", "etcd_prefix")


def same_way(options: Mapping[str, Any]) -> bytes:
    """Return a text that is the same for runs that judge the same part of a cluster, at the same versions.

    Args:
        options: As a manifest has them.
    """
    return orjson.dumps({name: options.get(name) for name in _OPTIONS}, option=orjson.OPT_SORT_KEYS)


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a report has of each cluster; one without a name is the empty text.

    Attributes:
        known: The clusters that it has a dump of, or misses.
        whole: Those that it has whole.
        partly: Those that it has not whole.
        older: The revisions of those whose dump was older than one that an earlier report had.
        judged_as: What `same_way` returns of its options.
    """

    known: frozenset[str]
    whole: frozenset[str]
    partly: frozenset[str]
    older: dict[str, int]
    judged_as: bytes

    @classmethod
    def of(cls, manifest: dict[str, Any]) -> Coverage:
        """Return what the report with this manifest has."""
        own = manifest["options"].get("cluster") or ""
        rows = {name for name in judged_clusters(manifest) if judged_rows(part_of(manifest, name))}
        unread = unread_clusters(manifest)
        late = {dump["cluster"] or "" for dump in stale_dumps(manifest) if dump["is_older"]}
        older = {
            source.get("cluster") or own: source["revision"] or 0
            for source in manifest["inputs"]
            if (source.get("cluster") or own) in late & rows - unread
        }
        missing = {cluster["name"] for cluster in manifest.get("missing") or ()}
        return cls(
            known=frozenset(judged_clusters(manifest) | cluster_names(manifest) | missing),
            whole=frozenset(whole_clusters(manifest)),
            partly=frozenset(rows & unread - late),
            older=older,
            judged_as=same_way(manifest["options"]),
        )

    def continues(self, other: Coverage, cluster: str) -> bool:
        """Return whether two reports have dumps of a cluster that was restored: both older than one before, and rising.

        Args:
            other: What the report before has.
            cluster: The cluster.
        """
        return other.older.get(cluster, self.older[cluster]) < self.older[cluster]


class Base(NamedTuple):
    """A report that some clusters are compared with.

    Attributes:
        folder: Its folder, or a copy.
        shown: As people know it.
        manifest: Its manifest.
        clusters: Those clusters.
    """

    folder: Path
    shown: str
    manifest: dict[str, Any]
    clusters: Sequence[str]


def compose(folder: Path, newest: Base, bases: Sequence[Base]) -> None:
    """Make a folder that is a report in which each cluster is as its base has it.

    Args:
        folder: The folder, which is empty; it lasts as long as those of the bases.
        newest: The newest report: a cluster that it knows, and no base has, is known still.
        bases: The reports.
    """
    from auditor.causes.build import causes_of  # noqa: PLC0415 - it loads much, and is rarely needed
    from auditor.causes.table import write_rows  # noqa: PLC0415

    clusters: list[dict[str, Any]] = []
    inputs: list[dict[str, Any]] = []
    causes: list[dict[str, Any]] = []
    parts = lines = 0
    with (folder / FILE).open("wb") as stream:
        for base in bases:
            every = list(DefinitionsFile(base.folder).lines()) if DefinitionsFile(base.folder).exists() else []
            rows = causes_of(base.folder)
            for name in base.clusters:
                part = part_of(base.manifest, name)
                own = [every[number] for number in part["definitions"]] if "clusters" in base.manifest else every
                stream.writelines(own)
                end = _link(folder, base, name, parts)
                clusters.append(
                    {
                        **{key: part[key] for key in ("exit_code", "counts", "kinds", "not_evaluated")},
                        "name": name,
                        "options": {**base.manifest["options"], **part["options"]},
                        "parts": [parts, end],
                        "definitions": list(range(lines, lines + len(own))),
                        "report": base.shown,
                        "started": base.manifest["started"],
                    }
                )
                parts, lines = end, lines + len(own)
                inputs += [{**source, "cluster": name} for source in inputs_of(base.manifest, name)]
                causes += [row for row in rows if (row["cluster"] or "") == name]
    write_rows(causes, folder, crds="")
    (folder / MANIFEST).write_bytes(orjson.dumps(_manifest(newest, bases, clusters, inputs)))


def _link(folder: Path, base: Base, name: str, start: int) -> int:
    """Link to the parts of a cluster, numbered from a start; return the next free number."""
    highest = -1
    numbered = list(parts_of(base.folder, base.manifest, name))
    first = min((number for _, number in numbered), default=0)
    for below, number in numbered:
        highest = max(highest, number - first)
        path = folder / below.parent / f"part-{start + number - first:05d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to((base.folder / below).absolute())
    return start + highest + 1


def _manifest(
    last: Base, bases: Sequence[Base], clusters: list[dict[str, Any]], inputs: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the manifest of a composed report."""
    newest = last.manifest
    manifests = [base.manifest for base in bases] or [newest]
    statuses: Counter[str] = Counter()
    for cluster in clusters:
        statuses.update(cluster["counts"]["statuses"])
    return {
        "shown": last.shown,
        **{name: newest[name] for name in ("tool", "started", "exit_code")},
        "diff": {"stale": (newest.get("diff") or {}).get("stale") or []},
        "kubernetes_release": ", ".join(
            sorted({release for base in manifests for release in base["kubernetes_release"].split(", ")})
        ),
        "inputs": inputs,
        "definitions": {
            "sha256": "",
            "count": sum(len(cluster["definitions"]) for cluster in clusters),
            "from_files": sorted({path for base in manifests for path in base["definitions"].get("from_files") or ()}),
        },
        "options": {**manifests[0]["options"], "cluster": None},
        "missing": missing_clusters({**newest, "clusters": clusters, "inputs": inputs}, [newest]),
        "last_seen": {cluster["name"]: cluster["last_seen"] for cluster in newest.get("missing") or ()},
        "counts": {
            "rows": sum(cluster["counts"]["rows"] for cluster in clusters),
            "statuses": dict(statuses),
        },
        "clusters": clusters,
        "kinds": [kind for cluster in clusters for kind in cluster["kinds"]],
        "findings": [],
        "not_evaluated": [entry for cluster in clusters for entry in cluster["not_evaluated"]],
        "lost": [],
    }
