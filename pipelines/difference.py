"""What changed between two reports: each finding is new, the same or fixed.

A finding is the same where the same object (cluster, kind, namespace, name) has one of the same check, field, type and
rule for the same request; of several alike as many are the same as both reports have. Its message may tell of another
value. It is fixed where it is gone and its object is judged still, or gone as well: what cannot be judged now was not
mended. Everything is done for columns.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import auditor
from auditor import tables
from auditor.report.comparison import compared
from auditor.sources.kernels import whole_parquet
from pipelines.columns import write_parquet
from pipelines.config import FAIL_ON
from pipelines.kept_rows import concat, encoded, plain
from pipelines.old_report import check_rows, read_manifest
from pipelines.report import MANIFEST

if TYPE_CHECKING:
    from pipelines.config import AuditOptions

__all__ = ["Difference", "difference", "run_diff", "write_difference"]

Numbers = np.ndarray[Any, Any]

_OBJECT: Final = ("group", "kind", "namespace", "name")
_FINDING: Final = ("request", "check", "field", "type", "rule")
_JUDGED: Final = ("valid", "invalid", "definition", "builtin")
_STATUSES: Final = ("cluster", "key", *_OBJECT, "plural", "status", "impacts", "value_hash")
_OPTIONS: Final = ("at", "skip", "ratcheting", "scope", "etcd_prefix")
_NAMED: Final = 10
_SEPARATOR: Final = "\0"
_DEFINITION: Final = "CustomResourceDefinition"
"""The kind of findings without one, which are those of definitions behind keys."""
_NONE: Final = "\1"
"""What stands for an unknown part in a joined text: no name has it."""


class _Side:
    """Findings and objects of one report."""

    def __init__(self, folder: Path, *, by_cluster: bool) -> None:
        self.folder = folder
        self.paths = sorted((folder / "findings").glob("part-*.parquet"))
        parts = [_read(path, tables.FINDINGS) for path in self.paths]
        self.counts = [part.num_rows for part in parts]
        self.findings = plain(concat(parts, tables.FINDINGS))
        schema = pa.schema([tables.OBJECTS.field(name) for name in _STATUSES])
        some = [_read(path, schema) for path in sorted((folder / "objects").glob("part-*.parquet"))]
        self.objects = plain(concat(some, schema))
        self.by_cluster = by_cluster

    def rows(self) -> dict[str, int]:
        """Return how many rows each table has."""
        return {"objects": self.objects.num_rows, "findings": self.findings.num_rows}

    def finding_names(self) -> Any:
        """Return one text for each finding by which it is found in the other report."""
        return _joined([self._whose(self.findings), *(_text(self.findings[name]) for name in _FINDING)])

    def owners(self) -> list[Any]:
        """Return what the object of each finding is called, in each of the ways of `_called`."""
        names = ["group", "kind", "plural"]
        kinds = self.objects.select(names).group_by(names, use_threads=False).aggregate([]).drop_null()
        known, wanted = (_known([rows["group"], rows["kind"]]) for rows in (kinds, self.findings))
        return self._called(self.findings, kinds["plural"].take(pc.index_in(wanted, value_set=known)))

    def not_judged(self) -> list[Any]:
        """Return the same for each object that is there and was not judged."""
        rows = self.objects.filter(pc.invert(pc.is_in(self.objects["status"], pa.array(_JUDGED))))
        return self._called(rows, rows["plural"])

    def _called(self, rows: pa.Table, plural: Any) -> list[Any]:
        """Return texts for objects: by key, by kind and by plural name; null where that is not known.

        An export has no keys, and without a definition a key tells no kind, an exported object no plural name.
        """
        cluster, place = self._cluster(rows), [_text(rows["group"]), _text(rows["namespace"]), rows["name"]]
        return [_known([cluster, *some]) for some in ([rows["key"]], [rows["kind"], *place], [plural, *place])]

    def troubled(self, level: str) -> Any:
        """Return a text for each object that is unreadable, blocked or loses data."""
        if level == "unreadable":
            mask = pc.is_in(self.objects["status"], pa.array(["unreadable", "needs-conversion"]))
        else:
            joined = pc.binary_join(self.objects["impacts"], ",")
            pattern = r"(^|,)(blocks-|breaks-list)" if level == "blocked" else r"(^|,)loses-data(,|$)"
            mask = pc.match_substring_regex(joined, pattern)
        rows = self.objects.filter(pc.fill_null(mask, False))
        return pc.unique(self._whose(rows))

    def _cluster(self, rows: pa.Table) -> Any:
        return _text(rows["cluster"]) if self.by_cluster else pa.array([""] * rows.num_rows, pa.string())

    def _whose(self, rows: pa.Table) -> Any:
        plural = rows["plural"] if "plural" in rows.column_names else _DEFINITION
        kind = pc.coalesce(rows["kind"], plural)
        name = pc.coalesce(rows["name"], rows["key"])
        if "value_hash" in rows.column_names:
            name = pc.coalesce(name, rows["value_hash"])
        return _joined([self._cluster(rows), *map(_text, (rows["group"], kind, rows["namespace"], name))])


def _read(path: Path, schema: pa.Schema) -> pa.Table:
    with whole_parquet(path), pq.ParquetFile(path) as file:
        return file.read(columns=schema.names, use_threads=False).select(schema.names).cast(schema)


def _text(column: Any) -> Any:
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pc.fill_null(column, _NONE)


def _joined(columns: list[Any]) -> Any:
    return pc.binary_join_element_wise(*map(_text, columns), _SEPARATOR)


def _known(columns: list[Any]) -> Any:
    """Return columns joined as `_joined` does; null where one of them is."""
    whole = [column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column for column in columns]
    return pc.binary_join_element_wise(*whole, _SEPARATOR)


class Difference:
    """What changed from an old report to a new one.

    Attributes:
        is_new: Of each finding of the new report.
        is_fixed: Of each finding of the old report.
        not_judged: Number of findings of the old report whose objects could not be judged in the new one.
        worse: Number of objects that are unreadable, blocked or lose data, and were not.
    """

    def __init__(self, old: _Side, new: _Side, present: frozenset[str] | None) -> None:
        self.old, self.new = old, new
        was, now = _paired(old.finding_names(), new.finding_names())
        self.is_new = ~np.isin(now, was)
        gone = ~np.isin(was, now)
        unknown = np.zeros(len(was), dtype=bool)
        for called, known in zip(old.owners(), new.not_judged(), strict=True):
            unknown |= pc.is_in(called, value_set=known.drop_null()).to_numpy(zero_copy_only=False)
        if present is not None:
            there = pc.is_in(old.findings["cluster"], pa.array(sorted(present), pa.string()))
            unknown = unknown | ~there.to_numpy(zero_copy_only=False)
        self.is_fixed = gone & ~unknown
        self.not_judged = int((gone & unknown).sum())
        self.worse = {}
        for level in ("unreadable", "blocked", "data-loss"):
            before = pc.is_in(new.troubled(level), value_set=old.troubled(level))
            self.worse[level] = len(before) - (pc.sum(before).as_py() or 0)

    def fresh(self) -> pa.Table:
        """Return the findings that are new."""
        return self.new.findings.filter(pa.array(self.is_new))

    def fixed(self) -> pa.Table:
        """Return the findings that are fixed, as they were."""
        return self.old.findings.filter(pa.array(self.is_fixed))

    def reaches(self, fail_on: str) -> bool:
        """Whether what is new reaches a level of --fail-on."""
        fresh = self.fresh()
        blocking = pc.fill_null(pc.equal(fresh["verdict"], "blocks-every-update"), False)
        judged = pc.and_(pc.equal(fresh["request"], "create"), pc.not_equal(fresh["check"], "gate"))
        judged = pc.and_(judged, pc.fill_null(pc.not_equal(fresh["group"], "apiextensions.k8s.io"), True))
        reached = {
            "unreadable": self.worse["unreadable"] > 0,
            "blocked": self.worse["blocked"] > 0 or bool(pc.any(blocking).as_py()),
            "data-loss": self.worse["data-loss"] > 0,
            "invalid": bool(pc.any(judged).as_py()),
        }
        return any(reached[level] for level in FAIL_ON[1 : FAIL_ON.index(fail_on) + 1])

    def section(self) -> dict[str, Any]:
        """Return what a manifest says of it."""
        fresh, fixed = self.fresh(), self.fixed()
        same = self.new.findings.filter(pa.array(~self.is_new))
        kinds: dict[tuple[str, str], dict[str, int]] = {}
        for change, rows in (("new", fresh), ("same", same), ("fixed", fixed)):
            counted = rows.select(["group", "kind"]).group_by(["group", "kind"]).aggregate([([], "count_all")])
            for row in counted.to_pylist():
                kind = kinds.setdefault((row["group"] or "", row["kind"] or ""), {"new": 0, "same": 0, "fixed": 0})
                kind[change] += row["count_all"]
        return {
            "findings": {"new": fresh.num_rows, "same": same.num_rows, "fixed": fixed.num_rows},
            "not_judged": self.not_judged,
            "worse": self.worse,
            "kinds": [{"group": group, "kind": kind, **counts} for (group, kind), counts in sorted(kinds.items())],
            "first_new": _named(fresh),
            "first_fixed": _named(fixed),
        }

    def write(self, crds_sha256: str) -> None:
        """Mark the findings of the new report; write those that are fixed beside them, as they were."""
        meta = {"tool": auditor.__version__, "release": auditor.KUBERNETES_RELEASE, "crds": crds_sha256}
        schema = tables.with_metadata(tables.COMPARED, **meta)
        change = np.where(self.is_new, "new", "same")
        start = 0
        for path, count in zip(self.new.paths, self.new.counts, strict=True):
            write_parquet(_marked(self.new.findings.slice(start, count), change[start : start + count], schema), path)
            start += count
        fixed = self.fixed()
        if fixed.num_rows:
            path = self.new.folder / "fixed" / "part-00000.parquet"
            write_parquet(_marked(fixed, np.full(fixed.num_rows, "fixed"), schema), path)


def _marked(rows: pa.Table, change: Numbers, schema: pa.Schema) -> pa.Table:
    return encoded(rows.append_column("change", pa.array(change.tolist(), pa.string())), schema)


def _named(rows: pa.Table) -> list[dict[str, str]]:
    out = []
    for row in rows.slice(0, _NAMED).to_pylist():
        name = row["key"] or "/".join(filter(None, (row["kind"], row["namespace"], row["name"])))
        out.append({"object": f"{row['cluster']}: {name}" if row["cluster"] else name, "message": row["message"]})
    return out


def _paired(old: Any, new: Any) -> tuple[Numbers, Numbers]:
    """Return numbers for the texts of two columns: the nth of a text here has that of the nth there, and no other."""
    codes = pc.dictionary_encode(pa.chunked_array([old, new], pa.string()).combine_chunks())
    numbers = codes.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    split = len(old)
    pairs = [_counted(numbers[:split]), _counted(numbers[split:])]
    most = 1 + max((int(nth.max()) for nth in pairs if len(nth)), default=0)
    return numbers[:split] * most + pairs[0], numbers[split:] * most + pairs[1]


def _counted(numbers: Numbers) -> Numbers:
    """Return for each number how many of its like stand before it."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if len(ordered) else ordered
    lengths = np.diff(np.append(first, len(ordered)))
    out = np.empty(len(numbers), dtype=np.int64)
    out[order] = np.arange(len(ordered)) - np.repeat(first, lengths)
    return out


def difference(folder: Path, manifest: dict[str, Any], report: str, option: str = "--diff") -> tuple[Difference, Any]:
    """Compare a report with an earlier one.

    Args:
        folder: The report.
        manifest: Its manifest.
        report: The earlier one.
        option: What names it.

    Returns:
        (what changed, what the manifest says of it)

    Raises:
        PlanError: The earlier report is none, or one of them is not whole.
    """
    before = read_manifest(report, option)
    names = _clusters(before) | _clusters(manifest)
    by_cluster = bool(names)
    present = frozenset(_clusters(manifest) or {manifest["options"].get("cluster") or ""}) if by_cluster else None
    old, new = (_Side(one, by_cluster=by_cluster) for one in (Path(report), folder))
    check_rows(old.folder, before, old.rows(), option)
    check_rows(folder, manifest, new.rows(), "NEW_REPORT")
    found = Difference(old, new, present)
    notes = [
        f"{report} was made with other options: {name} was {_shown(before['options'].get(name))} and is "
        f"{_shown(manifest['options'].get(name))}"
        for name in _OPTIONS
        if before["options"].get(name) != manifest["options"].get(name)
    ]
    if any(source["damage"] for source in manifest["inputs"]):
        notes.append("part of the dump could not be read: what was there before may not be fixed")
    section = {"report": report, "started": before["started"], **found.section(), "notes": notes}
    return found, section


def write_difference(options: AuditOptions, folder: Path, manifest: dict[str, Any]) -> int:
    """Compare a report that was just written with the one that the options name; tell it in its tables and manifest.

    Returns:
        The exit code of the run.

    Raises:
        PlanError: The earlier report is none.
    """
    found, section = difference(folder, manifest, options.diff)
    found.write(manifest["definitions"]["sha256"])
    manifest["diff"] = section
    if options.only_new and manifest["exit_code"] != 3:
        manifest["exit_code"] = int(found.reaches(options.fail_on))
    (folder / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
    return int(manifest["exit_code"])


def run_diff(old: str, new: str, *, output: str, fail_on: str) -> tuple[str, bool]:
    """Compare two reports.

    Args:
        old: The older one.
        new: The newer one.
        output: text, or ndjson: the new findings, then those that are fixed, one a line.
        fail_on: A level of --fail-on.

    Returns:
        (what is to be printed, whether what is new reaches the level)

    Raises:
        PlanError: One is no report of an audit.
    """
    found, section = difference(Path(new), read_manifest(new, "NEW_REPORT"), old, "OLD_REPORT")
    if output == "text":
        return "\n\n".join(compared({"diff": section})), found.reaches(fail_on)
    lines = []
    for change, rows in (("new", found.fresh()), ("fixed", found.fixed())):
        for batch in rows.to_batches(max_chunksize=10_000):
            lines += [_line(row, change) for row in batch.to_pylist()]
    return "\n".join(lines), found.reaches(fail_on)


def _line(row: dict[str, Any], change: str) -> str:
    return orjson.dumps({**row, "change": change}).decode()


def _clusters(manifest: dict[str, Any]) -> set[str]:
    return {cluster["name"] for cluster in manifest.get("clusters") or ()}


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items() if one) or "everything"
    return ", ".join(value) or "nothing" if isinstance(value, list) else str(value)
