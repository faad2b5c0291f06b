"""Lines and tables that fit a width: no line is ever wider, in columns of a terminal."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_ELLIPSIS: Final = "…"
_GAP: Final = 2
_NARROWEST: Final = 8
_LEAST: Final = 12
"""Columns that a cell keeps as long as another column may go."""
_STYLES: Final = {
    "critical": "1;31",
    "high": "31",
    "medium": "33",
    "low": "2",
    "worse": "1;31",
    "better": "32",
    "bold": "1",
    "dim": "2",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A line.

    Attributes:
        text: What it says.
        style: A key of `_STYLES`; empty for plain text.
        whole: The lines that it is the first of, with no path or command cut; empty if there is none is. See
            `undivided`.
        is_part: Whether it is one of the others.
    """

    text: str
    style: str = ""
    whole: tuple[str, ...] = ()
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table.

    Attributes:
        title: Its title.
        may_shrink: Whether its cells may be cut to fit.
        may_go: How early it is left out if the table does not fit; 0: never.
        is_number: Whether cells are aligned to the right.
        cuts_middle: Whether the middle of a long cell is left out, and not its end.
    """

    title: str
    may_shrink: bool = False
    may_go: int = 0
    is_number: bool = False
    cuts_middle: bool = False


def width_of(text: str) -> int:
    """Return the columns that a text without control characters takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def clipped(text: str, width: int) -> str:
    """Return a text that takes at most that many columns; one that is cut ends in an ellipsis."""
    if width_of(text) <= width:
        return text
    if width <= 0:
        return ""
    out, used = [], 0
    for character in text:
        used += _width(character)
        if used > width - 1:
            break
        out.append(character)
    return "".join(out) + _ELLIPSIS


def middle_clipped(text: str, width: int) -> str:
    """Return a text that takes at most that many columns; its end is more telling than its middle."""
    if width_of(text) <= width or width < _NARROWEST or not text.isascii():
        return clipped(text, width)
    begin = (width - 1) // 3
    return f"{text[:begin]}{_ELLIPSIS}{text[len(text) - (width - 1 - begin) :]}"


def wrapped(line: Line, width: int, *, indent: int = 2, between: str = " ", cuts_paths: bool = True) -> list[Line]:
    """Return a line as several that fit a width, cut between words; a word that is too long is cut into pieces.

    Args:
        line: The line.
        width: The width.
        indent: Blanks before all lines but the first.
        between: What separates words.
        cuts_paths: Whether `undivided` leaves the pieces as they are.
    """
    if width_of(line.text) <= width:
        return [line]
    texts = _wrapped(line.text, width, indent, between)
    if cuts_paths or max(map(width_of, line.text.split(between))) <= width - indent:
        return [Line(text, line.style) for text in texts]
    return _parts(texts, line.style, _wrapped(line.text, width, indent, between, cuts_words=False))


def undivided(lines: Iterable[Line]) -> list[Line]:
    """Return lines for a reader without a width, such as a pipe: no path and no command is in pieces."""
    out = []
    for line in lines:
        if not line.is_part:
            out += [Line(text, line.style) for text in line.whole or (line.text,)]
    return out


def sentence_lines(line: Line, width: int) -> list[Line]:
    """Return a sentence as lines that fit a width; `undivided` prints it as one line."""
    return _parts(_wrapped(line.text, width, 2, " "), line.style, (line.text,))


def _parts(texts: Sequence[str], style: str, whole: Sequence[str]) -> list[Line]:
    """Return the lines of a text that `undivided` prints as others."""
    first, *rest = texts
    return [Line(first, style, tuple(whole)), *(Line(text, style, is_part=True) for text in rest)]


def _wrapped(line: str, width: int, indent: int, between: str, *, cuts_words: bool = True) -> list[str]:
    texts = [""]
    for position, word in enumerate(line.split(between)):
        piece = between + word if position else word
        if position and width_of(texts[-1] + piece) > width:
            texts.append(" " * indent)
            piece = word
        while cuts_words and width_of(texts[-1] + piece) > width:
            fits = _fitting(piece, width - width_of(texts[-1]))
            texts[-1] += piece[:fits]
            piece = piece[fits:]
            texts.append(" " * indent)
        texts[-1] += piece
    return [text.rstrip() for text in texts]


def _fitting(text: str, room: int) -> int:
    """Return how many characters of a text take at most that many columns; at least one."""
    used = 0
    for position, character in enumerate(text):
        used += _width(character)
        if used > room:
            return max(1, position)
    return len(text)


def command_lines(line: Line, width: int, *, indent: int = 2) -> list[Line]:
    """Return a command as lines that fit a width and that a shell takes as one: a cut line ends in a backslash.

    `undivided` prints it as one line.

    Args:
        line: The command, perhaps behind some words of ours.
        width: The width.
        indent: Blanks before all lines but the first; none before a piece of a word, which the shell would part.
    """
    if width_of(line.text) <= width:
        return [line]
    words = line.text.lstrip(" ")
    texts = [" " * (len(line.text) - len(words))]
    for word in words.split(" "):
        piece = f" {word}" if texts[-1].strip() else word
        if texts[-1].strip() and width_of(texts[-1] + piece) > width - 2:
            texts[-1] += " \\"
            texts.append(" " * indent)
            piece = word
        while width_of(texts[-1] + piece) > width - 2 and len(piece) > 1:
            fits = min(len(piece) - 1, _fitting(piece, width - 1 - width_of(texts[-1])))
            texts[-1] += piece[:fits] + "\\"
            piece = piece[fits:]
            texts.append("")
        texts[-1] += piece
    return _parts(texts, line.style, (line.text,))


def first_lines(lines: Sequence[Line], most: int) -> list[Line]:
    """Return the first lines, at most so many; a path or a command is there as a whole, or not at all."""
    while 0 < most < len(lines) and lines[most].is_part:
        most -= 1
    return list(lines[:most])


def fitted(lines: Iterable[Line], width: int) -> list[Line]:
    """Return lines cut to a width."""
    return [replace(line, text=clipped(line.text, width)) for line in lines]


def painted(lines: Iterable[Line], *, color: bool) -> str:
    """Return lines as text, each with its newline; with colour, in escape sequences of our own only."""
    out = []
    for line in lines:
        code = _STYLES.get(line.style) if color else None
        out.append(f"\x1b[{code}m{line.text}\x1b[0m\n" if code and line.text else f"{line.text}\n")
    return "".join(out)


def table_lines(
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[Any]],
    width: int,
    *,
    styles: Sequence[str] = (),
    indent: int = 0,
    header: bool = True,
) -> list[Line]:
    """Return a table that fits a width: cells are cut, then columns left out.

    Args:
        columns: The columns.
        rows: Their cells; None prints as ``-``.
        width: The width.
        styles: The style of each row.
        indent: Blanks before each line.
        header: Whether the titles are printed.
    """
    cells = [["-" if cell is None else visible(str(cell)) for cell in row] for row in rows]
    titles = [column.title if header else "" for column in columns]
    shown = list(range(len(columns)))
    while True:
        widths = {
            position: max([width_of(titles[position]), *(width_of(row[position]) for row in cells)])
            for position in shown
        }
        room = width - indent - _GAP * (len(shown) - 1)
        if sum(widths.values()) <= room or _shrink(widths, columns, room):
            break
        going = [position for position in shown if columns[position].may_go]
        if not going:
            break
        shown.remove(max(going, key=lambda at: columns[at].may_go))
    lines = [Line(_row(titles, shown, widths, columns, indent), "bold")] if header else []
    for number, row in enumerate(cells):
        style = styles[number] if number < len(styles) else ""
        lines.append(Line(_row(row, shown, widths, columns, indent), style))
    return fitted(lines, width)


def _shrink(widths: dict[int, int], columns: Sequence[TableColumn], room: int) -> bool:
    """Make columns narrower until a row fits; return whether it does."""
    flexible = [position for position in widths if columns[position].may_shrink]
    fixed = sum(size for position, size in widths.items() if position not in flexible)
    left = room - fixed
    if not flexible or left < sum(min(widths[position], _LEAST) for position in flexible):
        return False
    while sum(widths[position] for position in flexible) > left:
        widest = max(flexible, key=lambda at: widths[at])
        second = max((widths[position] for position in flexible if position != widest), default=0)
        over = sum(widths[position] for position in flexible) - left
        widths[widest] -= max(1, min(over, widths[widest] - second))
    return True


def _row(
    cells: Sequence[str], shown: Sequence[int], widths: dict[int, int], columns: Sequence[TableColumn], indent: int
) -> str:
    out = []
    for position in shown:
        cut = middle_clipped if columns[position].cuts_middle else clipped
        text = cut(cells[position], widths[position]) if columns[position].may_shrink else cells[position]
        blanks = " " * max(0, widths[position] - width_of(text))
        out.append(blanks + text if columns[position].is_number else text + blanks)
    return (" " * indent + (" " * _GAP).join(out)).rstrip()
