"""Pages of a bolt file: headers, elements, and keys as numbers that compare as their bytes.

All functions work on many pages at once. They do not check the numbers in the file: callers do, before they use them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from auditor.sources.signatures import BOLT_MAGIC, BOLT_PAGE_SIZES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from auditor.sources.files.view import I64, U64, FileView


BRANCH, LEAF, META, FREELIST = 0x01, 0x02, 0x04, 0x10
HEADER_SIZE = 16
ELEMENT_SIZE = 16
KEY_BYTES = 24
"""Keys up to this length compare as numbers; longer ones are handled separately."""

_HEADER = np.dtype([("id", "<u8"), ("flags", "<u2"), ("count", "<u2"), ("overflow", "<u4")])
_LEAF_ELEMENT = np.dtype([("flags", "<u4"), ("pos", "<u4"), ("ksize", "<u4"), ("vsize", "<u4")])
_BRANCH_ELEMENT = np.dtype([("pos", "<u4"), ("ksize", "<u4"), ("pgid", "<u8")])


@dataclass(frozen=True, slots=True)
class Headers:
    """Headers of several pages, one array for each field."""

    id: U64
    flags: I64
    count: I64
    overflow: I64


def read_headers(view: FileView, offsets: I64) -> Headers:
    """Read the page headers at byte offsets."""
    raw = view.gather(offsets, HEADER_SIZE).view(_HEADER).reshape(-1)
    return Headers(
        raw["id"].astype(np.uint64),
        raw["flags"].astype(np.int64),
        raw["count"].astype(np.int64),
        raw["overflow"].astype(np.int64),
    )


@dataclass(slots=True)
class LeafElements:
    """Elements of leaf pages in key order, one array for each field.

    Attributes:
        page: Page id (0 for an inline bucket).
        index: Position in the page.
        key: Offset of the key in the file; the value follows it.
        key_size: Bytes.
        value_size: Bytes.
        flags: 1 if the value is a bucket.
        words: Shape (n, 4): the first KEY_BYTES bytes as three big-endian numbers, and the size. Unsigned.
        suspect: Whether the page is damaged: its rows look valid, but a contradictory one must not be used.
    """

    page: I64
    index: I64
    key: I64
    key_size: I64
    value_size: I64
    flags: I64
    words: U64
    suspect: bool = False

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.key)

    def select(self, which: slice | NDArray[np.bool_] | I64, *, suspect: bool | None = None) -> LeafElements:
        """Return some of the rows."""
        return LeafElements(
            self.page[which],
            self.index[which],
            self.key[which],
            self.key_size[which],
            self.value_size[which],
            self.flags[which],
            self.words[which],
            self.suspect if suspect is None else suspect,
        )


def key_words(view: FileView, offsets: I64, sizes: I64) -> U64:
    """Return keys as numbers: comparing rows column by column compares keys of up to KEY_BYTES bytes."""
    count = len(offsets)
    raw = view.gather(offsets, KEY_BYTES)
    least = int(sizes.min(initial=KEY_BYTES))
    if (sizes == least).all():  # as nearly all revisions
        raw[:, max(least, 0) :] = 0
    else:
        raw[np.arange(KEY_BYTES) >= sizes[:, None]] = 0
    words = np.empty((count, 4), dtype=np.uint64)
    words[:, :3] = raw.view(">u8").reshape(count, 3)
    words[:, 3] = sizes
    return words


def precedes(left: U64, right: U64, *, or_equal: bool) -> NDArray[np.bool_]:
    """Compare keys, given as words, row by row."""
    result: NDArray[np.bool_] = left[:, 0] < right[:, 0]
    if result.all():
        return result  # as most revisions: the first word is the number of their transaction
    result = left[:, 3] <= right[:, 3] if or_equal else left[:, 3] < right[:, 3]
    for column in (2, 1, 0):
        result = (left[:, column] < right[:, column]) | ((left[:, column] == right[:, column]) & result)
    return result


def _positions(offsets: I64, counts: I64) -> tuple[I64, I64]:
    """Return (position in its page, offset in the file) of every element of some pages."""
    total = int(counts.sum())
    firsts = np.cumsum(counts) - counts
    index = np.arange(total, dtype=np.int64) - np.repeat(firsts, counts)
    return index, np.repeat(offsets + HEADER_SIZE, counts) + ELEMENT_SIZE * index


def leaf_rows(view: FileView, pages: I64, offsets: I64, counts: I64) -> LeafElements:
    """Read the elements of leaf pages whose element arrays are inside the file; keys and values are NOT checked yet.

    Keys that begin outside the file have the key offset -1 and words of zero.
    """
    index, elements = _positions(offsets, counts)
    raw = view.gather(elements, ELEMENT_SIZE).view(_LEAF_ELEMENT).reshape(-1)
    key = elements + raw["pos"].astype(np.int64)
    key_size = raw["ksize"].astype(np.int64)
    outside = key > view.size
    words = key_words(view, np.where(outside, 0, key), key_size)
    if outside.any():
        key[outside] = -1
        words[outside] = 0
    return LeafElements(
        page=np.repeat(pages, counts),
        index=index,
        key=key,
        key_size=key_size,
        value_size=raw["vsize"].astype(np.int64),
        flags=raw["flags"].astype(np.int64),
        words=words,
    )


@dataclass(frozen=True, slots=True)
class BranchElements:
    """Elements of branch pages in key order, one array a field; `key` and `child` (a page id) are unchecked."""

    key: I64
    key_size: I64
    child: U64


def branch_elements(view: FileView, offsets: I64, counts: I64) -> BranchElements:
    """Read the elements of branch pages whose element arrays lie inside the file."""
    _, elements = _positions(offsets, counts)
    raw = view.gather(elements, ELEMENT_SIZE).view(_BRANCH_ELEMENT).reshape(-1)
    return BranchElements(
        elements + raw["pos"].astype(np.int64), raw["ksize"].astype(np.int64), raw["pgid"].astype(np.uint64)
    )


VERSION = 2
NO_FREELIST = 0xFFFFFFFFFFFFFFFF
_META = struct.Struct("<IIII QQ QQQ Q")
_AFTER_HEADER = 16


@dataclass(frozen=True, slots=True)
class Meta:
    """One valid meta page.

    Attributes:
        page: Its position, 0 or 1.
        root: Page id of the root bucket.
        freelist: Page id of the stored free list, None if none is stored (etcd stores none).
        high_water_mark: First page id never used; pages from there on are ignored.
        txid: Transaction that wrote it.
    """

    page: int
    page_size: int
    root: int
    freelist: int | None
    high_water_mark: int
    txid: int


@dataclass(frozen=True, slots=True)
class Metas:
    """The valid meta pages, newest first, and the faults of the others."""

    valid: tuple[Meta, ...]
    faults: tuple[tuple[int, str], ...]


def fnv64a(data: bytes) -> int:
    """Return the 64-bit FNV-1a hash, the checksum of meta pages."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def _read_meta(view: FileView, page: int, offset: int) -> Meta | str:
    """Read one meta page, or return its fault."""
    raw = view.cut(offset + _AFTER_HEADER, _META.size)
    if len(raw) < _META.size:
        return "beyond end of file"
    magic, version, page_size, _flags, root, _sequence, freelist, high_water_mark, txid, checksum = _META.unpack(raw)
    if magic != BOLT_MAGIC:
        return "no bolt database (magic number)"
    if version != VERSION:
        return f"version {version}, not {VERSION}"
    if checksum != fnv64a(raw[:-8]):
        return "checksum error"
    if page_size not in BOLT_PAGE_SIZES:
        return f"page size {page_size}"
    return Meta(page, page_size, root, None if freelist == NO_FREELIST else freelist, high_water_mark, txid)


def read_metas(view: FileView) -> Metas:
    """Read both meta pages; the page size comes from the first, or from the position of a valid second one.

    Source: bbolt db.go getPageSize, internal/common/meta.go.
    """
    first = _read_meta(view, 0, 0)
    second: Meta | str = "not found at any page size"
    if isinstance(first, Meta):
        second = _read_meta(view, 1, first.page_size)
    else:
        for page_size in BOLT_PAGE_SIZES:
            meta = _read_meta(view, 1, page_size)
            if isinstance(meta, Meta) and meta.page_size == page_size:
                second = meta
                break
            if isinstance(meta, str) and "checksum" in meta and isinstance(second, str):
                second = meta
    both = ((0, first), (1, second))
    valid = [meta for _, meta in both if isinstance(meta, Meta)]
    valid.sort(key=lambda meta: -meta.txid)
    return Metas(tuple(valid), tuple((page, fault) for page, fault in both if isinstance(fault, str)))
