"""Which statements may run: one that reads. DuckDB itself is closed as well: no files, no network, no extensions."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import PlanError, SqlError
from auditor.base.machine import memory_limit

if TYPE_CHECKING:
    from collections.abc import Iterator

INSTALL: Final = "pip install 'kubernetes-dump-auditor[sql]'"
READS: Final = "SELECT, WITH, FROM, VALUES, DESCRIBE, SUMMARIZE, SHOW or EXPLAIN"
_READING: Final = ("SELECT", "EXPLAIN")
"""Types of DuckDB's parser: the former has all but EXPLAIN of `READS`."""
_CLOSED: Final = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "allow_community_extensions": "false",
    "temp_directory": "",
}
_MEMORY: Final = 2 << 30
_SHARE: Final = 4
"""DuckDB may use one quarter of the memory, and 2 GiB at most: the objects that are read need some, too."""


def duckdb() -> Any:
    """Return the module of DuckDB.

    Raises:
        PlanError: It is not installed.
    """
    try:
        import duckdb as module  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise PlanError("", f"SQL needs DuckDB, which is not installed ({error})", "", INSTALL) from None
    return module


@contextmanager
def sql_errors() -> Iterator[None]:
    """Raise errors of DuckDB as `SqlError`, with its message."""
    module = duckdb()
    try:
        yield
    except module.OutOfMemoryException as error:
        advice = "ask for fewer rows or columns at once"
        raise SqlError("", str(error).partition("\n")[0], "", advice) from None
    except module.Error as error:
        raise SqlError("", _message(error)) from None


def _message(error: Exception) -> str:
    """Return the message of an error of DuckDB without empty lines."""
    return "\n".join(line.rstrip() for line in str(error).splitlines() if line.strip())


def connection() -> Any:
    """Return a new database in memory that reads nothing but what is registered with it."""
    # one thread: the threads of a pool call Python, and DuckDB may wait for their end while it holds Python's lock
    memory = min(_MEMORY, (memory_limit() or _MEMORY * _SHARE) // _SHARE)
    config = {**_CLOSED, "threads": "1", "memory_limit": f"{memory >> 20}MiB"}
    made = duckdb().connect(":memory:", config=config)
    made.execute("SET TimeZone = 'UTC'")
    return made


def checked(database: Any, text: str) -> str:
    """Return a statement if it may run.

    Raises:
        SqlError: It is not one statement that reads.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SqlError("", "the statement is not valid UTF-8") from None
    with sql_errors():
        statements = database.extract_statements(text)
    if len(statements) != 1:
        found = f"these are {len(statements)} statements" if statements else "there is no statement"
        raise SqlError("", f"{found}; expected one: {READS}")
    [statement] = statements
    kind = statement.type.name
    if kind not in _READING:
        if kind == "MULTI":
            advice = "name the values: PIVOT ... ON column IN ('a', 'b')"
            raise SqlError("", "PIVOT ... ON without IN is refused, because DuckDB creates a type for it", "", advice)
        first = text.split(maxsplit=1)[0].rstrip(";").upper()
        raise SqlError("", f"{first} is refused, because a statement may only read; expected {READS}")
    if statement.named_parameters:
        raise SqlError("", "the statement has parameters ($1 or ?), which have no values here")
    return str(statement.query)
