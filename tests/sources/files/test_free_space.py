"""Space is asked for before a dump is unpacked or copied, where its size is known; a size that lies counts for nothing."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import tarfile
import zipfile
from typing import TYPE_CHECKING, NamedTuple

import pytest
import zstandard

from auditor.base.errors import DamagedDump, FileRefused
from auditor.sources.files.free_space import check_free_space, stated_size
from tests.pipelines.nights.support import Store, definition, loaf

if TYPE_CHECKING:
    from pathlib import Path

from auditor.sources import open_source

TEXT = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}\n' * 2000
PACKERS = {"gz": gzip.compress, "zst": zstandard.compress, "xz": lzma.compress, "bz2": bz2.compress}


class Usage(NamedTuple):
    """As `shutil.disk_usage` returns it."""

    total: int
    used: int
    free: int


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 20, 0, 50_000))
    return monkeypatch


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("gzip", gzip.compress(TEXT), len(TEXT)),
        ("zstd", zstandard.compress(TEXT), len(TEXT)),
        ("xz", lzma.compress(TEXT), len(TEXT)),
        ("xz", lzma.compress(b""), None),
        ("xz", lzma.compress(TEXT)[:-1], None),
        ("xz", b"\xfd7zXZ\0" + b"\0" * 4 + b"\xff\xff\xff\xff\0\0YZ", None),
        ("xz", b"YZ", None),
        ("bzip2", bz2.compress(TEXT), None),
        ("zstd", b"\x28\xb5\x2f\xfd", None),
    ],
)
def test_stated_sizes(kind: str, data: bytes, expected: int | None) -> None:
    stream = io.BytesIO(data)
    stream.read(7)
    assert stated_size(stream, kind, data[:64]) == expected
    assert stream.tell() == min(7, len(data))


def test_a_size_that_is_unknown_or_that_fits_is_no_reason(tmp_path: Path, free: object) -> None:
    for size in (None, 0, 50_000):
        check_free_space("dump", tmp_path, size)
    with pytest.raises(
        FileRefused, match=r"dump: takes 50,001 bytes in .*, where 50,000 are free; free disk space"
    ) as raised:
        check_free_space("dump", tmp_path, 50_001)
    assert str(tmp_path) in str(raised.value)


@pytest.mark.parametrize("suffix", ["gz", "zst", "xz"])
def test_a_dump_that_does_not_fit_is_not_unpacked(tmp_path: Path, free: object, suffix: str) -> None:
    path = tmp_path / f"dump.{suffix}"
    path.write_bytes(PACKERS[suffix](TEXT))
    (tmp_path / "work").mkdir()
    with pytest.raises(FileRefused, match=f"takes {len(TEXT):,} bytes"):
        open_source(str(path), number=0, workdir=tmp_path / "work")
    assert not any((tmp_path / "work").iterdir())


def test_a_size_that_lies_does_not_refuse(tmp_path: Path, free: object) -> None:
    path = tmp_path / "dump.gz"
    path.write_bytes(gzip.compress(TEXT[:6300])[:-4] + b"\xff\xff\xff\xff")
    (tmp_path / "work").mkdir()
    with pytest.raises(DamagedDump, match="incorrect length check"):
        open_source(str(path), number=0, workdir=tmp_path / "work")


@pytest.mark.parametrize("form", ["tar", "tar.gz", "zip"])
def test_a_dump_in_an_archive_that_does_not_fit_is_refused_by_name(tmp_path: Path, free: object, form: str) -> None:
    store = Store(definition(), *(loaf(f"loaf-{number}") for number in range(400)))
    store.write(tmp_path / "dump.json", "etcdctl")
    path = tmp_path / f"backup.{form}"
    if form == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(tmp_path / "dump.json", "dump.bin")
    else:
        with tarfile.open(path, "w:gz" if form.endswith("gz") else "w") as tar:
            tar.add(tmp_path / "dump.json", "dump.bin")
    (tmp_path / "work").mkdir()
    with pytest.raises(FileRefused, match=r"dump\.bin: takes .* bytes in .* are free"):
        open_source(str(path), number=0, workdir=tmp_path / "work")


def test_a_file_behind_a_url_that_does_not_fit_is_not_fetched(tmp_path: Path, free: object) -> None:
    (tmp_path / "dump.ndjson").write_bytes(TEXT)
    (tmp_path / "work").mkdir()
    with pytest.raises(FileRefused, match=f"takes {len(TEXT):,} bytes"):
        open_source(f"file://{tmp_path}/dump.ndjson", number=0, workdir=tmp_path / "work")
