"""Compares two reports: each finding is new, the same or fixed.

Two findings are the same if their object (cluster, kind, namespace, name), request, check, field, type and rule are
equal; their messages may differ. Between reports of two releases of Kubernetes, a finding that only has other words is
the same. If a report has several equal findings, they are paired one to one. A finding is fixed if it is gone and its
object was judged by the same checks, or is gone too (`rechecked`). All work is done on columns.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import auditor
from auditor.base import tables
from auditor.base.arrow import (
    cast,
    dictionary_encoded,
    has_one_text,
    in_one_piece,
    parquet_footer,
    plain,
    take,
    whole_parquet,
)
from auditor.base.statuses import Impact, Status
from auditor.base.visible import visible, visible_tree
from auditor.base.wording import are, counted
from auditor.causes.row_causes import has_own_impact
from auditor.compare.compared_clusters import Gaps, cluster_notes, compared_clusters
from auditor.compare.comparison import compared
from auditor.compare.presence import missing_clusters, stale_dumps, unread_clusters
from auditor.compare.rechecked import REASONS, FindingObjects, reasons_of
from auditor.compare.worse import WorseObjects
from auditor.plan.options import FAIL_ON
from auditor.printing.print_rows import print_rows
from auditor.releases import active
from auditor.shards.table_rows import SAME, write_parquet, write_row_groups
from auditor.sources.stores.locations import shown_url
from auditor.store.allclear import missing_lines, stale_lines
from auditor.store.check import check_earlier
from auditor.store.clusters import with_other_option
from auditor.store.coded import Coded
from auditor.store.damage_lines import damage_lines
from auditor.store.earlier_report import check_rows, read_manifest
from auditor.store.manifest import MANIFEST, whole_report
from pipelines.run.diff_side import FINDING, OBJECT, ReportSide, side_by_side
from pipelines.run.remote import reports_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from auditor.compare.compared_rows import Selected
    from auditor.plan.options import AuditOptions


Numbers = np.ndarray[Any, Any]

_OPTIONS: Final = ("at", "skip", "scope", "etcd_prefix")
_COLUMNS: Final = (
    *("change", "cluster", "kind", "namespace", "name", "key", "request", "check", "field"),
    *("verdict", "message", "status", "reason"),
)
_NAMED: Final = 10
_INCOMPLETE: Final = 3


def _read(path: Path, schema: pa.Schema) -> pa.Table:
    """Return a part of the new report, which this process wrote."""
    with whole_parquet(path), pq.ParquetFile(path) as file:
        return file.read(columns=schema.names, use_threads=False).select(schema.names).cast(schema)


class Difference:
    """What changed from an old report to a new one.

    Attributes:
        is_new: For each finding of the new report, whether it is new.
        is_uncompared: The same, whether the old report did not read what it would be compared with.
        counts: The same, whether it counts for --only-new: new ones, and those of what no report has read before.
        is_fixed: For each finding of the old report, whether it is fixed.
        not_rechecked: Number of findings of the old report that are gone and were not checked again, by reason.
        objects: The change of each object.
        newly_sealed: Number of objects that are encrypted without a key now, and were not before.
    """

    def __init__(self, old: ReportSide, new: ReportSide, before: dict[str, Any], now: dict[str, Any]) -> None:
        self.old, self.new = old, new
        of_other_release = _is_of_other_release(before, now)
        texts = (side.finding_names(of_other_release=of_other_release) for side in (old, new))
        was, now_names = _paired(*texts)
        self.is_new = ~np.isin(now_names, was)
        gaps = Gaps.between(before, now, by_cluster=new.by_cluster)
        self.is_uncompared = self.is_new & self._uncompared(gaps)
        self.is_new &= ~self.is_uncompared
        self.counts = self.is_new | (self.is_uncompared & ~gaps.of(new.clusters(new.findings), "older"))
        gone = ~np.isin(was, now_names)
        if of_other_release:
            self.is_new &= ~_only_follows(new, self.is_new)
            gone &= ~_only_follows(old, gone)
        self.is_fixed = np.zeros(len(was), dtype=bool)
        self.not_rechecked: dict[str, int] = {}
        if gone.any():
            findings = old.findings.filter(pa.array(gone))
            names = new.names_of_objects
            owners = FindingObjects(findings, old.plurals(findings), old.names_of(findings), names, new.objects)
            reasons = reasons_of(owners, before, now, new.folder)
            reasons[(reasons == 0) & _unchecked(old, new)[gone]] = REASONS.index("not evaluated")
            self.is_fixed[gone] = reasons == 0
            counts = np.bincount(reasons, minlength=len(REASONS))
            self.not_rechecked = {
                reason: int(counts[code]) for code, reason in enumerate(REASONS) if code and counts[code]
            }
        clusters = new.clusters(new.objects)
        self.objects = WorseObjects(
            *side_by_side(ReportSide.objects_compared, (old, new)),
            unknown=gaps.of(clusters, "absent"),
            unread=gaps.of(clusters, "partial"),
            older=gaps.of(clusters, "older"),
        )
        self.worse = self.objects.counts
        sealed = pc.is_in(new.sealed(), value_set=old.sealed())
        self.newly_sealed = len(sealed) - (pc.sum(sealed).as_py() or 0)

    def _uncompared(self, gaps: Gaps) -> Numbers:
        """Return which findings of the new report the old one could not have, as it did not read their objects."""
        findings = self.new.findings
        clusters = self.new.clusters(findings)
        out = gaps.of(clusters, "absent") | gaps.of(clusters, "older")
        is_partial = gaps.of(clusters, "partial")
        has_sealed = pc.any(pc.equal(self.old.objects["status"], Status.SEALED)).as_py()
        asked = np.flatnonzero(self.is_new & ~out & (is_partial | bool(has_sealed)))
        if len(asked):
            some = findings.take(pa.array(asked))
            names = self.new.names_of(some), self.old.names_of_objects
            owners = FindingObjects(some, self.new.plurals(some), *names, self.old.objects)
            out[asked] = np.where(owners.found, owners.of_object("status") == Status.SEALED, is_partial[asked])
        return out

    def fresh(self) -> Selected:
        """Return the findings that are new."""
        return self.new.selected(self.is_new)

    def fixed(self) -> Selected:
        """Return the findings that are fixed, as in the old report."""
        return self.old.selected(self.is_fixed)

    def reaches(self, fail_on: str) -> bool:
        """Return whether what is new, or was never read before, reaches a level of --fail-on."""
        fresh = self.new.findings.filter(pa.array(self.counts))
        blocking = pc.fill_null(pc.equal(fresh["verdict"], Impact.BLOCKS_EVERY_UPDATE), False)
        judged = pc.and_(pc.equal(fresh["request"], "create"), pc.not_equal(fresh["check"], "gate"))
        judged = pc.and_(judged, pc.fill_null(pc.not_equal(fresh["group"], "apiextensions.k8s.io"), True))
        reached = {
            "unreadable": "unreadable" in self.objects.reached,
            "blocked": "blocked" in self.objects.reached or bool(pc.any(blocking).as_py()),
            "data-loss": "data-loss" in self.objects.reached,
            "invalid": bool(pc.any(judged).as_py()),
        }
        levels = FAIL_ON[1 : FAIL_ON.index(fail_on) + 1] if fail_on in FAIL_ON else ()
        return any(reached[level] for level in levels)

    def section(self) -> dict[str, Any]:
        """Return the section for the manifest."""
        masks = (self.is_new, ~self.is_new & ~self.is_uncompared)
        fresh, same = (self.new.findings.filter(pa.array(mask)) for mask in masks)
        fixed = self.old.findings.filter(pa.array(self.is_fixed))
        kinds: dict[tuple[str, str], dict[str, int]] = {}
        for change, rows in (("new", fresh), ("same", same), ("fixed", fixed)):
            groups = rows.select(["group", "kind"]).group_by(["group", "kind"], use_threads=False)
            for row in groups.aggregate([([], "count_all")]).to_pylist():
                kind = kinds.setdefault((row["group"] or "", row["kind"] or ""), {"new": 0, "same": 0, "fixed": 0})
                kind[change] += row["count_all"]
        return {
            "findings": {"new": fresh.num_rows, "same": same.num_rows, "fixed": fixed.num_rows},
            "distinct": {"new": _distinct(fresh), "same": _distinct(same), "fixed": _distinct(fixed)},
            "uncompared": int(self.is_uncompared.sum()),
            "not_judged": sum(self.not_rechecked.values()),
            "not_rechecked": self.not_rechecked,
            "worse": self.worse,
            "better": self.objects.relieved,
            "kinds": [{"group": group, "kind": kind, **counts} for (group, kind), counts in sorted(kinds.items())],
            "first_new": _named(self.fresh()),
            "first_fixed": _named(self.fixed()),
            "first_worse": _changed_objects(self.objects.worse()),
            "first_better": _changed_objects(self.objects.better()),
        }

    def fresh_parts(self) -> list[str]:
        """Return the names of the parts of the new report whose causes differ from those of a report of tonight alone.

        In them a finding is new, or an object with an impact of its own is new or worse.
        """
        fresh = self.new.objects.filter(pa.array(self.objects.is_fresh))
        rows = np.flatnonzero(self.objects.is_fresh)[
            has_own_impact({name: Coded(fresh[name]) for name in ("status", "impact")})
        ]
        side = self.new
        names = {*_parts_of(rows, side.object_paths, side.object_counts)}
        return sorted(names.union(_parts_of(np.flatnonzero(self.is_new), side.paths, side.counts)))

    def write(self, crds_sha256: str) -> None:
        """Mark the findings of the new report, and write the fixed ones into its folder fixed/."""
        meta = {"tool": auditor.__version__, "release": active().version, "crds": crds_sha256}
        schema = tables.with_metadata(tables.COMPARED, **meta)
        change = np.where(self.is_new, "new", SAME).astype(object)
        change[self.is_uncompared] = None
        _mark_parts(self.new.paths, self.new.counts, change, tables.FINDINGS, schema)
        self._write_objects(meta)
        fixed = (_marked(group, np.full(group.num_rows, "fixed"), schema) for group in self.fixed().groups())
        write_row_groups(fixed, schema, self.new.folder / "fixed" / "part-00000.parquet")

    def _write_objects(self, meta: dict[str, str]) -> None:
        """Mark the objects of the new report."""
        schema = tables.with_metadata(tables.COMPARED_OBJECTS, **meta)
        _mark_parts(self.new.object_paths, self.new.object_counts, self.objects.change, tables.OBJECTS, schema)


def _parts_of(rows: Numbers, paths: Sequence[Path], counts: Sequence[int]) -> Iterator[str]:
    """Yield the names of the parts in which some rows of a table are."""
    parts = np.unique(np.searchsorted(np.cumsum(counts), rows, side="right"))
    return (paths[part].name for part in parts.tolist())


def _is_of_other_release(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Return whether findings of two reports may be of two releases; those of a fleet may be of several."""
    was, is_now = (manifest.get("kubernetes_release") or "" for manifest in (before, now))
    return was != is_now or "," in was


def _unchecked(old: ReportSide, new: ReportSide) -> Numbers:
    """Return for each finding of the old report whether it is of a rule which the new one did not check.

    A server leaves the rules of an object out because of other findings: what they found before may still be there.
    """
    is_broken, _ = old.of_rules()
    _, is_skipped = new.of_rules()
    skipped = in_one_piece(new.requests()).filter(pa.array(is_skipped))
    mask: Numbers = is_broken & np.asarray(pc.is_in(in_one_piece(old.requests()), value_set=skipped))
    return mask


def _only_follows(side: ReportSide, mask: Numbers) -> Numbers:
    """Return which findings of a mask say that rules were not checked, without another of their request in the mask."""
    _, is_skipped = side.of_rules()
    requests = in_one_piece(side.requests())
    others = requests.filter(pa.array(mask & ~is_skipped))
    mask_: Numbers = mask & is_skipped & ~np.asarray(pc.is_in(requests, value_set=others))
    return mask_


def _mark_parts(
    paths: Sequence[Path], counts: Sequence[int], change: Numbers, schema: pa.Schema, marked: pa.Schema
) -> None:
    """Write the parts of a table anew, with the change of each row, unless they have it (`with_same`).

    Args:
        paths: The parts.
        counts: Rows of each.
        change: The change of each row of all parts.
        schema: The columns before.
        marked: The columns after.
    """

    def write(path: Path, stop: int, count: int) -> None:
        is_same = count > 0 and (change[stop - count : stop] == SAME).all()
        if is_same and has_one_text(path, "change", SAME, parquet_footer(path)):
            return
        rows = plain(_read(path, schema))
        write_parquet(_marked(rows, change[stop - count : stop], marked) if count else marked.empty_table(), path)

    for _ in side_by_side(write, paths, accumulate(counts), counts):
        pass


def _marked(rows: pa.Table, change: Numbers, schema: pa.Schema) -> pa.Table:
    rows = rows.append_column("change", pa.array(change.tolist(), pa.string()))
    return pa.table([_in_type(rows[field.name].combine_chunks(), field.type) for field in schema], schema=schema)


def _in_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a column in the type of its field; dictionaries have the values that occur, in order of appearance."""
    if not pa.types.is_dictionary(kind):
        return cast(column, kind) if pa.types.is_dictionary(column.type) else column
    if not pa.types.is_dictionary(column.type):
        return cast(dictionary_encoded(column), kind)
    appearing = dictionary_encoded(column.indices)
    return pa.DictionaryArray.from_arrays(appearing.indices, take(column.dictionary, appearing.dictionary))


def _distinct(rows: pa.Table) -> int:
    """Return the number of findings, counting one that several requests have only once."""
    names = ["cluster", "key", *OBJECT, *(name for name in FINDING if name != "request")]
    return int(rows.select(names).group_by(names, use_threads=False).aggregate([]).num_rows)


def _changed_objects(rows: pa.Table) -> list[dict[str, Any]]:
    out = []
    for row in rows.slice(0, _NAMED).to_pylist():
        name = row["key"] or "/".join(filter(None, (row["kind"], row["namespace"], row["name"])))
        shown = f"{row['cluster']}: {name}" if row["cluster"] else name
        impacts = [impact for impact in row["impacts"] or () if impact not in (Impact.NONE, Impact.DRIFTS)]
        key = row["key"] or f"{row['namespace'] or ''}/{row['name'] or ''}"  # of an export
        out.append(
            {"object": shown, "cluster": row["cluster"], "key": key, "level": row["level"], "impacts": impacts,
             "message": row["reason"]}
        )  # fmt: skip
    return out


def _named(rows: Selected) -> list[dict[str, str]]:
    out = []
    for row in islice(rows.rows(), _NAMED):
        name = row["key"] or "/".join(filter(None, (row["kind"], row["namespace"], row["name"])))
        out.append({"object": f"{row['cluster']}: {name}" if row["cluster"] else name, "message": row["message"]})
    return out


def _paired(old: Any, new: Any) -> tuple[Numbers, Numbers]:
    """Return numbers for the texts of two columns: the nth occurrence of a text has the same number in both."""
    codes = pc.dictionary_encode(pa.chunked_array([old, new], pa.string()).combine_chunks())
    numbers = codes.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    split = len(old)
    pairs = [_counted(numbers[:split]), _counted(numbers[split:])]
    most = 1 + max((int(nth.max()) for nth in pairs if len(nth)), default=0)
    return numbers[:split] * most + pairs[0], numbers[split:] * most + pairs[1]


def _counted(numbers: Numbers) -> Numbers:
    """Return for each number how many equal numbers are before it."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if len(ordered) else ordered
    lengths = np.diff(np.append(first, len(ordered)))
    out = np.empty(len(numbers), dtype=np.int64)
    out[order] = np.arange(len(ordered)) - np.repeat(first, lengths)
    return out


def difference(
    folder: Path, manifest: dict[str, Any], report: str, option: str = "--diff", shown: str = ""
) -> tuple[Difference, Any]:
    """Compare a report with an earlier one.

    Args:
        folder: The report.
        manifest: Its manifest.
        report: The earlier one.
        option: The option or argument that names the earlier report, for errors.
        shown: Its name in messages, if `report` is a copy.

    Returns:
        (the difference, its section for the manifest)

    Raises:
        PlanError: The earlier folder is not a report, or one of the reports is incomplete.
    """
    shown = shown_url(shown or report)
    before = read_manifest(report, option, shown)
    shown = before.get("shown", shown)
    stale = stale_dumps(manifest, before, (Path(report), folder))
    compared_as = {**manifest, "diff": {"stale": stale}}
    by_cluster = "clusters" in before or "clusters" in manifest or _other_cluster(before, manifest)
    check_earlier(Path(report), before, option)
    old, new = side_by_side(partial(ReportSide, by_cluster=by_cluster), (Path(report), folder))
    check_rows(folder, manifest, new.rows(), "REPORT")
    answer = Difference(old, new, before, compared_as)
    compared_with = compared_clusters(before, manifest, shown, by_cluster=by_cluster)
    notes = cluster_notes(compared_with, before, shown)
    notes += [
        f"{shown} was made with other options: {name} was {_shown(before['options'].get(name))} and is "
        f"{_shown(manifest['options'].get(name))}"
        for name in _OPTIONS
        if before["options"].get(name) != manifest["options"].get(name)
    ]
    notes += [
        f"{shown} was made with another CRDValidationRatcheting{f' for the cluster {name}' if name else ''}: findings "
        "of updates that are gone are not counted as fixed"
        for name in sorted(with_other_option(before, manifest, "ratcheting"))
    ]
    if uncompared := int(answer.is_uncompared.sum()):
        text = f"{counted(uncompared, 'finding')} {are(uncompared)} neither new nor known"
        notes.append(f"{text}: what would tell was not read, or is of a newer dump")
    release, own = (side.get("kubernetes_release") or "" for side in (before, manifest))
    if release != own:
        notes.append(
            f"{shown} was made as Kubernetes {release}, this report as {own}: a finding in other words is the same, "
            "one that only one of them makes is new or fixed"
        )
    section = {
        "report": shown,
        "started": before["started"],
        "clusters": compared_with,
        "kubernetes_release": release,
        **answer.section(),
    }
    return answer, {**section, "notes": notes, "stale": stale}


def write_difference(options: AuditOptions, folder: Path, manifest: dict[str, Any]) -> tuple[int, list[str]]:
    """Compare a new report with the one of --diff; write the result into its tables and manifest.

    Returns:
        (the exit code of the run, as `Difference.fresh_parts`)

    Raises:
        PlanError: The earlier folder is not a report.
    """
    with whole_report(options.diff):
        answer, section = difference(folder, manifest, options.diff)
    answer.write(manifest["definitions"]["sha256"])
    manifest["diff"] = section
    if options.only_new and manifest["exit_code"] not in (2, 3):
        is_sealed = options.fail_on_sealed and answer.newly_sealed > 0
        manifest["exit_code"] = int(is_sealed or answer.reaches(options.fail_on))
    (folder / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
    return int(manifest["exit_code"]), answer.fresh_parts()


def run_diff(old: str, new: str, write: Callable[[str], None], *, output: str, fail_on: str) -> int:
    """Compare two reports.

    Args:
        old: The older one.
        new: The newer one.
        write: Called with the output, part by part.
        output: table for a summary, or another form of rows: the new findings, then those that are fixed.
        fail_on: A level of --fail-on.

    Returns:
        The exit code: 1 if what is new reaches the level, 3 if a cluster of the older report is missing, or part of a
        dump of one of the reports was not read.

    Raises:
        PlanError: One is not a report of an audit.
    """
    with reports_here(old, new) as (before, after), whole_report(f"{old}, {new}"):
        manifest = read_manifest(after, "REPORT", new)
        check_earlier(Path(after), manifest, "REPORT")
        answer, section = difference(Path(after), manifest, before, "--against", old)
        earlier = read_manifest(before, "--against", old)
        missing = missing_clusters(manifest, [earlier])
        is_whole = not (missing or unread_clusters(manifest) or unread_clusters(earlier))
        code = int(answer.reaches(fail_on)) if is_whole else _INCOMPLETE
        if output != "table":
            for part in print_rows(_rows(answer), _COLUMNS, output, wide=("cluster", "key", "check", "field")):
                write(part)
            return code
    shown = visible_tree({"diff": section, "missing": missing})
    with whole_report(f"{old}, {new}"):
        damage = [
            line
            for report_manifest in (earlier, manifest)
            for source in report_manifest["inputs"]
            for line in damage_lines(source)
        ]
        lost = [f"LOST  {visible(text)}" for report_manifest in (earlier, manifest) for text in report_manifest["lost"]]
    absent = [*missing_lines(shown), *stale_lines(shown["diff"]["stale"]), *dict.fromkeys(damage), *lost]
    text = "\n\n".join([*(["\n".join(absent)] if absent else []), *compared(shown, visible(new))])
    if text:
        write(f"{text}\n")
    return code


def _rows(found: Difference) -> Iterator[dict[str, Any]]:
    """Yield new and fixed findings, then objects that are worse or better."""
    for change, findings in (("new", found.fresh()), ("fixed", found.fixed())):
        for row in findings.rows():
            yield {**row, "change": change}
    for objects in (found.objects.worse(), found.objects.better()):
        for batch in objects.to_batches(max_chunksize=1000):
            yield from batch.to_pylist()


def _other_cluster(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Return whether two reports of one cluster name different clusters."""
    names = [manifest["options"].get("cluster") for manifest in (before, now)]
    return all(names) and names[0] != names[1]


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(item)}" for name, item in value.items() if item) or "everything"
    return ", ".join(value) or "nothing" if isinstance(value, list) else str(value)
