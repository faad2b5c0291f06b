"""An earlier report whose index lacks a column is refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from tests.fuzz.hostile.bounded import dump, run_auditor

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("column", ["created", "offset"])
def test_an_index_without_a_column_is_damage_of_the_earlier_report(column: str, tmp_path: Path) -> None:
    path = str(dump(tmp_path / "dump.ndjson", {"type": "object", "properties": {"s": {"type": "string"}}}, {"s": "a"}))
    assert run_auditor("audit", path, "--report", str(tmp_path / "old"), "--jobs", "1").code == 0
    (part,) = (tmp_path / "old" / "index").rglob("*.parquet")
    parquet.write_table(parquet.read_table(part, partitioning=None).drop_columns([column]), part)
    cost = run_auditor("audit", path, "--report", str(tmp_path / "new"), "--since", str(tmp_path / "old"))
    assert cost.code == 2, cost.out
    assert "is damaged: " in cost.out
    assert column in cost.out
    assert str(tmp_path / "old") in cost.out
