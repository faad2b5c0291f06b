"""The end of an audit: its causes, compared with those of an earlier report, what is accepted, and the exit code.

Groups the findings and the impacts of a report into causes.
"""

from __future__ import annotations

import datetime
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.base.progress import tell
from auditor.base.statuses import Impact
from auditor.causes.accepting import Acceptance, read_accepted
from auditor.causes.counting import Counting
from auditor.causes.exit_code import code_of_causes
from auditor.causes.field_patterns import Definitions
from auditor.causes.keys import ids_of, topic_of
from auditor.causes.owners import ReportOwners, read_owner_rules
from auditor.causes.parts import (
    COUNTS,
    count_part,
    overrides_of,
    part_files,
    parts_to_count,
    read_part,
    tables_to_count,
    written_counts,
)
from auditor.causes.row_causes import (
    FINDING_COLUMNS,
    OF_NAMESPACES,
    CauseNumbers,
    FindingRows,
    namespaces_of,
    shows_namespaces,
)
from auditor.causes.severity import rank
from auditor.causes.table import read_rows, write_rows
from auditor.causes.titles import title_of
from auditor.causes.upgrade_causes import upgrade_counts
from auditor.compare.compared_clusters import unmatched_clusters, whole_clusters
from auditor.store.manifest import whole_report

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from auditor.causes.counting import CauseCount, PartCounts
    from auditor.causes.keys import CauseKey
    from auditor.plan.options import AuditOptions


CHANGES: Final = ("new", "more", "same", "fixed", "not-rechecked")
"""Change of a cause: new; known, with new objects; known; gone; gone, but not everything was checked again."""
_OWNERS: Final = 5
_KINDS: Final = 5
"""Kinds in a namespace that are named."""


def rules_of_workers(options: AuditOptions) -> dict[str, Any] | None:
    """Return the rules by which workers count the causes of the shards that they write.

    Returns None if only the whole report shows what is counted: with options that accept or redact findings.

    Raises:
        PlanError: The file of owners cannot be used.
    """
    return None if options.accept or options.redact else rules_of(options)


def causes_by_workers(
    report: Path, manifest: dict[str, Any], rules: dict[str, Any], anew: Mapping[str, PartCounts] | None = None
) -> list[dict[str, Any]]:
    """Return what `count_causes` returns for a report whose workers counted; the counts of its parts are removed.

    Args:
        report: Folder of the report, whose other tables are complete.
        manifest: Its manifest.
        rules: As `rules_of_workers` returned them.
        anew: As `written_counts` takes it.
    """
    counted = written_counts(report, anew or {})
    rows = count_causes(report, manifest | {"options": manifest["options"] | rules}, None, counted)
    shutil.rmtree(report / COUNTS, ignore_errors=True)
    return rows


def note_causes(
    options: AuditOptions, report: Path, manifest: dict[str, Any], counted: list[dict[str, Any]] | None = None
) -> int:
    """Write the causes of a report, and note in its manifest what is accepted and the exit code, which it returns.

    Args:
        options: The options of the run.
        report: Folder of the report, whose other tables are complete.
        manifest: Its manifest; it is written later.
        counted: What `count_causes` returned, for all clusters together; None reads the tables.

    Raises:
        PlanError: The file of accepted findings, or that of owners, cannot be used.
    """
    accepted = None
    manifest["options"] |= rules_of(options)
    if options.accept:
        today = datetime.datetime.fromisoformat(manifest["started"]).date()
        accepted = Acceptance(read_accepted(options.accept), today)
    rows = write_causes(report, manifest, Path(options.diff) if options.diff else None, accepted, counted)
    if accepted is not None:
        manifest["accepted"] = accepted.section(options.accept)
    manifest["exit_code"], manifest["exit_reasons"] = code_of_causes(options, manifest, rows)
    return int(manifest["exit_code"])


def rules_of(options: AuditOptions) -> dict[str, Any]:
    """Return the rules of severities and owners, as the options of a manifest have them."""
    rules: dict[str, Any] = {"severity": list(options.severity)}
    if options.owners:
        rules["owners"] = [rule.data() for rule in read_owner_rules(options.owners)]
    return rules


def write_causes(
    report: Path,
    manifest: dict[str, Any],
    earlier: Path | None = None,
    accepted: Acceptance | None = None,
    counted: list[dict[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """Write causes.parquet of a report, and return its rows.

    Args:
        report: Folder of the report, whose other tables are complete.
        manifest: Its manifest.
        earlier: Folder of the report that it is compared with.
        accepted: The findings that are accepted.
        counted: As for `build_causes`.
    """
    known = causes_of(earlier) if earlier is not None else None
    rows = build_causes(report, manifest, known, accepted, counted)
    if earlier is not None:
        _note_new_namespaces(rows, earlier)
        _note_schema_changes(rows, report, manifest, earlier)
    write_rows(rows, report, crds=manifest["definitions"]["sha256"])
    return rows


def causes_of(report: Path) -> list[dict[str, Any]]:
    """Return the causes of a stored report; those of a report without causes.parquet are made of its tables.

    Times that causes.parquet leaves open, as they are those of its run, are set.
    """
    from auditor.store.earlier_report import read_manifest  # noqa: PLC0415

    manifest = read_manifest(str(report), "--diff")
    with whole_report(str(report)):
        rows = read_rows(report)
        rows = build_causes(report, manifest) if rows is None else rows
        started = datetime.datetime.fromisoformat(manifest["started"])
    return [
        {**row, "first_seen": row["first_seen"] or started, "last_seen": row["last_seen"] or started} for row in rows
    ]


def build_causes(
    report: Path,
    manifest: dict[str, Any],
    earlier: list[dict[str, Any]] | None = None,
    accepted: Acceptance | None = None,
    counted: list[dict[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of causes.parquet, worst and new ones first.

    Args:
        report: Folder of the report.
        manifest: Its manifest.
        earlier: Rows of the report that it is compared with; None means it is compared with none.
        accepted: The findings that are accepted; None means those that the manifest names.
        counted: What `count_causes` returned for each cluster of the report; None reads the tables.
    """
    rows = count_causes(report, manifest, accepted) if counted is None else counted
    _note_last_good(rows, manifest)
    _note_namespaces(rows, manifest)
    compare(rows, earlier, manifest)
    ids = ids_of([row["digest"] for row in rows])
    for row in rows:
        row["cause"] = ids[row["digest"]]
    rows.sort(key=order_of)
    return rows


def count_causes(
    report: Path,
    manifest: dict[str, Any],
    accepted: Acceptance | None = None,
    counted: Iterable[PartCounts] | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of causes.parquet as far as the tables of the report alone decide them, in no order.

    Args:
        report: Folder of the report.
        manifest: Its manifest.
        accepted: As for `build_causes`.
        counted: The counts of all parts in their order, apart from objects in `namespaces` of the manifest; None
            counts them here.
    """
    accepted = accepted or Acceptance.of_manifest(manifest)
    causes = CauseNumbers(
        Definitions(report, manifest), namespaces_of(manifest), are_namespaces_left=counted is not None
    )
    counting, owners = Counting(overrides_of(manifest)), ReportOwners(report, manifest)
    for part in counted or ():
        counting.add_part(part, causes, owners)
    tables: tuple[str, ...] = tables_to_count(manifest) if counted is None else ("objects",)
    names = parts_to_count(report, tables) if counted is None or causes.namespaces else []
    for done, name in enumerate(names):
        tell("writing", done, len(names), "parts")
        count_part(report, name, tables, owners, causes, counting, accepted)
    for path in part_files(report / "fixed"):
        table = read_part(path, FINDING_COLUMNS)
        counting.add_fixed(FindingRows.of(table, causes))
    rows = [_row(cluster, causes.keys[number], count) for (cluster, number), count in counting.counts.items()]
    of_impacts: Counter[tuple[str, int]] = Counter()
    for (cluster, number), row in zip(counting.counts, rows, strict=True):
        if row["impact"]:
            of_impacts[cluster, causes.topics[number]] += row["objects"] - row["accepted_objects"]
    for (cluster, number), row in zip(counting.counts, rows, strict=True):
        counted_of = of_impacts if row["impact"] else counting.topics
        row["topic_objects"] = counted_of[cluster, causes.topics[number]]
    for key, topic, title, count in upgrade_counts(manifest):
        row = _row(manifest["options"].get("cluster") or "", key, count)
        rows.append({**row, "topic": topic, "title": title, "topic_objects": count.objects, "namespaces": None})
    return rows


def _note_last_good(rows: list[dict[str, Any]], manifest: dict[str, Any]) -> None:
    """Set the last good revision of the examples for which the manifest has it."""
    known = {}
    for first in filter(None, (kind["breaking"] for kind in manifest["kinds"])):
        if good := first.get("last_good"):
            cluster = first.get("cluster") or manifest["options"].get("cluster") or ""
            known[cluster, first["key"]] = f"{good['revision']}" + (f" ({good['written']})" if good["written"] else "")
    for row in rows:
        if row["impact"] in ("crashes-server", "breaks-list", "breaks-watch"):
            row["last_good"] = [known.get((row["cluster"] or "", key), "") for key in row["examples"]]


def _note_namespaces(rows: list[dict[str, Any]], manifest: dict[str, Any]) -> None:
    """Set the messages of the examples in missing and deleted namespaces: what is in these, and what a server does."""
    known = {(entry["cluster"], entry["name"]): entry for entry in manifest.get("namespaces") or ()}
    for row in rows:
        if row["impact"] in OF_NAMESPACES.values() and (entry := known.get((row["cluster"], row["form"]))):
            kinds = sorted(entry["objects"].items(), key=lambda kind: (-kind[1], kind[0]))
            inside = ", ".join(f"{count:,} {kind}" for kind, count in kinds[:_KINDS])
            inside += f" and {len(kinds) - _KINDS} more kinds" if len(kinds) > _KINDS else ""
            then = "a server lists them, and refuses to create any (404)"
            if entry["is"] == "deleted":
                then = f"being deleted since {entry['since']}: its controller deletes them, creates are refused (403)"
            row["messages"] = [f"in {entry['name']}: {inside}; {then}"] * len(row["examples"])


def _note_new_namespaces(rows: list[dict[str, Any]], earlier: Path) -> None:
    """Count the objects of namespaces that are missing or deleted since an earlier report as new, if it shows that."""
    from auditor.store.earlier_report import read_manifest  # noqa: PLC0415

    fresh = [row for row in rows if row["change"] == "new" and row["impact"] in OF_NAMESPACES.values()]
    before = read_manifest(str(earlier), "--diff") if fresh else {}
    for row in fresh:
        if shows_namespaces(before, row["cluster"]):
            row["new_objects"] = row["objects"]
        else:
            row["change"] = "same"
    rows.sort(key=order_of)


def _note_schema_changes(rows: list[dict[str, Any]], report: Path, manifest: dict[str, Any], earlier: Path) -> None:
    """Note for causes that are new, or have new objects, what changed in their definition."""
    from auditor.compare.schema_changes import changes_at  # noqa: PLC0415
    from auditor.store.earlier_report import read_manifest  # noqa: PLC0415

    before, now = Definitions(earlier, read_manifest(str(earlier), "--diff")), Definitions(report, manifest)
    lacking = unmatched_clusters(manifest)
    for row in rows:
        if row["change"] not in ("new", "more") or row["field"] is None:
            continue
        place = (row["cluster"] or "", row["group"] or "", row["kind"] or "")
        old, new = before.document(*place), now.document(*place)
        if new is None or (old is not None and old.get("spec") == new.get("spec")):
            continue
        if old is None and (place[0] in lacking or "" in lacking):
            continue  # nothing says that it is new
        was, is_now = (report.schema(*place, row["version"] or "") for report in (before, now))
        row["schema_changes"] = changes_at(was, is_now, row["field"], row["check"])


def _row(cluster: str, key: CauseKey, count: CauseCount) -> dict[str, Any]:
    return {
        "cluster": cluster or None,
        "cause": "",
        "digest": key.digest(),
        "severity": count.severity,
        "change": None,
        "topic": topic_of(key),
        "title": title_of(key, next((message for _, _, message in count.examples), "")),
        "group": key.group,
        "kind": key.kind,
        "version": key.version or None,
        "impact": key.impact or None,
        "check": key.check or None,
        "type": key.type or None,
        "field": key.field or None,
        "rule": key.rule or None,
        "form": key.form or None,
        "guard_path": count.guard_path,
        "objects": count.objects,
        "namespaces": len(count.namespaces - {""}),
        "findings": count.findings,
        "distinct_findings": count.distinct_findings,
        "new_objects": count.new_objects,
        "new_findings": count.new_findings,
        "fixed_objects": count.fixed_objects,
        "fixed_findings": count.fixed_findings,
        "accepted_objects": count.accepted_objects,
        "accepted_findings": count.accepted_findings,
        "rejected": count.verdicts["rejected"],
        "tolerated_while_unchanged": count.verdicts["tolerated_while_unchanged"],
        "tolerated_globally": count.verdicts["tolerated_globally"],
        "verdict_unknown": count.verdicts["verdict_unknown"],
        "first_seen": None,
        "last_seen": None,
        "owners": [name for name, _ in sorted(count.owners.items(), key=lambda one: (-one[1], one[0]))[:_OWNERS]],
        "schema_changes": [],
        "examples": [name for _, name, _ in count.examples],
        "messages": [message for _, _, message in count.examples],
        "last_good": ["" for _ in count.examples],
    }


def compare(rows: list[dict[str, Any]], earlier: list[dict[str, Any]] | None, manifest: dict[str, Any]) -> None:
    """Set `change`, `first_seen` and `last_seen` of causes, and add those that only the earlier report has.

    Args:
        rows: The causes of a report.
        earlier: Those of the report that it is compared with; None means it is compared with none.
        manifest: The manifest of the report.
    """
    if earlier is None:
        return
    by_cluster = "clusters" in manifest or len({row["cluster"] for row in earlier}) > 1

    def place(row: dict[str, Any]) -> tuple[str, str]:
        return (row["cluster"] or "" if by_cluster else "", row["digest"])

    def kind_of(row: dict[str, Any]) -> tuple[str, str, str]:
        return (place(row)[0], row["group"], row["kind"])

    own = manifest.get("kubernetes_release")
    of_other_release = (manifest.get("diff") or {}).get("kubernetes_release", own) != own
    known = {place(row): row for row in earlier if row["objects"]}
    lacking = unmatched_clusters(manifest)
    is_compared = not (manifest.get("diff") or {}).get("uncompared")
    present = set()
    for row in rows:
        before = known.get(place(row))
        if row["objects"]:
            present.add(place(row))
            has_new = row["new_objects"] > 0
            is_known = before is not None or (
                of_other_release and not has_new
            )  # then other words kept it from matching
            is_lacking = (row["cluster"] or "" if by_cluster else "") in lacking or not is_compared
            row["change"] = "more" if is_known and has_new else "same" if is_known else "new"
            if before is None and not has_new and is_lacking:
                row["change"] = None  # no report that could tell has read its objects
        else:
            row["change"] = "fixed"
        if before is not None:
            row["first_seen"] = before["first_seen"]
            if not row["objects"]:
                row["last_seen"] = before["last_seen"]
                present.add(place(row))
    gone = [row for where, row in known.items() if where not in present]
    whole = whole_clusters(manifest) if not manifest["options"]["scope"].get("include") else set()
    is_whole = not by_cluster and bool(whole) and not manifest.get("missing")
    unlisted = {kind_of(row) for row in rows if row["impact"] == Impact.BREAKS_LIST and row["new_objects"]}
    for row in gone:
        is_fixed = is_whole or (by_cluster and (row["cluster"] or "") in whole)
        is_fixed &= row["impact"] is not None and row["impact"] != "sealed"
        is_fixed &= row["impact"] == Impact.BREAKS_LIST or kind_of(row) not in unlisted  # unread: not judged
        is_fixed &= row["impact"] not in OF_NAMESPACES.values() or shows_namespaces(manifest, row["cluster"])
        rows.append(
            {
                **row,
                "change": "fixed" if is_fixed else "not-rechecked",
                "fixed_objects": row["objects"] if is_fixed else 0,
                "fixed_findings": row["findings"] if is_fixed else 0,
                **dict.fromkeys(_OF_TODAY, 0),
            }
        )


_OF_TODAY: Final = (
    *(
        "objects",
        "topic_objects",
        "namespaces",
        "findings",
        "distinct_findings",
        "new_objects",
        "new_findings",
        "accepted_objects",
    ),
    *("accepted_findings", "rejected", "tolerated_while_unchanged", "tolerated_globally", "verdict_unknown"),
)


def order_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return what causes are sorted by: those with objects, worst, new, most objects first."""
    change = row["change"]
    return (
        not row["objects"],
        rank(row["severity"]),
        CHANGES.index(change) if change in CHANGES else 0,
        -row["objects"],
        row["group"] or "",
        row["kind"] or "",
        row["digest"],
        row["cluster"] or "",
    )
