"""Detects the format of a file or folder from its content; names are not used.

Formats without a reader are detected as well, so that they are refused by name and not misread.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from auditor.base.errors import DamagedDump, SourceError, UnknownDump
from auditor.sources.files.compression import HEAD_SIZE
from auditor.sources.readers import READERS
from auditor.sources.signatures import BOLT_MAGIC

if TYPE_CHECKING:
    from pathlib import Path


ACCEPTED: Final = (
    "an etcd snapshot, database or data directory, kine's database or table, `etcdctl get -w json`, Kubernetes objects "
    "as JSON, NDJSON or YAML, "
    "backups of Velero and Rancher, must-gather, a folder, tar or zip of these; plain or compressed (.gz .zst .xz .bz2)"
)

SCHEMA_FILE: Final = "schema.json"
"""The file beside the kinds in a folder of typed tables."""
_LATER: Final = "is not read yet"
_SAVE_TABLE: Final = "export the table kine as CSV with a header, values in hex"
_SAVE_AS_JSON: Final = 'repeat "etcdctl get /registry --prefix -w json"'

_MAGICS: Final = (
    (b"\x37\x7f\x06\x82", "the write-ahead log of a SQLite database", "the database beside it"),
    (b"\x37\x7f\x06\x83", "the write-ahead log of a SQLite database", "the database beside it"),
    (b"PK\x05\x06", "an empty zip archive", ""),
    (b"\x04\x22\x4d\x18", f"lz4 compression, which {_LATER}", "lz4 -d"),
    (b"PGDMP", "a PostgreSQL dump in its own format", "pg_restore -f kine.sql"),
    (b"-- PostgreSQL", "a PostgreSQL dump without a COPY of the table kine in its beginning", _SAVE_TABLE),
    (b"--\n-- PostgreSQL", "a PostgreSQL dump without a COPY of the table kine in its beginning", _SAVE_TABLE),
    (b"-- MySQL dump", "a MySQL dump as statements", _SAVE_TABLE),
    (b"-- MariaDB dump", "a MySQL dump as statements", _SAVE_TABLE),
    (b"PRAGMA foreign_keys", "a SQLite dump as statements", "the database itself"),
    (b"k8s:enc:", "one encrypted value, no dump", "the snapshot that it is from"),
    (b"k8s\0", "one protobuf value, no dump", "the snapshot that it is from"),
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself", "git lfs pull"),
    (b"-----BEGIN PGP MESSAGE", "an encrypted file (PGP)", "decrypt it"),
    (b"age-encryption.org/", "an encrypted file (age)", "decrypt it"),
    (b"Salted__", "an encrypted file (openssl enc)", "decrypt it"),
)
_BEGINNINGS: Final = tuple(magic for magic, _, _ in _MAGICS)
_DELTA: Final = re.compile(rb'\[\s*\{\s*"etcdEvent"')
_FIELDS: Final = re.compile(rb'"(?:ClusterID|MemberID|Revision)" :')
_SIMPLE: Final = re.compile(rb"/[^\n]*\n(?:\{|k8s\0)")


def database_of(folder: Path) -> Path | None:
    """Return the database of an etcd data directory: a folder with `member`, `member`, `snap`, or that of k3s."""
    for part in ("member/snap/db", "snap/db", "db/etcd/member/snap/db", "server/db/etcd/member/snap/db"):
        if (folder / part).is_file():
            return folder / part
    here = folder / "db"
    if here.is_file():
        with here.open("rb") as stream:
            if form_of(here, stream.read(HEAD_SIZE)) == "bolt":
                return here
    return None


def state_of(folder: Path) -> Path | None:
    """Return the SQLite database of a k3s directory: the one above `server`, `server`, or `db`."""
    for part in ("server/db/state.db", "db/state.db", "state.db"):
        if (folder / part).is_file():
            return folder / part
    return None


def form_of(path: Path | None, head: bytes) -> str:
    """Return the format of an uncompressed file that has a reader; empty if it has none.

    The formats are those of `auditor.sources.readers.READERS`.

    Args:
        path: The file; None means only its head is available.
        head: Its first 64 KiB.
    """
    is_refused: bool | None = None
    for reader in READERS.values():
        if reader.is_text:
            is_refused = refused_file(head) is not None if is_refused is None else is_refused
            if is_refused:
                return ""
        if reader.detect(path, head):
            return reader.form
    return ""


def refused_file(head: bytes) -> tuple[str, str] | None:
    """Return a format that is detected but not supported: (description, what to do)."""
    if head.startswith(_BEGINNINGS):
        return next((what, advice) for magic, what, advice in _MAGICS if head.startswith(magic))
    if head[16:20] == BOLT_MAGIC.to_bytes(4, "big"):
        return f"an etcd database from a big-endian machine, which {_LATER}", "save it through etcdctl -w json"
    if head[8:12] == b"\x08\x04\x10\x00" and head[:7].endswith(b"\0\0\0\0\0\0"):
        return "a write-ahead log of etcd", "the data directory that it is from"
    if _DELTA.match(head):
        return f"a delta snapshot of etcd-backup-restore, which {_LATER}", "the full snapshot before it"
    if _FIELDS.match(head):
        return "output of etcdctl -w fields", _SAVE_AS_JSON
    if _SIMPLE.match(head):
        return "output of etcdctl -w simple, whose keys and values cannot be separated safely", _SAVE_AS_JSON
    if head[:1] == b"\x0a" and b"\0" in head[:512] and head[2 + head[1] :][:1] in {b"\x12", b"\x18", b"\x20"}:
        return "output of etcdctl -w protobuf", _SAVE_AS_JSON
    if head.lstrip()[:1] == b"<":
        return "HTML or XML, perhaps an error page", "download it again"
    return None


def intact_pages(head: bytes) -> tuple[int, int] | None:
    """Look for a bolt file whose meta pages are both broken: (page size, pages in the head at their own position)."""
    import numpy as np  # noqa: PLC0415 - what is read by the other readers does without

    for page_size in (4096, 16384, 65536, 8192, 32768, 1024, 2048):
        count = len(head) // page_size
        pages = np.arange(2, count, dtype=np.int64)
        if len(pages) < 3:
            continue
        starts = pages * page_size
        data = np.frombuffer(head, dtype=np.uint8)
        ids = data[starts[:, None] + np.arange(8)].copy().view("<u8").reshape(-1)
        flags = data[starts[:, None] + np.arange(8, 10)].copy().view("<u2").reshape(-1)
        sound = int(((ids == pages.astype(np.uint64)) & np.isin(flags, (1, 2, 4, 16))).sum())
        if 2 * sound > len(pages):
            return page_size, sound
    return None


def check_no_tables(folder: Path) -> None:
    """Refuse a folder of typed tables, whose `schema.json` would be read as a manifest.

    Raises:
        UnknownDump: It is one.
    """
    path = folder / SCHEMA_FILE
    if path.is_file() and b'"columns_version":' in path.read_bytes()[:HEAD_SIZE]:
        raise UnknownDump(str(folder), "these are typed tables, and no dump", "", "`auditor sql` reads them")


def unknown_dump(name: str, head: bytes, size: int) -> SourceError:
    """Describe a file that no reader supports."""
    if not head:
        return UnknownDump(name, "an empty file", ACCEPTED)
    if not head.strip(b"\0"):
        return UnknownDump(name, f"nothing but zero bytes at its beginning, size {size}", ACCEPTED)
    refused = refused_file(head)
    if refused is not None:
        return UnknownDump(name, refused[0], ACCEPTED, refused[1])
    pages = intact_pages(head)
    if pages is not None:
        reason = f"an etcd database with both meta pages damaged; pages of {pages[0]} bytes look intact"
        return DamagedDump(name, reason, "a meta page that holds", "try audit --salvage, or save it again")
    shown = head[:24].decode("ascii", "replace")
    text = f' ("{shown}")' if shown.isprintable() else ""
    reason = f"unknown format: first bytes {head[:16].hex(' ')}{text}, size {size}"
    return UnknownDump(name, reason, ACCEPTED, "see `auditor sources`; --source FORMAT overrides")
