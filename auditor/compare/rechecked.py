"""Which findings that are gone were seen fixed, and why the others were not checked again.

A finding is fixed only if its object was judged by the same checks, or if its key is gone from a part of the cluster
that was read whole and is in scope. Everything else is not re-checked, each finding for one reason. Reasons are found
for columns; a later reason replaces an earlier one, so the strongest comes last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from auditor.base.arrow import in_one_piece, read_parquet
from auditor.base.statuses import Status
from auditor.compare.presence import cluster_names, judged_clusters
from auditor.store.clusters import with_other_option

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


Numbers = np.ndarray[Any, Any]

REASONS: Final = (
    "", "no dump", "no newer dump", "damaged", "unreadable", "sealed", "needs conversion", "definition missing",
    "out of scope", "check skipped", "not evaluated", "other options", "not judged", "nothing of the kind in the dump",
)  # fmt: skip
"""Why a finding was not checked again; the first: it was, and is fixed."""
_CODE: Final = {reason: number for number, reason in enumerate(REASONS)}
_OF_STATUS: Final = {
    Status.VALID: "", Status.INVALID: "", Status.DEFINITION: "", Status.BUILTIN: "", Status.UNREADABLE: "unreadable",
    Status.SEALED: "sealed", Status.NEEDS_CONVERSION: "needs conversion", Status.ORPHANED: "definition missing",
    Status.UNSERVED: "definition missing",
}  # fmt: skip
_CRDS: Final = "apiextensions.k8s.io"
_WHOLE: Final = frozenset({"etcd-snapshot", "etcd-db", "etcd-data-dir", "kine-sqlite"})
"""Formats that hold all keys of a cluster; any other may have been asked for some of them."""


class FindingObjects:
    """The objects of findings of an old report, in a new one.

    Args:
        findings: Rows of findings of the old report.
        plurals: The plural name of the kind of each; null where it is not known.
        old_names: For each finding what its object is called, in each of several ways; null where that is not known.
        new_names: The same for each row of the new report's objects.
        objects: Those rows.
    """

    def __init__(
        self, findings: pa.Table, plurals: Any, old_names: Sequence[Any], new_names: Sequence[Any], objects: pa.Table
    ) -> None:
        self.findings, self.plurals, self.objects = findings, in_one_piece(plurals), objects
        known_statuses = pa.array(list(_OF_STATUS))
        positions = pc.index_in(in_one_piece(objects["status"]), value_set=known_statuses)
        of_status = np.array([*(_CODE[status] for status in _OF_STATUS.values()), _CODE["not judged"]], dtype=np.int64)
        codes = of_status[np.asarray(pc.fill_null(positions, len(_OF_STATUS)))]
        order = np.argsort(codes == 0, kind="stable")  # of several rows of a key the one that was not judged counts
        rows = np.full(findings.num_rows, -1)
        for old, new in zip(old_names, new_names, strict=True):
            known = pc.take(in_one_piece(new), pa.array(order))
            positions = pc.index_in(in_one_piece(old), value_set=known, skip_nulls=True)
            place = np.array(pc.fill_null(positions, -1))
            place[np.asarray(pc.is_null(in_one_piece(old)))] = -1
            rows = np.where((rows < 0) & (place >= 0), order[np.maximum(place, 0)] if len(order) else -1, rows)
        self.rows = rows
        self.found = rows >= 0
        self.codes = codes

    def of_object(self, name: str) -> Numbers:
        """Return the value of a column of objects/ for each finding; None if its object is not there."""
        out = np.full(len(self.rows), None, dtype=object)
        out[self.found] = _numpy(self.objects[name].take(pa.array(self.rows[self.found])))
        return out


def _numpy(column: Any) -> Numbers:
    out = np.empty(len(column), dtype=object)
    out[:] = in_one_piece(column).to_pylist()
    return out


def _is_none(values: Numbers) -> Numbers:
    return np.array([value is None for value in values], dtype=bool)


def reasons_of(owners: FindingObjects, before: dict[str, Any], now: dict[str, Any], folder: Path) -> Numbers:
    """Return the number of the reason in `REASONS` for each finding; 0: it is fixed.

    Args:
        owners: The findings that are gone, and their objects.
        before: Manifest of the old report.
        now: Manifest of the new one.
        folder: The new report.
    """
    out = np.zeros(len(owners.rows), dtype=np.int64)
    for mask, reason in (*_gone(owners, before, now, folder), *_there(owners, before, now), *_clusters(owners, now)):
        out[mask] = _CODE[reason]
    codes = np.where(owners.found, owners.codes[np.maximum(owners.rows, 0)] if len(owners.codes) else 0, 0)
    return np.where(codes > 0, codes, out)


def _clusters(owners: FindingObjects, now: dict[str, Any]) -> list[tuple[Numbers, str]]:
    """Yield what holds for all findings of a cluster."""
    clusters = _cluster_column(owners, now)
    judged, older = judged_clusters(now), _older_clusters(now)
    return [
        (np.isin(clusters, list(older)), "no newer dump"),
        (~np.isin(clusters, list(judged)), "no dump"),
        (np.isin(clusters, list(cluster_names(now) - judged)), "damaged"),
    ]


def _cluster_column(owners: FindingObjects, now: dict[str, Any]) -> Numbers:
    """Return the cluster of each finding; of reports of one cluster each the name plays no part."""
    own = now["options"].get("cluster") or ""
    clusters = np.array([name or "" for name in owners.findings["cluster"].to_pylist()], dtype=object)
    if "clusters" not in now and (not own or not (set(clusters) - {"", own})):
        is_alone = len(set(clusters)) <= 1 and not (own == "" and now.get("missing"))
        if is_alone:
            clusters[:] = own
    return clusters


def _older_clusters(now: dict[str, Any]) -> set[str]:
    stale = ((now.get("diff") or {}).get("stale")) or ()
    return {entry["cluster"] or "" for entry in stale if entry["is_older"]}


def _there(owners: FindingObjects, before: dict[str, Any], now: dict[str, Any]) -> list[tuple[Numbers, str]]:
    """Return reasons for findings whose objects were judged: not by the same checks, or in an older state."""
    findings, pairs = owners.findings, owners.found
    request, check = _numpy(findings["request"]), _numpy(findings["check"])
    is_update, is_rule = request != "create", check == "rule"
    skip = set(now["options"]["skip"])
    old, new = before["options"], now["options"]
    clusters = _cluster_column(owners, now)
    out = [(pairs & _unevaluated(owners, now) & is_rule, "not evaluated")]
    other_mode = any(old.get(name) != new.get(name) for name in ("at", "apply"))
    if other_mode:
        out.append((pairs, "other options"))
    for name, concerned in (("ratcheting", is_update), ("gates", check == "gate")):
        changed = np.isin(clusters, list(with_other_option(before, now, name)))
        out.append((pairs & concerned & changed, "other options"))
    codes = owners.of_object("put_code")
    out.append((pairs & is_update & _is_none(codes), "not evaluated"))
    is_definition = np.array([group == _CRDS for group in findings["group"].to_pylist()], dtype=bool)
    out.append((pairs & is_rule & is_definition & ~_has_objects(owners), "not evaluated"))
    if skip & {"rules", "updates"}:
        out.append((pairs & is_update, "check skipped"))
    if "rules" in skip:
        out.append((pairs & is_rule, "check skipped"))
    out += [
        (pairs & (owners.of_object("status") == status), "check skipped")
        for status in sorted(skip - {"rules", "updates"})
    ]
    revisions, was = owners.of_object("mod_revision"), _numpy(findings["mod_revision"])
    known = ~(_is_none(revisions) | _is_none(was))
    older = np.zeros(len(pairs), dtype=bool)
    older[known] = revisions[known].astype(np.int64) < was[known].astype(np.int64)
    out.append((pairs & older, "no newer dump"))
    return out


def _unevaluated(owners: FindingObjects, now: dict[str, Any]) -> Numbers:
    """Whether rules of the kind of each finding were not evaluated for some object."""
    parts = now.get("clusters") or [now]
    names = {entry["crd"] for part in parts for entry in part.get("not_evaluated") or ()}
    return np.isin(_definition_names(owners), list(names))


def _definition_names(owners: FindingObjects) -> Numbers:
    pairs = zip(owners.plurals.to_pylist(), owners.findings["group"].to_pylist(), strict=True)
    return np.array([f"{plural}.{group}" for plural, group in pairs], dtype=object)


def _has_objects(owners: FindingObjects) -> Numbers:
    """Whether the new report has objects of each finding's definition; rules of one without any are not compiled."""
    kinds = owners.objects.select(["group", "plural"])
    kinds = kinds.group_by(kinds.column_names, use_threads=False).aggregate([])
    names = {f"{row['plural']}.{row['group']}" for row in kinds.to_pylist() if row["plural"]}
    exported = np.array([key is None for key in owners.of_object("key")], dtype=bool)
    return exported | np.isin(_numpy(owners.findings["name"]), list(names))


def _gone(
    owners: FindingObjects, before: dict[str, Any], now: dict[str, Any], folder: Path
) -> list[tuple[Numbers, str]]:
    """Return reasons for findings whose objects are not in the new report."""
    gone = ~owners.found
    findings = owners.findings
    if not gone.any():
        return []
    clusters = _cluster_column(owners, now)
    out = [(gone & ~_kind_is_seen(owners, clusters, now), "nothing of the kind in the dump")]
    if before["options"].get("etcd_prefix") != now["options"].get("etcd_prefix"):
        out.append((gone, "other options"))
    from_files = set(before["definitions"].get("from_files") or ()) - set(now["definitions"].get("from_files") or ())
    is_definition = np.array([group == _CRDS for group in findings["group"].to_pylist()], dtype=bool)
    missing = ~np.isin(_definition_names(owners), list(_definitions(folder)))
    lost_files = is_definition & np.isin(_numpy(findings["name"]), list(from_files))
    out.append((gone & lost_files, "definition missing"))
    if now["options"]["scope"].get("include"):
        out.append((gone & missing & ~is_definition, "definition missing"))
    out.append((gone & _out_of_scope(owners, now["options"]["scope"]), "out of scope"))
    out += [(gone & mask, reason) for mask, reason in _partly_read(owners, clusters, before, now)]
    return out


def _definitions(folder: Path) -> set[str]:
    path = folder / "versions.parquet"
    return set(read_parquet(path, ["crd"])["crd"].to_pylist()) if path.exists() else set()


def _partly_read(
    owners: FindingObjects, clusters: Numbers, before: dict[str, Any], now: dict[str, Any]
) -> list[tuple[Numbers, str]]:
    """Return reasons that hold for all that is gone from a cluster, since not all of it was read."""
    unreadable, damaged, fewer = set(), set(), set()
    objects = owners.objects
    mask = pc.and_(pc.equal(objects["status"], Status.UNREADABLE), pc.is_null(objects["key"]))
    mask = pc.and_(mask, pc.or_(pc.is_null(objects["kind"]), pc.is_null(objects["name"])))
    for name in pc.unique(objects.filter(pc.fill_null(mask, False))["cluster"]).to_pylist():
        unreadable.add(name or "")
    for name in set(clusters):
        sources, known = _inputs(now, name), _inputs(before, name)
        lost = [text for text in now["lost"] if "clusters" not in now or text.startswith(f"{name}: ")]
        if lost or any(source["damage"] for source in sources):
            damaged.add(name)
        if len(sources) < len(known):
            fewer.add(name)
    sets = ((unreadable, "unreadable"), (fewer, "no dump"), (damaged, "damaged"))
    return [(np.isin(clusters, list(names)), reason) for names, reason in sets]


def _inputs(manifest: dict[str, Any], cluster: str) -> list[dict[str, Any]]:
    if "clusters" not in manifest:
        return list(manifest["inputs"])
    return [source for source in manifest["inputs"] if source.get("cluster") == cluster]


def _out_of_scope(owners: FindingObjects, scope: dict[str, Any]) -> Numbers:
    """Return whether a missing object may still exist, outside the scope of the new run."""
    findings = owners.findings
    if scope.get("labels") or scope.get("fields"):  # the object's new labels and fields are not known
        return np.ones(len(owners.rows), dtype=bool)
    out = np.zeros(len(owners.rows), dtype=bool)
    if scope.get("namespace"):
        out |= _numpy(findings["namespace"]) != scope["namespace"]
    include, exclude = ({name.lower() for name in scope.get(side) or ()} for side in ("include", "exclude"))
    if include or exclude:
        columns = (findings["group"].to_pylist(), findings["kind"].to_pylist(), owners.plurals.to_pylist())
        known: dict[tuple[Any, ...], bool] = {}
        for position, kind in enumerate(zip(*columns, strict=True)):
            if kind not in known:
                group, *names = kind
                spelled = {each.lower() for name in names if name for each in (name, f"{name}.{group or ''}")}
                known[kind] = bool(spelled & exclude) or bool(include and not spelled & include)
            out[position] |= known[kind]
    return out


def _kind_is_seen(owners: FindingObjects, clusters: Numbers, now: dict[str, Any]) -> Numbers:
    """Return whether the new dump of a finding's cluster covers objects of its kind.

    A snapshot holds all keys, if it holds any; so does a listing of keys with definitions and others among them, and
    any listing those between its first key and its last. An export holds the kinds that were requested: it must have
    another object of the kind, and in more than one namespace or in that of the object.
    """
    names = ["cluster", "group", "kind", "plural", "namespace"]
    rows = owners.objects.filter(pc.invert(pc.is_in(owners.objects["status"], pa.array([Status.OTHER]))))
    groups = rows.select(names).group_by(names, use_threads=False).aggregate([]).to_pylist()
    own = now["options"].get("cluster") or ""
    alone = "clusters" not in now
    seen: dict[tuple[Any, ...], set[Any]] = {}
    for row in groups:
        cluster = own if alone else row["cluster"] or ""
        for name in (row["kind"], row["plural"]):
            if name:
                seen.setdefault((cluster, row["group"] or "", name), set()).add(row["namespace"])
    limits = rows.group_by("cluster", use_threads=False).aggregate([("key", "min"), ("key", "max")]).to_pylist()
    spans = {own if alone else row["cluster"] or "": (row["key_min"], row["key_max"]) for row in limits}
    whole, listings = _whole_clusters(now), _listings(now)
    columns = (owners.findings[name].to_pylist() for name in ("group", "kind", "namespace", "key"))
    out = np.zeros(len(owners.rows), dtype=bool)
    for position, (cluster, group, kind, namespace, key, plural) in enumerate(
        zip(clusters, *columns, owners.plurals.to_pylist(), strict=True)
    ):
        first, last = spans.get(cluster, (None, None))
        if cluster in whole:
            out[position] = True
        elif cluster in listings and key is not None:
            out[position] = first is not None and first <= key <= last
        else:
            namespaces = seen.get((cluster, group or "", kind)) or seen.get((cluster, group or "", plural)) or set()
            out[position] = namespace in namespaces or len(namespaces) > 1
    return out


def _parts(now: dict[str, Any]) -> list[tuple[str, dict[str, Any], int]]:
    """Return name, counts and number of definitions of each cluster of a report."""
    own = {"name": now["options"].get("cluster") or "", "counts": now["counts"], "kinds": now["kinds"]}
    return [
        (
            cluster["name"],
            cluster["counts"],
            sum(kind["objects"] for kind in cluster["kinds"] if kind["group"] == _CRDS),
        )
        for cluster in now.get("clusters") or [own]
    ]


def _whole_clusters(now: dict[str, Any]) -> set[str]:
    """Return the clusters whose dumps hold all of their keys."""
    given = len(now["definitions"].get("from_files") or ()) * len(_parts(now))
    has_definitions = now["definitions"]["count"] > given
    out = set()
    for name, counts, definitions in _parts(now):
        sources = _inputs(now, name)
        others = counts["statuses"].get(Status.OTHER, 0)
        is_listing = any(source["format"] not in _WHOLE for source in sources)
        is_whole = all(
            source["format"] in _WHOLE or (not source["is_export"] and has_definitions) for source in sources
        )
        if is_listing:  # perhaps only definitions were requested; sealed and unreadable ones count
            others += definitions
        if sources and is_whole and (counts["rows"] > others or counts["out_of_scope"]):
            out.add(name)
    return out


def _listings(now: dict[str, Any]) -> set[str]:
    """Return the clusters whose dumps list keys."""
    return {name for name, _, _ in _parts(now) if not any(source["is_export"] for source in _inputs(now, name))}
