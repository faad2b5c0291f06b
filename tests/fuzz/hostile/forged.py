"""Reports that were changed after an audit wrote them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from auditor.plan.options import AuditOptions
from pipelines.run.audit import run_audit
from tests.fuzz.hostile.bounded import dump

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["audited", "copied", "with_text"]

SHORT = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string", "maxLength": 1}}}}


def audited(folder: Path, value: str = "xx", *, many: int = 10) -> Path:
    """Return the report of an object with so many invalid values; its dump is beside it."""
    folder.mkdir()
    path = dump(folder / "dump.ndjson", SHORT, {"l": [value] * many})
    run_audit(AuditOptions(dumps=(str(path),), report=str(folder / "report"), fail_on="never"))
    return folder / "report"


def copied(report: Path, target: Path) -> Path:
    """Return a copy of a report, with its dump beside it."""
    shutil.copytree(report.parent, target)
    return target / report.name


def with_text(report: Path, table: str, names: tuple[str, ...], text: Callable[[int], str], *, texts: int) -> None:
    """Let rows of a table share a few texts in some columns; the file has each text once."""
    for path in (report / table).glob("*.parquet"):
        rows: Any = pq.read_table(path)
        values = pa.array([text(number) for number in range(texts)])
        codes = pa.array(np.arange(rows.num_rows) % texts, pa.int32())
        for name in names:
            column = pa.DictionaryArray.from_arrays(codes, values)
            rows = rows.set_column(rows.schema.get_field_index(name), name, column)
        pq.write_table(rows, path, compression="zstd", dictionary_pagesize_limit=1 << 30, store_schema=False)
