"""Which report each cluster is compared with, and which objects of it that report has not judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from auditor.base.visible import visible
from auditor.base.wording import by_count
from auditor.compare.presence import inputs_of, judged_clusters, unread_clusters
from auditor.store.allclear import judged_rows, stale_dumps
from auditor.store.clusters import part_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Gaps:
    """The clusters of a report that an earlier one does not know whole; where each is of one, the empty text.

    Attributes:
        absent: The earlier report has no row of them.
        partial: It lacks part of them.
        older: Their dump is older than that of the earlier report.
    """

    absent: frozenset[str]
    partial: frozenset[str]
    older: frozenset[str]

    @classmethod
    def between(cls, before: dict[str, Any], now: dict[str, Any], *, by_cluster: bool) -> Gaps:
        """Return the clusters.

        Args:
            before: Manifest of the earlier report.
            now: That of the later one, with its stale dumps in `diff`.
            by_cluster: Whether the names of clusters count.
        """
        older = {entry["cluster"] or "" for entry in now["diff"]["stale"] if entry["is_older"]}
        older = {name for name in older if not _goes_on(before, now, name)}
        if not by_cluster:
            has_rows, lacks = before["counts"]["rows"] > 0, bool(unread_clusters(before))
            return cls(*(frozenset({""} if holds else ()) for holds in (not has_rows, lacks, bool(older))))
        known = {name for name in judged_clusters(before) if part_of(before, name)["counts"]["rows"]}
        return cls(frozenset(judged_clusters(now) - known), frozenset(unread_clusters(before)), frozenset(older))

    def of(self, clusters: Numbers, which: Literal["absent", "partial", "older"]) -> Numbers:
        """Return for each name of a cluster whether it is one of those."""
        return np.isin(clusters, list(getattr(self, which)))


def _goes_on(before: dict[str, Any], now: dict[str, Any], cluster: str) -> bool:
    """Return whether a dump is newer than that of the earlier report itself, which was an older one already."""
    was, is_now = (_revisions(inputs_of(manifest, cluster)) for manifest in (before, now))
    return bool(was and is_now) and max(was) < max(is_now)


def _revisions(inputs: Iterable[dict[str, Any]]) -> list[int]:
    return [source["revision"] for source in inputs if source["revision"] is not None]


def compared_clusters(
    before: dict[str, Any], now: dict[str, Any], shown: str, *, by_cluster: bool
) -> list[dict[str, Any]]:
    """Return the report that each cluster is compared with: its name, when it began, whether it has the cluster whole.

    They are null for a cluster that no earlier report has. Where reports are of one cluster each, its name is null.

    Args:
        before: Manifest of the earlier report.
        now: That of the later one.
        shown: The earlier report, as people know it.
        by_cluster: Whether the names of clusters count.
    """
    lacking = unread_clusters(before)
    if not by_cluster:
        whole = {"name": None, "report": shown, "started": before["started"], "is_whole": not lacking}
        return [whole] if before["counts"]["rows"] else [dict.fromkeys(whole)]
    out: list[dict[str, Any]] = []
    for name in sorted(judged_clusters(now)):
        part = part_of(before, name)
        if name not in judged_clusters(before) or not part["counts"]["rows"]:
            out.append({"name": name or None, "report": None, "started": None, "is_whole": None})
            continue
        report, started = part.get("report", shown), part.get("started", before["started"])
        out.append({"name": name or None, "report": report, "started": started, "is_whole": name not in lacking})
    return out


def unmatched_clusters(manifest: dict[str, Any]) -> set[str]:
    """Return the clusters that are compared with no report, or with one that lacks some; one without a name: empty."""
    clusters = (manifest.get("diff") or {}).get("clusters") or ()
    return {cluster["name"] or "" for cluster in clusters if not cluster["is_whole"]}


def whole_clusters(manifest: dict[str, Any]) -> set[str]:
    """Return the clusters that a run has read whole, from no older dump: what is gone from them is gone."""
    older = {dump["cluster"] or "" for dump in stale_dumps(manifest) if dump["is_older"]}
    rows = {name for name in judged_clusters(manifest) if judged_rows(part_of(manifest, name))}
    return rows - unread_clusters(manifest) - older


def cluster_notes(clusters: Sequence[dict[str, Any]], before: dict[str, Any], shown: str) -> list[str]:
    """Return notes on the clusters that are compared with another report than the others, with part of one, or none.

    Args:
        clusters: What `compared_clusters` returned.
        before: Manifest of the earlier report.
        shown: That report, as people know it.
    """
    searched = "no earlier report" if "shown" in before else shown
    others: dict[tuple[str, bool], list[str]] = {}
    for cluster in clusters:
        if cluster["report"] != shown or not cluster["is_whole"]:
            place = cluster["report"] or "", bool(cluster["is_whole"])
            others.setdefault(place, []).append(visible(cluster["name"] or "this cluster"))
    out = []
    for (report, is_whole), names in sorted(others.items()):
        if is_whole:
            text = f"compared with {report}, the last report that has {by_count(len(names), 'it', 'them')} whole"
        elif report:
            text = f"compared with {report}, which has not all of {by_count(len(names), 'it', 'them')}"
        else:
            text = f"compared with nothing, as {searched} has objects of {by_count(len(names), 'it', 'them')}"
            if searched == shown:
                text = f"compared with nothing, as {shown} has no object of {by_count(len(names), 'it', 'them')}"
        out.append(f"{', '.join(names)}: {text}")
    return out
