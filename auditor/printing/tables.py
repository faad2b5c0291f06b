"""Tables in kubectl's layout: headers, cut cells, widths.

Source: cli-runtime pkg/printers/tableprinter.go, tabwriter.go; text/tabwriter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from auditor.base.visible import visible
from auditor.printing.columns import cell_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from auditor.printing.columns import Cell

__all__ = ["Header", "Row", "TableText", "align", "upper"]

_MIN_WIDTH, _PADDING = 6, 3
_LINE_END = re.compile(r"[\n\r\f]")


@dataclass(frozen=True, slots=True)
class Header:
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
    """Align lines of cells that end in tabs; the last cell of a line is never padded.

    A column is as wide as its widest cell plus three blanks, at least six, over consecutive lines that have the cell,
    up to a form feed; and at least as wide as above those lines.
    """
    widths: dict[int, int] = {}
    return "\n".join([_aligned(part, widths) for part in text.replace("\v", "\t").split("\f")])


def _aligned(text: str, widths: dict[int, int]) -> str:
    ends = text.endswith("\n")
    lines = [line.split("\t") for line in text.split("\n")]
    if ends:
        lines.pop()
    deepest = max((len(line) for line in lines), default=0)
    for at in range(deepest - 1):
        start = 0
        while start < len(lines):
            if len(lines[start]) <= at + 1:
                start += 1
                continue
            stop = start
            while stop < len(lines) and len(lines[stop]) > at + 1:
                stop += 1
            widest = _PADDING + max(len(lines[row][at]) for row in range(start, stop))
            widths[at] = width = max(widths.get(at, _MIN_WIDTH), widest)
            for row in range(start, stop):
                lines[row][at] = lines[row][at].ljust(width)
            start = stop
    return "\n".join("".join(line) for line in lines) + ("\n" if ends else "")


@dataclass(slots=True)
class TableText:
    """Options for printing tables."""

    wide: bool = False
    headers: bool = True
    label_columns: Sequence[str] = ()
    show_labels: bool = False

    def render(
        self,
        columns: Sequence[Header],
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
        shown = [at for at, column in enumerate(columns) if self.wide or not column.wide]
        heads = [visible(upper(columns[at].name)) for at in shown]
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
    def _cells(columns: Sequence[Header], shown: list[int], row: Row, kind_prefix: str) -> list[str]:
        out = []
        for at in shown:
            text = cell_text(row.cells[at]) if at < len(row.cells) else ""
            if kind_prefix and columns[at].is_name:
                text = f"{kind_prefix}/{text}"
            out.append(text)
        return out

    def _pads(self, heads: list[str], texts: list[list[str]]) -> list[str]:
        """Return the padding of a cell up to the largest byte length in its column; the last column has none."""
        last = len(heads) - 1 if not self.label_columns and not self.show_labels else -1
        pads = []
        for at, head in enumerate(heads):
            most = max((_bytes(cells[at]) for cells in texts), default=0)
            pads.append("" if at == last else " " * max(0, most - _bytes(head)))
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
