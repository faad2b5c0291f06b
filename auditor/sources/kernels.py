"""The few functions of Arrow that live tables need, without the module that wraps them all.

Loading `pyarrow.compute` makes 300 functions, which takes longer than finding the live keys of 100 MB; and the methods
of arrays load it. Where an Arrow has no such door they come through the module after all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["as_binary", "sorted_order", "taken", "unlike_next", "where"]

pa: Any = pyarrow


def _function(name: str, *arguments: Any) -> Any:
    try:
        from pyarrow._compute import call_function  # noqa: PLC0415
    except ImportError:
        from pyarrow.compute import call_function  # noqa: PLC0415
    return call_function(name, list(arguments))


def sorted_order(keys: Any) -> NDArray[np.uint64]:
    """Return the positions of keys in ascending order; equal ones stay in theirs."""
    order: NDArray[np.uint64] = _function("array_sort_indices", keys).to_numpy()
    return order


def taken(array: Any, positions: NDArray[Any]) -> Any:
    """Return what stands at some positions of an array."""
    return _function("array_take", array, pa.array(positions))


def where(array: Any, kept: NDArray[np.bool_]) -> Any:
    """Return what is kept of an array."""
    return _function("array_filter", array, pa.array(kept))


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
