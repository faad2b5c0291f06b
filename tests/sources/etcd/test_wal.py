"""The write-ahead log beside a database: what it holds beyond it, and where it stops to hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.sources import open_source
from auditor.sources.etcd.wal import Unapplied, read_wal
from auditor.sources.notes import wal_notes
from auditor.sources.source_plan import SourcePlan
from tests.shared import SHARED, second_check
from tests.sources.bolt_writer import bolt_file, key_value, revision
from tests.sources.dumps import extracted
from tests.sources.etcd.wal_writer import WalWriter, delete, message, put, transaction

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "golden/etcd-files"
EXPECTED: dict[str, Any] = (
    json.loads((SHARED / FOLDER / "expected.json").read_bytes())["data_dirs"] if (SHARED / FOLDER).exists() else {}
)


@second_check("golden/etcd-files", by="tests/sources/etcd/test_live_etcd.py")
@pytest.mark.parametrize("name", sorted(EXPECTED) or ["data-dir-36.tar.gz"])
def test_the_log_of_a_killed_member_is_counted_as_etcd_does(name: str, tmp_path: Path) -> None:
    folder = extracted(f"{FOLDER}/{name}", tmp_path)
    expected = EXPECTED[name]["wal"]
    log = read_wal(next(folder.rglob("wal")), EXPECTED[name]["db"]["consistent_index"])
    newer = expected["newer_than_db_index"]
    assert {str(kind): count for kind, count in log.records.items()} == expected["records_by_type"]
    assert (log.last_index, log.commit) == (expected["last_index"], expected["hardstate"]["commit"])
    assert (log.unapplied.entries, log.unapplied.first, log.unapplied.last) == (len(newer), newer[0], newer[-1])
    assert (log.faults, log.torn, log.unapplied.gap) == ([], False, False)


@second_check("golden/etcd-files", by="tests/sources/etcd/test_live_etcd.py")
@pytest.mark.parametrize("below", ["", "member"])
@pytest.mark.parametrize("name", sorted(EXPECTED) or ["data-dir-36.tar.gz"])
def test_a_data_directory_says_what_is_not_applied(name: str, below: str, tmp_path: Path) -> None:
    folder = next(extracted(f"{FOLDER}/{name}", tmp_path).rglob("member")).parent / below
    workdir = tmp_path / "work"
    workdir.mkdir()
    plan = open_source(str(folder), number=0, workdir=workdir, etcd_prefix="/registry")
    assert isinstance(plan, SourcePlan)
    newer = EXPECTED[name]["wal"]["newer_than_db_index"]
    (note,) = (note for note in plan.notes if "write-ahead" in note)
    assert note.startswith(f"{len(newer)} entries of the write-ahead log (index {newer[0]}..{newer[-1]}) are newer")
    assert plan.rows == EXPECTED[name]["db"]["keys"]
    assert plan.format == "etcd-data-dir"


@pytest.mark.parametrize("lost", [False, True])
def test_nothing_is_said_to_be_newer_than_an_index_that_is_lost(lost: bool, tmp_path: Path) -> None:
    rows = {revision(2): key_value(b"/registry/a", 2, 2, 1, b"x")}
    meta = {b"consistent_index": (3).to_bytes(8, "big"), b"more": bytes(2000)}
    data = bytearray(bolt_file({b"key": rows, b"meta": meta}))
    if lost:
        page = data.index(b"consistent_index") // 4096 * 4096
        data[page : page + 16] = bytes(16)
    database = tmp_path / "data" / "member" / "snap" / "db"
    database.parent.mkdir(parents=True)
    database.write_bytes(data)
    wal = WalWriter(tmp_path / "data" / "member" / "wal")
    for _ in range(5):
        wal.entry(put(b"a"))
    workdir = tmp_path / "work"
    workdir.mkdir()
    plan = open_source(str(tmp_path / "data"), number=0, workdir=workdir)
    assert isinstance(plan, SourcePlan)
    (note,) = (note for note in plan.notes if "write-ahead" in note)
    assert note.startswith("2 entries of the write-ahead log (index 4..5)") != lost
    assert note.endswith("is not known: its index is lost") == lost


@pytest.mark.parametrize("folder", [False, True])
def test_a_log_without_files_is_missing(folder: bool, tmp_path: Path) -> None:
    database = tmp_path / "data" / "member" / "snap" / "db"
    database.parent.mkdir(parents=True)
    database.write_bytes(bolt_file({b"key": {revision(2): key_value(b"/registry/a", 2, 2, 1, b"x")}}))
    if folder:
        (tmp_path / "data" / "member" / "wal").mkdir()
        (tmp_path / "data" / "member" / "wal" / "0.tmp").write_bytes(bytes(64))
    workdir = tmp_path / "work"
    workdir.mkdir()
    plan = open_source(str(tmp_path / "data"), number=0, workdir=workdir)
    assert isinstance(plan, SourcePlan)
    assert [note for note in plan.notes if note.startswith("no write-ahead log beside the database")]


def test_keys_are_named_once_and_ranges_counted(tmp_path: Path) -> None:
    wal = WalWriter(tmp_path)
    for request in (put(b"a"), b"", put(b"a"), delete(b"b"), delete(b"c", b"d"), transaction()):
        wal.entry(request)
    wal.entry(b"\x08\x01\x12\x03PUT\x1a\x02/x")  # a request of the old API
    wal.entry(b"\x08", kind=1)  # a change of members
    assert read_wal(tmp_path, 1).unapplied == Unapplied(7, 2, 8, frozenset({b"a", b"b"}), 1)
    assert read_wal(tmp_path, 8).unapplied == Unapplied()


def test_the_keys_of_revoked_leases_are_reported(tmp_path: Path) -> None:
    wal = WalWriter(tmp_path)
    for lease in (5, 7):
        wal.entry(message((9, message((1, lease)))))
    log = read_wal(tmp_path, 0)
    assert (log.unapplied.keys, log.unapplied.leases) == (frozenset(), 2)
    assert "0 keys and the keys of 2 revoked leases may be newer" in next(wal_notes(log))


def test_more_keys_than_are_kept_are_reported_as_such_and_ranges_still_counted(tmp_path: Path) -> None:
    wal = WalWriter(tmp_path)
    for number in range(1200):
        wal.entry(put(b"%d" % number))
    wal.entry(delete(b"a", b"b"))
    log = read_wal(tmp_path, 0)
    assert log.unapplied.ranges == 1
    assert "at least 1000 keys and 1 range of keys may be newer" in next(wal_notes(log))


def test_keys_of_nested_transactions_are_found(tmp_path: Path) -> None:
    wal = WalWriter(tmp_path)
    inner = message((2, message((2, message((1, b"inner"))))))
    operations = message((2, message((1, b"outer"))))
    wal.entry(transaction(operations, message((3, message((1, b"gone")))), message((4, inner))))
    assert read_wal(tmp_path, 0).unapplied.keys == {b"outer", b"gone", b"inner"}


def test_an_index_that_comes_again_takes_back_what_was_above(tmp_path: Path) -> None:
    wal = WalWriter(tmp_path)
    for key in (b"a", b"b", b"c", b"d"):
        wal.entry(put(key))
    wal.entry(put(b"B"), index=2)
    assert read_wal(tmp_path, 0).unapplied == Unapplied(2, 1, 2, frozenset({b"a", b"B"}))


def test_checksums_run_on_over_files(tmp_path: Path) -> None:
    wal = WalWriter(tmp_path)
    for _ in range(3):
        wal.entry(put(b"a" * 3000))
        wal.state(wal.index)
        wal.cut()
    wal.path.write_bytes(wal.path.read_bytes() + bytes(100_000))  # preallocated
    log = read_wal(tmp_path, 0)
    assert (log.unapplied.entries, log.commit, log.faults, log.torn) == (3, 3, [], False)


def test_a_file_that_is_missing_ends_the_reading(tmp_path: Path) -> None:
    wal = WalWriter(tmp_path)
    wal.entry(put(b"a"))
    wal.cut()
    middle = wal.path
    wal.entry(put(b"b"))
    wal.cut()
    middle.unlink()
    log = read_wal(tmp_path, 0)
    assert log.faults == [(wal.path.name, "files before it are missing")]
    assert log.unapplied.entries == 1


def test_a_snapshot_above_the_database_is_reported(tmp_path: Path) -> None:
    """What etcd does: a committed one takes the place of the entries up to it, one that is not is ignored."""
    wal = WalWriter(tmp_path)
    for _ in range(3):
        wal.entry(put(b"a"))
    wal.record(5, message((1, 3), (2, 1)))
    wal.record(5, message((1, 50), (2, 1)))
    assert (read_wal(tmp_path, 2).snapshot, read_wal(tmp_path, 2).unapplied.entries) == (0, 1)
    wal.state(50)
    log = read_wal(tmp_path, 2)
    assert (log.snapshot, log.unapplied, log.faults) == (50, Unapplied(), [])
    assert "goes on from a snapshot (index 50) that the database" in next(wal_notes(log))
    wal.entry(put(b"b"), index=51)
    log = read_wal(tmp_path, 2)
    assert (log.snapshot, log.unapplied, log.faults) == (50, Unapplied(1, 51, 51, frozenset({b"b"})), [])
    assert read_wal(tmp_path, 50).snapshot == 0


def test_a_log_that_begins_too_late_says_so(tmp_path: Path) -> None:
    wal = WalWriter(tmp_path, sequence=5)
    wal.entry(put(b"a"), index=100)
    assert read_wal(tmp_path, 90).unapplied.gap
    assert not read_wal(tmp_path, 99).unapplied.gap


@pytest.mark.parametrize("last", [True, False])
def test_a_byte_that_changed_is_corruption(last: bool, tmp_path: Path) -> None:
    wal = WalWriter(tmp_path)
    for _ in range(3):
        wal.entry(put(b"a"))
    path = wal.path
    if not last:
        wal.cut()
    data = bytearray(path.read_bytes())
    at = data.rindex(b"value")
    data[at] ^= 1
    path.write_bytes(data)
    log = read_wal(tmp_path, 0)
    assert [name for name, _ in log.faults] == [path.name]
    assert "wrong checksum at byte" in log.faults[0][1]
    assert log.unapplied.entries == 2


@pytest.mark.parametrize(
    ("last", "zeroed", "cut", "torn"),
    [
        (True, slice(512, 1024), 0, True),
        (True, slice(48, 512), 0, True),
        (True, slice(49, 512), 0, False),
        (True, slice(48, 511), 0, False),
        (False, slice(48, 512), 0, False),
        (True, slice(0), 3, True),
        (True, slice(0), 7, True),
        (True, slice(0), 8, True),
        (True, slice(0), 20, True),
        (False, slice(0), 3, False),
    ],
)
def test_what_a_torn_write_is(last: bool, zeroed: slice, cut: int, torn: bool, tmp_path: Path) -> None:
    """What etcd 3.6.16 makes of the same files: a torn end that it drops, or an error."""
    wal = WalWriter(tmp_path)
    size = wal.path.stat().st_size
    wal.entry(put(b"a" * 3000))
    path = wal.path
    if not last:
        wal.cut()
    data = bytearray(path.read_bytes())
    data[zeroed] = bytes(len(data[zeroed]))
    path.write_bytes(data[: size + cut] if cut else data)
    log = read_wal(tmp_path, 0)
    assert (log.torn, len(log.faults), log.unapplied.entries) == (torn, not torn, 0)


def test_records_after_a_changed_record_are_ignored(tmp_path: Path) -> None:
    wal = WalWriter(tmp_path)
    wal.entry(put(b"a"))
    data = bytearray(wal.path.read_bytes())
    data[data.rindex(b"value")] ^= 1
    wal.path.write_bytes(data + b"\xff\0\0\0\0\0\0\0cut")
    log = read_wal(tmp_path, 0)
    assert (log.torn, len(log.faults), log.unapplied.entries) == (False, 1, 0)


def test_a_field_without_a_number_is_no_record(tmp_path: Path) -> None:
    wal = WalWriter(tmp_path)
    wal.path.write_bytes(wal.path.read_bytes() + b"\x02\0\0\0\0\0\0\0\0\1")
    assert [reason for _, reason in read_wal(tmp_path, 0).faults] == ["no record at byte 40; nothing after it was read"]


def test_a_sector_of_zeros_in_the_last_record_is_a_torn_write(tmp_path: Path) -> None:
    wal = WalWriter(tmp_path)
    wal.entry(put(b"a"))
    wal.entry(put(b"b" * 5000))
    data = bytearray(wal.path.read_bytes())
    data[1024:2048] = bytes(1024)
    wal.path.write_bytes(data)
    log = read_wal(tmp_path, 0)
    assert (log.faults, log.torn, log.unapplied.entries) == ([], True, 1)


@given(st.integers(1, 400), st.integers(0, 255), st.booleans())
@settings(max_examples=150, deadline=None)
def test_any_damage_ends_in_fewer_entries_and_a_word(tmp_path_factory: Any, at: int, byte: int, cut: bool) -> None:
    folder = tmp_path_factory.mktemp("wal")
    wal = WalWriter(folder)
    for number in range(8):
        wal.entry(put(b"key %d" % number))
    data = bytearray(wal.path.read_bytes())
    at %= len(data)
    data = data[:at] if cut else data[:at] + bytes([byte]) + data[at + 1 :]
    wal.path.write_bytes(data)
    log = read_wal(folder, 0)
    assert log.unapplied.entries <= 8
    # a frame length of zero is where preallocated space begins
    clean_end = cut or not int.from_bytes(data[at - at % 8 : at - at % 8 + 8], "little") or byte == 0
    # the type of a record is under no checksum: an entry may turn into something that does not count
    other_type = len(log.records) != 3 or log.records[1] != 1
    assert log.unapplied.entries == 8 or log.faults or log.torn or log.unapplied.gap or clean_end or other_type
