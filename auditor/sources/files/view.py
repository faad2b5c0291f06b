"""Access to the bytes of a file, for many spans at once.

All readers of large dumps use it: the file is mapped (its pages do not count as memory of the process), and data is
copied for thousands of positions at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow

from auditor.base.arrow import take

if TYPE_CHECKING:
    import mmap

    from numpy.typing import NDArray


pa: Any = pyarrow  # type stubs, if any, are older than the library

I64: TypeAlias = "NDArray[np.int64]"
U64: TypeAlias = "NDArray[np.uint64]"
U8: TypeAlias = "NDArray[np.uint8]"


class FileView:
    """Read-only access to bytes; offsets are bytes from the start.

    Args:
        data: The whole file.
        size: Number of bytes to use, for example without a digest at the end; None for all.
    """

    __slots__ = ("_buffer", "_strided", "data", "size")

    def __init__(self, data: mmap.mmap | bytes, size: int | None = None) -> None:
        self.data = data
        self.size = len(data) if size is None else size
        self._buffer = pa.py_buffer(data)
        self._strided: dict[int, Any] = {}

    def cut(self, offset: int, length: int) -> bytes:
        """Return a copy of one span, shorter if the bytes end before it."""
        return self.data[offset : min(offset + length, self.size)]

    def gather(self, offsets: I64, width: int) -> U8:
        """Return one row of `width` bytes for each offset, zeros beyond the end.

        Offsets are in [0, size] and need no alignment.
        """
        room = self.size - width
        rows: U8
        if room < 0:
            return self._gather_tail(offsets, width)
        source = self._strided.get(width)
        if source is None:
            # one overlapping row for each byte of the file: fancy indexing then copies rows without an array of indexes
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
        """Return copies of spans, which are inside the file, as an Arrow array (large_binary)."""
        count = len(offsets)
        if not count:
            return pa.array([], pa.large_binary())
        # The array's values are span, gap, span, gap, ...; only the spans are read. The last bound belongs to a gap: it
        # is set so that Arrow, which estimates the size of a copy from the outer bounds, is right.
        bounds = np.empty(2 * count + 1, dtype=np.int64)
        bounds[0:-1:2] = offsets
        bounds[1::2] = offsets + lengths
        bounds[-1] = min(len(self.data), int(bounds[0]) + 2 * int(lengths.sum()))  # spans of damaged files overlap
        spans = pa.Array.from_buffers(pa.large_binary(), 2 * count, [None, pa.py_buffer(bounds), self._buffer])
        return take(spans, np.arange(0, 2 * count, 2, dtype=np.int64))
