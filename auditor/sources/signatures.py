"""First bytes by which dumps are detected; in a separate module, as readers are imported only when needed."""

from __future__ import annotations

import codecs
import re
from typing import Final

BOLT_MAGIC: Final = 0xED0CDAED
"""Little-endian, after the header of a meta page."""

BOLT_PAGE_SIZES: Final = tuple(1024 << shift for shift in range(15))
"""Page sizes at which a second meta page is searched: 1 KiB to 16 MiB."""

SQLITE_MAGIC: Final = b"SQLite format 3\0"

_ETCDCTL: Final = re.compile(rb'\s*+\{\s*+"(?:header|kvs|count|more)"\s*+:\s*+')


def plain_text(head: bytes) -> bytes:
    """Return the beginning of a text in UTF-8, converted from the encodings that shells of Windows write."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(mark):
            return head[2:].decode(encoding, "replace").encode()
    return head.removeprefix(codecs.BOM_UTF8)


def looks_like_etcdctl(head: bytes) -> bool:
    """Whether a file with this beginning is JSON output of etcdctl."""
    return _ETCDCTL.match(plain_text(head)) is not None
