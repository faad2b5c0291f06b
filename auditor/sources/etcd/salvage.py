"""Salvages data of a damaged database that its tree no longer reaches; only on request, as it may be outdated.

Changed pages are written to a new position, so old versions of pages remain in the file. In the bucket `key` a revision
never changes: a stale leaf has no wrong revisions, only some that a compaction has removed since. So for a gap of the
tree, revisions above the last compaction are taken from unreferenced leaves; those at or below it may be superseded or
deleted, so that only their keys are reported. Where the tree reaches no revision at all, they are taken, too, and
counted: else nothing would be read. If both meta pages or the root page are lost, the root is searched among all pages:
a leaf whose elements are all buckets with etcd's names.

A tree may be intact and lost nevertheless: a page of it was replaced by an empty or an older one. So revisions that are
newer than all that the tree reaches are taken from unreferenced leaves as well. A healthy database may have some, of a
transaction that was not finished or that began while the snapshot was taken, but not of more keys than its tree has
revisions: only more than that counts as damage (`Lost`).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from auditor.sources.bolt import BoltTree, Meta
from auditor.sources.bolt.page import (
    ELEMENT_SIZE,
    HEADER_SIZE,
    KEY_BYTES,
    LEAF,
    LeafElements,
    leaf_rows,
    precedes,
    read_headers,
)
from auditor.sources.bolt.tree import BATCH_ROWS
from auditor.sources.etcd.mvcc import MalformedMessage, parse_key_value, parse_revision

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.sources.bolt import Bucket, Loss
    from auditor.sources.files.view import I64, FileView


BUCKETS: Final = frozenset(
    {
        b"alarm", b"auth", b"authRoles", b"authUsers", b"cluster", b"key", b"lease", b"members", b"members_removed",
        b"meta",
    }
)  # fmt: skip
_SIZES: Final = (4096, 16384, 65536, 8192, 32768, 1024, 2048)
_PAGES_AT_ONCE: Final = 1 << 12
_MOST_ROOTS: Final = 4096
_MOST_KEYS: Final = 100_000


class Lost(NamedTuple):
    """Leaves that nothing refers to and that hold newer revisions than the tree, and the number of their keys."""

    pages: int
    keys: int


@dataclass(slots=True)
class Salvage:
    """Rows of orphaned leaves that are in gaps of the tree.

    Args:
        view: The file.
        tree: The tree of the bucket `key`, after the walk.
        compacted: Revision up to which history is compacted; None if not known, so that no row is safe.
        root: The bucket `key`; None if there is none.

    Attributes:
        pages: Number of orphaned leaves with used rows.
        revisions: Number of used rows.
        unverified: Number of used rows in a gap without end, which may be from an unfinished transaction.
        outdated: Number of used rows that a compaction may have removed.
        keys: Number of their keys.
        unsafe: Keys of rows that were not used, up to a limit.
    """

    view: FileView
    tree: BoltTree
    compacted: int | None
    root: Bucket | None
    pages: int = 0
    revisions: int = 0
    unverified: int = 0
    outdated: int = 0
    keys: set[bytes] = field(default_factory=set)
    unsafe: set[bytes] = field(default_factory=set)

    def rows(self, reached: int) -> Iterator[LeafElements]:
        """Yield the rows that can be used, each revision once, in key order.

        Args:
            reached: The number of revisions that the tree reaches.
        """
        gaps = _gaps([*_spans(self.tree.losses), (self.end(), None)])
        batches: list[LeafElements] = []
        best: dict[bytes, tuple[int, int]] = {}
        for rows in self._orphans(_first(gaps)):
            fitting = list(_inside(self.view, rows, gaps))
            for index in fitting:
                best.setdefault(self._key(rows, index), (len(batches), index))
            batches.extend([rows] if fitting else [])
        taken: list[tuple[int, int]] = []
        lows = [low for low, _ in gaps]
        for key in sorted(best):
            batch, index = best[key]
            main = int.from_bytes(key[:8], "big")
            about = _named(self.view, batches[batch], index)
            if self.compacted is None or main <= self.compacted:
                if reached:
                    if len(self.unsafe) < _MOST_KEYS:
                        self.unsafe.add(about)
                    continue
                self.outdated += 1
            taken.append((batch, index))
            self.keys.add(about)
            self.unverified += gaps[bisect_right(lows, key) - 1][1] is None
        self.unsafe.discard(b"")
        self.revisions = len(taken)
        if taken:
            rows = _together(batches, taken)
            self.pages = len(np.unique(rows.page))
            for start in range(0, len(rows), BATCH_ROWS):
                yield rows.select(slice(start, start + BATCH_ROWS))

    def end(self) -> bytes:
        """Return the first key of bucket `key` that is newer than all that the tree reaches and the last compaction.

        Below a tree without any revision that is the first of all keys.
        """
        last = (self.root and self.tree.last_key(self.root)) or b""
        if not last:
            return b""
        revision = parse_revision(last)
        least = self.compacted or 0
        return last + b"\0" if revision is not None and revision.main > least else (least + 1).to_bytes(8, "big")

    def lost(self, revisions: int) -> Lost | None:
        """Return what unreferenced leaves hold beyond the tree, if it is of more keys than that has revisions; or None.

        Args:
            revisions: The number of revisions that the tree reaches.
        """
        reached = self.tree.reached()
        if np.count_nonzero(~reached[2:]) <= np.count_nonzero(reached[2:]):
            return None  # the pages of the tree would be among those that nothing refers to
        gaps = _gaps([(self.end(), None)])
        pages: set[int] = set()
        keys: set[bytes] = set()
        for rows in self._orphans(_first(gaps)):
            for index in _inside(self.view, rows, gaps):
                pages.add(int(rows.page[index]))
                keys.add(_named(self.view, rows, index))
                if len(keys) > _MOST_KEYS:
                    break
        keys.discard(b"")
        return Lost(len(pages), len(keys)) if len(keys) > revisions else None

    def _key(self, rows: LeafElements, index: int) -> bytes:
        return self.view.cut(int(rows.key[index]), int(rows.key_size[index]))

    def _orphans(self, least: int) -> Iterator[LeafElements]:
        """Yield the rows of valid leaves that the walk did not visit, and whose last revision is not before one."""
        tree, view, size = self.tree, self.view, self.tree.page_size
        reached = tree.reached()
        for start in range(2, len(reached), _PAGES_AT_ONCE):
            pages = np.arange(start, min(start + _PAGES_AT_ONCE, len(reached)), dtype=np.int64)
            pages = pages[~reached[pages]]
            rows = _leaves(view, size, tree.limit, pages, least)
            if rows is not None:
                yield rows


def _spans(losses: list[Loss]) -> list[tuple[bytes, bytes | None]]:
    return [(loss.low or b"", loss.high) for loss in losses if not loss.read_all]


def _gaps(spans: list[tuple[bytes, bytes | None]]) -> list[tuple[bytes, bytes | None]]:
    """Return ranges of lost keys, made ascending and disjoint; an end of None means up to the last key."""
    spans = sorted(spans, key=lambda span: (span[0], span[1] is None, span[1] or b""))
    out: list[tuple[bytes, bytes | None]] = []
    for low, high in spans:
        if out and (out[-1][1] is None or low <= out[-1][1]):
            before = out[-1][1]
            out[-1] = (out[-1][0], None if before is None or high is None else max(before, high))
        else:
            out.append((low, high))
    return out


def _first(gaps: list[tuple[bytes, bytes | None]]) -> int:
    """Return the first revision of some gaps."""
    return int.from_bytes(gaps[0][0][:8].ljust(8, b"\0"), "big")


def _leaves(view: FileView, size: int, limit: int, pages: I64, least: int) -> LeafElements | None:
    """Return the rows of those pages that are valid leaves of revisions and end with `least` or a later one."""
    pages = pages[pages * size + HEADER_SIZE <= view.size]
    offset = pages * size
    header = read_headers(view, offset)
    span = (1 + header.overflow) * size
    fits = (
        (header.id == pages.astype(np.uint64))
        & (header.flags == LEAF)
        & (header.count > 0)
        & (offset + span <= view.size)
        & (pages + header.overflow < limit)
        & (HEADER_SIZE + ELEMENT_SIZE * header.count <= span)
    )
    if least and fits.any():
        leaves = np.flatnonzero(fits)  # the last element of each, as if it were the first of its page
        last = leaf_rows(
            view, pages[leaves], offset[leaves] + ELEMENT_SIZE * (header.count[leaves] - 1), np.ones_like(leaves)
        )
        fits[leaves] = last.words[:, 0] >= np.uint64(least)
    if not fits.any():
        return None
    pages, offset, count, span = pages[fits], offset[fits], header.count[fits], span[fits]
    rows = leaf_rows(view, pages, offset, count)
    words, firsts = rows.words, np.cumsum(count) - count
    ascending = np.ones(len(rows), dtype=bool)
    ascending[1:] = precedes(words[:-1], words[1:], or_equal=False)
    ascending[firsts] = True
    deleted = rows.key_size == 18
    revision = (deleted | (rows.key_size == 17)) & ((words[:, 1] >> np.uint64(56)) == 0x5F)
    revision &= ~deleted | (((words[:, 2] >> np.uint64(48)) & np.uint64(0xFF)) == 0x74)
    begin = np.repeat(offset + HEADER_SIZE + ELEMENT_SIZE * count, count)
    inside = (rows.key >= begin) & (rows.key + rows.key_size + rows.value_size <= np.repeat(offset + span, count))
    packed = np.ones(len(rows), dtype=bool)
    packed[1:] = rows.key[1:] == (rows.key + rows.key_size + rows.value_size)[:-1]
    packed[firsts] = True
    sound = np.logical_and.reduceat(ascending & revision & inside & packed & (rows.flags == 0), firsts)
    return rows.select(np.repeat(sound, count), suspect=True) if sound.any() else None


def _inside(view: FileView, rows: LeafElements, gaps: list[tuple[bytes, bytes | None]]) -> Iterator[int]:
    """Yield the positions of rows in a gap."""
    lows = [low for low, _ in gaps]
    main = rows.words[:, 0]
    ends = [high for _, high in gaps]
    least = _first(gaps)
    last = ends[-1]
    most = (1 << 64) - 1 if last is None else int.from_bytes(last[:8].ljust(8, b"\xff"), "big")
    for index in np.flatnonzero((main >= np.uint64(least)) & (main <= np.uint64(most))).tolist():
        key = view.cut(int(rows.key[index]), int(rows.key_size[index]))
        position = bisect_right(lows, key) - 1
        end = ends[position]
        if position >= 0 and (end is None or key < end):
            yield index


def _named(view: FileView, rows: LeafElements, index: int) -> bytes:
    """Return the key in a row; empty if its value is not a message."""
    start = int(rows.key[index] + rows.key_size[index])
    try:
        entry = parse_key_value(view.data, start, start + int(rows.value_size[index]))
    except MalformedMessage:
        return b""
    return view.cut(*entry.key)


def _together(batches: list[LeafElements], taken: list[tuple[int, int]]) -> LeafElements:
    """Join single rows of several batches, in the given order."""
    batch, index = np.array(taken, dtype=np.int64).T
    order = np.argsort(batch, kind="stable")
    parts = [batches[number].select(index[order][batch[order] == number]) for number in np.unique(batch).tolist()]
    rows = LeafElements(
        page=np.concatenate([part.page for part in parts]),
        index=np.concatenate([part.index for part in parts]),
        key=np.concatenate([part.key for part in parts]),
        key_size=np.concatenate([part.key_size for part in parts]),
        value_size=np.concatenate([part.value_size for part in parts]),
        flags=np.concatenate([part.flags for part in parts]),
        words=np.concatenate([part.words for part in parts]),
        suspect=True,
    )
    return rows.select(np.argsort(order, kind="stable"))


def _page_size(view: FileView) -> int | None:
    """Guess the page size of a file without meta pages: most pages are at the position of their number."""
    best, most = None, 0.0
    for size in _SIZES:
        count = min(view.size // size, 1 << 14)
        pages = np.arange(2, count, dtype=np.int64)
        if not len(pages):
            continue
        header = read_headers(view, pages * size)
        known = (header.id == pages.astype(np.uint64)) & np.isin(header.flags, (1, 2, 4, 16))
        share = float(known.mean())
        if share > most:
            best, most = size, share
    return best


def find_root(view: FileView, page_size: int | None = None) -> Meta | None:
    """Find the newest root page of an etcd database among all pages; return a meta page that would refer to it.

    Args:
        page_size: The page size; None to guess it.
    """
    size = page_size or _page_size(view)
    if size is None:
        return None
    in_file = view.size // size
    best: tuple[int, Meta] | None = None
    for page in _root_pages(view, size, in_file):
        meta = Meta(-1, size, page, None, in_file, 0)
        tree = BoltTree(view, meta)
        by_name = tree.buckets()
        index = 0
        if b"meta" in by_name and not tree.losses:
            for rows in tree.rows(by_name[b"meta"]):
                for key, key_size, length in zip(rows.key, rows.key_size, rows.value_size, strict=True):
                    if length == 8 and view.cut(int(key), int(key_size)) == b"consistent_index":
                        index = int.from_bytes(view.cut(int(key + key_size), 8), "big")
        if b"key" in by_name and (best is None or index > best[0]):
            best = index, meta
    return best[1] if best else None


def _root_pages(view: FileView, size: int, in_file: int) -> list[int]:
    """Return pages that are leaves of only buckets with etcd's names, including `key`."""
    out: list[int] = []
    for start in range(2, in_file, _PAGES_AT_ONCE):
        pages = np.arange(start, min(start + _PAGES_AT_ONCE, in_file), dtype=np.int64)
        header = read_headers(view, pages * size)
        likely = (header.id == pages.astype(np.uint64)) & (header.flags == LEAF)
        likely &= (header.count > 0) & (header.count <= len(BUCKETS)) & (header.overflow == 0)
        for page, count in zip(pages[likely].tolist(), header.count[likely].tolist(), strict=True):
            rows = leaf_rows(view, np.array([page]), np.array([page * size]), np.array([count]))
            if not (rows.flags == 1).all() or (rows.key_size > KEY_BYTES).any() or (rows.key < 0).any():
                continue
            names = {view.cut(int(key), int(length)) for key, length in zip(rows.key, rows.key_size, strict=True)}
            if names <= BUCKETS and b"key" in names:
                out.append(page)
    return out[-_MOST_ROOTS:]
