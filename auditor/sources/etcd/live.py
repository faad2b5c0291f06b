"""The live keys of an etcd database: the newest row of each key, unless it is a deletion.

Rows come in revision order, so a later batch has newer rows. A compaction that began and did not finish does not change
the live keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from auditor.sources.etcd.mvcc import Report, Revisions, revisions
from auditor.sources.live_table import KeyedRows, NewestPerKey

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from auditor.sources.bolt import Rows
    from auditor.sources.files.view import FileView

__all__ = ["LiveKeys", "keyed_rows", "write_live_table"]

_KEY_BYTES_AT_ONCE = 16 << 20
_WORTH_A_THREAD = 64 << 20
"""Bytes of a database from which on a thread sorts its keys while this one reads them."""


@dataclass(frozen=True, slots=True)
class LiveKeys:
    """Counts of a live table.

    Attributes:
        rows: Live keys.
        revisions: Rows of the `key` bucket, deletions included.
        last: Main revision of the last row, 0 where there is none.
    """

    rows: int
    revisions: int
    last: int


def write_live_table(
    view: FileView,
    batches: Iterable[Rows],
    path: Path,
    *,
    workdir: Path,
    number: int,
    report: Report,
    until: int | None = None,
) -> LiveKeys:
    """Write the live table of a `key` bucket.

    Args:
        batches: Its rows, in key order.
        path: Path of the table.
        workdir: Folder for data that does not fit memory.
        number: Position of the dump among the inputs.
        report: Called with every row that cannot be used.
        until: Later revisions are ignored; None if all revisions count.
    """
    count = last = 0
    with NewestPerKey(workdir, number, in_thread=view.size >= _WORTH_A_THREAD) as newest:
        for batch in batches:
            rows = batch if until is None else batch.select(batch.words[:, 0] <= np.uint64(until))
            count += len(rows)
            if len(rows):
                last = max(last, int(rows.words[-1, 0]) & ((1 << 63) - 1))
            found = revisions(view, rows, report)
            for part in _parts(found):
                newest.add(keyed_rows(view, part))
        return LiveKeys(newest.finish(path), count, last)


def keyed_rows(view: FileView, found: Revisions) -> KeyedRows:
    """Return revisions as rows with their keys."""
    return KeyedRows.of(
        view.binary(found.key, found.key_size),
        create=found.create,
        mod=found.main,
        version=found.version,
        offset=found.value,
        length=found.value_size,
        deleted=found.deleted,
    )


def _parts(found: Revisions) -> Iterable[Revisions]:
    """Split rows if their keys are too long together."""
    total = np.cumsum(found.key_size)
    if not len(total) or total[-1] <= _KEY_BYTES_AT_ONCE:
        return [found]
    cuts = np.unique(np.searchsorted(total, np.arange(_KEY_BYTES_AT_ONCE, int(total[-1]), _KEY_BYTES_AT_ONCE)))
    bounds = [0, *(cuts + 1).tolist(), len(found)]
    return [found.select(slice(start, stop)) for start, stop in pairwise(bounds) if stop > start]
