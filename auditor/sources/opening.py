"""Opening a dump: what it is, is told from its first bytes; what it holds becomes a live table.

Source: ../README.md, "Your own dump", lists what can be opened.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from auditor.errors import DamagedDump, SourceError, UnknownDump
from auditor.sources.etcd.live import write_live_table
from auditor.sources.etcd.snapshot import Digest, EtcdFile, MetaValues
from auditor.sources.etcdctl import open_etcdctl
from auditor.sources.manifests import looks_like_manifests, open_directory, open_manifests
from auditor.sources.plan import SourcePlan

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.sources.plan import Progress

__all__ = ["open_source"]

_HEAD: Final = 64 << 10
_BLOCK: Final = 1 << 20
_GZIP: Final = b"\x1f\x8b\x08"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_MAX_EXPANDED: Final = 64 << 30
_MAX_RATIO: Final = 1000
_RATIO_COUNTS_FROM: Final = 64 << 20
_MAX_LAYERS: Final = 4
_META_MAGIC: Final = b"\xed\xda\x0c\xed"
_ACCEPTED: Final = (
    "an etcd snapshot or member database, `etcdctl get -w json`, Kubernetes objects as JSON, NDJSON or YAML, "
    "each plain, .gz or .zst"
)
_NOT_YET: Final = (
    (b"SQLite format 3\0", "a SQLite database (kine?)"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\xfd7zXZ\0", "xz compressed"),
    (b"BZh", "bzip2 compressed"),
    (b"\x04\x22\x4d\x18", "lz4 compressed"),
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself"),
)


def open_source(
    path: str, *, number: int, workdir: Path, etcd_prefix: str = "/registry", progress: Progress | None = None
) -> SourcePlan:
    """Open one dump.

    Args:
        path: File, folder, or ``-`` for standard input.
        number: Its position among the inputs.
        workdir: Where the live table goes, and what has to be unpacked.
        etcd_prefix: What the API server's keys start with; keys elsewhere are rows all the same.
        progress: Called now and then with bytes done and bytes in all.

    Raises:
        UnknownDump: No reader recognises it; says what was seen.
        DamagedDump: It is recognised, and nothing in it can be read.
    """
    del etcd_prefix  # every key of the store is a row; what it is, is told later
    given = Path(path)
    if path != "-" and not given.exists():
        raise SourceError(path, "no such file or folder")
    if path != "-" and given.is_dir():
        database = next((given / part for part in ("member/snap/db", "snap/db", "db") if (given / part).is_file()), None)
        if database is None:
            return open_directory(given, number=number, workdir=workdir)
        plan = _open_etcd(path, database, "", number, workdir, progress)
        plan.format = "etcd-data-dir"
        plan.notes = (*plan.notes, "the write-ahead log beside the database is not applied: newest writes may be missing")
        return plan
    data_file, sha256 = (_spool_stdin(workdir, number) if path == "-" else (given, ""))
    for layer in range(_MAX_LAYERS + 1):
        with data_file.open("rb") as stream:
            head = stream.read(_HEAD)
        if not head.startswith((_GZIP, _ZSTD)):
            break
        if layer == _MAX_LAYERS:
            raise UnknownDump(path, f"compressed more than {_MAX_LAYERS} times over")
        sha256 = sha256 or _sha256(data_file)
        data_file = _unpack(path, data_file, workdir / f"unpacked-{number}-{layer}")
    if _is_bolt(head):
        return _open_etcd(path, data_file, sha256, number, workdir, progress)
    if re.match(rb'\s*\{\s*"header"\s*:', head):
        return open_etcdctl(path, data_file, number=number, workdir=workdir, sha256=sha256 or _sha256(data_file))
    if looks_like_manifests(head):
        return open_manifests(path, data_file, number=number, workdir=workdir, sha256=sha256)
    raise _unknown(path, head, data_file.stat().st_size)


def _is_bolt(head: bytes) -> bool:
    """Whether meta page 0 or, at any page size that fits the head, meta page 1 shows."""
    return head[16:20] == _META_MAGIC or any(
        head[(1024 << power) + 16 : (1024 << power) + 20] == _META_MAGIC for power in range(6)
    ) or len(head) >= 8192 and head[:4096].count(0) > 3900 and head[4096 + 8 : 4096 + 10] == b"\x04\x00"


def _unknown(path: str, head: bytes, size: int) -> UnknownDump:
    if not head:
        return UnknownDump(path, "an empty file", _ACCEPTED)
    if not head.strip(b"\0"):
        return UnknownDump(path, f"nothing but zero bytes, size {size}", _ACCEPTED)
    known = next((what for magic, what in _NOT_YET if head.startswith(magic)), None)
    if known is None and head[257:262] == b"ustar":
        known = "a tar archive"
    if known is not None:
        return UnknownDump(path, f"{known}: this is not read yet", _ACCEPTED)
    if head.lstrip().startswith(b"<"):
        return UnknownDump(path, "HTML or XML, perhaps an error page", _ACCEPTED)
    shown = head[:8].hex(" ")
    return UnknownDump(path, f"unknown format: first bytes {shown}, size {size}", _ACCEPTED)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _spool_stdin(workdir: Path, number: int) -> tuple[Path, str]:
    target = workdir / f"stdin-{number}"
    digest = hashlib.sha256()
    with target.open("wb") as out:
        while block := sys.stdin.buffer.read(_BLOCK):
            digest.update(block)
            out.write(block)
    return target, digest.hexdigest()


def _unpack(name: str, source: Path, target: Path) -> Path:
    """Unpack one layer of compression; a stream that breaks off keeps what came before, the reader will say so."""
    given = source.stat().st_size

    def write(out: BinaryIO, block: bytes) -> None:
        out.write(block)
        done = out.tell()
        if done > _MAX_EXPANDED or (done > _RATIO_COUNTS_FROM and done > _MAX_RATIO * given):
            raise DamagedDump(name, f"expands past {done} bytes (ratio {done // max(given, 1)})", "", "unpack it yourself")

    with source.open("rb") as stream, target.open("wb") as out:
        packed = stream.read(4)
        stream.seek(0)
        if packed.startswith(_GZIP):
            _gunzip(name, stream, lambda block: write(out, block))
        else:
            import zstandard  # noqa: PLC0415 - only where it is needed

            try:
                with zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True) as reader:
                    while block := reader.read(_BLOCK):
                        write(out, block)
            except zstandard.ZstdError as error:
                raise DamagedDump(name, f"zstd stream broken: {error}", "", "copy the file again") from None
    return target


def _gunzip(name: str, stream: BinaryIO, write: Callable[[bytes], None]) -> None:
    """Unpack all members of a gzip file in bounded pieces."""
    decoder = zlib.decompressobj(31)
    rest = b""
    while block := rest or stream.read(_BLOCK):
        try:
            write(decoder.decompress(block, _BLOCK))
            rest = decoder.unconsumed_tail
        except zlib.error as error:
            raise DamagedDump(name, f"gzip stream broken: {error}", "", "copy the file again") from None
        if decoder.eof:
            rest = decoder.unused_data.lstrip(b"\0")
            decoder = zlib.decompressobj(31)
            if not rest and not (rest := stream.read(_BLOCK).lstrip(b"\0")):
                return
    raise DamagedDump(name, "gzip stream ends early", "a whole file", "copy it again")


def _open_etcd(
    name: str, data_file: Path, sha256: str, number: int, workdir: Path, progress: Progress | None
) -> SourcePlan:
    digest = Digest(data_file, progress)
    digest.start()
    file = EtcdFile.open(data_file, name=name)
    live = workdir / f"live-{number}.arrow"
    found = write_live_table(
        file.view, file.rows(b"key"), live, workdir=workdir, number=number, report=file.report
    )
    file.note_losses()
    values = MetaValues.of(file.values(b"meta"))
    file.note_losses("meta")
    digest.join()
    notes = list(file.notes)
    if digest.status == "mismatch":
        notes.append('sha256 at the end does not match: the file was changed or cut after "snapshot save"')
        file.damage.add("end of file", "the snapshot's sha256 does not match its content: results may be wrong")
    compacted = max(values.finished or 0, values.scheduled or 0) or None
    return SourcePlan(
        name=name,
        format="etcd-snapshot",
        mapped=str(data_file),
        sha256=sha256 or digest.sha256,
        revision=values.current_revision(found.last),
        compacted_revision=compacted,
        is_export=False,
        live=str(live),
        rows=found.rows,
        damage=file.damage.records(),
        notes=tuple(notes),
    )
