"""What the tests of dumps share: unpacked reference files, and tables as plain rows."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from auditor.sources.etcd import EtcdFile, LiveKeys, write_live_table
from auditor.sources.files.digest import map_file
from tests.shared import shared

if TYPE_CHECKING:
    from pathlib import Path


def unpacked(name: str, folder: Path) -> Path:
    """Unpack a .gz of the reference data into a folder."""
    source = shared(name)
    target = folder / source.name.removesuffix(".gz")
    target.write_bytes(gzip.decompress(source.read_bytes()))
    return target


def extracted(name: str, folder: Path) -> Path:
    """Unpack a .tar.gz of the reference data into a folder, by hand: not every Python that runs this has filters."""
    with tarfile.open(shared(name)) as archive:
        for member in archive:
            target = folder / member.name
            if member.isfile():
                target.parent.mkdir(parents=True, exist_ok=True)
                stream = archive.extractfile(member)
                assert stream is not None
                target.write_bytes(stream.read())
    return folder


def table_rows(path: Path | str) -> list[dict[str, Any]]:
    with pa.memory_map(str(path)) as stream:
        rows: list[dict[str, Any]] = pa.ipc.open_file(stream).read_all().to_pylist()
    return rows


def index(
    path: Path, folder: Path, *, batch_rows: int | None = None
) -> tuple[EtcdFile, LiveKeys, list[dict[str, Any]]]:
    """Read an etcd database and return it, the counts and the rows of its live table."""
    file = EtcdFile.open(path)
    if batch_rows:
        file.tree.batch_rows = batch_rows
    table = folder / "live.arrow"
    counts = write_live_table(file.view, file.rows(b"key"), table, workdir=folder, number=3, report=file.report)
    file.note_losses()
    return file, counts, table_rows(table)


def values(path: Path, rows: list[dict[str, Any]]) -> dict[bytes, bytes]:
    data = map_file(path)
    return {row["key"]: data[row["offset"] : row["offset"] + row["length"]] for row in rows}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
