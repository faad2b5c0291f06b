"""An earlier report whose index lacks a column is refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from tests.command import auditor
from tests.fuzz.hostile.bounded import dump

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("column", ["created", "offset"])
def test_an_index_without_a_column_is_damage_of_the_earlier_report(column: str, tmp_path: Path) -> None:
    path = str(dump(tmp_path / "dump.ndjson", {"type": "object", "properties": {"s": {"type": "string"}}}, {"s": "a"}))
    assert auditor("audit", path, "--report", str(tmp_path / "old"), "--jobs", "1").code == 0
    (part,) = (tmp_path / "old" / "index").rglob("*.parquet")
    parquet.write_table(parquet.read_table(part, partitioning=None).drop_columns([column]), part)
    ended = auditor("audit", path, "--report", str(tmp_path / "new"), "--since", str(tmp_path / "old"), "--jobs", 1)
    assert ended.code == 2, ended.output
    assert "is damaged: " in ended.output
    assert column in ended.output
    assert str(tmp_path / "old") in ended.output
