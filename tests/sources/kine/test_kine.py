"""kine's table: in SQLite with its write-ahead log, and as text of PostgreSQL and MySQL; always the same live keys."""

from __future__ import annotations

import base64
import codecs
import csv
import gzip
import hashlib
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from auditor.base.errors import DamagedDump, SourceError, UnknownDump
from auditor.sources import open_source
from tests.shared import SHARED, second_check, shared, shared_lines
from tests.sources.dumps import table_rows, unpacked, values

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.sources.source_plan import SourcePlan

Live = dict[bytes, tuple[int, int, bytes]]
Row = tuple[int, Any, int, int, int, int, int, Any, Any]

COLUMNS = ("id", "name", "created", "deleted", "create_revision", "prev_revision", "lease", "value", "old_value")
FILES: dict[str, Any] = (
    json.loads((SHARED / "golden/etcd-files/expected.json").read_bytes())["kine"]
    if (SHARED / "golden/etcd-files").exists()
    else {}
)


def read(path: Path | str, workdir: Path) -> tuple[SourcePlan, Live]:
    workdir.mkdir(exist_ok=True)
    plan = open_source(str(path), number=0, workdir=workdir)
    if isinstance(plan, list):
        (plan,) = plan
    rows = table_rows(plan.live)
    found = values(Path(plan.mapped), rows)
    assert [row["key"] for row in rows] == sorted(row["key"] for row in rows)
    assert {row["key_version"] for row in rows} <= {None}
    return plan, {row["key"]: (row["create_revision"], row["mod_revision"], found[row["key"]]) for row in rows}


def digests(live: Live) -> dict[str, list[Any]]:
    return {
        key.decode(): [create, mod, hashlib.sha256(value).hexdigest()[:16]]
        for key, (create, mod, value) in live.items()
    }


# ---- real stores


@second_check("golden/kine", by="tests/sources/kine/test_kine.py")
@pytest.mark.parametrize("packed", [True, False])
def test_a_store_that_runs_is_read_with_its_log(packed: bool, tmp_path: Path) -> None:
    if packed:
        path = shared("golden/etcd-files/kine/state.db.gz")
    else:
        path = unpacked("golden/etcd-files/kine/state.db.gz", tmp_path)
        unpacked("golden/etcd-files/kine/state.db-wal.gz", tmp_path)
    before = {one.name: one.read_bytes() for one in path.parent.iterdir() if one.is_file()}
    plan, live = read(path, tmp_path / "work")
    assert digests(live) == FILES["live"]
    assert (plan.revision, plan.compacted_revision) == (FILES["revision"], FILES["compact_revision"])
    assert plan.format == "kine-sqlite"
    assert plan.notes[0] == "the write-ahead log beside the database was read too"
    assert {one.name: one.read_bytes() for one in path.parent.iterdir() if one.is_file()} == before


def test_without_its_log_a_store_says_what_may_be_missing(tmp_path: Path) -> None:
    path = store_with_log(tmp_path)
    path.with_name("state.db-wal").unlink()
    plan, _ = read(path, tmp_path / "work")
    assert plan.notes[0] == (
        "the database is in WAL mode, and no state.db-wal lies beside it: newest rows may be missing"
    )
    assert [one.name for one in path.parent.iterdir() if one.is_file()] == ["state.db"]


def test_the_log_that_lacks_is_named_after_the_database_and_not_after_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "nowal"
    folder.mkdir()
    packed = folder / "state.db.gz"
    packed.write_bytes(gzip.compress(store_with_log(tmp_path).read_bytes()))
    note = "the database is in WAL mode, and no state.db-wal lies beside it: newest rows may be missing"
    assert read(packed, tmp_path / "one")[0].notes[0] == note
    assert read(folder, tmp_path / "two")[0].notes[0] == note


@second_check("golden/kine", by="tests/sources/kine/test_kine.py")
@pytest.mark.parametrize("name", ["state.db.gz", "live/state.db.gz", "live"])
def test_a_store_holds_what_its_server_listed(name: str, tmp_path: Path) -> None:
    _, live = read(shared(f"golden/kine/{name}"), tmp_path / "work")
    listed = json.loads(gzip.decompress(shared("golden/kine/etcdctl-get.json.gz").read_bytes()))
    assert (
        live.items()
        >= {
            base64.b64decode(row["key"]): (
                row["create_revision"],
                row["mod_revision"],
                base64.b64decode(row.get("value", "")),
            )
            for row in listed["kvs"]
        }.items()
    )
    for line in shared_lines("golden/kine/expected.ndjson.gz"):
        assert (line["key"].encode() in live) == (not line["deleted"]), line["key"]


def test_a_folder_of_k3s_leads_to_its_store(tmp_path: Path) -> None:
    db = tmp_path / "k3s" / "server" / "db"
    db.mkdir(parents=True)
    store(db / "state.db", ROWS)
    for number, folder in enumerate((tmp_path / "k3s", tmp_path / "k3s/server", db)):
        plan, live = read(folder, tmp_path / f"work-{number}")
        assert live == LIVE
        assert plan.format == "kine-sqlite"


@pytest.mark.parametrize(
    ("share", "reason"),
    [
        (0.3, "of what was written behind frame"),
        (0.0, "nothing in it can be applied"),
    ],
)
def test_a_log_that_is_damaged_is_reported(share: float, reason: str, tmp_path: Path) -> None:
    path = store_with_log(tmp_path)
    wal = path.with_name("state.db-wal")
    log = bytearray(wal.read_bytes())
    plan, live = read(path, tmp_path / "work")
    assert (live, plan.damage) == (LIVE, ())
    log[int(len(log) * share) + 12] ^= 1
    wal.write_bytes(log)
    plan, live = read(path, tmp_path / "again")
    assert b"/registry/empty" not in live
    (damage,) = plan.damage
    assert damage.where == "write-ahead log"
    assert reason in damage.reason


def test_a_log_that_ends_inside_a_transaction_is_reported(tmp_path: Path) -> None:
    path = store_with_log(tmp_path, "CREATE INDEX kine_name_index ON kine (name)")
    wal = path.with_name("state.db-wal")
    log = wal.read_bytes()
    note = "the write-ahead log ends inside a transaction: newest rows may be missing"
    for number, (size, reported) in enumerate(((len(log), False), (len(log) - 4120, True), (len(log) - 1, True))):
        wal.write_bytes(log[:size])
        plan, live = read(path, tmp_path / f"work-{number}")
        assert (note in plan.notes, b"/registry/empty" in live, plan.damage) == (reported, True, ())


# ---- made stores


ROWS: list[Row] = [
    (1, "compact_rev_key", 1, 0, 0, 7, 0, b"", None),
    (2, "/registry/a", 1, 0, 0, 0, 0, b'{"a":1}', None),
    (3, "/registry/A", 1, 0, 0, 0, 0, b'{"A":"x\ny\t\\z\\"q\\""}', None),
    (4, "/registry/gone", 1, 0, 0, 0, 0, b"{}", None),
    (5, "gap-5", 0, 1, 0, 0, 0, b"", None),
    (6, "/registry/a", 0, 0, 2, 2, 0, b'{"a":2}', b'{"a":1}'),
    (7, "/registry/gone", 0, 1, 4, 4, 0, None, b"{}"),
    (8, "/registry/back", 1, 0, 0, 0, 0, b"k8s\0\n\x00\xff,\"'", None),
    (9, "/registry/back", 0, 1, 8, 8, 0, None, None),
    (10, "/registry/back", 1, 0, 0, 9, 0, b"k8s\0new", None),
    (11, "/registry/empty", 1, 0, 0, 0, 0, b"", None),
    (12, "compact_rev_key_apiserver", 1, 0, 0, 0, 0, b"x", None),
]
LIVE: Live = {
    b"/registry/A": (3, 3, b'{"A":"x\ny\t\\z\\"q\\""}'),
    b"/registry/a": (2, 6, b'{"a":2}'),
    b"/registry/back": (10, 10, b"k8s\0new"),
    b"/registry/empty": (11, 11, b""),
}


def store(path: Path, rows: list[Row], *, table: str = "kine", name_type: str = "TEXT") -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            f"CREATE TABLE {table} (id INTEGER PRIMARY KEY AUTOINCREMENT, name {name_type}, created INTEGER, deleted INTEGER,"
            " create_revision INTEGER, prev_revision INTEGER, lease INTEGER, value BLOB, old_value BLOB)"
        )
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        connection.commit()
    return path


def store_with_log(folder: Path, *statements: str) -> Path:
    """Return a store whose newest rows are in the log beside it, as a copy of both files finds them."""
    path = store(folder / "state.db", ROWS[:4])
    copy = folder / "copy"
    copy.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in (*statements, "PRAGMA journal_mode=WAL"):
            connection.execute(statement)
        for row in ROWS[4:]:
            connection.execute("INSERT INTO kine VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        for name in ("state.db", "state.db-wal"):
            (copy / name).write_bytes((folder / name).read_bytes())
    return copy / path.name


@pytest.mark.parametrize("name_type", ["TEXT", "TEXT COLLATE NOCASE", "INTEGER"])
def test_the_newest_row_of_a_name_counts(name_type: str, tmp_path: Path) -> None:
    plan, live = read(store(tmp_path / "state.db", ROWS, name_type=name_type), tmp_path / "work")
    assert live == LIVE
    assert (plan.revision, plan.compacted_revision, plan.damage) == (12, 7, ())


def test_rows_that_an_index_lacks_are_read(tmp_path: Path) -> None:
    path = store(tmp_path / "state.db", ROWS[:6])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE INDEX kine_name_id_index ON kine (name, id)")
        connection.execute("CREATE INDEX kine_id_deleted_index ON kine (id, deleted)")
        connection.execute("PRAGMA writable_schema=ON")
        indices = list(connection.execute("SELECT * FROM sqlite_master WHERE type = 'index'"))
        connection.execute("DELETE FROM sqlite_master WHERE type = 'index'")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executemany("INSERT INTO kine VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", ROWS[6:])
        connection.execute("PRAGMA writable_schema=ON")
        connection.executemany("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", indices)
    plan, live = read(path, tmp_path / "work")
    assert live == LIVE
    assert (plan.revision, plan.compacted_revision) == (12, 7)
    assert [damage.reason for damage in plan.damage] == ["not sound: row 7 missing from index kine_id_deleted_index"]


def test_a_name_that_is_not_the_one_in_the_indices_is_reported(tmp_path: Path) -> None:
    path = store(tmp_path / "state.db", ROWS)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE INDEX kine_name_index ON kine (name)")
    data = path.read_bytes()
    path.write_bytes(data.replace(b"/registry/empty", b"/registry/empt9", 1))
    plan, live = read(path, tmp_path / "work")
    assert b"/registry/empt9" in live
    assert [damage.reason for damage in plan.damage] == ["not sound: row 11 missing from index kine_name_index"]


def test_names_that_look_like_numbers_stay_what_they_are(tmp_path: Path) -> None:
    rows: list[Row] = [(1, "12", 1, 0, 0, 0, 0, b"{}", None)]
    _, live = read(store(tmp_path / "state.db", rows, name_type="INTEGER"), tmp_path / "work")
    assert live == {b"12": (1, 1, b"{}")}


def test_a_database_of_something_else_names_its_tables(tmp_path: Path) -> None:
    path = store(tmp_path / "state.db", [], table="grafana")
    with pytest.raises(UnknownDump, match=r"not of kine: tables found: grafana"):
        read(path, tmp_path / "work")


def test_a_view_called_kine_is_not_the_table(tmp_path: Path) -> None:
    path = store(tmp_path / "state.db", ROWS, table="other")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIEW kine AS SELECT * FROM other")
    with pytest.raises(UnknownDump):
        read(path, tmp_path / "work")


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95, 0.9999])
def test_of_a_cut_database_the_pages_that_are_there_are_read(share: float, tmp_path: Path) -> None:
    rows: list[Row] = [(n, f"/registry/x/{n}", 1, 0, 0, 0, 0, b'{"n":%d}' % n * 40, None) for n in range(1, 400)]
    path = store(tmp_path / "state.db", rows)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    plan, live = read(path, tmp_path / "work")
    cut = f"cut: {int(len(data) * share)} bytes of {len(data)}"
    assert plan.damage[0].reason == cut
    whole = {b"/registry/x/%d" % n: (n, n, b'{"n":%d}' % n * 40) for n in range(1, 400)}
    assert live.items() <= whole.items()
    assert len(live) > 330 * share


def test_rows_behind_damaged_pages_are_read(tmp_path: Path) -> None:
    rows: list[Row] = [(n, f"/registry/x/{n}", 1, 0, 0, 0, 0, b'{"n":%d}' % n * 40, None) for n in range(1, 400)]
    path = store(tmp_path / "state.db", [*rows, (5000, "/registry/last", 1, 0, 0, 0, 0, b"{}", None)])
    data = bytearray(path.read_bytes())
    leaves = [at for at in range(4096, len(data), 4096) if data[at] == 13]
    for at in (leaves[5], leaves[20]):
        data[at : at + 4096] = bytes(4096)
    path.write_bytes(data)
    plan, live = read(path, tmp_path / "work")
    lost = [n for n in range(1, 400) if b"/registry/x/%d" % n not in live]
    assert b"/registry/last" in live
    assert 0 < len(lost) < 40
    gap = next(index for index in range(1, len(lost)) if lost[index] > lost[index - 1] + 1)
    reported = [
        f"rows {first} to {last} cannot be read" for first, last in ((lost[0], lost[gap - 1]), (lost[gap], lost[-1]))
    ]
    assert [damage.reason.partition(":")[0] for damage in plan.damage if damage.where == "table kine"] == reported
    assert plan.revision == 5000


def test_rows_behind_the_last_page_that_can_be_read_are_reported(tmp_path: Path) -> None:
    rows: list[Row] = [(n, f"/registry/x/{n}", 1, 0, 0, 0, 0, b'{"n":%d}' % n * 40, None) for n in range(1, 400)]
    path = store(tmp_path / "state.db", rows)
    data = bytearray(path.read_bytes())
    last = max(at for at in range(4096, len(data), 4096) if data[at] == 13)
    data[last : last + 4096] = bytes(4096)
    path.write_bytes(data)
    plan, live = read(path, tmp_path / "work")
    (damage,) = (damage for damage in plan.damage if damage.where == "table kine")
    assert damage.reason.startswith(f"rows from {len(live) + 1} on cannot be read: ")


@given(st.integers(100, 60_000), st.binary(min_size=1, max_size=40))
@example(3906, b"\x80")  # in the text of the schema: SQLite's message is no UTF-8 then
@settings(max_examples=60, deadline=None)
def test_bytes_that_changed_end_in_rows_or_an_error(tmp_path_factory: Any, at: int, noise: bytes) -> None:
    folder = tmp_path_factory.mktemp("kine")
    rows: list[Row] = [(n, f"/registry/x/{n}", 1, 0, 0, 0, 0, b'{"n":%d}' % n * 20, None) for n in range(1, 200)]
    path = store(folder / "state.db", rows)
    data = bytearray(path.read_bytes())
    at %= len(data)
    data[at : at + len(noise)] = noise
    path.write_bytes(data)
    try:
        read(path, folder / "work")
    except SourceError as error:
        assert str(error)  # noqa: PT017


# ---- text


def as_hex(value: bytes, prefix: str) -> str:
    return prefix + value.hex()


def postgres_csv(rows: list[Row]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(["" if c is None else as_hex(c, "\\x") if isinstance(c, bytes) else c for c in row])
    return out.getvalue().encode()


def postgres_copy(rows: list[Row]) -> bytes:
    lines = ["--", "-- PostgreSQL database dump", "--", "", "SET client_encoding = 'UTF8';",
             "COPY public.other (id, name) FROM stdin;", "1\tx", "\\.", "",
             f"COPY public.kine ({', '.join(COLUMNS)}) FROM stdin;"]  # fmt: skip
    for row in rows:
        cells = ["\\N" if c is None else as_hex(c, "\\\\x") if isinstance(c, bytes) else str(c) for c in row]
        lines.append("\t".join(cells))
    return "\n".join([*lines, "\\.", "", "-- end", ""]).encode()


def escaped_copy(rows: list[Row]) -> bytes:
    """COPY of a server whose `bytea_output` is escape: bytes in octal, a backslash twice, and COPY doubles all of them."""

    def cell(value: Any) -> str:
        if value is None:
            return "\\N"
        if not isinstance(value, bytes):
            return str(value)
        shown = {92: r"\\\\"} | {number: chr(number) for number in range(32, 127) if number != 92}
        return "".join(shown.get(number, rf"\\{number:03o}") for number in value)

    lines = ["-- PostgreSQL database dump", "", f'COPY "k8s-a".kine ({", ".join(COLUMNS)}) FROM stdin;']
    return "\n".join([*lines, *("\t".join(map(cell, row)) for row in rows), "\\.", ""]).encode()


def mysql_hex(rows: list[Row]) -> bytes:
    """`mysql --batch --binary-as-hex`: an empty value is 0x."""
    lines = ["\t".join(COLUMNS)]
    for row in rows:
        cells = ["NULL" if c is None else as_hex(c, "0x").upper().replace("X", "x", 1) if isinstance(c, bytes) else str(c)
                 for c in row]  # fmt: skip
        lines.append("\t".join(cells))
    return "\n".join([*lines, ""]).encode()


def mysql_batch(rows: list[Row]) -> bytes:
    def cell(value: Any) -> bytes:
        if value is None:
            return b"NULL"
        data = value if isinstance(value, bytes) else str(value).encode()
        for plain, text in ((b"\\", b"\\\\"), (b"\n", b"\\n"), (b"\t", b"\\t"), (b"\0", b"\\0")):
            data = data.replace(plain, text)
        return data

    lines = ["\t".join(COLUMNS).encode()]
    lines += [b"\t".join(cell(c) for c in row) for row in rows]
    return b"\n".join([*lines, b""])


def quoted_csv(rows: list[Row]) -> bytes:
    """As table browsers write it: everything quoted, values in hex under HEX(value)."""
    lines = [";".join(f'"{"HEX(value)" if name == "value" else name}"' for name in COLUMNS)]
    for row in rows:
        cells = ["" if c is None else c.hex().upper() if isinstance(c, bytes) else c for c in row]
        lines.append(";".join(f'"{cell}"' for cell in cells))
    return "\r\n".join([*lines, ""]).encode()


def outfile_csv(rows: list[Row]) -> bytes:
    """`SELECT ... INTO OUTFILE` with quotes and its backslash escapes."""

    def cell(value: Any) -> bytes:
        if value is None:
            return b"\\N"
        data = value if isinstance(value, bytes) else str(value).encode()
        return b'"' + data.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'

    lines = [",".join(COLUMNS).encode()]
    lines += [b",".join(cell(c) for c in row) for row in rows]
    return b"\n".join([*lines, b""])


WRITERS: dict[str, Callable[[list[Row]], bytes]] = {
    "postgres-csv": postgres_csv,
    "postgres-copy": postgres_copy,
    "escaped-copy": escaped_copy,
    "mysql-hex": mysql_hex,
    "mysql-batch": mysql_batch,
    "quoted-csv": quoted_csv,
    "outfile-csv": outfile_csv,
}


def powershell_csv(rows: list[Row]) -> bytes:
    """`psql --csv` through a redirection of PowerShell: UTF-16, lines of Windows."""
    return codecs.BOM_UTF16_LE + postgres_csv(rows).decode().replace("\n", "\r\n").encode("utf-16-le")


WRITERS["powershell-csv"] = powershell_csv


def doubled_csv(rows: list[Row]) -> bytes:
    """As table browsers write values as they are: only what needs quotes has them, doubled inside."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([c.decode("latin-1") if isinstance(c, bytes) else c for c in row])
    return out.getvalue().encode("latin-1")


WRITERS["doubled-csv"] = doubled_csv


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("writer", sorted(WRITERS))
def test_the_table_as_text_gives_the_same_keys(writer: str, packed: bool, tmp_path: Path) -> None:
    rows = ROWS
    if writer == "outfile-csv":  # it writes no zero bytes as they are
        rows = [row for row in ROWS if not isinstance(row[7], bytes) or b"\0" not in row[7]]
    path = tmp_path / ("kine.csv.gz" if packed else "kine.csv")
    text = WRITERS[writer](rows)
    path.write_bytes(gzip.compress(text) if packed else text)
    plan, live = read(path, tmp_path / "work")
    expected = LIVE if rows is ROWS else {key: row for key, row in LIVE.items() if key != b"/registry/back"}
    assert live == expected
    assert (plan.revision, plan.compacted_revision, plan.damage) == (12, 7, ())
    assert plan.format == ("kine-copy" if writer.endswith("-copy") else "kine-csv")


def test_quotes_with_a_backslash_are_found_far_behind_the_header(tmp_path: Path) -> None:
    rows: list[Row] = [(n, f"/registry/x/{n}", 1, 0, 0, 0, 0, b"k8s" + b"x" * 4000, None) for n in range(20, 60)]
    path = tmp_path / "kine.csv"
    path.write_bytes(outfile_csv([*rows, (60, "/registry/a", 1, 0, 0, 0, 0, b'{"a":"\\""}', None)]))
    plan, live = read(path, tmp_path / "work")
    assert (live[b"/registry/a"], len(live), plan.damage) == ((60, 60, b'{"a":"\\""}'), 41, ())


@second_check("golden/kine", by="tests/sources/kine/test_kine.py")
@pytest.mark.parametrize("name", ["golden/kine/state.db.gz"])
def test_a_real_table_as_text_is_the_store(name: str, tmp_path: Path) -> None:
    path = unpacked(name, tmp_path)
    _, live = read(path, tmp_path / "work")
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as connection:
        rows = list(connection.execute(f"SELECT {', '.join(COLUMNS)} FROM kine"))
    for writer in ("postgres-csv", "postgres-copy", "mysql-hex", "mysql-batch"):
        text = tmp_path / writer
        text.write_bytes(WRITERS[writer](rows))
        _, again = read(text, tmp_path / f"work-{writer}")
        assert again == live


def test_columns_are_in_any_order_and_only_some_are_needed(tmp_path: Path) -> None:
    path = tmp_path / "kine.csv"
    path.write_bytes(b'value,deleted,id,name\n\\x7b7d,0,5,/registry/a\n"{""a"":1}",f,6,/registry/b\n')
    assert read(path, tmp_path / "work")[1] == {b"/registry/a": (0, 5, b"{}"), b"/registry/b": (0, 6, b'{"a":1}')}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"x,/registry/a,0,\\x7b7d", "b'x' is no number"),
        (b"0,/registry/a,0,\\x7b7d", "id 0"),
        (b"1_0,/registry/a,0,\\x7b7d", "b'1_0' is no number"),
        (b"9,,0,\\x7b7d", "no name"),
        (b"9,/registry/a,0,\\x7b7", "Odd-length string"),
        (b"9,/registry/a,0", "3 cells, not 4"),
        (b'9,/registry/a,0,"\\x7b7d', "unexpected end of data"),
    ],
)
def test_a_line_that_is_no_row_is_damage(line: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "kine.csv"
    path.write_bytes(b"id,name,deleted,value\n1,/registry/b,0,\\x7b7d\n" + line + b"\n")
    plan, live = read(path, tmp_path / "work")
    assert live == {b"/registry/b": (0, 1, b"{}")}
    (damage,) = plan.damage
    assert reason in damage.reason


@pytest.mark.parametrize("previous", [1 << 63, 1 << 70, -1])
def test_a_previous_revision_beyond_64_bits_is_unknown(previous: int, tmp_path: Path) -> None:
    path = tmp_path / "kine.csv"
    path.write_text(
        "id,name,deleted,prev_revision,value\n"
        f"1,compact_rev_key,0,{previous},\n2,/registry/a,0,{previous},\\x7b7d\n3,compact_rev_key,0,2,\n"
    )
    plan, live = read(path, tmp_path / "work")
    assert live == {b"/registry/a": (0, 2, b"{}")}
    assert plan.compacted_revision == 2


def test_a_copy_that_breaks_off_says_so(tmp_path: Path) -> None:
    path = tmp_path / "kine.sql"
    whole = postgres_copy(ROWS)
    path.write_bytes(whole[: whole.rindex(b"\\.")])
    plan, live = read(path, tmp_path / "work")
    assert live == LIVE
    assert [damage.reason for damage in plan.damage] == ["the dump ends inside the table"]


def test_a_table_without_any_row_that_reads_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "kine.csv"
    path.write_bytes(b"id,name,deleted,value\nbroken\n")
    with pytest.raises(DamagedDump, match="line 1 of the table: 1 cells, not 4"):
        read(path, tmp_path / "work")


def test_of_two_tables_in_a_dump_the_first_is_read(tmp_path: Path) -> None:
    path = tmp_path / "all.sql"
    other: list[Row] = [(n, "/registry/a", 1, 0, 0, 0, 0, b'{"other":1}', None) for n in (20, 21)]
    path.write_bytes(postgres_copy(ROWS) + b"\\connect other\n\n" + postgres_copy(other))
    plan, live = read(path, tmp_path / "work")
    assert (live, plan.revision) == (LIVE, 12)
    (damage,) = plan.damage
    assert damage.where == "another table kine"
    assert damage.reason == "2 lines of another store, not read; make a file of each"


def test_columns_in_hex_are_decoded_whatever_they_hold(tmp_path: Path) -> None:
    path = tmp_path / "kine.csv"
    path.write_bytes(
        b"id,HEX(name),deleted,HEX(value)\n"
        b"1,2F72656769737472792F61,0,D9D9F7A1616101\n2,2F72656769737472792F62,0,5C78\n3,2F7,0,7B7D\n"
    )
    plan, live = read(path, tmp_path / "work")
    assert live == {b"/registry/a": (0, 1, b"\xd9\xd9\xf7\xa1aa\x01"), b"/registry/b": (0, 2, b"\\x")}
    assert [damage.reason for damage in plan.damage] == ["Odd-length string"]


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_text_behind_the_header_ends(tmp_path_factory: Any, text: bytes) -> None:
    folder = tmp_path_factory.mktemp("kine")
    path = folder / "kine.csv"
    path.write_bytes(b"id,name,deleted,value\n1,/registry/b,0,\\x7b7d\n" + text)
    try:
        read(path, folder / "work")
    except SourceError as error:
        assert str(error)  # noqa: PT017
