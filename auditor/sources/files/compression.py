"""Unpacks compressed dumps once into a file that workers can map, in blocks, with limits.

Sizes in headers are not trusted: unpacked bytes are counted. If a stream is truncated, the bytes before are used and
the truncation is damage. Layers (a .gz of a .zst) are unpacked one after another.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final

from auditor.base.errors import DamagedDump
from auditor.sources.files.free_space import check_free_space, free_space, stated_size
from auditor.sources.files.gunzip import Unsound, sound_blocks
from auditor.sources.files.unpacking import Broken, blocks_of, compression_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from auditor.sources.source_plan import DamageLog


HEAD_SIZE: Final = 64 << 10
PACKED_SUFFIXES: Final = (".gz", ".zst", ".xz", ".bz2")
"""Suffixes of compressed files."""

_BLOCK: Final = 1 << 18
_BLOCKS_AHEAD: Final = 4
"""Number of blocks that are unpacked in advance while others are written."""

_HEADER: Final = 512
"""Size in bytes of a tar header."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the expansion of a compressed dump.

    Attributes:
        layers: Number of nested compressions.
        expanded: Unpacked bytes, over all layers.
        ratio: Unpacked bytes per input byte; checked after more than `ratio_from` unpacked bytes.
        members: Number of files of one archive.
        member: Size in bytes of an archive's file that is read in memory; larger ones go through a file.
    """

    layers: int = 4
    expanded: int = 64 << 30
    ratio: int = 1000
    ratio_from: int = 64 << 20
    members: int = 1_000_000
    member: int = 64 << 20


@dataclass(slots=True)
class Unpacked:
    """The location of the unpacked bytes of an input.

    Attributes:
        path: The file itself, or a copy in the working directory.
        sha256: SHA-256 of the given input; empty if it was not unpacked.
        layers: Names of the compressions, outermost first.
    """

    path: Path
    sha256: str
    layers: tuple[str, ...]


class _Source:
    """A stream that is counted and hashed while it is read."""

    def __init__(self, stream: BinaryIO | _Below, head: bytes = b"") -> None:
        self._stream = stream
        self._first = self._head = head
        self.count = 0
        self.hash = hashlib.sha256()

    def begin_again(self, start: int) -> None:
        """Start over; read the bytes given as the head, and then the stream from a position."""
        assert not isinstance(self._stream, _Below)
        self._stream.seek(start)
        self._head, self.count, self.hash = self._first, 0, hashlib.sha256()

    def read(self, size: int) -> bytes:
        """Return the next bytes, empty at the end."""
        if self._head:
            block, self._head = self._head[:size], self._head[size:]
        else:
            block = self._stream.read(size)
        self.count += len(block)
        self.hash.update(block)
        return block

    def drain(self) -> None:
        """Read to the end, for the hash."""
        while self.read(_BLOCK):
            pass


def header_holds(block: bytes) -> bool:
    """Whether 512 bytes have the checksum of a tar header."""
    digits = block[148:156].strip(b"\0 ")
    if not digits.isdigit() or b"8" in digits or b"9" in digits:
        return False
    return int(digits, 8) == sum(block) - sum(block[148:156]) + 8 * 0x20


def is_tar(head: bytes) -> bool:
    """Whether bytes begin with a tar header."""
    return len(head) >= _HEADER and header_holds(head[:_HEADER])


class UnpackedStream:
    """The unpacked bytes of a stream with any number of compressions, read once from start to end.

    Args:
        name: Its name in errors.
        stream: The stream as given.
        limits: Limits of its expansion.
        quick: Unpack gzip fast. If `is_unsound`, the caller must read everything again without `quick`.

    Attributes:
        layers: Names of the compressions, outermost first.
        broken: Why a compressed stream broke off; empty means it did not. The bytes before were returned.
        is_unsound: Whether the bytes read with `quick` are invalid.
    """

    def __init__(self, name: str, stream: BinaryIO, limits: Limits | None = None, *, quick: bool = False) -> None:
        limits = limits or Limits()
        self._quick = quick
        self.is_unsound = False
        self._source = _Source(stream)
        self._budget = _Budget(name, limits, self._source)
        self.layers: list[str] = []
        self.broken = ""
        self._read: Callable[[int], bytes] = self._source.read
        self._head = self._fill(HEAD_SIZE)
        while kind := compression_of(self._head):
            if len(self.layers) == limits.layers:
                raise DamagedDump(name, f"compressed more than {limits.layers} times over", "", "unpack it yourself")
            self.layers.append(kind)
            read = _Source(_Below(self._read, self._head)).read
            blocks = self._counted(sound_blocks(read) if quick and kind == "gzip" else blocks_of(read, kind))
            self._read = _Blocks(blocks).read
            self._head = self._fill(HEAD_SIZE)

    def _counted(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        try:
            for block in blocks:
                self._budget.spend(len(block))
                yield block
        except Broken as broken:
            self.broken = self.broken or str(broken)
        except (Unsound, DamagedDump) as error:
            if not self._quick:
                raise
            self.is_unsound, self.broken = True, str(error)

    def _fill(self, size: int) -> bytes:
        out = b""
        while len(out) < size and (block := self._read(size - len(out))):
            out += block
        return out

    def peek(self) -> bytes:
        """Return the next bytes without reading them: 64 KiB at the beginning, later the bytes that are available."""
        return self._head

    def read(self, size: int) -> bytes:
        """Return the next bytes: at most `size`, fewer only at the end."""
        if not self._head:
            return self._fill(size)
        block, self._head = self._head[:size], self._head[size:]
        return block if len(block) == size else block + self._fill(size - len(block))

    def skip(self, size: int) -> int:
        """Skip bytes; return how many there were."""
        left = size
        while left and (block := self.read(min(left, _BLOCK))):
            left -= len(block)
        return size - left

    def drain(self) -> str:
        """Read to the end, or up to the limits; return the hex digest of the given stream."""
        with contextlib.suppress(DamagedDump):
            while self.read(_BLOCK):
                pass
        self._source.drain()
        return self._source.hash.hexdigest()


class _Below:
    """The bytes of one layer as input of the next, beginning with the bytes that were already read."""

    def __init__(self, read: Callable[[int], bytes], head: bytes) -> None:
        self._read = read
        self._head = head

    def read(self, size: int) -> bytes:
        if self._head:
            block, self._head = self._head[:size], self._head[size:]
            return block
        return self._read(size)


class _Blocks:
    """Blocks of any size as a stream; a block is not copied for each small read."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._block = b""
        self._at = 0

    def read(self, size: int) -> bytes:
        if self._at >= len(self._block):
            self._block, self._at = next(self._blocks, b""), 0
        begin = self._at
        self._at = begin + size
        return self._block[begin : begin + size]


def unpacked_head(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked by one layer if it is compressed."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_SIZE)
        kind = compression_of(head)
        return _first(blocks_of(_Source(stream, head).read, kind)) if kind else head


def _first(blocks: Iterator[bytes]) -> bytes:
    out = b""
    try:
        for block in blocks:
            out += block
            if len(out) >= HEAD_SIZE:
                break
    except Broken:
        pass
    return out[:HEAD_SIZE]


def materialize(
    name: str,
    path: Path | None,
    stream: BinaryIO | None,
    *,
    workdir: Path,
    number: int,
    damage: DamageLog,
    limits: Limits | None = None,
) -> Unpacked:
    """Convert an input to a plain file.

    Args:
        name: Its name in errors.
        path: The file; None to read `stream` (standard input).
        workdir: Folder for copies.
        number: Position of the dump among the inputs.
        damage: Receives truncated streams.

    Raises:
        DamagedDump: Nothing can be unpacked, or it expands past the limits.
    """
    limits = limits or Limits()
    if path is None:
        assert stream is not None
        return _materialize(name, stream, None, workdir, number, damage, limits)
    with path.open("rb") as opened:
        return _materialize(name, opened, path, workdir, number, damage, limits)


def _materialize(
    name: str, stream: BinaryIO, path: Path | None, workdir: Path, number: int, damage: DamageLog, limits: Limits
) -> Unpacked:
    head = stream.read(HEAD_SIZE)
    start = stream.tell() if stream.seekable() else None
    kind = compression_of(head)
    source = _Source(stream, head)
    if not kind:
        if path is not None:
            return Unpacked(path, "", ())
        plain = workdir / f"input-{number:03d}"
        check_free_space(name, workdir, _size_of(stream))
        with plain.open("wb") as out:
            while block := source.read(_BLOCK):
                out.write(block)
        return Unpacked(plain, source.hash.hexdigest(), ())
    budget = _Budget(name, limits, source)
    layers: list[str] = []
    sha256 = ""
    target_path: Path | None = None
    while kind:
        if len(layers) == limits.layers:
            raise DamagedDump(name, f"compressed more than {limits.layers} times over", "", "unpack it yourself")
        target = workdir / f"input-{number:03d}-{len(layers)}"
        _check_free_space(name, path if target_path is None else target_path, kind, workdir)
        if target_path is None:
            _unpack(name, source, start, kind, target, budget, damage)
            source.drain()
            sha256 = source.hash.hexdigest()
        else:
            with target_path.open("rb") as inner:
                _unpack(name, _Source(inner), 0, kind, target, budget, damage)
            target_path.unlink()
        layers.append(kind)
        target_path = target
        with target_path.open("rb") as plain_stream:
            kind = compression_of(plain_stream.read(16))
    assert target_path is not None
    return Unpacked(target_path, sha256, tuple(layers))


def _check_free_space(name: str, path: Path | None, kind: str, folder: Path) -> None:
    """Refuse to unpack a file that does not fit on disk; the size that it states is verified first.

    Raises:
        Refused: It is larger than the free space.
    """
    free = free_space(folder)
    if path is None or free is None:
        return
    with path.open("rb") as stream:
        head = stream.read(HEAD_SIZE)
        stated = stated_size(stream, kind, head)
        if (path.stat().st_size if stated is None else stated) <= free:
            return
        done = 0
        with contextlib.suppress(Broken):
            for block in blocks_of(_Source(stream, head).read, kind):
                done += len(block)
                if done > free:
                    check_free_space(name, folder, max(done, stated or 0))


def _size_of(stream: BinaryIO) -> int | None:
    """Return the size of a stream that is a file, as standard input is after `< dump.db`."""
    try:
        seen = os.fstat(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return None
    return seen.st_size if stat.S_ISREG(seen.st_mode) else None


@dataclass(slots=True)
class _Budget:
    """Counts the remaining allowed bytes; the ratio compares all layers with the outermost input."""

    name: str
    limits: Limits
    source: _Source
    total: int = 0

    def spend(self, size: int) -> None:
        self.total += size
        limits = self.limits
        ratio = self.total // max(1, self.source.count)
        if self.total > limits.expanded or (self.total > limits.ratio_from and ratio > limits.ratio):
            raise DamagedDump(
                self.name,
                f"expanded past {self.total} bytes (ratio {ratio})",
                f"at most {limits.expanded} bytes and {limits.ratio} for one",
                "unpack it yourself if you trust it",
            )


def _is_unpacked(source: _Source, start: int, target: Path, budget: _Budget) -> bool:
    """Unpack a valid gzip stream; for an invalid one, or one that exceeds the limits, start over and return False."""
    before = budget.total
    try:
        with target.open("wb") as out, ThreadPoolExecutor(1) as writer:
            waiting: deque[Future[int]] = deque()
            for block in sound_blocks(source.read):
                budget.spend(len(block))
                waiting.append(writer.submit(out.write, block))
                if len(waiting) > _BLOCKS_AHEAD:
                    waiting.popleft().result()
            for written in waiting:
                written.result()
    except (Unsound, DamagedDump):
        budget.total = before
        source.begin_again(start)
        return False
    return True


def _unpack(
    name: str, source: _Source, start: int | None, kind: str, target: Path, budget: _Budget, damage: DamageLog
) -> None:
    """Unpack one layer; `start` is the position at which its source continues, None if it can be read only once."""
    if kind == "gzip" and start is not None and _is_unpacked(source, start, target, budget):
        return
    done = 0
    with target.open("wb") as out:
        try:
            for block in blocks_of(source.read, kind):
                budget.spend(len(block))
                out.write(block)
                done += len(block)
        except Broken as broken:
            if not done:
                raise DamagedDump(name, str(broken), "", "copy it again") from None
            damage.add("compressed stream", f"{broken}; {done} bytes were unpacked before that")
        except DamagedDump:  # a limit is exceeded: the run may continue without it
            target.unlink()
            raise
