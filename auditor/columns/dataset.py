"""Typed rows as data sets of Parquet: a folder a kind, ``group=G/kind=K/part-*.parquet``, one `schema.json` for all.

Rows are in key order. Row groups are small enough that a filter on one field reads few of them, and have statistics of
every leaf. No other file is in the folder of a kind: not every reader passes over it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow as pa

from auditor.base.release import VERSION
from auditor.columns.column_types import is_json
from auditor.sources.detect import SCHEMA_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from auditor.columns.kind_columns import KindColumns


COLUMNS_VERSION: Final = "1"
"""Version of the columns; it changes when a value of the same type of a schema gets another column or type."""
_GROUP_ROWS: Final = 1 << 15
_GROUP_BYTES: Final = 64 << 20
"""Bytes in Arrow of a row group, apart from its last batch."""
_GROUPS: Final = 8
"""Row groups of a file: each has statistics of up to 2,000 leaves, which a reader takes before anything else."""


@dataclass(slots=True)
class Written:
    """What was written of a kind.

    Attributes:
        rows: Its rows.
        with_rest: Rows that have values in `_rest`.
        not_read: Rows of objects that could not be read.
    """

    rows: int = 0
    with_rest: int = 0
    not_read: int = 0

    def add(self, other: Written) -> None:
        """Add the counts of more rows."""
        self.rows += other.rows
        self.with_rest += other.with_rest
        self.not_read += other.not_read


def write_parts(batches: Iterable[pa.RecordBatch], schema: pa.Schema, folder: Path) -> None:
    """Write the rows of a kind below a new folder, which has at least one file.

    Raises:
        OSError: It cannot be written.
    """
    folder.mkdir(parents=True)
    some: list[pa.RecordBatch] = []
    groups = rows = size = 0
    writer = _writer(schema, folder, 0)
    try:
        for batch in batches:
            some.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
                groups += 1
                if groups > 1 and groups % _GROUPS == 1:
                    writer.close()
                    writer = _writer(schema, folder, groups // _GROUPS)
                writer.write_table(pa.Table.from_batches(some))
                some, rows, size = [], 0, 0
        if some:
            writer.write_table(pa.Table.from_batches(some))
    finally:
        writer.close()


def write_part(batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: Path) -> None:
    """Write rows as one file of one row group."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with parquet_writer(schema, path) as writer:
        writer.write_table(pa.Table.from_batches(batches, schema))


def _writer(schema: pa.Schema, folder: Path, number: int) -> Any:
    return parquet_writer(schema, folder / f"part-{number:05d}.parquet")


def parquet_writer(schema: pa.Schema, path: Path) -> Any:
    """Return a writer of a file of typed rows."""
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - it loads file systems, too

    return ParquetWriter(path, schema, compression="zstd", compression_level=1, write_page_index=True)


def described(columns: KindColumns, folder: str, written: Written) -> dict[str, Any]:
    """Return the entry of a kind in `schema.json`."""
    return {
        "group": columns.group,
        "kind": columns.kind,
        "version": columns.version,
        "folder": folder,
        **columns.origin,
        **asdict(written),
        "columns": [{"name": field.name, "type": type_text(field)} for field in columns.schema],
    }


def type_text(field: pa.Field) -> str:
    """Return the type of a column as text, with ``json`` for JSON text."""
    kind = field.type
    if is_json(field):
        return "json"
    if pa.types.is_struct(kind):
        below = (kind.field(number) for number in range(kind.num_fields))
        return f"struct<{', '.join(f'{orjson.dumps(each.name).decode()}: {type_text(each)}' for each in below)}>"
    if pa.types.is_map(kind):
        return f"map<string, {type_text(kind.item_field)}>"
    return f"list<{type_text(kind.value_field)}>" if pa.types.is_list(kind) else str(kind)


def write_schemas(
    kinds: Iterable[dict[str, Any]], folder: Path, sources: list[str], *, shown_as: str, secrets_shown: bool
) -> None:
    """Write `schema.json` beside the folders of some kinds.

    Args:
        kinds: The entry of each (`described`).
        folder: The folder of all of them.
        sources: The dumps or the report that the rows were made of.
        shown_as: ``read`` or ``stored``.
        secrets_shown: Whether values of Secrets are in the rows.
    """
    content = {
        "tool": {"name": "auditor", "version": VERSION},
        "columns_version": COLUMNS_VERSION,
        "sources": sources,
        "as": shown_as,
        "secrets_shown": secrets_shown,
        "kinds": sorted(kinds, key=itemgetter("folder")),
    }
    (folder / SCHEMA_FILE).write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
