"""The few functions of Arrow that live tables and reports need.

`pyarrow.compute` and `pyarrow.parquet` are loaded on first use: commands without tables need neither.
"""

from __future__ import annotations

import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow

from auditor.base.errors import DamagedDump

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


pa: Any = pyarrow


def _compute() -> Any:
    from pyarrow import compute  # noqa: PLC0415 - it makes 300 functions

    return compute


_DAMAGE: Any = (
    pyarrow.ArrowInvalid,
    pyarrow.ArrowNotImplementedError,
    pyarrow.ArrowTypeError,
    pyarrow.ArrowSerializationError,
)
"""The errors of Arrow for a file that is not Parquet, or of a kind that no audit writes; lack of memory is not among
them.
"""


@contextmanager
def whole_parquet(path: Path) -> Iterator[None]:
    """Raise an error that names the file of a report if the block finds it cut short, without a column or not Parquet.

    Raises:
        DamagedDump: The block finds that.
    """
    try:
        yield
    except (*_DAMAGE, OSError, KeyError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno:  # it is the system that refuses it
            raise
        if isinstance(error, UnicodeDecodeError):
            text = f"it has names or texts that are not UTF-8 ({error.reason})"
        else:
            text = str(error.args[0] if error.args else error).partition("\n")[0]
        raise DamagedDump(str(path), f"is damaged: {text}", "a file as an audit writes it", "audit anew") from error


_MOST_FOOTER: Final = 16 << 20
_MOST_GROUP_BYTES: Final = 512 << 20
"""Bytes of a row group, uncompressed."""


def _check_size(path: Path) -> None:
    """Refuse what is no regular file, or a file whose footer is longer than that of any report.

    Raises:
        DamagedDump: It is refused.
        OSError: It cannot be opened.
    """
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        raise _refusal(path, "it is not a regular file", "a Parquet file")
    with path.open("rb") as stream:
        stream.seek(max(0, state.st_size - 8))
        length = int.from_bytes(stream.read(4), "little")
    if _MOST_FOOTER < length < state.st_size:  # Arrow says of a longer one that the file does not hold it
        raise _refusal(path, f"its footer is {length:,} bytes long", f"at most {_MOST_FOOTER:,}")


def _check_row_groups(path: Path, footer: Any) -> None:
    """Refuse a row group that is larger than any of a report.

    Raises:
        DamagedDump: It is refused.
    """
    size = max((footer.row_group(number).total_byte_size for number in range(footer.num_row_groups)), default=0)
    if size > _MOST_GROUP_BYTES:
        raise _refusal(path, f"a row group declares {size:,} bytes", f"at most {_MOST_GROUP_BYTES:,}")


def _refusal(path: Path, found: str, expected: str) -> DamagedDump:
    return DamagedDump(str(path), f"is not a table of a report: {found}", expected, "audit anew")


@contextmanager
def parquet_reader(path: Path, dictionaries: Iterable[str] = (), footer: Any = None) -> Iterator[Any]:
    """Yield a `pyarrow.parquet.ParquetFile`, after a check of the sizes that it declares.

    Args:
        path: The path of the file, which is mapped.
        dictionaries: Columns of text that become dictionaries.
        footer: Its `FileMetaData`, as `parquet_footer` returned it. If None, it is read and checked.
    """
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - it loads file systems, too

    with whole_parquet(path):
        if footer is None:
            _check_size(path)
        source = pa.memory_map(str(path))
    with source:
        with whole_parquet(path):
            reader = ParquetFile(source, read_dictionary=list(dictionaries), metadata=footer, pre_buffer=False)
            if footer is None:
                _check_row_groups(path, reader.metadata)
                len(reader.schema_arrow.names)  # raises for a name that is not UTF-8
        yield reader


def parquet_footer(path: Path) -> Any:
    """Return the `FileMetaData` of a Parquet file, after a check of the sizes that it declares."""
    with parquet_reader(path) as reader:
        return reader.metadata


def may_hold(path: Path, column: str, texts: Iterable[str], footer: Any = None) -> bool:
    """Return, from the footer alone, whether a column of a Parquet file may hold one of some texts; False if it cannot.

    Args:
        path: The file.
        column: The name of a column of text as the footer has it; in a map, with its part.
        texts: The texts.
        footer: As `parquet_footer` returned it; None to read it.
    """
    wanted = tuple(texts)
    footer = footer or parquet_footer(path)
    with whole_parquet(path):
        return any(_may_hold(chunk, wanted) for chunk in _chunks(column, footer))


def is_null(path: Path, column: str, footer: Any) -> bool:
    """Return, from the footer alone, whether a column of a Parquet file is all null; False if that is not known.

    Args:
        path: The file.
        column: The name of the column.
        footer: As `parquet_footer` returned it.
    """
    with whole_parquet(path):
        known = [(chunk.statistics, chunk.num_values) for chunk in _chunks(column, footer)]
        return all(statistics is not None and statistics.null_count == count for statistics, count in known)


def has_one_text(path: Path, column: str, text: str, footer: Any) -> bool:
    """Return, from the footer alone, whether a column of a Parquet file has a text in each row; False if not known."""
    with whole_parquet(path):
        chunks = list(_chunks(column, footer))
        known = [chunk.statistics for chunk in chunks if chunk.statistics is not None]
        same = (each.null_count == 0 and each.has_min_max and each.min == each.max == text for each in known)
        return bool(chunks) and len(known) == len(chunks) and all(same)


def _chunks(column: str, footer: Any) -> Iterator[Any]:
    """Yield the `ColumnChunkMetaData` of a column."""
    for group in (footer.row_group(number) for number in range(footer.num_row_groups)):
        for position in range(group.num_columns):
            chunk = group.column(position)
            if chunk.path_in_schema == column:
                yield chunk


def _may_hold(column: Any, texts: tuple[str, ...]) -> bool:
    statistics = column.statistics
    if statistics is None:
        return True
    if statistics.has_min_max:
        least, most = statistics.min, statistics.max
        return any(least <= text <= most for text in texts)
    return not statistics.has_null_count or statistics.null_count != column.num_values


def read_parquet(
    path: Path,
    columns: Sequence[str] | None = None,
    dictionaries: Iterable[str] = (),
    *,
    optional: Sequence[str] = (),
    footer: Any = None,
) -> Any:
    """Return a Parquet file as a table.

    Args:
        path: The path of the file.
        columns: In the order of the table; None for all.
        dictionaries: Columns of text that become dictionaries, beside those that are stored as such.
        optional: Further columns, if the file has them.
        footer: As `parquet_footer` returned it; None to read it.
    """
    with parquet_reader(path, dictionaries, footer) as reader, whole_parquet(path):
        if columns is not None:
            stored = reader.schema_arrow.names if optional else ()
            columns = [*columns, *(name for name in optional if name in stored)]
        table = reader.read(columns, use_threads=False)
        return table if columns is None else table.select(columns)


def has_codes(column: Any) -> bool:
    """Return whether Arrow can read a column of texts as a dictionary: it cannot for delta encodings.

    Args:
        column: The `ColumnChunkMetaData`.
    """
    return not any(encoding.startswith("DELTA") for encoding in column.encodings)


def _function(name: str, *arguments: Any, options: Any = None) -> Any:
    return _compute().call_function(name, list(arguments), options)


def sorted_order(keys: Any) -> NDArray[np.uint64]:
    """Return the positions of keys in ascending order; equal ones stay in theirs."""
    order: NDArray[np.uint64] = _function("array_sort_indices", keys).to_numpy()
    return order


def sorted_rows(columns: dict[str, Any]) -> NDArray[np.uint64]:
    """Return the positions of rows in ascending order of all columns, the first before the others; it is stable."""
    options = _compute().SortOptions([(name, "ascending") for name in columns])
    order: NDArray[np.uint64] = _function("sort_indices", pa.table(columns), options=options).to_numpy()
    return order


def take(rows: Any, positions: NDArray[Any] | tuple[int, ...] | pa.Array) -> Any:
    """Return the rows at some positions of an array, a record batch or a table."""
    indices = positions if isinstance(positions, pa.Array) else column(np.ascontiguousarray(positions, dtype=np.int64))
    return _function("take", rows, indices)


def column(values: NDArray[Any], null: NDArray[np.bool_] | None = None) -> Any:
    """Return an array of numbers, null where a mask is true, over the same buffer if they are next to each other.

    `pa.array` would load numpy.ma to see whether some numbers are masked.
    """
    known = None if null is None else pa.py_buffer(np.packbits(~null, bitorder="little"))
    buffers = [known, pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def booleans(values: NDArray[np.bool_]) -> Any:
    """Return an array of booleans; as for `column`, numpy.ma is not loaded."""
    packed = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, packed])


def cast(array: Any, kind: Any) -> Any:
    """Convert an array to another type.

    Raises:
        ArrowInvalid: A value has no equal of that type.
    """
    return _function("cast", array, options=_compute().CastOptions.safe(kind))


def dictionary_encoded(array: Any) -> Any:
    """Return an array as codes and the distinct values that the codes stand for, in order of first appearance."""
    return _function("dictionary_encode", array)


def where(array: Any, kept: NDArray[np.bool_]) -> Any:
    """Return the values of an array where the mask is true."""
    return _function("array_filter", array, booleans(kept))


def equal(array: Any, value: Any) -> NDArray[np.bool_]:
    """Return for each value whether it equals this one."""
    return _truths(_function("equal", array, value))


def starts_with(array: Any, beginning: str) -> NDArray[np.bool_]:
    """Return for each text whether it begins with the prefix; null does not."""
    return _truths(_function("starts_with", array, options=_compute().MatchSubstringOptions(beginning)))


def unlike_next(array: Any) -> NDArray[np.bool_]:
    """Return for each value but the last whether the next one differs; null beside a value gives null."""
    return _truths(_function("not_equal", array.slice(0, max(0, len(array) - 1)), array.slice(1)))


def _truths(claims: Any) -> NDArray[np.bool_]:
    """Return booleans with null as False."""
    truths: NDArray[np.bool_] = fill_null(claims, value=False).to_numpy(zero_copy_only=False)
    return truths


def fill_null(array: Any, value: Any) -> Any:
    """Return an array with a value in place of nulls."""
    return _function("coalesce", array, pa.scalar(value, array.type)) if array.null_count else array


def index_in(array: Any, among: Any) -> Any:
    """Return the position of each value among others, or null if it is none of them."""
    return _function("index_in", array, options=_compute().SetLookupOptions(among))


def flattened(lists: Any) -> tuple[Any, Any]:
    """Return the items of lists, and for each item the position of its list."""
    return _function("list_flatten", lists), _function("list_parent_indices", lists)


def as_binary(array: Any) -> Any:
    """Return an array of large_binary, without nulls and below 2 GiB, as one of binary."""
    _, ends, data = array.buffers()
    if ends is None:
        return pa.array([], pa.binary())
    bounds = np.frombuffer(ends, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    first, last = int(bounds[0]), int(bounds[-1])
    own = pa.py_buffer(b"") if data is None else data.slice(first, last - first)
    return pa.Array.from_buffers(pa.binary(), len(array), [None, pa.py_buffer((bounds - first).astype(np.int32)), own])


def plain(table: pa.Table) -> pa.Table:
    """Return a table whose dictionaries are plain text."""
    texts = [pa.types.is_dictionary(field.type) for field in table.schema]
    columns = [cast(column, pa.string()) if text else column for column, text in zip(table.columns, texts, strict=True)]
    return pa.table(columns, names=table.column_names)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a dictionary; another type as it is."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def in_one_piece(column: Any) -> Any:
    """Return a column as an array; an array is returned as it is."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def concat(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """Concatenate tables of the same columns into one; without tables the result is empty."""
    if not tables:
        return schema.empty_table()
    whole = tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries()
    return whole.combine_chunks()
