"""causes.parquet: one row for each cause and cluster of a report."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow

import auditor
from auditor.base import tables
from auditor.base.arrow import dictionary_encoded, plain_type, read_parquet, whole_parquet
from auditor.causes.keys import CauseKey, ids_of, renewed_form
from auditor.causes.titles import title_of
from auditor.releases import active
from auditor.shards.table_rows import write_parquet

if TYPE_CHECKING:
    from collections.abc import Iterable


pa: Any = pyarrow

CAUSES_FILE: Final = "causes.parquet"

_TIME: Final = pa.timestamp("us", tz="UTC")

CAUSES: Final = pa.schema(
    [
        ("cluster", tables.DICTIONARY),
        ("cause", pa.string()),
        ("digest", pa.string()),
        ("severity", tables.DICTIONARY),
        ("change", tables.DICTIONARY),
        ("topic", tables.DICTIONARY),
        ("title", pa.string()),
        ("group", tables.DICTIONARY),
        ("kind", tables.DICTIONARY),
        ("version", tables.DICTIONARY),
        ("impact", tables.DICTIONARY),
        ("check", tables.DICTIONARY),
        ("type", tables.DICTIONARY),
        ("field", pa.string()),
        ("rule", pa.string()),
        ("form", pa.string()),
        ("guard_path", pa.string()),
        ("objects", pa.int64()),
        ("topic_objects", pa.int64()),
        ("namespaces", pa.int64()),
        ("findings", pa.int64()),
        ("distinct_findings", pa.int64()),
        ("new_objects", pa.int64()),
        ("new_findings", pa.int64()),
        ("fixed_objects", pa.int64()),
        ("fixed_findings", pa.int64()),
        ("accepted_objects", pa.int64()),
        ("accepted_findings", pa.int64()),
        ("rejected", pa.int64()),
        ("tolerated_while_unchanged", pa.int64()),
        ("tolerated_globally", pa.int64()),
        ("verdict_unknown", pa.int64()),
        ("first_seen", _TIME),
        ("last_seen", _TIME),
        ("owners", tables.STRINGS),
        ("schema_changes", tables.STRINGS),
        ("examples", tables.STRINGS),
        ("messages", tables.STRINGS),
        ("last_good", tables.STRINGS),
    ]
)
"""causes.parquet, worst and new causes first."""


def write_rows(rows: Iterable[dict[str, Any]], report: Path, *, crds: str) -> None:
    """Write causes.parquet of a report.

    Args:
        rows: Values by column name.
        report: Folder of the report.
        crds: Digest of the definitions, for the metadata of the file.
    """
    content = list(rows)
    arrays = [_array([row[field.name] for row in content], field.type) for field in CAUSES]
    schema = tables.with_metadata(CAUSES, tool=auditor.__version__, release=active().version, crds=crds)
    write_parquet(pa.Table.from_arrays(arrays, schema=schema), report / CAUSES_FILE)


def read_rows(report: Path) -> list[dict[str, Any]] | None:
    """Return the rows of causes.parquet of a report; None if it has none, or an older one with other columns.

    Raises:
        DamagedDump: The file is not one that an audit writes.
    """
    path = Path(report) / CAUSES_FILE
    if not path.is_file():
        return None
    table = read_parquet(path)
    if table.column_names != CAUSES.names:
        return None
    with whole_parquet(path):
        rows: list[dict[str, Any]] = table.cast(
            pa.schema([(field.name, plain_type(field.type)) for field in CAUSES])
        ).to_pylist()
    return _renewed(rows)


def _renewed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of a report with the ids that causes have now.

    An earlier auditor left fewer values out, and had another id for the words of another release.
    """
    changed = {}
    names = [field.name for field in fields(CauseKey)]
    for number, row in enumerate(rows):
        form = renewed_form(row["form"] or "")
        key = CauseKey(**{name: row[name] or "" for name in names} | {"form": form})
        if form != (row["form"] or "") or key.meaning() is not key:
            title = title_of(key, next(iter(row["messages"] or ()), ""))
            changed[number] = {**row, "form": form or None, "digest": key.digest(), "title": title}
    if not changed:
        return rows
    rows_out = [changed.get(number, row) for number, row in enumerate(rows)]
    ids = ids_of([row["digest"] for row in rows_out])
    return [{**row, "cause": ids[row["digest"]]} for row in rows_out]


def _array(values: list[Any], kind: Any) -> Any:
    if pa.types.is_dictionary(kind):
        return dictionary_encoded(pa.array(values, pa.string()))
    return pa.array(values, kind)
