"""Limits of what a hostile SQLite database can do: only the requested tables are read, for a limited time."""

from __future__ import annotations

import sqlite3
from time import thread_time
from typing import Final

__all__ = ["Guard"]

_TABLES: Final = frozenset({"", "kine", "sqlite_master", "sqlite_schema"})
_PRAGMAS: Final = frozenset({"integrity_check", "table_xinfo", "wal_checkpoint"})
_SECONDS: Final = 3.0
_SECONDS_A_BYTE: Final = 1 / (5 << 20)
"""Processor time per byte of a step: far more than SQLite takes for any database of kine."""
_INSTRUCTIONS: Final = 1000
"""Instructions of SQLite's virtual machine between two checks of the time."""


class Guard:
    """Refuses all operations that reading kine's table does not need, and stops steps that take too long.

    Args:
        connection: The connection to guard.
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
        """Start the time limit of the next step."""
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
