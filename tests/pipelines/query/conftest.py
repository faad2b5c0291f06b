"""The reference snapshots, unpacked once."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from tests.shared import shared


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _unpacked("golden/upgrade/snapshot.db.gz", tmp_path_factory)


@pytest.fixture(scope="session")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _unpacked("golden/upgrade/snapshot-compacted.db.gz", tmp_path_factory)


def _unpacked(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("snapshot") / Path(name).stem
    with gzip.open(shared(name)) as packed, path.open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    return path
