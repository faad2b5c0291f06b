"""`auditor sql`: answers a statement of SQL over a dump, a report or typed tables."""

from __future__ import annotations

import sys
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from auditor.base.errors import DamagedNames, PlanError, UnknownTable
from auditor.columns.column_types import JSON_MARK
from auditor.columns.kind_columns import REST, STORED_OBJECT
from auditor.sql.statements import READS, checked, connection
from pipelines.run.sql.asked import open_views, parted
from pipelines.run.sql.output import describe, print_answer
from pipelines.streams import ErrorLines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.run.objects.query_options import QueryOptions
    from pipelines.run.sql.asked import Asked


_MOST_TEXT: Final = 1 << 20
"""Characters of a statement on standard input."""


def run_sql(options: QueryOptions, words: Sequence[str]) -> int:
    """Print the answer to a statement, or ask for statements on a terminal; return the exit code.

    Args:
        options: How dumps and reports are read, and the form of the answer.
        words: What is asked, each perhaps as NAME=PATH, and the statement; without one it is on standard input.

    Raises:
        AuditorError: The statement is refused or fails, or the target cannot be read.
    """
    targets, statement = parted(words)
    is_asking = not statement and sys.stdin.isatty()
    text = statement or ("" if is_asking else _given(targets))
    if not is_asking and not text.startswith("\\"):
        with closing(connection()) as database:
            checked(database, text)  # a mistake is reported before a dump is read
    err = ErrorLines()
    with open_views(options, targets, err) as asked:
        if is_asking:
            from pipelines.run.sql.prompt import ask_for_statements  # noqa: PLC0415 - only on a terminal

            ask_for_statements(asked, partial(answer_to, asked, output=options.output))
        else:
            try:
                answer_to(asked, text, options.output)
            except UnknownTable as error:
                if lost := asked.lost_definitions():
                    raise DamagedNames("", error.found, "", lost) from None
                raise
            for note in asked.notes():
                err(f"note: {note}\n")
        incomplete = asked.is_incomplete()
    sys.stdout.flush()
    return 3 if incomplete else 0


def _given(targets: Sequence[str]) -> str:
    """Return the statement on standard input."""
    if "-" in targets:
        raise PlanError("", "standard input is the dump, so that no statement can be read there", "a statement")
    text = sys.stdin.read(_MOST_TEXT)
    if not text.strip():
        raise PlanError("", "no statement is given", f"one after the dump or report: {READS}", r"\d lists the tables")
    return text


def answer_to(asked: Asked, text: str, output: str) -> None:
    r"""Print the answer to a statement, or to ``\d``.

    Raises:
        SqlError: It is refused, or fails.
    """
    form, _, path = output.partition("=")
    if text.startswith("\\"):
        describe(asked.views, text, form, sys.stdout.write)
        return
    answer = asked.answer(text)
    if form == "parquet":
        _write_parquet(answer.table(), path)
    else:
        print_answer(answer, form, sys.stdout.write)


def _write_parquet(table: Any, path: str) -> None:
    from pipelines.run.query_output import write_parquet_answer  # noqa: PLC0415 - it loads stores of dumps, too

    fields = [_marked(field) if field.name in (REST, STORED_OBJECT) else field for field in table.schema]
    try:
        write_parquet_answer(table.cast(pa.schema(fields)), path)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        advice = "cast the column to a type that it has, such as VARCHAR"
        raise PlanError("-o parquet", f"Parquet does not have a type of the answer: {error}", "", advice) from None


def _marked(field: pa.Field) -> pa.Field:
    """Return a column of JSON text with the mark that it has in typed tables, which DuckDB drops."""
    return field.with_metadata(JSON_MARK) if pa.types.is_string(field.type) else field
