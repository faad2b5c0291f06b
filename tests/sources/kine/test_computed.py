"""Values that SQLite would compute are refused: a few bytes of a definition make gigabytes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from auditor.base.errors import DamagedDump
from auditor.sources.kine.sqlite import open_kine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("how", ["VIRTUAL", "STORED"])
def test_a_generated_column_is_refused(how: str, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE kine (id INTEGER PRIMARY KEY, name TEXT, created INTEGER, deleted INTEGER, create_revision"
            f" INTEGER, prev_revision INTEGER, value BLOB GENERATED ALWAYS AS (zeroblob(1000)) {how})"
        )
        connection.execute("INSERT INTO kine VALUES (1, '/registry/a/b', 1, 0, 0, 0)")
        connection.commit()
    with pytest.raises(DamagedDump, match="generated column value"):
        open_kine("state.db", path, number=0, workdir=tmp_path, sha256="")


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("CREATE VIEW v AS SELECT 1", "view v"),
        ("CREATE TRIGGER t AFTER INSERT ON kine BEGIN SELECT 1; END", "trigger t"),
    ],
)
def test_triggers_and_views_are_refused(statement: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE kine (id INTEGER PRIMARY KEY, name TEXT, created INTEGER, deleted INTEGER, create_revision"
            " INTEGER, prev_revision INTEGER, value BLOB)"
        )
        connection.execute(statement)
        connection.commit()
    with pytest.raises(DamagedDump, match=kind):
        open_kine("state.db", path, number=0, workdir=tmp_path, sha256="")
