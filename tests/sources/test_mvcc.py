"""Revision keys and KeyValue messages: the fast way, the slow way, and what is malformed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.sources import live_table
from auditor.sources.bolt.page import LeafElements, key_words
from auditor.sources.etcd import mvcc
from auditor.sources.etcd.mvcc import (
    MalformedMessage,
    Revision,
    Revisions,
    parse_key_value,
    parse_revision,
    revisions,
)
from auditor.sources.files.view import FileView
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, key_value, revision, snapshot, varint
from tests.sources.dumps import index
from tests.sources.etcd.status import snapshot_status

if TYPE_CHECKING:
    from pathlib import Path

NUMBER = st.one_of(st.integers(0, 300), st.integers(0, (1 << 63) - 1))


def decode(
    rows: list[tuple[bytes, bytes]], *, suspect: bool = False
) -> tuple[Revisions, FileView, list[tuple[int, int, str]]]:
    """Lay rows out as a page does and take them apart."""
    data, keys = bytearray(), []
    for key, value in rows:
        keys.append(len(data))
        data += key + value
    view = FileView(bytes(data))
    offset = np.array(keys, dtype=np.int64)
    size = np.array([len(key) for key, _ in rows], dtype=np.int64)
    count = len(rows)
    table = LeafElements(
        page=np.full(count, 9),
        index=np.arange(count),
        key=offset,
        key_size=size,
        value_size=np.array([len(value) for _, value in rows], dtype=np.int64),
        flags=np.zeros(count, dtype=np.int64),
        words=key_words(view, offset, size),
        suspect=suspect,
    )
    reported: list[tuple[int, int, str]] = []
    return revisions(view, table, lambda *report: reported.append(report)), view, reported


def as_dicts(found: Revisions, view: FileView) -> list[dict[str, Any]]:
    return [
        {
            "main": int(found.main[row]),
            "deleted": bool(found.deleted[row]),
            "key": view.cut(int(found.key[row]), int(found.key_size[row])),
            "create": int(found.create[row]),
            "version": int(found.version[row]),
            "value": view.cut(int(found.value[row]), int(found.value_size[row])),
        }
        for row in range(len(found))
    ]


@given(st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1), st.booleans())
def test_revision_keys_are_read(main: int, sub: int, deleted: bool) -> None:
    assert parse_revision(revision(main, sub, tombstone=deleted)) == Revision(main, sub, deleted)


@pytest.mark.parametrize("key", [b"", b"x" * 17, revision(5) + b"u", revision(5) + b"tt", revision(5)[:-1]])
def test_other_keys_are_no_revisions(key: bytes) -> None:
    assert parse_revision(key) is None


@given(
    st.lists(
        st.tuples(st.binary(min_size=1, max_size=300), NUMBER, NUMBER, st.binary(max_size=300), NUMBER, st.booleans()),
        max_size=12,
    )
)
@settings(deadline=None)
def test_messages_are_taken_apart(items: list[tuple[bytes, int, int, bytes, int, bool]]) -> None:
    rows, expected = [], []
    for main, (key, create, version, value, lease, deleted) in enumerate(items, start=1):
        if deleted:
            rows.append((revision(main, tombstone=True), key_value(key)))
            expected.append({"main": main, "deleted": True, "key": key, "create": 0, "version": 0, "value": b""})
        else:
            rows.append((revision(main), key_value(key, create, main, version, value, lease)))
            expected.append(
                {"main": main, "deleted": False, "key": key, "create": create, "version": version, "value": value}
            )
    found, view, reported = decode(rows)
    assert as_dicts(found, view) == expected
    assert reported == []
    assert found.row.tolist() == list(range(len(rows)))


def test_great_numbers_are_read(tmp_path) -> None:
    main = (1 << 62) + 5
    found, view, reported = decode([(revision(main), key_value(b"k", main, main, 1 << 56, b"v", -3))])
    assert as_dicts(found, view) == [
        {"main": main, "deleted": False, "key": b"k", "create": main, "version": 1 << 56, "value": b"v"}
    ]
    assert reported == []


def field(number: int, wire: int, payload: bytes) -> bytes:
    return varint(number << 3 | wire) + payload


MESSAGE = key_value(b"/registry/a", 3, 7, 2, b"value")


@pytest.mark.parametrize(
    ("message", "value"),
    [
        (field(5, 2, b"\x01v") + field(3, 0, b"\x07") + field(1, 2, b"\x01k"), b"v"),  # another order
        (
            MESSAGE
            + field(9, 0, b"\x01")
            + field(10, 2, b"\x02xx")
            + field(11, 5, b"1234")
            + field(12, 1, b"12345678"),
            b"value",
        ),
        (MESSAGE + field(5, 2, b"\x03new"), b"new"),  # the last one counts
        (field(1, 2, b"\x01k") + b"\x18\x87\x00" + field(5, 2, b"\x01v"), b"v"),  # a number longer than it must be
        (key_value(b"k", 3, 7, 2, b""), b""),
    ],
)
def test_other_spellings_of_a_message_are_read_too(message: bytes, value: bytes) -> None:
    found, view, reported = decode([(revision(7), message), (revision(8), key_value(b"other", 8, 8, 1, b"x"))])
    rows = as_dicts(found, view)
    assert [row["value"] for row in rows] == [value, b"x"]
    assert reported == []


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (MESSAGE[:-1], "field 5 is cut"),
        (MESSAGE[:22], "field 5 is cut"),
        (MESSAGE[:14], "a number is cut"),
        (b"\x0a\x50short", "field 1 is cut"),
        (b"\x08\x01", "field 1 is of the wrong type"),
        (b"\x0a\x01k\x12\x01x", "field 2 is of the wrong type"),
        (MESSAGE + b"\x0b", "field 1 is of the wrong type"),
        (MESSAGE + b"\x53", "field 10 is of an unknown type"),
        (MESSAGE + b"\x51xxx", "the last field is cut"),
        (b"\xff" * 12, "a number is too long"),
    ],
)
def test_a_malformed_message_is_reported_with_page_and_element(message: bytes, reason: str) -> None:
    with pytest.raises(MalformedMessage, match=reason):
        parse_key_value(message, 0, len(message))
    found, view, reported = decode([(revision(6), key_value(b"a", 6, 6, 1, b"x")), (revision(7), message)])
    assert [row["key"] for row in as_dicts(found, view)] == [b"a"]
    assert reported == [(9, 1, f"revision 7: its value is no KeyValue message ({reason})")]


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (b"short", MESSAGE, "b'short' is no revision"),
        (revision(7)[:8] + b"-" + bytes(8), MESSAGE, "is no revision"),
        (revision(7) + b"x", MESSAGE, "is no revision"),
        (revision(1 << 63), MESSAGE, "is no revision"),
        (revision(7), b"\x2a\x01v", "revision 7: its message has no key"),
    ],
)
def test_rows_that_are_no_revisions_are_reported_and_left_out(key: bytes, value: bytes, reason: str) -> None:
    found, _, reported = decode([(key, value)])
    assert len(found) == 0
    assert len(reported) == 1
    assert reason in reported[0][2]


def test_a_message_of_another_revision_is_reported_and_kept_unless_its_page_is_damaged() -> None:
    rows = [(revision(8), MESSAGE)]
    found, _, reported = decode(rows)
    assert (len(found), reported) == (1, [(9, 0, "revision 8: its message says it is revision 7")])
    found, _, reported = decode(rows, suspect=True)
    assert (len(found), len(reported)) == (0, 1)


def test_a_row_with_neither_key_nor_value_is_left_out_silently() -> None:
    found, _, reported = decode([(revision(7), b""), (revision(8), key_value(b"k", 8, 8, 1, b"v"))])
    assert found.main.tolist() == [8]
    assert found.row.tolist() == [1]
    assert reported == []


@given(st.lists(st.tuples(st.binary(max_size=24), st.binary(max_size=60)), max_size=6))
@settings(deadline=None)
def test_any_bytes_are_read_without_failing(rows: list[tuple[bytes, bytes]]) -> None:
    kept = [(revision(5) if len(key) % 2 else key, value) for key, value in rows]
    found, view, _ = decode(kept)
    for row in as_dicts(found, view):
        assert row["key"]
    for key, value in kept:
        try:
            message = parse_key_value(value, 0, len(value))
        except MalformedMessage:
            continue
        assert all(0 <= start <= start + size <= len(value) for start, size in (message.key, message.value)), key


@pytest.mark.parametrize(
    ("finished", "scheduled", "reported"),
    [
        (None, None, 3025783220),
        (4, 4, 2371320693),
        (4, 10, 1799033995),
        (None, 14, 769270943),
        (14, 10, 769270943),
        (None, 16, 1172088985),
    ],
)
def test_the_hash_is_that_of_a_store_that_goes_on_with_a_begun_compaction(
    finished: int | None, scheduled: int | None, reported: int, tmp_path: Path
) -> None:
    """What etcd 3.6.16 answers (HashByRev) after it opened the same file."""
    history = History()
    for number in range(12):
        history.put(b"/k%d" % (number % 3), b"v%d" % number)
    history.delete(b"/k1")
    history.put(b"/k4", b"x")
    history.put(b"/k4", b"y")
    path = tmp_path / "db"
    path.write_bytes(bolt_file(etcd_buckets(history.rows, finished=finished, scheduled=scheduled)))
    assert snapshot_status(path, workdir=tmp_path).hash_kv == reported


@pytest.mark.parametrize(
    ("bare", "scheduled", "reported", "keys"),
    [
        ((30,), None, 808693865, 4),
        ((30,), 30, 535638931, 4),
        ((30, 60), 30, 2452252897, 4),
        ((30, 60), 60, 2452252897, 4),
    ],
)
def test_the_row_that_a_restore_writes_counts_in_the_hash(
    bare: tuple[int, ...], scheduled: int | None, reported: int, keys: int, tmp_path: Path
) -> None:
    """What etcdutl 3.6.16 tells of the same file: to etcd the row is the live one of a key without a name."""
    history = History()
    for number in range(12):
        history.put(b"/k%d" % (number % 3), b"v%d" % number)
    rows = history.rows | {revision(main): b"" for main in bare}
    path = tmp_path / "db"
    path.write_bytes(bolt_file(etcd_buckets(rows, finished=scheduled and 4, scheduled=scheduled)))
    status = snapshot_status(path, workdir=tmp_path)
    assert (status.hash_kv, status.total_key) == (reported, keys)


def test_threads_make_the_same_live_table_and_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History()
    for number in range(3000):
        key = b"/registry/things/%d" % (number * 7919 % 700)
        if number % 9:
            history.put(key, b"v" * (number % 50), same=number % 5 == 1)
        else:
            history.delete(key)
    rows = dict(history.rows)
    for at in (5, 1500, 2990):
        rows[sorted(rows)[at]] = b"no message"
    path = tmp_path / "a.db"
    path.write_bytes(snapshot(bolt_file(etcd_buckets(rows))))
    monkeypatch.setattr(live_table, "_HELD_BYTES", 5000)
    found = []
    for least in (0, 1 << 40):
        monkeypatch.setattr(mvcc, "_WORTH_A_THREAD", least)
        folder = tmp_path / str(least)
        folder.mkdir()
        file, counts, table = index(path, folder, batch_rows=100)
        older = (folder / "live.older").read_bytes()
        found.append((counts, table, file.damage.records(), older))
    assert found[0] == found[1]
    assert len(found[0][2]) == 3
