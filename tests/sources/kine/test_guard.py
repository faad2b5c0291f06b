"""What SQLite may not do on behalf of a database, and that what takes too long ends."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from auditor.sources.kine import sqlite
from auditor.sources.kine.sqlite import Guard


def _database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE kine (id INTEGER PRIMARY KEY, name TEXT)")
    connection.execute("CREATE TABLE other (id INTEGER)")
    connection.executemany("INSERT INTO kine (name) VALUES (?)", [(str(number),) for number in range(1000)])
    return connection


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id FROM other",
        "SELECT hex(zeroblob(1000)) FROM kine",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c",
        "DELETE FROM kine",
        "ATTACH ':memory:' AS more",
        "PRAGMA writable_schema=ON",
    ],
)
def test_what_reading_keys_does_not_need_is_refused(statement: str) -> None:
    with closing(_database()) as connection:
        Guard(connection, 0)
        with pytest.raises(sqlite3.DatabaseError, match=r"not authorized|prohibited"):
            connection.execute(statement).fetchall()


def test_what_takes_too_long_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_SECONDS", 0.05)
    with closing(_database()) as connection:
        guard = Guard(connection, 0)
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            connection.execute("SELECT max(a.id + b.id + c.id) FROM kine a, kine b, kine c").fetchall()
        assert guard.is_over
        guard.begin()
        assert connection.execute("SELECT max(id) FROM kine").fetchall() == [(1000,)]
        assert not guard.is_over
