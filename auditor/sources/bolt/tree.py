"""Walks the B+trees of a bolt file in key order: valid pages by the thousand, damaged ones one by one.

Sibling pages are checked together, with arrays: header, type, elements inside the page, keys ascending between the
bounds of the parent, no page twice. A page that fails one of these checks is read again separately (single.py), and
unreadable parts become a Loss. So the fast path must be right only about pages that it accepts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from auditor.base.progress import tell
from auditor.sources.bolt.check import (
    Loss,
    PageFault,
    PageInfo,
    branch_keys,
    count_checked,
    read_page,
    sound_elements,
)
from auditor.sources.bolt.page import (
    BRANCH,
    ELEMENT_SIZE,
    HEADER_SIZE,
    KEY_BYTES,
    LEAF,
    LeafElements,
    branch_elements,
    key_words,
    leaf_rows,
    precedes,
    read_headers,
)
from auditor.sources.bolt.single import MAX_DEPTH, PageReader, widened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from auditor.sources.bolt.page import Meta
    from auditor.sources.files.view import I64, U64, FileView


BATCH_ROWS = 1 << 14
"""Approximate number of rows of a batch; limits the memory of the reader."""

_CHILDREN_AT_ONCE = 1 << 14
_BUCKET_HEADER = 16
_NO_HIGH = np.full(4, np.iinfo(np.uint64).max, dtype=np.uint64)
_NO_LOW = np.zeros(4, dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket: a tree of pages, or one page image inside the parent's value.

    Attributes:
        root: Page id of its root; 0 if inline.
        page: Page with the bucket's entry.
        offset: Offset of the inline page image.
        size: Bytes of it.
    """

    name: bytes
    root: int
    page: int = 0
    offset: int = 0
    size: int = 0


@dataclass(slots=True)
class _Siblings:
    """Pages of one level in key order, with the bounds of their keys as words."""

    page: U64
    low: U64
    high: U64

    def __len__(self) -> int:
        return len(self.page)

    def select(self, which: slice | NDArray[np.bool_]) -> _Siblings:
        return _Siblings(self.page[which], self.low[which], self.high[which])


@dataclass(slots=True)
class _Leaves:
    """Leaf pages that are not read yet, with data from their headers."""

    pages: _Siblings
    count: I64
    overflow: I64


def _to_bytes(words: U64) -> bytes | None:
    """Convert a bound to bytes; None if there is no bound."""
    size = int(words[3])
    if size == 0 or size > KEY_BYTES:
        return None
    return words[:3].astype(">u8").tobytes()[:size]


def _to_words(key: bytes | None, missing: U64) -> U64 | None:
    """Convert a bound to words; None if it is too long for that."""
    if key is None:
        return missing
    if len(key) > KEY_BYTES:
        return None
    words = np.empty(4, dtype=np.uint64)
    words[:3] = np.frombuffer(key.ljust(KEY_BYTES, b"\0"), dtype=">u8")
    words[3] = len(key)
    return words


def _parts(count: I64, start: int, stop: int) -> Iterator[slice]:
    """Split a run of branch pages into parts with a limited number of children, or of one page."""
    total = np.cumsum(count[start:stop])
    first = 0
    while first < len(total):
        before = int(total[first - 1]) if first else 0
        end = max(first + 1, int(np.searchsorted(total, before + _CHILDREN_AT_ONCE, side="right")))
        yield slice(start + first, start + end)
        first = end


class BoltTree:
    """The trees below one meta page.

    Args:
        view: The file.
        meta: The state to read.
        batch_rows: Approximate number of rows of a batch.

    Attributes:
        losses: The losses so far.
    """

    def __init__(self, view: FileView, meta: Meta, *, batch_rows: int = BATCH_ROWS) -> None:
        self.view = view
        self.meta = meta
        self.page_size = meta.page_size
        self.batch_rows = batch_rows
        self.losses: list[Loss] = []
        in_file = -(-view.size // meta.page_size)
        self.limit = meta.high_water_mark
        self._visited = np.zeros(max(1, min(self.limit, in_file)), dtype=bool)
        self._single = PageReader(view, self.page_size, self.limit, self._visited, self.losses)
        self._pending: list[_Leaves] = []
        self._pending_rows = 0

    # ---- buckets

    def buckets(self) -> dict[bytes, Bucket]:
        """Return the buckets of the root, by name."""
        buckets_: dict[bytes, Bucket] = {}
        for rows in self.rows(Bucket(b"", self.meta.root)):
            buckets_.update(self.nested(rows))
        return buckets_

    def nested(self, rows: LeafElements) -> dict[bytes, Bucket]:
        """Return the buckets among some rows, by name."""
        buckets_: dict[bytes, Bucket] = {}
        for index in np.flatnonzero(rows.flags == 1).tolist():
            name = self.view.cut(int(rows.key[index]), int(rows.key_size[index]))
            value = int(rows.key[index] + rows.key_size[index])
            size, page = int(rows.value_size[index]), int(rows.page[index])
            if size < _BUCKET_HEADER:
                self.losses.append(Loss(page, f"bucket {name!r} has a header of {size} bytes", name, name + b"\0"))
                continue
            root = int.from_bytes(self.view.cut(value, 8), "little")
            buckets_[name] = Bucket(name, root, page, value + _BUCKET_HEADER, size - _BUCKET_HEADER)
        return buckets_

    def reached(self) -> NDArray[np.bool_]:
        """Return, for each page of the file below the high water mark, whether a walk has visited it."""
        return self._visited.copy()

    def root_fault(self, bucket: Bucket) -> str:
        """Return the fault of the header of a bucket's root page; empty if there is none."""
        if bucket.root == 0:
            return ""
        try:
            info = read_page(self.view, self.page_size, self.limit, bucket.root)
        except PageFault as fault:
            return str(fault)
        return info.fault

    def last_key(self, bucket: Bucket) -> bytes | None:
        """Return the last key of a bucket, read from its rightmost pages only, or None if they are broken or empty."""
        page, depth = bucket.root, 0
        while page and depth < MAX_DEPTH:
            try:
                info = read_page(self.view, self.page_size, self.limit, page)
            except PageFault:
                return None
            if info.fault or not info.count:
                return None
            if info.flags == BRANCH:
                page, depth = branch_keys(self.view, info)[1][-1], depth + 1
                continue
            rows = leaf_rows(self.view, np.array([info.page]), np.array([info.offset]), np.array([info.count]))
            return None if any(sound_elements(rows, info)) else self.view.cut(int(rows.key[-1]), int(rows.key_size[-1]))
        return None

    # ---- rows

    def rows(self, bucket: Bucket) -> Iterator[LeafElements]:
        """Yield the elements of a bucket in key order, in batches."""
        if bucket.root == 0:
            yield from self._inline(bucket)
            return
        yield from self._one(bucket.root, None, None, 0)
        yield from self._flush()

    def _inline(self, bucket: Bucket) -> Iterator[LeafElements]:
        view, offset = self.view, bucket.offset
        if bucket.size < HEADER_SIZE:
            self.losses.append(Loss(bucket.page, f"inline bucket {bucket.name!r} is cut", None, None))
            return
        header = read_headers(view, np.array([offset], dtype=np.int64))
        count, flags = int(header.count[0]), int(header.flags[0])
        if flags != LEAF or HEADER_SIZE + ELEMENT_SIZE * count > bucket.size:
            reason = f"inline bucket {bucket.name!r}: flags 0x{flags:02x}, {count} elements"
            self.losses.append(Loss(bucket.page, reason, None, None))
            return
        info = count_checked(view, PageInfo(bucket.page, offset, offset + bucket.size, flags, count))
        if count:
            try:
                yield self._single.leaf(info, None, None)
            except PageFault as fault:
                self.losses.append(Loss(bucket.page, f"inline bucket {bucket.name!r}: {fault}", None, None))

    # ---- the fast path

    def _pages(self, siblings: _Siblings, depth: int) -> Iterator[LeafElements]:
        """Read pages of one level: runs of leaves and runs of branches together, all others one by one."""
        size, limit = self.page_size, self.limit
        usable = min(limit, len(self._visited))
        in_range = (siblings.page >= np.uint64(2)) & (siblings.page < np.uint64(usable))
        page = np.where(in_range, siblings.page, np.uint64(0)).astype(np.int64)
        offset = page * size
        header = read_headers(self.view, offset)
        span = (1 + header.overflow) * size
        sound = (
            in_range
            & (header.id == siblings.page)
            & (header.count > 0)
            & (offset + span <= self.view.size)
            & (page + header.overflow < limit)
            & (HEADER_SIZE + ELEMENT_SIZE * header.count <= span)
        )
        sound &= ~self._visited[page]
        kind = np.where(sound & ((header.flags == LEAF) | (header.flags == BRANCH)), header.flags, 0)
        edges = np.flatnonzero(np.diff(kind)) + 1
        for start, stop in zip([0, *edges.tolist()], [*edges.tolist(), len(kind)], strict=True):
            run = slice(start, stop)
            if kind[start] == LEAF:
                self._pending.append(_Leaves(siblings.select(run), header.count[run], header.overflow[run]))
                self._pending_rows += int(header.count[run].sum())
                while self._pending_rows >= self.batch_rows:
                    yield from self._read_leaves(self._take_leaves())
            elif kind[start] == BRANCH and depth < MAX_DEPTH:
                for part in _parts(header.count, start, stop):
                    yield from self._branches(siblings.select(part), header.count[part], header.overflow[part], depth)
            else:
                yield from self._alone(siblings.select(run), depth)

    def _alone(self, siblings: _Siblings, depth: int) -> Iterator[LeafElements]:
        yield from self._flush()
        for page, low, high in zip(siblings.page.tolist(), siblings.low, siblings.high, strict=True):
            yield from self._slow(page, _to_bytes(low), _to_bytes(high), depth)

    def _branches(self, siblings: _Siblings, count: I64, overflow: I64, depth: int) -> Iterator[LeafElements]:
        children = self._children(siblings, count, overflow)
        if children is not None:
            yield from self._pages(children, depth + 1)
        elif len(siblings) > 1:
            for index in range(len(siblings)):
                single = slice(index, index + 1)
                yield from self._branches(siblings.select(single), count[single], overflow[single], depth)
        else:
            yield from self._alone(siblings, depth)

    def _children(self, siblings: _Siblings, count: I64, overflow: I64) -> _Siblings | None:
        """Return the children of branch pages and mark these pages; None if one page is not valid."""
        offset = siblings.page.astype(np.int64) * self.page_size
        elements = branch_elements(self.view, offset, count)
        least = np.repeat(offset + HEADER_SIZE + ELEMENT_SIZE * count, count)
        end = np.repeat(offset + (1 + overflow) * self.page_size, count)
        key, size = elements.key, elements.key_size
        if not ((key >= least) & (key + size <= end) & (size > 0) & (size <= KEY_BYTES)).all():
            return None
        words = key_words(self.view, key, size)
        firsts = np.cumsum(count) - count
        lasts = firsts + count - 1
        # Keys ascend everywhere: inside a page by its order, between pages by the bounds. No element is hidden.
        sound = (
            (key[firsts] == least[firsts]).all()
            and precedes(words[:-1], words[1:], or_equal=False).all()
            and precedes(siblings.low, words[firsts], or_equal=True).all()
            and precedes(words[lasts], siblings.high, or_equal=False).all()
        )
        if not sound:
            return None
        used = -(-(np.maximum.reduceat(key + size, firsts) - offset) // self.page_size)
        for page, pages in zip(siblings.page.tolist(), used.tolist(), strict=True):
            self._visited[page : page + pages] = True
        high = np.empty_like(words)
        high[:-1] = words[1:]
        high[lasts] = siblings.high
        return _Siblings(elements.child, words, high)

    def _take_leaves(self) -> _Leaves:
        """Take about one batch of rows from the waiting leaf pages."""
        pending = self._pending
        pages = _Siblings(
            np.concatenate([leaves.pages.page for leaves in pending]),
            np.concatenate([leaves.pages.low for leaves in pending]),
            np.concatenate([leaves.pages.high for leaves in pending]),
        )
        count = np.concatenate([leaves.count for leaves in pending])
        overflow = np.concatenate([leaves.overflow for leaves in pending])
        stop = max(1, int(np.searchsorted(np.cumsum(count), self.batch_rows, side="right")))
        taken = _Leaves(pages.select(slice(0, stop)), count[:stop], overflow[:stop])
        self._pending = []
        self._pending_rows = 0
        if stop < len(count):
            rest = _Leaves(pages.select(slice(stop, None)), count[stop:], overflow[stop:])
            self._pending = [rest]
            self._pending_rows = int(rest.count.sum())
        return taken

    def _flush(self) -> Iterator[LeafElements]:
        while self._pending:
            yield from self._read_leaves(self._take_leaves())

    def _read_leaves(self, leaves: _Leaves) -> Iterator[LeafElements]:
        """Yield the rows of leaf pages, the valid ones together."""
        pages, count, size = leaves.pages, leaves.count, self.page_size
        page = pages.page.astype(np.int64)
        offset = page * size
        rows = leaf_rows(self.view, page, offset, count)
        least = np.repeat(offset + HEADER_SIZE + ELEMENT_SIZE * count, count)
        end = np.repeat(offset + (1 + leaves.overflow) * size, count)
        stops = rows.key + rows.key_size + rows.value_size
        whole = (
            (rows.key >= least)
            & (stops <= end)
            & (rows.flags <= 1)
            & (rows.key_size > 0)
            & (rows.key_size <= KEY_BYTES)
        )
        firsts = np.cumsum(count) - count
        ascending = np.ones(len(rows), dtype=bool)
        ascending[1:] = precedes(rows.words[:-1], rows.words[1:], or_equal=False)
        ascending[firsts] = True
        packed = np.ones(len(rows), dtype=bool)  # elements must not overlap: an overlapping one would count twice
        packed[1:] = rows.key[1:] == stops[:-1]
        packed[firsts] = True
        sound = np.logical_and.reduceat(whole & ascending & packed, firsts)
        sound &= rows.key[firsts] == least[firsts]  # no element is hidden by too small a count
        sound &= precedes(pages.low, rows.words[firsts], or_equal=True)
        sound &= precedes(rows.words[firsts + count - 1], pages.high, or_equal=False)
        used = -(-(np.maximum.reduceat(np.where(whole, stops, 0), firsts) - offset) // size)
        self._claim(page, used, sound)
        tell("opening", int(np.count_nonzero(self._visited)) * self.page_size, self.view.size, "B")
        if sound.all():
            yield rows
            return
        start = 0
        for bad in np.flatnonzero(~sound).tolist():
            first = int(firsts[bad])
            if first > start:
                yield rows.select(slice(start, first))
            yield from self._slow(int(page[bad]), _to_bytes(pages.low[bad]), _to_bytes(pages.high[bad]), MAX_DEPTH)
            start = first + int(count[bad])
        if start < len(rows):
            yield rows.select(slice(start, len(rows)))

    def _claim(self, page: I64, used: I64, sound: NDArray[np.bool_]) -> None:
        """Mark the pages that valid leaves use; a page that another leaf uses makes a leaf invalid."""
        used = np.where(sound, used, 0)
        spans = np.repeat(page, used) + (np.arange(int(used.sum())) - np.repeat(np.cumsum(used) - used, used))
        order = np.sort(spans)
        if not self._visited[spans].any() and not (order[1:] == order[:-1]).any():
            self._visited[spans] = True
            return
        for index in np.flatnonzero(sound).tolist():
            span = slice(int(page[index]), int(page[index] + used[index]))
            if self._visited[span].any():
                sound[index] = False
            else:
                self._visited[span] = True

    # ---- the slow path

    def _one(self, page: int, low: bytes | None, high: bytes | None, depth: int) -> Iterator[LeafElements]:
        """Read one page, by the fast path if its bounds allow."""
        low_words, high_words = _to_words(low, _NO_LOW), _to_words(high, _NO_HIGH)
        if low_words is None or high_words is None:
            yield from self._flush()
            yield from self._slow(page, low, high, depth)
            return
        siblings = _Siblings(np.array([page], dtype=np.uint64), low_words[None], high_words[None])
        yield from self._pages(siblings, depth)

    def _slow(self, page: int, low: bytes | None, high: bytes | None, depth: int) -> Iterator[LeafElements]:
        """Read one page with every check, and use the valid parts; `depth` 0 is a root."""
        try:
            rows, children = self._single.examine(page, low, high, depth)
        except PageFault as fault:
            self.losses.append(Loss(page, str(fault), *widened(low, high, self._single.span(page))))
            return
        if rows is not None:
            yield rows
        for child, child_low, child_high in children:
            yield from self._one(child, child_low, child_high, depth + 1)
