"""Parts are written column by column in the way that is cheapest, and read as what they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auditor.base import tables
from auditor.shards.table_rows import array_of, write_parquet

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = [("spec.color", "string"), ("spec.size", "integer"), ("spec.on", "boolean")]


def value(kind: pa.DataType, row: int) -> Any:
    """Return a value of a type; some values are alike and some are not."""
    if pa.types.is_list(kind):
        return [f"path.{row % 3}"] * (row % 2)
    if pa.types.is_map(kind):
        return {"app": f"a{row}", "tier": "web"} if row % 5 else {}
    if pa.types.is_timestamp(kind):
        return f"2026-01-{row % 28 + 1:02}T00:00:00Z"
    if pa.types.is_boolean(kind):
        return row % 2 == 0
    if pa.types.is_integer(kind):
        return row * 37 % 113 - 50
    return f"text-{row % 40}"


def table_of(schema: pa.Schema, rows: int, *, unknown: bool = False) -> pa.Table:
    """Return a table, all known or nothing."""
    columns = []
    for field in schema:
        empty: Any = {} if pa.types.is_map(field.type) else None
        values = tuple(empty if unknown else value(field.type, row) for row in range(rows))
        columns.append(array_of(values, field.type))
    return pa.Table.from_arrays(columns, schema=schema)


@pytest.mark.parametrize("rows", [0, 1, 1000])
@pytest.mark.parametrize("unknown", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize(
    "schema", [tables.OBJECTS, tables.FINDINGS, tables.index_schema(FIELDS)], ids=["objects", "findings", "index"]
)
def test_a_part_is_read_as_the_table_that_was_written(
    schema: pa.Schema, rows: int, tmp_path: Path, *, unknown: bool
) -> None:
    table = table_of(schema, rows, unknown=unknown)
    for name in ("a", "b"):
        write_parquet(table, tmp_path / name)
    assert pq.ParquetFile(tmp_path / "a").read().equals(table)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_every_column_of_known_values_has_statistics(tmp_path: Path) -> None:
    schema = tables.index_schema(FIELDS)
    write_parquet(table_of(schema, 1000), tmp_path / "part")
    group = pq.ParquetFile(tmp_path / "part").metadata.row_group(0)
    without = [
        group.column(at).path_in_schema
        for at in range(group.num_columns)
        if group.column(at).statistics is None or not group.column(at).statistics.has_min_max
    ]
    assert without == []
