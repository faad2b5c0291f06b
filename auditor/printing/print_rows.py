"""Prints rows in every form that `-o` takes: all commands that print rows take the same forms, and print them here."""

from __future__ import annotations

import csv
import html
import io
import itertools
import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import csv_cell, label, visible, visible_tree
from auditor.base.wording import shortened

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence


NDJSON: Final = "ndjson"
FORMS: Final = ("table", "wide", "json", "yaml", NDJSON, "csv", "markdown")
DATA: Final = frozenset(("json", "yaml", NDJSON))
"""Forms that print whole rows; the others print the columns."""
_SPECIAL: Final = re.compile(r"([\\|`*_\[\]!#~@])")
_GAP: Final = 3
_NARROWEST: Final = 20
"""Columns of a table that a cell keeps when it is shortened."""
_LONGEST: Final = 1 << 16
"""Characters of a text in YAML; a longer one is cut in the middle."""

Row = Mapping[str, Any]
Columns = Mapping[str, str | Callable[[Row], Any]]


def print_rows(
    rows: Iterable[Row],
    columns: Columns | Sequence[str],
    form: str,
    *,
    wide: Collection[str] = (),
    document: Callable[[], Any] | None = None,
    encode: Callable[[Any], str] | None = None,
    headers: bool = True,
    named: bool = True,
    cut: Collection[str] = (),
    width: int = 0,
) -> Iterator[str]:
    """Yield rows as text, part by part. A table of no rows is empty.

    Args:
        rows: JSON data.
        columns: By name the key of a cell, or a function that returns the cell of a row; or the keys alone; empty
            for the keys of the first row. A table has the names in upper case.
        form: One of `FORMS`.
        wide: Names of the columns that a table has only as `wide`.
        document: Returns what JSON and YAML print in place of the list of rows.
        encode: Returns a row as a line of NDJSON.
        headers: Whether the names of the columns are printed.
        named: Whether the first column has names, which a table quotes where they have spaces.
        cut: Names of the columns that a table, but not `wide`, shortens to fit `width`, if it is not 0.
    """
    if form == NDJSON:
        for row in rows:
            yield (encode(row) if encode else json_text(row, None)) + "\n"
        return
    if form in DATA:
        whole = list(rows) if document is None else document()
        yield (
            json_text(whole) + "\n"
            if form == "json"
            else yaml_text(visible_tree(json.loads(json_text(whole)), _LONGEST))
        )
        return
    if not columns:
        rows, begin = itertools.tee(rows)
        columns = tuple(next(begin, ()))
        del begin  # or all rows would be held for it
    cell_of = dict(columns if isinstance(columns, Mapping) else zip(columns, columns, strict=True))
    if form == "table":
        cell_of = {name: cell for name, cell in cell_of.items() if name not in wide}
    cells = ([row.get(cell, "") if isinstance(cell, str) else cell(row) for cell in cell_of.values()] for row in rows)
    names = list(cell_of) if headers else []
    if form == "csv":
        yield from _csv(names, cells)
    elif form == "markdown":
        yield from _markdown(names, cells)
    elif lines := list(cells):
        fitting = [position for position, name in enumerate(cell_of) if name in cut] if form == "table" else []
        yield format_table([name.upper() for name in names], lines, named=named, cut=fitting, width=width) + "\n"


def format_table(
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    indent: str = "",
    *,
    named: bool = True,
    cut: Sequence[int] = (),
    width: int = 0,
) -> str:
    """Return columns three spaces apart, as kubectl prints them; None prints as ``-``, control characters escaped.

    Args:
        header: The names of the columns; empty for none.
        rows: The cells.
        indent: What lines begin with.
        named: Whether the first column has names.
        cut: Positions of the columns that are shortened to fit `width`, the widest first, as far as they can be read.
        width: Columns of a line; 0 for no bound.
    """
    from auditor.printing.tables import align_lines  # noqa: PLC0415 - every command reads `FORMS`

    lines = [list(header)] if header else []
    for row in rows:
        first, *others = ("-" if cell is None else _text(cell) for cell in row)
        lines.append([label(first) if named and not indent else visible(first), *map(visible, others)])
    sizes = [max(map(len, column)) for column in zip(*lines, strict=True)]
    while width and cut and sum(sizes) + _GAP * (len(sizes) - 1) > width:
        widest = max(cut, key=sizes.__getitem__)
        if sizes[widest] <= _NARROWEST:
            break
        sizes[widest] -= 1
    for line, position in itertools.product(lines if width else (), cut):
        line[position] = _cut(line[position], sizes[position])
    return "\n".join((indent + line).rstrip() for line in align_lines(map("\t".join, lines)))


def _cut(text: str, most: int) -> str:
    """Return a text without its end, a path, which has no blanks, without its middle."""
    if len(text) <= most or " " in text:
        return shortened(text, most)
    begin = (most - 3) // 2
    return f"{text[:begin]}...{text[len(text) - (most - 3 - begin) :]}"


def json_text(value: Any, indent: int | None = 2) -> str:
    """Return JSON without the last newline; without an indent on one line."""
    import orjson  # noqa: PLC0415 - every command reads `FORMS`

    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None).decode()
    except TypeError:  # a number beyond 64 bits, or half a surrogate pair
        return json.dumps(value, indent=indent, default=str)


def yaml_text(value: Any, *, for_terminal: bool = False) -> str:
    """Return YAML, or JSON, which is YAML too, if the value has characters that YAML does not allow."""
    from auditor.printing.yamltext import YamlTextError, to_yaml  # noqa: PLC0415 - every command reads `FORMS`

    try:
        return to_yaml(value, for_terminal=for_terminal)
    except YamlTextError:
        return json_text(value) + "\n"


def _text(cell: Any) -> str:
    if cell is None or isinstance(cell, bool):
        return {None: "", True: "true", False: "false"}[cell]
    if isinstance(cell, (list, tuple)) and not any(isinstance(item, (dict, list)) for item in cell):
        return ", ".join(map(str, cell))
    return json_text(cell, None) if isinstance(cell, (dict, list, tuple)) else str(cell)


def _csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield lines; text that a spreadsheet would take for a formula begins with an apostrophe."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for row in itertools.chain([names] if names else [], rows):
        writer.writerow([csv_cell(cell if type(cell) in (int, float) else _text(cell)) for cell in row])
        yield stream.getvalue()
        stream.seek(0)
        stream.truncate()


def _markdown(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    yield f"| {' | '.join(names)} |\n|{'---|' * len(names)}\n"
    for row in rows:
        yield f"| {' | '.join(map(_markdown_cell, row))} |\n"


def _markdown_cell(value: Any) -> str:
    """Return a cell; characters that Markdown or HTML would act on are escaped."""
    return _SPECIAL.sub(r"\\\1", html.escape(visible(_text(value)), quote=False))
