"""Snapshots and data directories of real servers: the keys, counts and numbers of the server and of its tools."""

from __future__ import annotations

import json
import random
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from auditor.sources import open_source
from auditor.sources.source_plan import SourcePlan
from tests.sources.dumps import table_rows, values
from tests.sources.etcd.etcd_server import Etcd, etcdutl, server_binary
from tests.sources.etcd.status import snapshot_status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RELEASES = [
    "3.4",
    pytest.param("3.5", marks=pytest.mark.nightly),
    pytest.param("3.6", marks=pytest.mark.nightly),
]


@pytest.fixture(params=RELEASES)
def etcd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Etcd]:
    with Etcd(server_binary(request.param), tmp_path / "data") as server:
        yield server


def fill(server: Etcd, draw: random.Random, steps: int) -> None:
    for step in range(steps):
        key = b"/registry/ex.io/widgets/ns%d/w%03d" % (draw.randrange(4), draw.randrange(60))
        turn = draw.random()
        if turn < 0.75:
            server.put(key, b'{"step":%d,"pad":"%s"}' % (step, b"x" * draw.choice([0, 10, 300, 5000])))
        elif turn < 0.95:
            server.delete(key)
        else:
            server.delete(key, key[:-1] + b"5")


def read(path: Path, workdir: Path) -> tuple[SourcePlan, dict[bytes, tuple[int, int, int, bytes]]]:
    workdir.mkdir(exist_ok=True)
    plan = open_source(str(path), number=0, workdir=workdir)
    assert isinstance(plan, SourcePlan)
    rows = table_rows(plan.live)
    found = values(type(path)(plan.mapped), rows)
    return plan, {
        row["key"]: (row["create_revision"], row["mod_revision"], row["key_version"], found[row["key"]]) for row in rows
    }


def test_a_snapshot_holds_what_the_server_listed(etcd: Etcd, tmp_path: Path) -> None:
    draw = random.Random(11)
    for number in range(4):
        fill(etcd, draw, 150)
        if number == 1:
            etcd.compact(etcd.live()[0] - 20)
        if number == 2:
            etcd.compact(etcd.live()[0])
            etcd.defragment()
        revision, listed = etcd.live()
        path = tmp_path / f"{number}.db"
        etcd.snapshot(path)
        plan, found = read(path, tmp_path / f"work-{number}")
        assert found == listed
        assert (plan.revision, plan.rows, plan.damage) == (revision, len(listed), ())
        assert plan.format == "etcd-snapshot"


@pytest.mark.slow
def test_the_numbers_are_those_of_etcdutl(etcd: Etcd, tmp_path: Path) -> None:
    draw = random.Random(12)
    tool = etcdutl()
    for number in range(3):
        fill(etcd, draw, 200)
        if number:
            etcd.compact(etcd.live()[0] - 50)
        path = tmp_path / f"{number}.db"
        etcd.snapshot(path)
        done = subprocess.run(
            [str(tool), "snapshot", "status", str(path), "-w", "json"], check=True, capture_output=True
        )
        reported = json.loads(done.stdout)
        status = snapshot_status(path, workdir=tmp_path)
        assert reported["totalKey"] == status.total_key == len(etcd.live()[1]) == read(path, tmp_path / "w")[0].rows
        assert (reported["hash"], reported["revision"], reported["totalSize"]) == (
            status.hash,
            status.revision,
            status.total_size,
        )


def test_a_database_that_is_written_to_meanwhile_is_read_at_one_moment(etcd: Etcd, tmp_path: Path) -> None:
    """Every value names the revision before it; a mix of two states would show keys of one and not of the other."""
    fill(etcd, random.Random(13), 100)
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            body = {"success": [{"request_put": {"key": key, "value": "bnVtYmVyIA=="}} for key in ("YQ==", "Yg==")]}
            etcd.call("kv/txn", body)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(6):
            plan, found = read(tmp_path / "data", tmp_path / f"work-{number}")
            assert any("the database is in use: its state at revision" in note for note in plan.notes)
            assert not plan.mapped.startswith(
                str(tmp_path / "data")
            )  # values are cut later, from a copy that does not change
            assert plan.damage == ()
            pair = found.get(b"a"), found.get(b"b")
            assert pair[0] == pair[1]  # both, of the same transaction, or none
    finally:
        stop.set()
        writer.join()


def test_a_killed_member_says_how_much_is_not_applied(etcd: Etcd, tmp_path: Path) -> None:
    fill(etcd, random.Random(14), 40)
    before = etcd.live()[1]
    for number in range(5):
        etcd.put(b"new-%d" % number, b"value")
    etcd.kill()
    plan, found = read(tmp_path / "data", tmp_path / "work")
    missing = {b"new-%d" % number for number in range(5)} - set(found)
    reported = [note for note in plan.notes if "not applied" in note]
    assert bool(reported) == bool(
        missing or found.keys() != before.keys() | {b"new-%d" % number for number in range(5)}
    )
    assert plan.format == "etcd-data-dir"
    assert plan.damage == ()


def test_reading_a_data_directory_changes_nothing_in_it(etcd: Etcd, tmp_path: Path) -> None:
    fill(etcd, random.Random(15), 40)
    etcd.kill()
    before = {path: path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()}
    read(tmp_path / "data", tmp_path / "work")
    assert {path: path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()} == before
