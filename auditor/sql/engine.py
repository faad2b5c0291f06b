"""Runs a statement: DuckDB in a thread of its own, which asks for each batch that it needs.

The rows of a view are read in the thread of the caller. That one has the stack for deeply nested objects and the
release of Kubernetes that is reproduced, and it gets the signals. So nothing is read that DuckDB does not ask for, and
what was read is gone when DuckDB has used it.

DuckDB asks an Arrow dataset for a scanner of the columns that a statement uses and for its filters on them; it does
not apply these filters again.
"""

from __future__ import annotations

import re
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.dataset as ds

from auditor.base.errors import SqlError, without_frames
from auditor.sql.statements import checked, connection, sql_errors
from auditor.sql.used_paths import used_paths
from auditor.sql.views import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from auditor.sql.views import View, Views

_ROWS: Final = 8192
"""Rows of a batch of an answer."""
_SHOW_TABLES: Final = re.compile(r"\s*show\s+(all\s+)?tables\s*;?\s*", re.IGNORECASE)
_UNKNOWN: Final = re.compile(r'Catalog Error: Table with name "?(.*?)"? does not exist(!| because schema )')
_STOPPED: Final = object()
"""The answer to a thread of DuckDB that waits, if the statement is given up."""


class _Stopped(Exception):
    """The statement was given up."""


class _Scan:
    """One scan of a view; DuckDB pulls its batches, and the thread of the caller reads them."""

    def __init__(self, view: View, columns: Sequence[str] | None, condition: Any, run: _Run) -> None:
        names = view.schema.names
        self.columns = list(names if columns is None else columns)
        self.condition = condition
        self._batches = view.read(_needed(view, self.columns, condition) or names[:1])
        self._schema = pa.schema([view.schema.field(name) for name in self.columns])
        self._run = run

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the batches, as DuckDB asks a scanner of Arrow for them."""
        return pa.RecordBatchReader.from_batches(self._schema, self._pulled())

    def _pulled(self) -> Iterator[pa.RecordBatch]:
        while (batch := self._run.ask(self)) is not None:
            yield batch

    def next(self) -> pa.RecordBatch | None:
        """Return the next batch with a row that fits; None at the end."""
        for batch in self._batches:
            rows = pa.Table.from_batches([batch])
            if self.condition is not None:
                rows = rows.filter(self.condition)
            if rows.num_rows:
                return rows.select(self.columns).cast(self._schema).combine_chunks().to_batches()[0]
        return None

    def close(self) -> None:
        """Let the files go that it reads."""
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()


def _needed(view: View, columns: Sequence[str], condition: Any) -> list[str]:
    """Return the columns to read: those of the answer, and those of a condition, which does not list them."""
    names: list[str] = view.schema.names
    if condition is None:
        return [name for name in names if name in columns]
    text = str(condition)
    read = [name for name in names if name in columns or name in text]
    try:
        pa.schema([view.schema.field(name) for name in read]).empty_table().filter(condition)
    except pa.ArrowInvalid:  # its text spells a name in another way
        return names
    return read


class _Dataset(ds.Dataset):  # type: ignore[misc]
    """A view as DuckDB takes it: it asks for the schema, and for a scanner of some columns."""

    def __init__(self, view: View, run: _Run) -> None:
        self._view = view
        self._run = run

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._view.schema

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> _Scan:  # noqa: A002
        """Return a scan of some columns."""
        scan = _Scan(self._view, columns, filter, self._run)
        self._run.scans.append(scan)
        return scan


class _Run:
    """One run of a statement."""

    def __init__(self, database: Any, statement: str) -> None:
        self.scans: list[_Scan] = []
        self._database = database
        self._statement = statement
        self._requests: SimpleQueue[tuple[Any, SimpleQueue[Any] | None]] = SimpleQueue()

    def ask(self, request: Any) -> Any:
        """Hand something to the thread of the caller, from a thread of DuckDB, and return its answer."""
        answer: SimpleQueue[Any] = SimpleQueue()
        self._requests.put((request, answer))
        given = answer.get()
        if given is _STOPPED:
            raise _Stopped
        return given

    def _work(self) -> None:
        outcome: Exception | None = None
        try:
            reader = pa.RecordBatchReader.from_stream(self._database.sql(self._statement))
            self.ask(reader.schema)
            for batch in reader:
                self.ask(batch)
        except Exception as error:  # noqa: BLE001 - it is raised in the thread of the caller
            outcome = without_frames(error)  # its frames hold the answer, and that the database
        self._requests.put((outcome, None))

    def __call__(self) -> Iterator[Any]:
        """Yield the schema of the answer, then its batches."""
        worker = threading.Thread(target=self._work, name="duckdb", daemon=True)
        worker.start()
        waiting: SimpleQueue[Any] | None = None
        is_running = True
        try:
            while True:
                request, waiting = self._requests.get()
                if waiting is None:
                    is_running = False
                    if request is not None:
                        raise request
                    return
                if isinstance(request, _Scan):
                    waiting.put(request.next())
                else:
                    yield request
                    waiting.put(None)
                waiting = None
        finally:
            if is_running:
                self._give_up(waiting)
            worker.join()
            for scan in self.scans:
                scan.close()
            self._database.close()  # it holds what is registered with it, and that holds it

    def _give_up(self, waiting: SimpleQueue[Any] | None) -> None:
        """End the statement, and wait until DuckDB has noticed."""
        self._database.interrupt()
        while True:
            if waiting is not None:
                waiting.put(_STOPPED)
            _, waiting = self._requests.get()
            if waiting is None:
                return


class Answer:
    """The answer to a statement: its columns, and its rows as they are made.

    Attributes:
        schema: The columns; names that the statement gives twice have a number.
    """

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self.schema = schema
        self._batches = batches

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._batches

    def table(self) -> pa.Table:
        """Return all rows."""
        return pa.Table.from_batches(self._batches, self.schema)


def run_statement(views: Views, text: str) -> Answer:
    """Run a statement over views.

    Args:
        views: What it can name.
        text: One statement that reads.

    Raises:
        SqlError: It is refused, or fails.
        PlanError: DuckDB is not installed.
    """
    database = connection()
    try:
        statement = checked(database, text)
        if _SHOW_TABLES.fullmatch(statement):
            rows = [{"name": view.shown, "about": view.about} for view in views.listed]
            listed = pa.Table.from_pylist(rows, pa.schema([("name", pa.string()), ("about", pa.string())]))
            database.close()
            return Answer(listed.schema, iter(listed.to_batches()))
        run = _Run(database, statement)
        paths = used_paths(database, statement)
        for name, whole in views.named_in(statement).items():
            view = whole if paths is None or whole.narrowed is None else whole.narrowed(paths)
            database.register(name, view.files if view.files is not None else _Dataset(view, run))
            if whole.space:
                space, own = (quoted(part) for part in (whole.space, name[len(whole.space) + 1 :]))
                database.execute(f"CREATE SCHEMA IF NOT EXISTS {space}")
                database.execute(f"CREATE VIEW {space}.{own} AS FROM {quoted(name)}")
        database.execute("SET lock_configuration = true")
    except BaseException:
        database.close()  # the error may be kept, and with it this frame and the database
        raise
    parts = _parts(run, views)
    schema = next(parts)
    unique = pa.schema(field.with_name(name) for field, name in zip(schema, _unique(schema.names), strict=True))
    return Answer(unique, (pa.RecordBatch.from_arrays(batch.columns, schema=unique) for batch in parts))


def _parts(run: _Run, views: Views) -> Iterator[Any]:
    """Yield the parts of an answer; the error for a table that is not there says which there are."""
    try:
        with sql_errors():
            yield from run()
    except SqlError as error:
        if unknown := _UNKNOWN.match(error.found):
            raise views.missing(unknown[1]) from None
        raise


def _unique(names: Sequence[str]) -> list[str]:
    """Return names with a number behind those that were there before."""
    out: list[str] = []
    for name in names:
        made, number = name, 1
        while made in out:
            number += 1
            made = f"{name}_{number}"
        out.append(made)
    return out
