"""Formats of a fleet's report that is in an object store, written into the store: the same bytes as of a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from auditor.output.formats.registry import FORMATS
from auditor.sources.stores.folders import upload
from auditor.sources.stores.store_folder import read_file
from auditor.store.manifest import MANIFEST
from tests.causes.reports import audited
from tests.command import auditor
from tests.object_store import STORE, served_store
from tests.output.formats.clusters import drawn_dump

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The URL of a bucket; the environment leads clients to it."""
    with served_store():
        yield STORE


@pytest.fixture(scope="module")
def report(store: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a fleet, here and in the store."""
    folder = tmp_path_factory.mktemp("fleet")
    for number, name in enumerate(("east", "west")):
        drawn_dump(folder / f"{name}.json", number)
    found = audited(folder / "report", folder / "[ew]*.json", cluster="{name}")
    upload(found, f"{store}/report", last=MANIFEST)
    return found


def run(*words: object) -> None:
    done = auditor(*words)
    assert done.code == 0, done.output


@pytest.mark.parametrize("words", [[], pytest.param(["--cluster", "west"], marks=pytest.mark.slow)])
def test_formats_of_a_store_are_those_of_a_folder(
    words: list[str], report: Path, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = [word for name in FORMATS for word in ("-o", f"{name}={tmp_path / name}")]
    there = [word for name in FORMATS for word in ("-o", f"{name}={store}/out/{name}")]
    run("report", report, *words, *here)
    run("report", f"{store}/report", *words, *there)
    for name in FORMATS:
        data = read_file(f"{store}/out/{name}")
        assert data is not None
        assert data.replace(f"{store}/report".encode(), str(report).encode()) == (tmp_path / name).read_bytes(), name
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FORMATS)
    if words:
        assert [name for name in FORMATS if b"east" in (tmp_path / name).read_bytes()] == []


def test_metrics_in_a_store_keep_the_last_success(report: Path, store: str) -> None:
    url = f"{store}/metrics/a.prom"
    run("report", report, "-o", f"prometheus={url}")
    before = read_file(url)
    assert before is not None
    failed = auditor("audit", "none.db", "--report", "none", "-o", f"prometheus={url}", "-q")
    assert failed.code == 2, failed.output
    after = read_file(url)
    assert after is not None
    assert b"auditor_run_success 0\n" in after
    (line,) = [one for one in before.split(b"\n") if one.startswith(b"auditor_last_success")]
    assert line in after.split(b"\n")
    assert not line.endswith(b" 0")
