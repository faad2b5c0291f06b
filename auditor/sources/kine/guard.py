"""What a hostile SQLite database may make SQLite do: read the tables that are asked for, and for a bounded time."""

from __future__ import annotations

import sqlite3
from time import thread_time
from typing import Final

__all__ = ["Guard"]

_TABLES: Final = frozenset({"", "kine", "sqlite_master", "sqlite_schema"})
_PRAGMAS: Final = frozenset({"integrity_check", "table_xinfo", "wal_checkpoint"})
_SECONDS: Final = 3.0
_SECONDS_A_BYTE: Final = 1 / (5 << 20)
"""Processor time of a step: far more than SQLite takes for any database that kine writes."""
_INSTRUCTIONS: Final = 1000
"""Instructions of SQLite's machine between two looks at the clock."""


class Guard:
    """Refuses what no reading of kine's table needs, and ends what takes too long.

    Args:
        connection: Guarded from now on.
        size: Bytes of the database.

    Attributes:
        is_over: Whether SQLite was interrupted since `begin`.
    """

    def __init__(self, connection: sqlite3.Connection, size: int) -> None:
        self._seconds = _SECONDS + size * _SECONDS_A_BYTE
        self.begin()
        connection.set_authorizer(_allowed)
        connection.set_progress_handler(self._look, _INSTRUCTIONS)

    def begin(self) -> None:
        """Give the next step its time."""
        self.is_over = False
        self._end = thread_time() + self._seconds

    def _look(self) -> int:
        self.is_over = self.is_over or thread_time() > self._end
        return int(self.is_over)


def _allowed(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
    if action == sqlite3.SQLITE_SELECT:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_READ:
        return sqlite3.SQLITE_OK if (first or "").lower() in _TABLES else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_OK if first in _PRAGMAS else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_OK if (second or "").lower() == "max" else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_DENY
