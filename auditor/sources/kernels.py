"""The few functions of Arrow that live tables and reports need, without the module that wraps them all.

Loading `pyarrow.compute` makes 300 functions, which takes longer than finding the live keys of 100 MB; and the methods
of arrays load it. Where an Arrow has no such door they come through the module after all.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = [
    "as_binary",
    "cast",
    "dictionary_encoded",
    "parquet_writer",
    "sorted_order",
    "sorted_rows",
    "starts_with",
    "taken",
    "unlike_next",
    "where",
]

pa: Any = pyarrow


def _door() -> Any:
    try:
        from pyarrow import _compute  # noqa: PLC0415
    except ImportError:
        from pyarrow import compute  # noqa: PLC0415

        return compute
    return _compute


@contextmanager
def parquet_writer(stream: Any, schema: pa.Schema, **options: Any) -> Iterator[Any]:
    """Yield what writes tables as Parquet to an open stream, as `pyarrow.parquet.ParquetWriter` with these options.

    That module loads every kind of file system, and what secures connections to them.
    """
    try:
        from pyarrow._parquet import ParquetWriter  # noqa: PLC0415
    except ImportError:
        from pyarrow.parquet import ParquetWriter  # noqa: PLC0415
    writer = ParquetWriter(stream, schema, writer_engine_version="V2", **options)
    try:
        yield writer
    finally:
        writer.close()


def _function(name: str, *arguments: Any, options: Any = None) -> Any:
    return _door().call_function(name, list(arguments), options)


def sorted_order(keys: Any) -> NDArray[np.uint64]:
    """Return the positions of keys in ascending order; equal ones stay in theirs."""
    order: NDArray[np.uint64] = _function("array_sort_indices", keys).to_numpy()
    return order


def sorted_rows(columns: dict[str, Any]) -> NDArray[np.uint64]:
    """Return the positions of rows in ascending order of all columns, the first before the others; it is stable."""
    options = _door().SortOptions([(name, "ascending") for name in columns])
    order: NDArray[np.uint64] = _function("sort_indices", pa.table(columns), options=options).to_numpy()
    return order


def taken(rows: Any, positions: NDArray[Any] | tuple[int, ...] | pa.Array) -> Any:
    """Return what stands at some positions of an array, a record batch or a table."""
    at = positions if isinstance(positions, pa.Array) else pa.array(positions, pa.int64())
    return _function("take", rows, at)


def cast(array: Any, kind: Any) -> Any:
    """Return an array as one of another type.

    Raises:
        ArrowInvalid: A value has no equal of that type.
    """
    return _function("cast", array, options=_door().CastOptions.safe(kind))


def dictionary_encoded(array: Any) -> Any:
    """Return an array as codes and the distinct values that they stand for, by first appearance."""
    return _function("dictionary_encode", array)


def where(array: Any, kept: NDArray[np.bool_]) -> Any:
    """Return what is kept of an array."""
    return _function("array_filter", array, pa.array(kept))


def starts_with(array: Any, beginning: str) -> NDArray[np.bool_]:
    """Say of each value whether it begins so."""
    found = _function("starts_with", array, options=_door().MatchSubstringOptions(beginning))
    out: NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
    return out


def unlike_next(array: Any) -> NDArray[np.bool_]:
    """Say of each value but the last whether the next one is another."""
    found = _function("not_equal", array.slice(0, len(array) - 1), array.slice(1))
    out: NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
    return out


def as_binary(array: Any) -> Any:
    """Return an array of large_binary, without nulls and below 2 GiB, as one of binary."""
    _, ends, data = array.buffers()
    if ends is None:
        return pa.array([], pa.binary())
    bounds = np.frombuffer(ends, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    first, last = int(bounds[0]), int(bounds[-1])
    own = pa.py_buffer(b"") if data is None else data.slice(first, last - first)
    return pa.Array.from_buffers(pa.binary(), len(array), [None, pa.py_buffer((bounds - first).astype(np.int32)), own])
