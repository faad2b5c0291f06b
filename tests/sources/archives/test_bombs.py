"""Archives that were made to cost much: their members are named, what is beside them is judged, at a low price."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
import tarfile
import zlib
from typing import TYPE_CHECKING

import pytest
import zstandard

from auditor.base.errors import DamagedDump
from auditor.plan.options import AuditOptions
from auditor.sources import Limits, open_source
from auditor.sources.archives import tar_members
from auditor.sources.files import compression
from auditor.sources.files.compression import UnpackedStream
from auditor.sources.source_plan import DamageLog
from pipelines.run.audit import run_audit
from tests.command import auditor
from tests.counting import bytes_of, calls_of
from tests.fuzz.hostile.bounded import bounded
from tests.sources.archives.writing import text, widget

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from auditor.sources import SourcePlan

GOOD = text(widget("good", "a"))
ZEROS = bytes(8 << 20)
SOON = Limits(ratio=500, ratio_from=4 << 20)
TIMES = 10
"""Copies of the zeros that are beyond the limits of a command."""
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, 9),
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


def header(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, *, form: int = tarfile.GNU_FORMAT) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(form)


def entry(name: str, data: bytes = GOOD, kind: bytes = tarfile.REGTYPE) -> bytes:
    return header(name, len(data), kind) + data + bytes(-len(data) % 512)


def tar(*entries: bytes) -> bytes:
    return b"".join(entries) + bytes(1024)


def plans(path: Path, data: bytes, limits: Limits | None = None) -> list[SourcePlan]:
    path.write_bytes(data)
    work = path.parent / "work"
    work.mkdir(exist_ok=True)
    opened = open_source(str(path), number=0, workdir=work, limits=limits)
    assert sum(one.stat().st_size for one in work.rglob("*") if one.is_file()) < 2 << 20
    return opened if isinstance(opened, list) else [opened]


def damage(path: Path, data: bytes, *, rows: int = 1, limits: Limits | None = None) -> list[tuple[str, str]]:
    """Return (where, reason) of the damage in an archive that gives a number of objects."""
    found = plans(path, data, limits)
    assert sum(one.rows for one in found) == rows
    return [(one.where, one.reason) for plan in found for one in plan.damage]


@pytest.mark.parametrize("kind", PACKED)
def test_a_bomb_in_an_archive_is_named_and_its_neighbours_are_read(kind: str, tmp_path: Path) -> None:
    data = tar(entry("a.json"), entry(f"bomb.json.{kind}", PACKED[kind](ZEROS)), entry("z.json"))
    ((where, reason),) = damage(tmp_path / "dump.tar", data, rows=2, limits=SOON)
    assert where == f"bomb.json.{kind}"
    assert reason.startswith("expanded past ")


@pytest.mark.parametrize("kind", PACKED)
def test_a_bomb_beside_a_dump_is_named_and_the_dump_is_judged(kind: str, tmp_path: Path) -> None:
    bomb = tmp_path / f"bomb.json.{kind}"
    bomb.write_bytes(PACKED[kind](ZEROS) * TIMES)
    (tmp_path / "good.json").write_bytes(GOOD)
    report = tmp_path / "report"
    with bounded(64):  # less than what the bomb unpacks to
        done = auditor("audit", bomb, tmp_path / "good.json", "--report", report, "--jobs", 1)
    assert done.code == 3, done.output
    assert f"{bomb}besideit:expandedpast" in "".join(done.output.split())  # a long path is cut where the line ends
    assert json.loads((report / "manifest.json").read_bytes())["counts"]["rows"] == 1


def test_an_archive_that_is_a_bomb_is_read_up_to_the_limit(tmp_path: Path) -> None:
    packed = gzip.compress(tar(entry("a.json"), entry("bomb.json", ZEROS), entry("z.json")), 9)
    ((where, reason),) = damage(tmp_path / "dump.tgz", packed, limits=SOON)
    assert where == "archive"
    assert reason.startswith("expanded past ")
    assert reason.endswith("no file from here on was read")


def test_members_beyond_the_limit_are_damage(tmp_path: Path) -> None:
    data = tar(*(entry(f"{number}.json", text(widget(f"w{number}", "a"))) for number in range(9)))
    found = damage(tmp_path / "dump.tar", data, rows=5, limits=Limits(members=5))
    assert found == [("archive", "an archive of more than 5 files; no file from here on was read")]


def overlapping(count: int) -> bytes:
    """Return a zip whose list names the same bytes many times, and then a good file."""

    def listed(name: bytes, data: bytes, packed: bytes, method: int, at: int) -> tuple[bytes, bytes]:
        same = struct.pack("<3H3I2H", method, 0, 0, zlib.crc32(data), len(packed), len(data), len(name), 0)
        central = struct.pack("<4s3H", b"PK\1\2", 20, 20, 0) + same + struct.pack("<3H2I", 0, 0, 0, 0, at) + name
        return struct.pack("<4s2H", b"PK\3\4", 20, 0) + same + name + packed, central

    zeros = bytes(1 << 20)
    bomb, one = listed(b"bomb.json", zeros, zlib.compress(zeros, 9)[2:-4], 8, 0)
    good, last = listed(b"good.json", GOOD, GOOD, 0, len(bomb))
    directory = one * count + last
    start = len(bomb) + len(good)
    return bomb + good + directory + struct.pack(
        "<4s4H2IH", b"PK\5\6", 0, 0, count + 1, count + 1, len(directory), start, 0
    )  # fmt: skip


def test_members_of_a_zip_that_overlap_are_named(tmp_path: Path) -> None:
    data = overlapping(200)
    assert len(data) < 20_000
    found = damage(tmp_path / "dump.zip", data, limits=Limits(ratio=1000, ratio_from=4 << 20))
    assert len(found) == 200  # the first one is read: zeros, which are no YAML
    assert all("bomb.json" in where for where, _ in found)


def test_an_archive_in_an_archive_is_read_and_one_too_deep_is_named(tmp_path: Path) -> None:
    inner = tar(entry("x.json"))
    assert damage(tmp_path / "one.tar", tar(entry("inner.tar", inner), entry("a.json")), rows=2) == []
    for _ in range(6):
        inner = tar(entry("inner.tar", inner))
    found = damage(tmp_path / "dump.tar", tar(entry("deep.tar", inner), entry("a.json")))
    assert found == [("deep.tar", "archives in archives, 4 deep")]


def test_a_sparse_file_of_a_terabyte_is_named_and_never_written(tmp_path: Path) -> None:
    old = bytearray(header("old.json", 512, tarfile.GNUTYPE_SPARSE))
    old[483:495] = b"\x80" + (1 << 40).to_bytes(11, "big")
    old[148:156] = b" " * 8
    old[148:156] = b"%06o\0 " % sum(old)
    new = tarfile.TarInfo("GNUSparseFile.0/new.json")
    new.size = 512
    new.pax_headers = {
        "GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "new.json",
        "GNU.sparse.realsize": str(1 << 40),
    }  # fmt: skip
    body = b"1\n0\n5\n".ljust(512, b"\0")
    data = tar(bytes(old) + body, new.tobuf(tarfile.PAX_FORMAT) + body, entry("a.json"))
    names = ("'old.json'", "'GNUSparseFile.0/new.json'")
    assert damage(tmp_path / "dump.tar", data) == [
        (f"member {name}", "a sparse file; it was not read") for name in names
    ]


def test_a_file_that_claims_a_terabyte_is_named_and_what_comes_before_it_is_read(tmp_path: Path) -> None:
    data = entry("a.json") + header("huge.json", 1 << 40) + bytes(512)
    ((where, reason),) = damage(tmp_path / "dump.tar", data, rows=1)
    assert (where, reason) == ("member 'huge.json'", "the archive breaks off in this file")


def test_an_extended_header_of_megabytes_is_named_and_read_in_part(tmp_path: Path) -> None:
    long = header("pax", 30 << 20, tarfile.XHDTYPE) + b"9 path=a\n" + bytes((30 << 20) - 9)
    ((_, reason),) = damage(tmp_path / "dump.tgz", gzip.compress(tar(long, entry("b.json"), entry("c.json")), 1))
    assert reason == "an extended header of 31,457,280 bytes; its first 1,048,576 were read"


def test_an_extended_header_of_many_records_is_named_and_read_in_part(tmp_path: Path) -> None:
    records = b"7 a=bc\n" * 140_000
    ((_, reason),) = damage(tmp_path / "dump.tar", tar(entry("pax", records, tarfile.XHDTYPE), entry("b.json")))
    assert reason == "an extended header of more than 1,000 records; the others were not read"


def test_names_that_lead_out_and_links_are_named_and_nothing_is_written_there(tmp_path: Path) -> None:
    link = tarfile.TarInfo("link.json")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    data = tar(entry("../../up.json"), entry("/abs.json"), link.tobuf(tarfile.GNU_FORMAT), entry("a.json"))
    assert [where for where, _ in damage(tmp_path / "dump.tar", data)] == [
        "member '../../up.json'", "member '/abs.json'", "member 'link.json'",
    ]  # fmt: skip
    assert not list(tmp_path.parent.glob("up.json"))


def test_an_archive_beside_a_dump_that_has_nothing_within_the_limits_is_damage_of_the_run(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.tgz"
    pack = PACKED["gz"]
    bomb.write_bytes(pack(header("bomb.json", len(ZEROS) * TIMES)) + pack(ZEROS) * TIMES + pack(tar(entry("a.json"))))
    with pytest.raises(DamagedDump, match="expanded past"):
        plans(bomb, bomb.read_bytes())
    (tmp_path / "good.json").write_bytes(GOOD)
    dumps = (str(bomb), str(tmp_path / "good.json"))
    code, manifest = run_audit(AuditOptions(dumps=dumps, report=str(tmp_path / "report"), jobs=1, fail_on="never"))
    assert (code, manifest["counts"]["rows"]) == (3, 1)


def test_many_empty_files_cost_little_and_grow_as_their_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (tar(entry("a.json"), *(header(f"{number}.json") for number in range(count))) for count in (200, 1600))

    def opened(data: bytes) -> None:
        assert damage(tmp_path / "dump.tar", data) == []

    def unpacked(data: bytes) -> None:
        monkeypatch.setattr(compression, "blocks_of", lambda *_: iter([data]))
        stream = UnpackedStream("t", io.BytesIO(gzip.compress(b"")))
        assert sum(1 for _ in tar_members(stream, DamageLog())) == len(data) // 512 - 3

    assert calls_of(lambda: opened(many)) < 12 * calls_of(lambda: opened(few))
    assert bytes_of(unpacked, many) < 12 * bytes_of(unpacked, few)
