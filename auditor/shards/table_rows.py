"""Rows collected as tuples, turned into Arrow columns at the end of a shard, written as one Parquet part."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from auditor.base import arrow, tables
from auditor.sources.registry_key import printable_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


SAME: Final = "same"
"""The change of a row that is as it was in an earlier report."""


class FlatRows:
    """Rows of one width in one flat list, which takes less time and memory than tuples and is easily cut into columns.

    Args:
        width: Values a row.

    Attributes:
        append: Adds a row, a tuple of that many values.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.values: list[Any] = []
        self.append: Callable[[tuple[Any, ...]], None] = self.values.extend

    def __len__(self) -> int:
        return len(self.values) // self.width

    def column(self, number: int) -> list[Any]:
        """Return the values of one column."""
        return self.values[number :: self.width]

    def columns(self) -> list[list[Any]]:
        """Return the values of all columns."""
        return [self.column(number) for number in range(self.width)]


class TableRows:
    """Rows of one table; a row is a tuple in the order of the schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.rows = FlatRows(len(schema))
        self.append = self.rows.append

    def __len__(self) -> int:
        return len(self.rows)

    def table(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        arrays = [array_of(values, field.type) for values, field in zip(self.rows.columns(), self.schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self.schema)


class ObjectRows:
    """Rows of objects/, built for speed: values that repeat from row to row are held once.

    A row has its position in the shard's part of the live table (the source of the columns in `LIVE`), the number of
    its class (a tuple of the columns in `CLASS`, each held once), and the columns in `OWN`. The few rows with a
    controller are listed separately.

    Args:
        schema: The schema of objects/.
        live: The shard's rows of the live table.
    """

    CLASS = (
        *("cluster", "source", "group", "plural", "kind", "stored_version", "audited_version", "status", "impact"),
        *("impacts", "is_storage_version", "deleting"),
    )
    LIVE = ("create_revision", "mod_revision", "key_version", "offset", "length")
    OWN = (
        *("namespace", "name", "uid", "reason", "findings", "pruned", "defaulted"),
        *("put_code", "label_code", "status_code", "size", "value_hash"),
    )

    def __init__(self, schema: pa.Schema, live: pa.Table) -> None:
        self.schema = schema
        self.live = live
        self._classes: dict[tuple[Any, ...], int] = {}
        self._rows = FlatRows(2 + len(self.OWN))
        self._controllers: dict[int, str] = {}
        self.append = self._rows.append  # (position in the live table, number of the class, *OWN)

    def __len__(self) -> int:
        return len(self._rows)

    def note_controller(self, controller: str) -> None:
        """Set the controller of the last row."""
        self._controllers[len(self._rows) - 1] = controller

    def class_of(self, shared: tuple[Any, ...]) -> int:
        """Return the number of a class.

        Args:
            shared: The columns in `CLASS`.
        """
        return self._classes.setdefault(shared, len(self._classes))

    def classes(self) -> tuple[list[dict[str, Any]], NDArray[np.int32]]:
        """Return the classes, each its columns by name, and the number of its class for each row."""
        shared = [dict(zip(self.CLASS, columns, strict=True)) for columns in self._classes]
        return shared, np.array(self._rows.column(1), np.int32)

    def counts(self) -> list[tuple[dict[str, Any], int]]:
        """Return each class, its columns by name, with its number of rows."""
        classes, numbers = self.classes()
        many = np.bincount(numbers, minlength=len(classes)).tolist()
        return list(zip(classes, many, strict=True))

    def table(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        columns: dict[str, Any] = {}
        arrays, classes, *own = self._rows.columns()
        kinds = {field.name: field.type for field in self.schema}
        codes = pa.array(classes, pa.int32())
        for position, name in enumerate(self.CLASS):
            columns[name] = shared_column([shared[position] for shared in self._classes], codes, kinds[name])
        live = self.live if arrays == list(range(self.live.num_rows)) else arrow.take(self.live, arrays)
        for name in self.LIVE:
            columns[name] = live[name].combine_chunks()
        columns["key"] = key_texts(live["key"].combine_chunks())
        for name, values in zip(self.OWN, own, strict=True):
            columns[name] = array_of(values, kinds[name])
        known, count = self._controllers, len(self)
        columns["controller"] = (
            array_of([known.get(row) for row in range(count)], kinds["controller"]) if known else constant(None, count)
        )
        return pa.Table.from_arrays([columns[field.name] for field in self.schema], schema=self.schema)


def shared_column(values: list[Any], codes: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the column in which row i holds the value of class codes[i]."""
    if not pa.types.is_dictionary(kind):
        return arrow.take(pa.array(values, kind), codes)
    distinct = dict.fromkeys(value for value in values if value is not None)
    places = {value: place for place, value in enumerate(distinct)}
    indices = arrow.take(pa.array([places.get(value) for value in values], pa.int32()), codes)
    return pa.DictionaryArray.from_arrays(indices, pa.array(list(distinct), pa.string()))


def key_texts(keys: pa.Array) -> pa.Array:
    """Return keys as text, as `printable_key` writes them."""
    try:
        return arrow.cast(keys, pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if key is None else printable_key(key) for key in keys.to_pylist()], pa.string())


def constant(text: str | None, count: int) -> pa.Array:
    """Return a dictionary column that holds the same text, or null, in each row."""
    indices = pa.nulls(count, pa.int32()) if text is None else arrow.column(np.zeros(count, np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array([] if text is None else [text], pa.string()))


def array_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return values as an Arrow column; times are given as text, maps as dicts."""
    if pa.types.is_dictionary(kind):
        encoded = arrow.dictionary_encoded(pa.array(values, pa.string()))
        return encoded if encoded.type == kind else arrow.cast(encoded, kind)
    if pa.types.is_timestamp(kind):
        return arrow.cast(pa.array(values, pa.string()), kind)
    if pa.types.is_map(kind):
        offsets = np.zeros(len(values) + 1, np.int32)
        np.cumsum(np.fromiter(map(len, values), np.int32, len(values)), out=offsets[1:])
        keys, items = chain.from_iterable(values), chain.from_iterable(map(dict.values, values))
        return pa.MapArray.from_arrays(
            arrow.column(offsets),
            pa.array(list(keys), pa.string()),
            pa.array(list(items), pa.string()),
        )
    return pa.array(values, kind)


_UNLIKE: Final = {
    "key": "PLAIN",
    "name": "PLAIN",
    "uid": "DELTA_LENGTH_BYTE_ARRAY",
    "value_hash": "DELTA_LENGTH_BYTE_ARRAY",
}
"""Encodings of texts that rarely repeat; zstd compresses random ones better without their lengths."""
_BUFFER: Final = 256 << 10
"""Bytes of the write buffer: pages of small columns are a few bytes each."""
GROUP_ROWS: Final = 128 << 10
GROUP_TEXT: Final = 64 << 20
"""Approximate bytes of text of a row group."""
_FEW: Final = 16
"""Columns with at most so many distinct values take a few bits a row, which zstd cannot compress further."""


def part_name(number: int) -> str:
    """Return the name of the part files of a shard, in every table."""
    return f"part-{number:05d}.parquet"


def with_same(rows: pa.Table) -> pa.Table:
    """Return rows with the change that most have since an earlier report: parts with others are written anew."""
    return rows.append_column(pa.field("change", tables.DICTIONARY), constant(SAME, rows.num_rows))


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write one part: statistics on, row groups of at most 128k rows; same rows, same bytes.

    Each column gets the cheapest encoding for its content: with the defaults, half of the time to write a part of a few
    thousand rows is spent on looking up values that do not repeat and on compressing small columns.
    """
    write_row_groups([table], table.schema, path)


def write_row_groups(groups: Iterable[pa.Table], schema: pa.Schema, path: Path) -> None:
    """Write one part; each table begins a row group, and the first one decides how columns are written."""
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - it loads file systems, too

    path.parent.mkdir(parents=True, exist_ok=True)
    rest = iter(groups)
    first = next(rest, None)
    first = schema.empty_table() if first is None else first
    dictionary, compression, encoding = _layout(first)
    with (
        pa.BufferedOutputStream(pa.OSFile(str(path), "wb"), _BUFFER) as stream,
        ParquetWriter(
            stream,
            schema,
            use_dictionary=dictionary,
            compression=compression,
            compression_level=dict.fromkeys(compression, 1),
            column_encoding=encoding,
        ) as writer,
    ):
        for table in chain([first], rest):
            writer.write_table(table, row_group_size=_group_rows(table))


def _group_rows(table: pa.Table) -> int:
    """Return how many rows a row group has: fewer where texts are long, so that each can be read at once."""
    size = sum(_text_bytes(column) for column in table.columns if pa.types.is_string(column.type))
    return max(1, min(GROUP_ROWS, table.num_rows * GROUP_TEXT // size)) if size > GROUP_TEXT else GROUP_ROWS


def _text_bytes(column: pa.ChunkedArray) -> int:
    size = 0
    for chunk in column.chunks:
        if len(chunk):
            offsets = np.frombuffer(chunk.buffers()[1], np.int32)
            size += int(offsets[chunk.offset + len(chunk)] - offsets[chunk.offset])
    return size


def _layout(table: pa.Table) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Return the columns with a dictionary, the compression of each column, and the encoding of the others.

    Integers are packed as differences, which leaves zstd nothing to do.
    """
    dictionary: list[str] = []
    compression: dict[str, str] = {}
    encoding: dict[str, str] = {}
    for column, values in zip(table.schema, table.columns, strict=True):
        name, kind = column.name, column.type
        if pa.types.is_list(kind):
            dictionary.append(f"{name}.list.element")
        elif pa.types.is_map(kind):
            dictionary.append(f"{name}.key_value.key")
            compression[f"{name}.key_value.key"] = compression[f"{name}.key_value.value"] = "zstd"
        elif values.null_count == len(values):
            pass
        elif pa.types.is_integer(kind) or pa.types.is_timestamp(kind):
            encoding[name] = "DELTA_BINARY_PACKED"
        elif name in _UNLIKE:
            encoding[name] = _UNLIKE[name]
            compression[name] = "zstd"
        elif pa.types.is_dictionary(kind):
            dictionary.append(name)
            if len(values.chunk(0).dictionary) > _FEW:
                compression[name] = "zstd"
        elif pa.types.is_string(kind):
            dictionary.append(name)
            compression[name] = "zstd"
    return dictionary, compression, encoding


def forget_parts(parts: Path, number: int) -> None:
    """Remove the part files of a shard, and its counts."""
    for left in parts.rglob(part_name(number).replace(".parquet", ".*")):
        left.unlink()
