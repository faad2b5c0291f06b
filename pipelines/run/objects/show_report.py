"""What a report has of a key or name: its rows, findings and changes, and the first object of a cause."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.causes.follows import with_notes
from auditor.output.views.marks import Marks
from auditor.store.manifest import manifest_bytes, parse_manifest, whole_report
from auditor.store.selected_rows import is_one_of, rows_where

if TYPE_CHECKING:
    import pyarrow as pa

    from pipelines.run.objects.query_options import QueryOptions


_CAUSE: Final = re.compile("[0-9a-f]{8,64}")
_COLUMNS: Final = ("audited_version", "request", "check", "type", "field", "message")
_SAME: Final = ("audited_version", "check", "type", "field", "rule", "bad_value", "message")
"""Columns that are equal if several requests report the same finding."""
_MARKS: Final = ("cause", "severity", "accepted", "owner")
_IF_KNOWN: Final = ("verdict", "guard_path", "rule", "last_manager", "change")


class Place(NamedTuple):
    """Where rows of a report are: an etcd key or [NAMESPACE/]NAME (/NAME means no namespace), and what they are of.

    Attributes:
        clusters: Only of these clusters; empty for all.
        kind: Only of this group and kind; empty for all.
    """

    key: str
    clusters: tuple[str, ...] = ()
    kind: tuple[str, str] | tuple[()] = ()


def of_cause(options: QueryOptions, cause: str) -> tuple[QueryOptions, str] | None:
    """Return options and key of the first example of a cause, given its id; None if the report has no such cause."""
    from auditor.causes.model import FindingsModel  # noqa: PLC0415 - only when asked

    if not _CAUSE.fullmatch(cause):
        return None
    causes = [
        candidate
        for candidate in FindingsModel.open(options.target).causes
        if candidate.digest.startswith(cause) and candidate.examples
    ]
    if len(causes) != 1:
        return None
    clusters = (causes[0].example_clusters[0],) if causes[0].clusters else options.clusters
    return replace(options, clusters=clusters), causes[0].examples[0]


def of_report(target: str, where: Place) -> dict[str, Any]:
    """Return the rows and findings that a report has of a key or name; empty if it has none."""
    report = Path(target)
    with whole_report(target):
        objects: list[dict[str, Any]] = []
        marks = Marks(report, parse_manifest(manifest_bytes(report)) or {"options": {}})
        for part in sorted((report / "objects").glob("*.parquet")):
            for table in _tables(part, where):
                for row, causes in zip(table.to_pylist(), marks.objects(table), strict=True):
                    objects.append({k: v for k, v in (row | {"causes": causes}).items() if v not in (None, [], ())})
        if not objects:
            return {}
        places = [place for place in ("cluster", "namespace") if len({obj.get(place) for obj in objects}) > 1]
        findings = _findings(report / "findings", where, places, marks)
        judged: dict[str, Any] = {"objects": objects, "findings": findings}
        if fixed := _findings(report / "fixed", where, places, marks):  # of `auditor audit --diff`
            judged["fixed"] = fixed
        if (report / "changes").exists():  # of `auditor upgrade`
            judged["changes"] = _changes(report, where)
    return judged


def _findings(folder: Path, where: Place, places: list[str], marks: Marks) -> list[dict[str, Any]]:
    """Return the findings of a key in a table of a report, each once; `requests` lists those that report it too.

    Args:
        folder: The table.
        where: The rows.
        places: Columns that identify the object of a finding, if several objects have the key.
        marks: Returns cause, severity and owner of each.
    """
    of_key: dict[tuple[Any, ...], dict[str, Any]] = {}
    for part in sorted(folder.glob("*.parquet")):
        tables = _tables(part, where)
        rows = (
            row | mark for t in tables for row, mark in zip(t.to_pylist(), marks.findings(t, part.name), strict=True)
        )
        for row in rows:
            whose = (row["cluster"], row["key"], row["namespace"], row["name"])
            same = (*whose, *(row[name] for name in _SAME))
            if same in of_key:  # the same finding of another request
                requests = of_key[same].setdefault("requests", [of_key[same]["request"]])
                requests += [row["request"]] if row["request"] not in requests else []
                continue
            row_of_key = {name: row[name] for name in (*_MARKS, *places, *_COLUMNS) if name in row}
            row_of_key |= {name: row[name] for name in _IF_KNOWN if row.get(name) is not None}
            if row["last_write"] is not None:
                row_of_key["last_write"] = row["last_write"].strftime("%Y-%m-%dT%H:%M:%SZ")
            of_key[same] = row_of_key
    of_objects: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for same, row_of_key in of_key.items():
        of_objects.setdefault(same[:4], []).append(row_of_key)
    return [note for findings in of_objects.values() for note in with_notes(findings)]


def _tables(part: Path, where: Place) -> list[pa.Table]:
    """Return the rows of a part at a place."""
    namespace, slash, name = where.key.rpartition("/")
    group_and_kind = dict(zip(("group", "kind"), where.kind, strict=False))

    def wanted(rows: pa.Table) -> Any:
        mask = is_one_of(rows["key"], where.key)
        if "/" not in namespace:
            places = (namespace,) if namespace else (None, "")
            mask |= is_one_of(rows["name"], name) & (is_one_of(rows["namespace"], *places) if slash else True)
        for column, value in group_and_kind.items():
            mask &= is_one_of(rows[column], value)
        return mask & is_one_of(rows["cluster"], *where.clusters) if where.clusters else mask

    compared = ["key", "namespace", "name", *group_and_kind, *(["cluster"] if where.clusters else [])]
    return list(rows_where(part, wanted, compared))


def _changes(report: Path, where: Place) -> list[dict[str, Any]]:
    """Return the changes that an upgrade makes to a key; old and new are JSON text."""
    return [
        {k: row[k] for k in ("audited_version", "change", "path", "old", "new") if row[k] is not None}
        for part in sorted((report / "changes").glob("*.parquet"))
        for table in _tables(part, where)
        for row in table.to_pylist()
    ]
