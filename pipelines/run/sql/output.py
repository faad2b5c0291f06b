"""Prints answers to statements of SQL: as a table that fits the terminal, or in the forms that all commands have."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from auditor.base.errors import SqlError
from auditor.base.visible import visible
from auditor.base.wording import counted
from auditor.output.views.layout import TableColumn, clipped, middle_clipped, painted, table_lines, width_of
from auditor.printing.print_rows import DATA, json_text, print_rows
from auditor.sql.described import columns_of, listed_views
from auditor.sql.values import json_rows
from pipelines.console import UNBOUNDED, terminal_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from auditor.sql.engine import Answer
    from auditor.sql.views import Views


_ROWS: Final = 1000
"""Rows that are laid out at once; the columns of the next ones may have other widths."""
_LEAST: Final = 12
"""Columns of the terminal that a cell keeps beside others."""
_GAP: Final = 2
_PLAN: Final = ["explain_key", "explain_value"]
_CUT: Final = "; cells that end in … are cut, -o wide prints them whole"


def print_answer(answer: Answer, form: str, out: Callable[[str], object]) -> None:
    """Print an answer.

    Args:
        answer: The answer.
        form: One of `FORMS` of rows.
        out: Writes to standard output.
    """
    names = answer.schema.names
    rows: Iterator[dict[str, Any]] = chain.from_iterable(map(json_rows, answer))
    if form not in ("table", "wide"):
        if form not in DATA:
            rows = ({name: _list_text(value) for name, value in row.items()} for row in rows)
        for part in print_rows(rows, names, form):
            out(part)
    elif names == _PLAN:
        for row in rows:
            out(row[names[1]].rstrip("\n") + "\n")
    else:
        is_number = [pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in answer.schema.types]
        _print_table(names, rows, is_number, UNBOUNDED if form == "wide" else terminal_width(), out)


def _print_table(
    names: Sequence[str],
    rows: Iterator[dict[str, Any]],
    is_number: Sequence[bool],
    width: int,
    out: Callable[[str], object],
) -> None:
    """Print rows, a thousand at a time; each as lines of its own if its cells do not fit beside each other."""
    titles = [visible(name).upper() for name in names]
    columns = [TableColumn(title, may_shrink=True) for title in titles]
    count, is_cut = 0, False
    while some := [[_cell(value) for value in row.values()] for row in islice(rows, _ROWS)]:
        widths = [max(map(width_of, cells)) for cells in zip(titles, *some, strict=True)]
        gaps = _GAP * (len(titles) - 1)
        columns = [
            TableColumn(title, may_shrink=True, is_number=number, cuts_middle=all(map(_is_path, cells)))
            for title, number, cells in zip(titles, is_number, zip(*some, strict=True), strict=True)
        ]
        if sum(min(each, _LEAST) for each in widths) + gaps <= width:
            is_cut |= sum(widths) + gaps > width
            out(painted(table_lines(columns, some, width), color=False))
        else:
            lead = max(map(width_of, titles)) + _GAP
            is_cut |= max(widths) > max(width - lead, _LEAST)
            out("".join(_stacked(titles, some, max(width - lead, _LEAST), count)))
        count += len(some)
    if not count:
        out(painted(table_lines(columns, [], width), color=False))
    out(f"({counted(count, 'row')}{_CUT if is_cut else ''})\n")


def _stacked(titles: Sequence[str], rows: Sequence[Sequence[str]], width: int, before: int) -> Iterator[str]:
    lead = max(map(width_of, titles)) + _GAP
    for number, row in enumerate(rows, before + 1):
        yield f"-- row {number}\n"
        for title, cell in zip(titles, row, strict=True):
            text = middle_clipped(cell, width) if _is_path(cell) else clipped(cell, width)
            yield f"{title}{' ' * (lead - width_of(title))}{text}".rstrip() + "\n"


def _is_path(cell: str) -> bool:
    """Return whether a cell is a key or a path, or null: a column of these is cut in the middle, to keep the ends."""
    return cell == "-" or ("/" in cell and " " not in cell)


def _list_text(value: Any) -> Any:
    """Return a cell with a list as JSON, as structs and maps are: its items may be empty, null or have commas."""
    return json_text(value, None) if isinstance(value, list) else value


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return visible(value)
    return visible(json_text(value, None))


def describe(views: Views, text: str, form: str, out: Callable[[str], object]) -> None:
    r"""Print the answer to ``\d``, ``\d *`` or ``\d NAME``.

    Raises:
        SqlError: It is another command, or there is no such name.
    """
    command, _, name = text.strip().partition(" ")
    if command != "\\d":
        raise SqlError("", rf"there is no command {command}; expected \d, \d * or \d NAME")
    rows, hidden = listed_views(views, every=name == "*") if name in ("", "*") else (columns_of(views, name), 0)
    if form not in ("table", "wide"):
        for part in print_rows(rows, (), form):
            out(part)
        return
    columns = [TableColumn(title.upper(), may_shrink=title == "type") for title in rows[0]] if rows else []
    cells = [list(row.values()) for row in rows]
    out(painted(table_lines(columns, cells, UNBOUNDED if form == "wide" else terminal_width()), color=False))
    if hidden:
        out(rf"({counted(hidden, 'kind')} without objects: \d * lists them; \d NAME lists columns)" + "\n")
