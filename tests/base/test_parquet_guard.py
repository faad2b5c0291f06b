"""Reports that an audit writes are within the limits for reports of others, even if their rows are very similar."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow.parquet import ParquetWriter

from auditor.base import arrow, parquet_guard, tables
from auditor.base.errors import DamagedDump
from auditor.shards.columns import write_parquet

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 1_000_000
TABLES = ("FINDINGS", "COMPARED", "OBJECTS", "COMPARED_OBJECTS", "CHANGES", "VERSIONS")
NEEDED = {"key", "name", "field", "path", "check", "status", "change", "crd"}


def column(kind: pa.DataType, *, is_null: bool) -> pa.Array:
    """Return the same value a million times."""
    if is_null:
        return pa.nulls(ROWS, kind)
    values: dict[str, Any] = {"string": "some text", "int64": 7, "int32": 7, "bool": True}
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), ROWS), ["some text"])
    value = values.get(str(kind))
    return pa.nulls(ROWS, kind) if value is None else pa.repeat(pa.scalar(value, kind), ROWS)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("name", TABLES)
def test_a_million_equal_rows_are_read(name: str, is_sparse: bool, tmp_path: Path) -> None:
    schema = getattr(tables, name)
    columns = [column(field.type, is_null=is_sparse and field.name not in NEEDED) for field in schema]
    path = tmp_path / "part-00000.parquet"
    write_parquet(pa.Table.from_arrays(columns, schema=schema), path)
    assert path.stat().st_size < ROWS
    table = arrow.read_parquet(path, ["group"] if "group" in schema.names else None)
    assert table.num_rows == ROWS


def test_rows_that_differ_by_their_path_alone_are_read(tmp_path: Path) -> None:
    columns = [column(field.type, is_null=False) for field in tables.FINDINGS]
    at = tables.FINDINGS.get_field_index("field")
    columns[at] = pa.array([f"spec.list[{number}]" for number in range(ROWS)])
    table = pa.Table.from_arrays(columns, schema=tables.FINDINGS)
    write_parquet(pa.concat_tables([table] * 3), tmp_path / "part.parquet")
    assert arrow.parquet_footer(tmp_path / "part.parquet").num_rows == 3 * ROWS


def test_many_more_rows_than_bytes_are_refused(tmp_path: Path) -> None:
    table = pa.table({"a": column(tables.DICTIONARY, is_null=False)})
    with (
        pa.OSFile(str(tmp_path / "part.parquet"), "wb") as file,
        ParquetWriter(file, table.schema, compression="NONE") as writer,
    ):
        for _ in range(32):
            writer.write_table(table, row_group_size=ROWS)
    with pytest.raises(DamagedDump, match="it declares 32,000,000 rows in "):
        arrow.parquet_footer(tmp_path / "part.parquet")


@pytest.mark.parametrize("is_settled", [True, False])
def test_a_footer_is_checked_again_when_its_file_may_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_settled: bool
) -> None:
    path = tmp_path / "part.parquet"
    write_parquet(pa.table({"a": ["x"]}), path)
    seen = []

    def fault_of(footer: bytes) -> str:
        seen.append(footer)
        return ""

    monkeypatch.setattr(parquet_guard.parquet_footer, "fault_of", fault_of)
    monkeypatch.setattr(parquet_guard, "_SETTLED", -(1 << 62) if is_settled else 1 << 62)
    for _ in range(2):
        parquet_guard.check_file(path)
    assert len(seen) == (1 if is_settled else 2)  # a file that was just written may change within the same tick
    os.utime(path, (1, 1))
    parquet_guard.check_file(path)
    assert len(seen) == (2 if is_settled else 3)
