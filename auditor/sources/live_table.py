"""Live tables: one row for each live key, in key order, as an Arrow file that workers map.

`NewestPerKey` makes one from any number of rows in any order with bounded memory: batches are sorted, reduced to the
newest row of each key, written to temporary files, and merged by ranges of keys. The files are mapped, so they do not
count as memory of the process. All columns are arrays: nothing is done row by row.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import numpy as np
import pyarrow

from auditor.base import arrow
from auditor.base.tables import LIVE_KEYS
from auditor.sources.files.beside import Beside
from auditor.sources.files.digest import map_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from auditor.sources.files.view import I64


pa: Any = pyarrow  # type stubs, if any, are older than the library

UNKNOWN = -1
"""A revision or version that the dump does not have: null in the table."""

_PART_BYTES = 2 << 20
"""Size of the data that is merged at once: row numbers and keys."""

_HELD_BYTES = 16 << 20
"""Size of the rows that are sorted at once before they are written."""

_ROW_WEIGHT = 48
_RUNS_PER_TIER = 32

OLDER = ".older"
"""Suffix of the file beside a live table with the rows that are not the newest of their key, without their keys."""

ROW = np.dtype(
    [
        ("create", "<i8"),
        ("mod", "<i8"),
        ("version", "<i8"),
        ("offset", "<i8"),
        ("length", "<i8"),
        ("encoding", "i1"),
        ("deleted", "?"),
    ]
)


@dataclass(slots=True)
class KeyedRows:
    """Rows with their keys: an Arrow array of type large_binary and a structured array of numbers."""

    keys: Any
    rows: NDArray[np.void]

    @staticmethod
    def of(
        keys: Any,
        *,
        create: Any = UNKNOWN,
        mod: Any = UNKNOWN,
        version: Any = UNKNOWN,
        offset: Any,
        length: Any,
        encoding: int = 0,
        deleted: Any = False,
    ) -> KeyedRows:
        """Return rows from columns; each is an array or one number for all rows."""
        rows = np.empty(len(keys), dtype=ROW)
        rows["create"], rows["mod"], rows["version"] = create, mod, version
        rows["offset"], rows["length"], rows["encoding"], rows["deleted"] = offset, length, encoding, deleted
        return KeyedRows(keys, rows)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def newest(self, older: Callable[[bytes], object] | None = None) -> KeyedRows:
        """Return the row with the greatest mod revision of each key, sorted by key; the last of equal ones.

        Args:
            older: Called with the numbers of the other rows, if there are any.
        """
        count = len(self.rows)
        if not count:
            return self
        order = arrow.sorted_order(self.keys)
        keys = arrow.take(self.keys, order)
        last = np.ones(count, dtype=bool)
        last[:-1] = arrow.unlike_next(keys)
        mod = self.rows["mod"][order]
        if (~last[:-1] & (mod[:-1] > mod[1:])).any():
            group = np.cumsum(last) - last
            again = np.lexsort((mod, group))  # stable; keys of a group are equal
            order = order[again]
        if last.all():
            return KeyedRows(keys, self.rows[order])
        if older is not None:
            older(self.rows[order[~last]].tobytes())
        return KeyedRows(arrow.where(keys, last), self.rows[order[last]])

    def alive(self) -> KeyedRows:
        """Return the rows that are not deletions."""
        deleted = self.rows["deleted"]
        if not deleted.any():
            return self
        return KeyedRows(arrow.where(self.keys, ~deleted), self.rows[~deleted])


class LiveTableWriter:
    """Writes a live table (`auditor.base.tables.LIVE_KEYS`) batch by batch; rows come in their final order.

    Args:
        number: Position of the dump among the inputs, the `source` column.
    """

    def __init__(self, path: Path, number: int) -> None:
        self.path = path
        self.rows = 0
        self._number = number
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._sink, LIVE_KEYS)

    def write(self, batch: KeyedRows) -> None:
        """Append rows; their keys together are below 2 GiB."""
        if not len(batch):
            return
        rows = batch.rows

        def known(name: str) -> Any:
            return arrow.column(rows[name], rows[name] == UNKNOWN)

        columns = [
            arrow.column(np.full(len(rows), self._number, dtype=np.int32)),
            arrow.as_binary(batch.keys),
            known("create"),
            known("mod"),
            known("version"),
            *(arrow.column(rows[name]) for name in ("offset", "length", "encoding")),
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=LIVE_KEYS))
        self.rows += len(rows)

    def close(self) -> None:
        """Finish the file; without this it cannot be opened."""
        self._writer.close()
        self._sink.close()


class _SortedRun:
    """Rows sorted by key, each key once, in three temporary files: keys, ends of keys, numbers."""

    def __init__(self, stem: Path, tier: int) -> None:
        self.tier = tier
        self.paths = [stem.with_suffix(suffix) for suffix in (".keys", ".ends", ".rows")]
        self._files: list[BinaryIO] = [path.open("wb") for path in self.paths]
        self._files[1].write(bytes(8))
        self._end = 0
        self.ends: I64 = np.zeros(1, dtype=np.int64)
        self.keys: Any = b""
        self._rows: NDArray[np.void] = np.empty(0, dtype=ROW)
        self._array: Any = None

    def write(self, batch: KeyedRows) -> None:
        keys = batch.keys
        offsets = np.frombuffer(keys.buffers()[1], dtype=np.int64)[keys.offset : keys.offset + len(keys) + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        data = keys.buffers()[2]
        if data is not None:
            self._files[0].write(memoryview(data)[first:last])
        self._files[1].write((offsets[1:] - first + self._end).tobytes())
        self._files[2].write(batch.rows.tobytes())
        self._end += last - first

    def close(self) -> None:
        """End writing, and map the files."""
        for stream in self._files:
            stream.close()
        self.keys = map_file(self.paths[0])
        ends = map_file(self.paths[1])
        self.ends = np.frombuffer(ends, dtype=np.int64)
        self._rows = np.frombuffer(map_file(self.paths[2]), dtype=ROW)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(self.keys)]
        self._array = pa.Array.from_buffers(pa.large_binary(), len(self.ends) - 1, buffers)

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, row: int) -> bytes:
        key: bytes = self.keys[int(self.ends[row]) : int(self.ends[row + 1])]
        return key

    def weight(self) -> int:
        return int(self.ends[-1]) + _ROW_WEIGHT * len(self)

    def samples(self, step: int) -> list[bytes]:
        """Return keys at distances of about `step` of data."""
        weights = self.ends[1:] + _ROW_WEIGHT * np.arange(1, len(self) + 1)
        positions = np.unique(np.searchsorted(weights, np.arange(step, self.weight(), step)))
        return [self[row] for row in positions.tolist()]

    def slice(self, start: int, stop: int) -> tuple[Any, NDArray[np.void]]:
        return self._array.slice(start, stop - start), self._rows[start:stop]

    def remove(self) -> None:
        self._array, self._rows, self.ends, self.keys = None, np.empty(0, dtype=ROW), np.zeros(1, np.int64), b""
        for path in self.paths:
            path.unlink()


def _joined(batches: list[KeyedRows]) -> KeyedRows:
    keys = pa.concat_arrays([batch.keys for batch in batches])
    return KeyedRows(keys, np.concatenate([batch.rows for batch in batches]))


class NewestPerKey:
    """Collects rows in any order and writes the live table: the newest row of each key, unless it is a deletion.

    Used as a context manager it ends its thread, and closes the file of older rows.

    Args:
        workdir: Folder for temporary files; all are removed.
        number: Position of the dump among the inputs.
        in_thread: Sort and merge in a thread, while this one adds rows and writes the table.
        older: Path of a file for the numbers (`ROW`) of the rows that are not the newest of their key, or None.
    """

    def __init__(self, workdir: Path, number: int, *, in_thread: bool = False, older: Path | None = None) -> None:
        self.workdir = workdir
        self.number = number
        self._older = None if older is None else older.open("wb")
        self._note_older = None if self._older is None else self._older.write
        self._parking = Beside(1 if in_thread else 0, "newest-per-key")
        self._held: list[KeyedRows] = []
        self._held_bytes = 0
        self._runs: list[_SortedRun] = []
        self._made = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._parking.__exit__(*error)
        if self._older is not None:
            self._older.close()

    def add(self, batch: KeyedRows) -> None:
        """Add rows; the last one of several with the same key and mod revision counts."""
        if not len(batch):
            return
        self._held.append(batch)
        self._held_bytes += batch.keys.nbytes + batch.rows.nbytes
        if self._held_bytes >= _HELD_BYTES:
            held, self._held, self._held_bytes = self._held, [], 0
            self._parking.do(self._park, held)

    def finish(self, path: Path) -> int:
        """Write the live table and return how many rows it has."""
        self._parking.settle()
        writer = LiveTableWriter(path, self.number)
        held, self._held = self._held, []
        if held and not self._runs:
            writer.write(_joined(held).newest(self._note_older).alive())
        elif held:
            self._park(held)
        for batch in self._parking.each(self._merge(self._runs)):
            writer.write(batch.alive())
        writer.close()
        for run in self._runs:
            run.remove()
        self._runs = []
        return writer.rows

    def _new_run(self, tier: int) -> _SortedRun:
        self._made += 1
        return _SortedRun(self.workdir / f"keys-{self.number:03d}-{self._made:05d}", tier)

    def _park(self, held: list[KeyedRows]) -> None:
        """Write rows to a run: sorted, and reduced to the newest of each key."""
        run = self._new_run(0)
        run.write(_joined(held).newest(self._note_older))
        run.close()
        self._runs.append(run)
        while len(self._runs) >= _RUNS_PER_TIER and self._runs[-_RUNS_PER_TIER].tier == self._runs[-1].tier:
            self._fold(self._runs[-_RUNS_PER_TIER:])

    def _fold(self, runs: list[_SortedRun]) -> None:
        """Merge the last runs, so that there are never many."""
        folded = self._new_run(runs[-1].tier + 1)
        first = len(runs) == len(self._runs)
        for batch in self._merge(runs):
            folded.write(batch.alive() if first else batch)  # deletions must still hide rows of older runs
        folded.close()
        self._runs[-len(runs) :] = [folded]
        for run in runs:
            run.remove()

    def _merge(self, runs: list[_SortedRun]) -> Iterator[KeyedRows]:
        """Yield the newest rows of some runs in key order."""
        if not runs:
            return
        step = max(1, _PART_BYTES // (2 * len(runs)))
        marks = sorted(key for run in runs for key in run.samples(step))[len(runs) - 1 :: len(runs)]
        starts = [0] * len(runs)
        for mark in [*marks, None]:
            stops = [
                len(run) if mark is None else bisect_right(run, mark, start)
                for run, start in zip(runs, starts, strict=True)
            ]
            parts = [
                run.slice(start, stop) for run, start, stop in zip(runs, starts, stops, strict=True) if stop > start
            ]
            starts = stops
            if parts:
                yield _joined([KeyedRows(keys, rows) for keys, rows in parts]).newest(self._note_older)
