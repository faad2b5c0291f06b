"""Converts an archive or folder of files to plans: one for all its objects, and one for each database."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import DamagedDump, FileRefused, SourceError, UnknownDump
from auditor.base.visible import visible
from auditor.base.wording import are, counted, objects
from auditor.sources.archives.layouts import (
    LAYOUTS,
    MANIFESTS,
    VELERO_FORMATS,
    ArchiveLayout,
    Use,
    layout_of,
    rancher_place,
)
from auditor.sources.archives.members import Member, files_below, folder_members, tar_members, zip_members
from auditor.sources.detect import form_of
from auditor.sources.files.compression import HEAD_SIZE, PACKED_SUFFIXES, Limits, UnpackedStream, is_tar
from auditor.sources.files.digest import map_file
from auditor.sources.files.free_space import check_free_space
from auditor.sources.files.unpacking import compression_of
from auditor.sources.manifests.export_table import ManifestRows
from auditor.sources.manifests.manifest_files import text_bytes
from auditor.sources.manifests.manifest_walk import ManifestWalk
from auditor.sources.manifests.sinks import Spool
from auditor.sources.readers import DUMPS
from auditor.sources.source_plan import NAMED, DamageLog, SourcePlan, first_names, one_line
from auditor.sources.storage_value import ENCRYPTED_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO, TypeAlias

    from auditor.sources.archives.members import ByteStream
    from auditor.sources.encryption import Unsealer
    from auditor.sources.manifests.object_header import ObjectHeader

    Reopen: TypeAlias = Callable[[str, Path, int], SourcePlan | list[SourcePlan]]


_COPY: Final = 1 << 18
_LONGEST_FORMAT: Final = 40
_LOG: Final = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}\.wal")
_SQLITE_LOG: Final = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")


class _UniqueSpool(Spool):
    """A spool that takes each object once: tools write the same object to several places."""

    def __init__(self, rows: ManifestRows, file: BinaryIO, *, unique: bool) -> None:
        super().__init__(rows, file)
        self.again = 0
        self._seen: set[int] | None = set() if unique else None

    def _write(self, text: bytes, header: ObjectHeader | None) -> None:
        if self._seen is not None and header is not None and header.name:
            names = f"{header.group}\0{header.kind}\0{header.namespace}\0{header.name}"
            digest = hashlib.blake2b(names.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            known = int.from_bytes(digest, "little")
            if known in self._seen:
                self.again += 1
                return
            self._seen.add(known)
        super()._write(text, header)


class _ArchiveReading:
    """Reads the files of one archive."""

    def __init__(
        self, name: str, layout: ArchiveLayout, number: int, workdir: Path, limits: Limits, unsealer: Unsealer | None
    ) -> None:
        self.name = name
        self.layout = layout
        self.number = number
        self.limits = limits
        self.unsealer = unsealer
        self.folder = Path(tempfile.mkdtemp(prefix=f"members-{number:03d}-", dir=workdir))
        self.live = workdir / f"live-{number:03d}.arrow"
        self.mapped = self.folder / "objects.ndjson"
        self.file = self.mapped.open("wb")
        self.rows = ManifestRows(number)
        self.spool = _UniqueSpool(self.rows, self.file, unique=layout.name not in {"archive", "etcd-data-dir"})
        self.damage = DamageLog()
        self.digest = hashlib.sha256()
        self.read = self.sealed = self.skipped = self.other_versions = 0
        self.skipped_names: list[str] = []
        self.inner: list[tuple[str, Path]] = []
        self.logs: dict[str, Path] = {}
        self.database = False
        self.most: int | None = None

    def take(self, member: Member) -> None:
        """Read one file, or skip it; an error in a file becomes damage with its name, and reading continues."""
        try:
            self._take(member)
        except SourceError as error:
            if error.where != f"{self.name}!{member.name}":  # the container itself is broken
                raise
            self.damage.add(member.name, error.found)
        except (OSError, FileRefused):
            raise
        except Exception as error:  # noqa: BLE001 - other files are still read
            self.damage.add(member.name, f"it was not read to its end: {one_line(error)}")

    def forget(self) -> None:
        """Remove the output of files that are read again."""
        self.file.close()
        shutil.rmtree(self.folder)

    @property
    def has_something(self) -> bool:
        """Whether any file was read."""
        return bool(self.read or self.inner or self.database)

    def _take(self, member: Member) -> None:
        use = self.layout.use(member.name)
        if use == "format":
            self._format(member)
        elif use == "other-version":
            self.other_versions += 1
        elif not member.size and use != "etcd" and member.path is None:
            self._empty(member, use)
        elif use == "objects":
            self._objects(member, member.open(), b"")
        elif use == "etcd":
            self._etcd(member)
        elif use == "unknown":
            self._unknown(member)
        else:
            self._skip(member)

    def _format(self, member: Member) -> None:
        """Name a format of a backup that is not known: it may have objects at other places."""
        text = _fill(member.open()).decode("utf-8", "backslashreplace").strip()
        if text not in VELERO_FORMATS:
            said = visible(text[:_LONGEST_FORMAT]) or "empty"
            known = f"not known ({' and '.join(VELERO_FORMATS)} are)"
            self.damage.add(
                member.name, f"the format of this backup is {said}, which is {known}: objects may be missing"
            )

    def _empty(self, member: Member, use: Use) -> None:
        """Count an empty file: a small archive may have millions of them."""
        if use == "objects" or (use == "unknown" and _stem(member.name).endswith(MANIFESTS)):
            self.read += 1
        else:
            self._skip(member)

    def _skip(self, member: Member) -> None:
        self.skipped += 1
        if len(self.skipped_names) < NAMED:
            self.skipped_names.append(member.name)

    # ---- objects

    def _objects(self, member: Member, reader: ByteStream, head: bytes) -> None:
        whole = _Joined(head, reader)
        stream: ByteStream = whole
        if member.name.endswith(PACKED_SUFFIXES):
            stream = UnpackedStream(f"{self.name}!{member.name}", stream, self.limits)  # type: ignore[arg-type]
        data, digest = self._bytes(stream)
        if isinstance(stream, UnpackedStream) and stream.broken:
            self.damage.add(member.name, stream.broken)
        self.read += 1
        if whole.count < member.size:
            return  # the container is truncated in it, and reports that
        self.digest.update(f"{member.name}\0{digest}\n".encode("utf-8", "surrogateescape"))
        if self.layout.name == "rancher" and data[:1] == b'"':
            data = self._unsealed(member.name, bytes(data))
        walk = ManifestWalk(self.spool)
        walk.walk(text_bytes(data))
        for damage in walk.damage.records():
            self.damage.add(f"{member.name}: {damage.where}", damage.reason)

    def _bytes(self, stream: ByteStream) -> tuple[Any, str]:
        """Read a whole file: in memory, or through a file if it is large; also return its digest."""
        digest = hashlib.sha256()
        parts: list[bytes] = []
        size = 0
        while size <= self.limits.member and (block := stream.read(_COPY)):
            parts.append(block)
            digest.update(block)
            size += len(block)
        if size <= self.limits.member:
            return b"".join(parts), digest.hexdigest()
        path = self.folder / f"large-{self.read}"
        with path.open("wb") as out:
            out.writelines(parts)
            parts.clear()
            while block := stream.read(_COPY):
                out.write(block)
                digest.update(block)
        data = map_file(path)
        path.unlink()
        return data, digest.hexdigest()

    def _unsealed(self, name: str, data: bytes) -> bytes:
        """Return the plain text of a file that Rancher's operator encrypted; other files are returned unchanged."""
        place = rancher_place(name)
        try:
            sealed = base64.b64decode(json.loads(data), validate=True)
        except (ValueError, TypeError, binascii.Error):
            return data
        if place is None or not sealed.startswith(ENCRYPTED_PREFIX):
            return data
        self.sealed += 1
        if self.unsealer is None:
            return data
        group, resource, authenticated = place
        opened = self.unsealer.open(authenticated, (group, resource), sealed)
        if opened.data is None:
            _, _, plain_name = authenticated.rpartition(b"#")  # older releases authenticate only the name
            opened = self.unsealer.open(plain_name, (group, resource), sealed)
        if opened.data is None:
            self.damage.add(name, opened.reason)
            return data
        self.sealed -= 1
        return opened.data

    # ---- databases

    def _etcd(self, member: Member) -> None:
        """Write a file of a data directory to its position, under a name that we choose."""
        file = member.name.rpartition("/")[2]
        if file == "db":
            target = self.folder / "member" / "snap" / "db"
            if target.exists():
                self.damage.add(member.name, "a second data directory in the archive; it was not read")
                return
            self.database = True
        elif _LOG.fullmatch(file):
            target = self.folder / "member" / "wal" / file
        else:
            self._skip(member)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        self._check_free_space(member)
        self._copy(member.open(), b"", target)

    def _check_free_space(self, member: Member) -> None:
        """Refuse to copy a file that does not fit on disk; a size larger than the whole archive is a broken one."""
        if self.most is None or member.size <= self.most:
            check_free_space(f"{self.name}!{member.name}", self.folder, member.size)

    def _copy(self, reader: ByteStream, head: bytes, target: Path) -> None:
        with target.open("wb") as out:
            out.write(head)
            while block := reader.read(_COPY):
                out.write(block)

    def _unknown(self, member: Member) -> None:
        """Detect a file from its content if its name is not that of a manifest."""
        reader = member.open()
        head = _fill(reader)
        form = form_of(None, head)
        packed = bool(compression_of(head)) or is_tar(head) or head.startswith(b"PK\3\4")
        stem = _stem(member.name)
        if form in DUMPS or (packed and not stem.endswith(MANIFESTS)):
            self._check_free_space(member)
            self.inner.append((member.name, self._inner(reader, head)))
        elif head[:4] in _SQLITE_LOG:
            self.logs[member.name] = self._inner(reader, head)
        elif stem.endswith(MANIFESTS):
            self._objects(member, reader, head)
        else:
            self._skip(member)

    def _inner(self, reader: ByteStream, head: bytes) -> Path:
        target = self.folder / f"member-{len(self.inner) + len(self.logs):05d}"
        self._copy(reader, head, target)
        return target

    # ---- the end

    def plans(self, sha256: str, reopen: Reopen | None) -> list[SourcePlan]:
        """Return the plans of all files that were read."""
        self.file.close()
        plans: list[SourcePlan] = []
        refused: SourceError | None = None
        if self.database:
            (self.folder / "member" / "wal").mkdir(exist_ok=True)
            assert reopen is not None
            opened = reopen(self.name, self.folder, self.number)
            plans.extend(opened if isinstance(opened, list) else [opened])
            plans[0].name = self.name
        elif self.read or not self.inner:
            plans.append(self._objects_plan(sha256))
        for name, path in self.inner:
            assert reopen is not None
            log = self.logs.get(name + "-wal")
            if log is not None:
                log.rename(path.with_name(path.name + "-wal"))
            alone = len(self.inner) == 1 and not plans
            shown = self.name if alone else f"{self.name}!{name}"
            try:
                opened = reopen(shown, path, self.number + len(plans))
            except Exception as error:
                if isinstance(error, OSError) or (alone and isinstance(error, SourceError)):
                    raise
                refused = error if isinstance(error, SourceError) else DamagedDump(shown, one_line(error))
                if alone:
                    raise refused from error
                self.damage.add(name, refused.found)
                continue
            plans.extend(opened if isinstance(opened, list) else [opened])
        if not plans:
            assert refused is not None
            raise refused
        plans[0].damage = (*self.damage.records(), *plans[0].damage)
        plans[0].notes = (*self._notes(), *plans[0].notes)
        return plans

    def _objects_plan(self, sha256: str) -> SourcePlan:
        if not self.read:
            seen = ", ".join(self.skipped_names) or "no file"
            raise UnknownDump(
                self.name, f"{self.layout.title}: nothing to read in it; seen: {seen}", "manifests or dumps"
            )
        return SourcePlan(
            name=self.name,
            format=self.layout.name,
            mapped=str(self.mapped),
            sha256=sha256 or self.digest.hexdigest(),
            revision=None,
            compacted_revision=None,
            is_export=True,
            live=str(self.live),
            rows=self.rows.write(self.live),
        )

    def _notes(self) -> Iterator[str]:
        yield from self.layout.notes
        if self.other_versions:
            files = counted(self.other_versions, "file")
            yield f"objects at other versions than the preferred one were not read: {files}"
        if again := self.spool.again:
            yield f"{objects(again)} {are(again)} in several files; the first one was read"
        yield from self.rows.notes()
        if self.sealed:
            files = counted(self.sealed, "file")
            yield f"{files} {are(self.sealed)} encrypted, thus not opened; give --encryption-config"
        if self.skipped and self.layout.name != "etcd-data-dir":
            names = first_names(self.skipped_names, self.skipped)
            yield f"{self.skipped} files were not read, being no objects by their names: {names}"


def _stem(name: str) -> str:
    """Return a name in lower case, without the suffix of its compression."""
    name = name.lower()
    return next((name.removesuffix(suffix) for suffix in PACKED_SUFFIXES if name.endswith(suffix)), name)


class _Joined:
    """Bytes that were already read, followed by the rest of the stream."""

    def __init__(self, head: bytes, reader: ByteStream) -> None:
        self._head = head
        self._reader = reader
        self.count = 0

    def read(self, size: int) -> bytes:
        if self._head:
            block, self._head = self._head[:size], self._head[size:]
        else:
            block = self._reader.read(size)
        self.count += len(block)
        return block


def _fill(reader: ByteStream) -> bytes:
    out = b""
    while len(out) < HEAD_SIZE and (block := reader.read(HEAD_SIZE - len(out))):
        out += block
    return out


def _members(name: str, path: Path, damage: DamageLog, limits: Limits, stream: UnpackedStream) -> Iterator[Member]:
    if stream.peek().startswith(b"PK") and not stream.layers:
        return zip_members(name, path, damage, limits)
    return tar_members(stream, damage, limits)


def open_archive(
    name: str,
    path: Path,
    *,
    number: int,
    workdir: Path,
    reopen: Reopen,
    limits: Limits | None = None,
    unsealer: Unsealer | None = None,
    layout: str = "",
    opener: Callable[[], BinaryIO] | None = None,
) -> list[SourcePlan]:
    """Read a tar in any compression, or a zip.

    Args:
        name: The name that the user gave.
        path: The file.
        number: Position of the dump among the inputs.
        workdir: Folder for the spool and for databases in the archive.
        reopen: Opens a file of the archive: (name, path, number) to its plans.
        limits: Limits of its expansion.
        unsealer: Decrypts files of Rancher's operator.
        layout: Name of the layout; empty means the paths decide.
        opener: Returns the bytes of a tar that is not a local file, as often as it is called; `path` is not used then.

    Raises:
        UnknownDump: Nothing in it can be read.
        DamagedDump: It is broken at the beginning, or expands past the limits before anything is read.
    """
    limits = limits or Limits()
    bytes_of: Callable[[], BinaryIO] = opener or (lambda: path.open("rb"))
    most = path.stat().st_size * limits.ratio if opener is None else None
    try:
        for quick in (True, False):
            wanted = LAYOUTS[layout] if layout else _layout(name, path, limits, bytes_of, quick=quick)
            if wanted is None:
                continue
            reading = _ArchiveReading(name, wanted, number, workdir, limits, unsealer)
            reading.most = most
            with bytes_of() as opened:
                stream = UnpackedStream(name, opened, limits, quick=quick)
                sha256 = _read(name, path, reading, stream)
            if not stream.is_unsound:
                break
            reading.forget()
    except SourceError as error:
        if error.where:
            raise
        raise type(error)(name, *error.args[1:]) from None
    return reading.plans(sha256, reopen)


def _read(name: str, path: Path, reading: _ArchiveReading, stream: UnpackedStream) -> str:
    """Read the files of an archive; return the digest of the archive."""
    try:
        for member in _members(name, path, reading.damage, reading.limits, stream):
            reading.take(member)
    except DamagedDump as error:  # a limit is exceeded: what was read before is audited
        if not reading.has_something and not stream.is_unsound:
            raise
        reading.damage.add("archive", f"{error.found}; no file from here on was read")
    return stream.drain()


def _layout(
    name: str, path: Path, limits: Limits, opener: Callable[[], BinaryIO], *, quick: bool
) -> ArchiveLayout | None:
    """Return the layout that matches the names of the files, or None if they must be read again without `quick`."""
    with opener() as opened:
        stream = UnpackedStream(name, opened, limits, quick=quick)
        layout = layout_of(_names(_members(name, path, DamageLog(), limits, stream)))
        return None if stream.is_unsound else layout


def _names(members: Iterator[Member]) -> Iterator[str]:
    """Yield the names of files, as far as the limits allow."""
    with contextlib.suppress(DamagedDump):
        for member in members:
            yield member.name


def open_tree(
    path: Path,
    *,
    number: int,
    workdir: Path,
    limits: Limits | None = None,
    unsealer: Unsealer | None = None,
    layout: str = "",
) -> SourcePlan | None:
    """Read the folder of an unpacked backup; None if no known tool wrote it.

    Args:
        layout: Name of the layout; empty means the paths decide.
    """
    limits = limits or Limits()
    if not layout:
        layout = layout_of(name for name, _ in files_below(path, DamageLog())).name
    if layout in {"archive", "etcd-data-dir"}:
        return None
    reading = _ArchiveReading(str(path), LAYOUTS[layout], number, workdir, limits, unsealer)
    for member in folder_members(path, reading.damage, limits):
        reading.take(member)
    (plan,) = reading.plans("", None)
    return plan
