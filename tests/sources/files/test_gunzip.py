"""A gzip stream gives what zlib gives: ISA-L may only find it sound, and what it does not is read again with zlib."""

from __future__ import annotations

import gzip
import io
import random
import struct
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from auditor.base.errors import DamagedDump, SourceError
from auditor.sources import open_source
from auditor.sources.files import compression
from auditor.sources.files.compression import Limits, UnpackedStream, materialize
from auditor.sources.files.gunzip import Unsound, sound_blocks
from auditor.sources.files.unpacking import Broken, blocks_of
from auditor.sources.source_plan import DamageLog
from tests.sources.archives.writing import tar, velero, widget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TEXT = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}\n' * 20_000
NOISE = random.Random(1).randbytes(400_000)
MOST = 65_280
"""Bytes that bgzip puts into a block."""


def bgzip(data: bytes) -> bytes:
    """Return blocks as bgzip writes them, the empty one at the end included."""
    out = []
    for at in range(0, len(data) + MOST, MOST):
        part = data[at : at + MOST]
        packer = zlib.compressobj(1, zlib.DEFLATED, -15)
        packed = packer.compress(part) + packer.flush()
        size = 18 + len(packed) + 8
        head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0" + struct.pack("<H", size - 1)
        out.append(head + packed + struct.pack("<II", zlib.crc32(part), len(part)))
    return b"".join(out)


def member(flags: int, fields: bytes) -> bytes:
    """Return a member with fields in its header; the checksum of a header is added."""
    head = b"\x1f\x8b\x08" + bytes([flags]) + b"\0\0\0\0\0\x03" + fields
    if flags & 2:
        head += struct.pack("<H", zlib.crc32(head) & 0xFFFF)
    return head + gzip.compress(TEXT[:5000])[10:]


SOUND = {
    "one member": gzip.compress(TEXT),
    "that does not get smaller": gzip.compress(NOISE),
    "stored": gzip.compress(TEXT, 0),
    "nothing": gzip.compress(b""),
    "members": gzip.compress(TEXT) + gzip.compress(b"") + gzip.compress(NOISE),
    "padding": gzip.compress(TEXT) + b"\0" * 700 + gzip.compress(b"x") + b"\0" * 600_000,
    "bgzip": bgzip(TEXT + NOISE + TEXT),
    "bgzip and a member": bgzip(TEXT) + gzip.compress(NOISE) + bgzip(NOISE),
    "header with fields": member(0x1E, b"\x04\0abcdname\0comment\0"),
    "extra field of another tool": member(4, b"\x06\0BX\x02\0\0\0"),
}


def reader(data: bytes) -> io.BytesIO:
    return io.BytesIO(data)


@pytest.fixture(params=["isal", "zlib"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "isal":
        pytest.importorskip("isal", reason="there is no isal for this platform")
    else:
        monkeypatch.setitem(sys.modules, "isal", None)
    name: str = request.param
    return name


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_stream_is_unpacked_as_by_zlib(name: str, library: str) -> None:
    data = SOUND[name]
    expected = b"".join(blocks_of(reader(data).read, "gzip"))
    assert b"".join(sound_blocks(reader(data).read)) == expected
    assert max(map(len, sound_blocks(reader(data).read)), default=0) <= 4 << 20


def spoiled() -> dict[str, bytes]:
    """Return streams that are not sound, by what is wrong with them."""
    one, blocks = gzip.compress(TEXT), bgzip(TEXT + NOISE)
    middle = len(one) // 2
    return {
        "cut": one[:-400],
        "cut in the checksum": one[:-3],
        "cut in the header of a second member": one + b"\x1f\x8b",
        "checksum": one[:-8] + b"\0\0\0\0" + one[-4:],
        "length": one[:-4] + b"\0\0\0\0",
        "bytes in the middle": one[:middle] + b"\xff" * 9 + one[middle + 9 :],
        "flags without a meaning": one[:3] + b"\x40" + one[4:],
        "checksum of the header": member(2, b"")[:10] + b"\0\0" + member(2, b"")[12:],
        "a tail that is no gzip": one + b"text",
        "a second member that is broken": one + one[:600],
        "bgzip, cut": blocks[:-200],
        "bgzip, cut in a header": blocks[:-28] + blocks[-28:-15],
        "bgzip, a size that lies": blocks[:16] + b"\x20\0" + blocks[18:],
        "bgzip, bytes in the middle": blocks[:90_000] + b"\xff" * 9 + blocks[90_009:],
        "bgzip, more than a block holds": b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0"
        + struct.pack("<H", 18 + len(gzip.compress(TEXT)) - 10 - 1)
        + gzip.compress(TEXT)[10:],
    }


def opened(path: Path, workdir: Path) -> tuple[object, ...]:
    """Return all that unpacking a file tells: digest, bytes, damage; or the error."""
    damage = DamageLog()
    workdir.mkdir()
    try:
        found = materialize("dump", path, None, workdir=workdir, number=0, damage=damage)
    except DamagedDump as error:
        return ("refused", str(error))
    return found.sha256, found.path.read_bytes(), found.layers, tuple(damage.records())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [*SOUND, *spoiled()])
def test_a_file_gives_what_zlib_alone_gives(
    name: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "dump.gz"
    path.write_bytes((SOUND | spoiled())[name])
    found = opened(path, tmp_path / "quick")
    monkeypatch.setattr(compression, "_is_unpacked", lambda *_: False)
    assert found == opened(path, tmp_path / "plain")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", spoiled())
def test_what_is_not_sound_is_never_taken_for_it(name: str, library: str) -> None:
    if name in {"bgzip, more than a block holds", "bgzip, a size that lies"}:  # zlib knows no blocks: it decides
        assert b"".join(blocks_of(reader(spoiled()[name]).read, "gzip")).startswith(TEXT)
    else:
        with pytest.raises(Broken):
            list(blocks_of(reader(spoiled()[name]).read, "gzip"))
    with pytest.raises(Unsound):
        list(sound_blocks(reader(spoiled()[name]).read))


def test_a_stream_in_which_bits_are_changed_is_sound_only_if_zlib_agrees(library: str) -> None:
    draw = random.Random(2)
    whole = gzip.compress(TEXT[:3000] + NOISE[:300])
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(draw.choice((1, 1, 2, 4))):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        try:
            found = b"".join(sound_blocks(reader(bytes(data)).read))
        except Unsound:
            continue
        assert found == b"".join(blocks_of(reader(bytes(data)).read, "gzip"))


def test_limits_are_those_of_zlib_and_are_reported_in_its_words(tmp_path: Path, library: str) -> None:
    path = tmp_path / "dump.gz"
    path.write_bytes(gzip.compress(bytes(3 << 20)))
    limits = Limits(ratio=100, ratio_from=1 << 20)
    (tmp_path / "work").mkdir()
    with pytest.raises(DamagedDump, match=r"expanded past \d+ bytes \(ratio \d+\)"):
        materialize("dump", path, None, workdir=tmp_path / "work", number=0, damage=DamageLog(), limits=limits)
    assert not list((tmp_path / "work").iterdir())


def test_a_pipe_which_can_be_read_once_is_left_to_zlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    monkeypatch.setattr(compression, "sound_blocks", None)
    found = materialize("-", None, Pipe(gzip.compress(TEXT)), workdir=tmp_path, number=0, damage=DamageLog())
    assert found.path.read_bytes() == TEXT


def test_a_stream_says_that_it_has_to_be_read_again(library: str) -> None:
    for data in spoiled().values():
        stream = UnpackedStream("t", reader(data), quick=True)
        stream.drain()
        assert stream.is_unsound
    stream = UnpackedStream("t", reader(gzip.compress(gzip.compress(TEXT))), quick=True)
    assert stream.skip(1 << 30) == len(TEXT)
    assert not stream.is_unsound


def archive(path: Path, workdir: Path) -> tuple[object, ...]:
    """Return all that opening an archive tells."""
    workdir.mkdir()
    try:
        (plan,) = open_source(str(path), number=0, workdir=workdir)
    except SourceError as error:
        return ("refused", str(error))
    return plan.sha256, plan.rows, plan.damage, plan.notes, Path(plan.mapped).read_bytes()


def never_sound(_read: Callable[[int], bytes]) -> Iterator[bytes]:
    raise Unsound
    yield b""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.99, 1])
@pytest.mark.parametrize("how", ["cut", "changed"])
def test_an_archive_gives_what_zlib_alone_gives(
    share: float, how: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(3)
    objects = [widget(f"w{one}", "a", pad=draw.randbytes(9000).hex()) for one in range(60)]
    data = gzip.compress(tar(velero(objects, form="1")))
    at = int(len(data) * share)
    path = tmp_path / "backup.tar.gz"
    path.write_bytes(data[:at] if how == "cut" else data[:at] + b"\xff" * len(data[at : at + 9]) + data[at + 9 :])
    found = archive(path, tmp_path / "quick")
    monkeypatch.setattr(compression, "sound_blocks", never_sound)
    assert found == archive(path, tmp_path / "plain")
    left = [sorted(one.name[:8] for one in (tmp_path / name).iterdir()) for name in ("quick", "plain")]
    assert left[0] == left[1]
