"""The first bytes by which databases are told; apart from their readers, which are loaded when they are needed."""

from __future__ import annotations

from typing import Final

__all__ = ["BOLT_MAGIC", "BOLT_PAGE_SIZES", "SQLITE_MAGIC"]

BOLT_MAGIC: Final = 0xED0CDAED
"""Little-endian, behind the header of a meta page."""

BOLT_PAGE_SIZES: Final = tuple(1024 << shift for shift in range(15))
"""Sizes that a second meta page is looked for at: 1 KiB to 16 MiB."""

SQLITE_MAGIC: Final = b"SQLite format 3\0"
