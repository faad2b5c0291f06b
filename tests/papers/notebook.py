"""What the Python blocks of the documents find: the names that a page takes for granted, made of the sandbox."""

from __future__ import annotations

import functools
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import auditor
from tests.command import auditor as run
from tests.papers.blocks import blocks_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["names_in", "python_of"]


def python_of(page: Path) -> str:
    """Return the Python of a page: its blocks, one after another, each with the line that it has in the page."""
    text, out = page.read_text(), ""
    for language, block in blocks_of(page):
        if language == "python":
            line = text[: text.index(f"```python\n{block}")].count("\n") + 1
            out += "\n" * (line - out.count("\n")) + block
    return out


class _Frame:
    """Stands for a frame of Spark and for a data set of Ray Data: it gives values of the sandbox to a function."""

    def __init__(self, values: list[bytes]) -> None:
        self._batch = pa.record_batch({"value": values})

    def mapInArrow(self, call: Callable[..., Any], schema: pa.Schema) -> list[pa.RecordBatch]:  # noqa: N802 - Spark's
        return [batch.cast(schema) if batch.schema != schema else batch for batch in call(iter([self._batch]))]

    def map_batches(self, call: Callable[[pa.Table], pa.Table], *, batch_format: str) -> pa.Table:
        assert batch_format == "pyarrow"
        return call(pa.Table.from_batches([self._batch]))


def names_in(folder: Path) -> dict[str, Any]:
    """Return the names that the blocks of a page find, and make the files that they name."""
    import duckdb
    import pandas
    import polars

    definitions = json.loads((folder / "crds" / "crds.json").read_text())["items"]
    definition = next(each for each in definitions if each["spec"]["names"]["kind"] == "Loaf")
    (folder / "crd.json").write_text(json.dumps(definition))
    run("tables", "snapshot.db", "tables", cwd=folder)
    metadata = {"name": "a", "namespace": "n", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    loaf = {
        "apiVersion": "bakery.example.com/v1",
        "kind": "Loaf",
        "metadata": metadata,
        "spec": {"flour": "rye", "grams": 1},
    }
    old, new = (json.dumps({**loaf, "spec": {**loaf["spec"], "grams": grams}}).encode() for grams in (9000, 9001))
    types = SimpleNamespace(from_arrow_schema=lambda schema: schema)
    values = _Frame([old, new])
    return {
        "auditor": auditor,
        "catalog": auditor.CrdCatalog.from_documents(definitions),
        "dataset": values,
        "definition": definition,
        "duckdb": duckdb,
        "frame": values,
        "functools": functools,
        "json": json,
        "new": new,
        "old": old,
        "pa": pa,
        "pandas": pandas,
        "polars": polars,
        "pyspark": SimpleNamespace(sql=SimpleNamespace(pandas=SimpleNamespace(types=types))),
        "stored": old,
        "stored_bytes": old,
    }
