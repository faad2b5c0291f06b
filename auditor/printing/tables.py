"""Tables in kubectl's layout: headers, cut cells, widths.

Source: cli-runtime pkg/printers/tableprinter.go, tabwriter.go; text/tabwriter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from auditor.base.visible import visible
from auditor.printing.printer_columns import cell_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from auditor.printing.printer_columns import Cell


_MIN_WIDTH, _PADDING = 6, 3
_LINE_END = re.compile(r"[\n\r\f]")


@dataclass(frozen=True, slots=True)
class ColumnHeader:
    """A column of a table: its declared name, whether only ``-o wide`` prints it, whether it holds the name."""

    name: str
    wide: bool = False
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one object, and the fields that the client adds."""

    cells: Sequence[Cell]
    namespace: str
    labels: Mapping[str, str]
    cluster: str = ""


def upper(text: str) -> str:
    """Return a header in upper case, letter by letter; each letter becomes one letter, or is unchanged."""
    return "".join(next(big for big in (letter.upper(), letter.title(), letter) if len(big) == 1) for letter in text)


def align(text: str) -> str:
    """Align lines of cells that end in tabs, as kubectl's tables are: columns are never narrower than above."""
    widths: dict[int, int] = {}
    parts = text.replace("\v", "\t").split("\f")
    return "\n".join(["\n".join(align_lines(part.split("\n"), _MIN_WIDTH, widths=widths)) for part in parts])


def align_lines(
    lines: Iterable[str], least: int = 0, padding: int = _PADDING, widths: dict[int, int] | None = None
) -> list[str]:
    """Align lines of cells that end in tabs; the last cell of a line is never padded.

    A column is as wide as its widest cell plus some blanks over consecutive lines that have the cell.

    Args:
        lines: The lines.
        least: The smallest width of a column.
        padding: The blanks after its widest cell.
        widths: By column the width above these lines, which is the least one then, and is updated.
    """
    rows = [line.split("\t") for line in lines]
    for column in range(max(map(len, rows), default=0) - 1):
        start = 0
        while start < len(rows):
            stop = start
            while stop < len(rows) and len(rows[stop]) > column + 1:
                stop += 1
            if stop > start:
                width = max(least, padding + max(len(row[column]) for row in rows[start:stop]))
                if widths is not None:
                    widths[column] = width = max(width, widths.get(column, 0))
                for row in rows[start:stop]:
                    row[column] = row[column].ljust(width)
            start = max(stop, start + 1)
    return ["".join(row) for row in rows]


@dataclass(slots=True)
class TableText:
    """Options for printing tables."""

    wide: bool = False
    headers: bool = True
    label_columns: Sequence[str] = ()
    show_labels: bool = False

    def render(
        self,
        columns: Sequence[ColumnHeader],
        rows: Sequence[Row],
        *,
        with_namespace: bool = False,
        with_cluster: bool = False,
        kind_prefix: str = "",
        first_part: int | None = None,
    ) -> str:
        """Return one table.

        Args:
            columns: From the server.
            rows: Cells in the same order; extra cells are not printed.
            with_namespace: Add the namespace as first column.
            with_cluster: Add the cluster before the namespace.
            kind_prefix: Prefix of names, followed by a slash.
            first_part: Number of rows that the server sent first; only these are measured in bytes.
        """
        shown = [position for position, column in enumerate(columns) if self.wide or not column.wide]
        heads = [visible(upper(columns[position].name)) for position in shown]
        texts = [self._cells(columns, shown, row, kind_prefix) for row in rows]
        pads = self._pads(heads, texts[:first_part])
        lines = []
        before = [*(["CLUSTER"] if with_cluster else []), *(["NAMESPACE"] if with_namespace else [])]
        after = [upper(name.rpartition("/")[2]) for name in self.label_columns]
        if self.show_labels:
            after.append("LABELS")
        if self.headers:
            padded = [head + pad for head, pad in zip(heads, pads, strict=True)]
            lines.append("\t".join([*before, *padded, *after]))
        for number, (row, cells) in enumerate(zip(rows, texts, strict=True)):
            shown_cells = [_shortened(cell) for cell in cells]
            if number == 0 and not self.headers:
                extra = self._pads(cells, texts[:first_part])
                shown_cells = [cell + pad for cell, pad in zip(shown_cells, extra, strict=True)]
            lead = [*([row.cluster] if with_cluster else []), *([row.namespace] if with_namespace else [])]
            lines.append("\t".join([*map(visible, lead), *shown_cells, *self._extra(row)]))
        return align("".join(line + "\n" for line in lines))

    @staticmethod
    def _cells(columns: Sequence[ColumnHeader], shown: list[int], row: Row, kind_prefix: str) -> list[str]:
        out = []
        for position in shown:
            text = cell_text(row.cells[position]) if position < len(row.cells) else ""
            if kind_prefix and columns[position].is_name:
                text = f"{kind_prefix}/{text}"
            out.append(text)
        return out

    def _pads(self, heads: list[str], texts: list[list[str]]) -> list[str]:
        """Return the padding of a cell up to the largest byte length in its column; the last column has none."""
        last = len(heads) - 1 if not self.label_columns and not self.show_labels else -1
        pads = []
        for position, head in enumerate(heads):
            most = max((_bytes(cells[position]) for cells in texts), default=0)
            pads.append("" if position == last else " " * max(0, most - _bytes(head)))
        return pads

    def _extra(self, row: Row) -> list[str]:
        out = [row.labels.get(name, "") for name in self.label_columns]
        if self.show_labels:
            pairs = sorted(f"{key}={value}" for key, value in row.labels.items())  # a-b=1 before a=1
            out.append(",".join(pairs) or "<none>")
        return [visible(cell) for cell in out]


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _shortened(text: str) -> str:
    match = _LINE_END.search(text)
    if match is not None:
        text = text[: match.start()] + "..."
    return text.replace("\x1b", "^[")
