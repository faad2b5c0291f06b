"""The reference snapshots, unpacked once."""

from __future__ import annotations

import gzip
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.shared import ROOT, recorded, shared

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _unpacked(shared("golden/upgrade/snapshot.db.gz"), tmp_path_factory)


@pytest.fixture(scope="session")
def bakery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the snapshot of the cluster that tests/golden/server writes."""
    return _unpacked(recorded("golden/upgrade/snapshot.db.gz"), tmp_path_factory)


@pytest.fixture(scope="session")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same after a compaction."""
    return _unpacked(recorded("golden/upgrade/snapshot-compacted.db.gz"), tmp_path_factory)


def _unpacked(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("snapshot") / source.stem
    with gzip.open(source) as packed, path.open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    return path


@pytest.fixture
def sample(tmp_path: Path) -> str:
    """Return the snapshot of sample-data, in the folder of the test."""
    path = tmp_path / "cluster.db"
    path.write_bytes(gzip.decompress((ROOT / "sample-data" / "cluster.db.gz").read_bytes()))
    return str(path)
