"""The two meta pages of a bolt file: page size, root bucket, high water mark; and which of them is valid."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from auditor.sources.signatures import BOLT_MAGIC, BOLT_PAGE_SIZES

if TYPE_CHECKING:
    from auditor.sources.files.view import FileView

__all__ = ["Meta", "Metas", "fnv64a", "read_metas"]

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
            found = _read_meta(view, 1, page_size)
            if isinstance(found, Meta) and found.page_size == page_size:
                second = found
                break
            if isinstance(found, str) and "checksum" in found and isinstance(second, str):
                second = found
    both = ((0, first), (1, second))
    valid = [meta for _, meta in both if isinstance(meta, Meta)]
    valid.sort(key=lambda meta: -meta.txid)
    return Metas(tuple(valid), tuple((page, fault) for page, fault in both if isinstance(fault, str)))
