"""The numbers that etcd's own tools print of a database, from what the auditor reads of it.

They check the reading of files against recorded output of the tools: hashes cover every byte of every key and value.
Source: etcd etcdutl/snapshot/v3_snapshot.go, server/storage/mvcc/hash.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import google_crc32c
import numpy as np
import pyarrow as pa

from auditor.sources.bolt import BoltTree
from auditor.sources.bolt.page import read_headers
from auditor.sources.etcd import EtcdFile, MetaValues, write_live_table
from auditor.sources.etcd.mvcc import revisions
from auditor.sources.files.digest import Digest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from auditor.sources.files.view import I64, FileView

__all__ = ["SnapshotStatus", "snapshot_status", "unreachable_pages"]

_PUT_SIZE, _DELETED_SIZE = 17, 18
_BUFFER = 8 << 20


class _Crc32c:
    """A running checksum of spans, which are put together before they are taken."""

    def __init__(self) -> None:
        self._value = 0
        self._waiting: list[bytes | memoryview] = []
        self._size = 0

    def update(self, data: bytes | memoryview) -> None:
        self._waiting.append(data)
        self._size += len(data)
        if self._size >= _BUFFER:
            self.value()

    def value(self) -> int:
        self._value = google_crc32c.extend(self._value, b"".join(self._waiting))
        self._waiting, self._size = [], 0
        return self._value


def unreachable_pages(tree: BoltTree) -> int:
    """Return how many pages neither hold a stored free list nor were met on the walks so far."""
    stored = 0
    if tree.meta.freelist is not None:
        offset = np.array([tree.meta.freelist * tree.page_size], dtype=np.int64)
        if offset[0] < tree.view.size:
            stored = 1 + int(read_headers(tree.view, offset).overflow[0])
    return tree.limit - 2 - stored - int(tree.reached().sum())


@dataclass(frozen=True, slots=True)
class SnapshotStatus:
    """What `etcdutl snapshot status` prints, and what else a database says of itself.

    Attributes:
        hash: CRC-32C over names, keys and values of all buckets.
        revision: Main revision of the last row.
        total_key: Live keys, as etcdutl 3.6 counts.
        total_key_34: Entries of all buckets, as etcdctl 3.4 counts.
        total_size: Bytes of the pages in use.
        version: Storage version; empty before 3.6.
        hash_kv: What `etcdutl hashkv` prints at the current revision; equal between members.
        current_revision: The store's revision, which may be above that of the last row.
        digest: ok, mismatch or absent.
        finished_compaction: Revision, None if nothing was compacted; likewise `scheduled_compaction`.
        unreachable_pages: Pages that no bucket uses.
    """

    hash: int
    revision: int
    total_key: int
    total_key_34: int
    total_size: int
    version: str
    hash_kv: int
    current_revision: int
    digest: str
    page_size: int
    txid: int
    high_water_mark: int
    key_rows: int
    consistent_index: int | None
    term: int | None
    finished_compaction: int | None
    scheduled_compaction: int | None
    unreachable_pages: int
    meta_keys: tuple[str, ...]


def _spans(view: FileView, starts: I64, sizes: I64, take: Callable[[memoryview], None]) -> None:
    """Return spans of the file, those that touch each other together."""
    if not len(starts):
        return
    data, ends = memoryview(view.data), starts + sizes
    breaks = np.flatnonzero(starts[1:] != ends[:-1]) + 1
    for start, stop in zip(
        starts[np.concatenate(([0], breaks))].tolist(),
        ends[np.concatenate((breaks, [len(starts)])) - 1].tolist(),
        strict=True,
    ):
        take(data[start:stop])


def snapshot_status(path: Path, *, workdir: Path) -> SnapshotStatus:
    """Read a database once over and return its status numbers; of a damaged one those of what can be read.

    Args:
        workdir: For temporary files; nothing is left there.

    Raises:
        DamagedDump: Nothing can be read.
    """
    digest = Digest(path)
    digest.start()
    file = EtcdFile.open(path)
    total, entries, bare = _Crc32c(), 0, -1
    for name in sorted(file.buckets):
        total.update(name)
        for rows in file.rows(name):
            entries += len(rows)
            nested = rows.flags == 1
            _spans(file.view, rows.key, rows.key_size + np.where(nested, 0, rows.value_size), total.update)
            if name == b"key":
                empty = rows.key[(rows.value_size == 0) & (rows.key_size == _PUT_SIZE)]
                bare = int(empty[-1]) if len(empty) else bare
    unreachable = unreachable_pages(file.tree)
    file.tree = BoltTree(file.view, file.meta)  # a tree is walked once
    meta = file.values(b"meta")
    values = MetaValues.of(meta)
    table = workdir / "status.arrow"
    live = write_live_table(
        file.view, file.rows(b"key"), table, workdir=workdir, number=0, report=lambda _page, _element, _reason: None
    )
    hash_kv = _hash_kv(file, table, values, bare)
    table.unlink()
    digest.join()
    return SnapshotStatus(
        hash=total.value(),
        revision=live.last,
        total_key=live.rows + (bare >= 0),
        total_key_34=entries,
        total_size=file.meta.high_water_mark * file.meta.page_size,
        version=meta.get(b"storageVersion", b"").decode(),
        hash_kv=hash_kv,
        current_revision=values.current_revision(live.last),
        digest=digest.status,
        page_size=file.meta.page_size,
        txid=file.meta.txid,
        high_water_mark=file.meta.high_water_mark,
        key_rows=live.revisions,
        consistent_index=values.consistent_index,
        term=int.from_bytes(meta[b"term"], "big") if b"term" in meta else None,
        finished_compaction=values.finished,
        scheduled_compaction=values.scheduled,
        unreachable_pages=unreachable,
        meta_keys=values.keys,
    )


def _hash_kv(file: EtcdFile, table: Path, values: MetaValues, bare: int) -> int:
    """Hash the `key` bucket as members compare themselves: without what a compaction may or may not have removed.

    Args:
        bare: The place of the last row with neither key nor value, which etcd takes for the live one of the key "".
    """
    compacted = max(-1 if known is None else known for known in (values.finished, values.scheduled))
    with pa.memory_map(str(table)) as stream:
        kept = np.sort(pa.ipc.open_file(stream).read_all()["offset"].to_numpy())
    out = _Crc32c()
    out.update(b"key")
    file.tree = BoltTree(file.view, file.meta)
    for rows in file.rows(b"key"):
        main = rows.words[:, 0].astype(np.int64)
        counts = main > compacted
        if not counts.all():
            if len(kept) or bare >= 0:
                found = revisions(file.view, rows, lambda _page, _element, _reason: None)
                counts[found.row[~found.deleted & np.isin(found.value, kept)]] = (
                    True  # the place of a value names its row
                )
                counts[rows.key == bare] = True
            else:
                counts[:] = True
            counts &= ~((main == compacted) & (rows.key_size == _DELETED_SIZE))
        _spans(file.view, rows.key[counts], (rows.key_size + rows.value_size)[counts], out.update)
    return out.value()
