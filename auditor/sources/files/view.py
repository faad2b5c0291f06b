"""The bytes of a file, cut many pieces at a time.

Everything that reads large dumps goes through this: the file stays mapped (its pages are no memory of ours), and what
is taken out is taken for thousands of places at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow

from auditor.base.arrow import take

if TYPE_CHECKING:
    import mmap

    from numpy.typing import NDArray

__all__ = ["I64", "U8", "U64", "FileView"]

pa: Any = pyarrow  # type stubs, where there are any, lag behind the library

I64: TypeAlias = "NDArray[np.int64]"
U64: TypeAlias = "NDArray[np.uint64]"
U8: TypeAlias = "NDArray[np.uint8]"


class FileView:
    """Read-only bytes with bulk access; offsets are bytes from the start.

    Args:
        data: The whole file.
        size: How much of it counts (a digest at the end does not); None for all.
    """

    __slots__ = ("_buffer", "_strided", "data", "size")

    def __init__(self, data: mmap.mmap | bytes, size: int | None = None) -> None:
        self.data = data
        self.size = len(data) if size is None else size
        self._buffer = pa.py_buffer(data)
        self._strided: dict[int, Any] = {}

    def cut(self, offset: int, length: int) -> bytes:
        """Return a copy of one span, shorter where the bytes end before it."""
        return self.data[offset : min(offset + length, self.size)]

    def gather(self, offsets: I64, width: int) -> U8:
        """Return one row of `width` bytes for each offset, zeros beyond the end.

        Offsets lie in [0, size]. Rows are cut by their byte address, so nothing needs to be aligned.
        """
        room = self.size - width
        rows: U8
        if room < 0:
            return self._gather_tail(offsets, width)
        source = self._strided.get(width)
        if source is None:
            # one overlapping row per byte of the file: fancy indexing then copies rows without an index of their bytes
            source = np.ndarray(shape=(room + 1,), dtype=f"V{width}", buffer=self.data, strides=(1,))
            self._strided[width] = source
        if len(offsets) and int(offsets.max()) > room:
            rows = source[np.minimum(offsets, room)].view(np.uint8).reshape(-1, width)
            beyond = np.flatnonzero(offsets > room)
            rows[beyond] = self._gather_tail(offsets[beyond], width)
            return rows
        rows = source[offsets].view(np.uint8).reshape(-1, width)
        return rows

    def _gather_tail(self, offsets: I64, width: int) -> U8:
        rows = np.zeros((len(offsets), width), dtype=np.uint8)
        for row, offset in enumerate(offsets.tolist()):
            piece = self.cut(offset, width)
            rows[row, : len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        return rows

    def words(self, offsets: I64) -> U64:
        """Return the 8 bytes at each offset as a little-endian number, zeros beyond the end."""
        return self.gather(offsets, 8).view("<u8").reshape(-1).astype(np.uint64, copy=False)

    def binary(self, offsets: I64, lengths: I64) -> Any:
        """Return the spans, which lie inside the file, as an Arrow array (large_binary), copied."""
        count = len(offsets)
        if not count:
            return pa.array([], pa.large_binary())
        # The array's values are span, gap, span, gap, ...; only the spans are ever touched. The very last bound belongs
        # to a gap: it is set so that Arrow, which guesses the size of a copy from the outer bounds, guesses right.
        bounds = np.empty(2 * count + 1, dtype=np.int64)
        bounds[0:-1:2] = offsets
        bounds[1::2] = offsets + lengths
        bounds[-1] = min(len(self.data), int(bounds[0]) + 2 * int(lengths.sum()))  # spans of damaged files overlap
        spans = pa.Array.from_buffers(pa.large_binary(), 2 * count, [None, pa.py_buffer(bounds), self._buffer])
        return take(spans, np.arange(0, 2 * count, 2, dtype=np.int64))
