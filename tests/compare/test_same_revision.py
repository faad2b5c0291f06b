"""Keys that two reports of one revision have with other values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auditor.base import tables
from auditor.compare.presence import differing_keys

if TYPE_CHECKING:
    from pathlib import Path

ROWS = {"/registry/a": (1, "x"), "/registry/b": (2, "y")}


def _report(folder: Path, rows: dict[str, tuple[int, str]]) -> Path:
    columns = {
        "key": list(rows),
        "mod_revision": [revision for revision, _ in rows.values()],
        "value_hash": [text for _, text in rows.values()],
    }
    nothing = [None] * len(rows)
    table = {field.name: pa.array(columns.get(field.name, nothing), field.type) for field in tables.OBJECTS}
    (folder / "objects").mkdir(parents=True)
    pq.write_table(pa.table(table), folder / "objects" / "part-00000.parquet")
    return folder


@pytest.mark.parametrize(
    ("now", "is_whole", "count"),
    [
        (ROWS, True, 0),
        (ROWS | {"/registry/a": (1, "z")}, True, 1),
        (ROWS | {"/registry/a": (3, "x"), "/registry/b": (2, "z")}, True, 2),
        (ROWS | {"/registry/c": (2, "z")}, True, 1),
        (ROWS | {"/registry/c": (2, "z")}, False, 0),
    ],
)
def test_keys_with_another_revision_or_value_are_counted(
    tmp_path: Path, now: dict[str, tuple[int, str]], is_whole: bool, count: int
) -> None:
    old, new = _report(tmp_path / "old", ROWS), _report(tmp_path / "new", now)
    assert differing_keys(old, new, "", is_whole=is_whole) == count
