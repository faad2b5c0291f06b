"""Charts as SVG that screen readers can read; colours come from the style sheet, by class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from auditor.base.visible import visible
from auditor.history.runs import LAST_KNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence


_WIDTH: Final = 470
_LABEL: Final = 190
_ROW: Final = 22
_NUMBER: Final = 80
_AXIS: Final = 50
_LEGEND: Final = 95
_WIDEST_LABEL: Final = 25.0
"""In widths of a small letter."""
_WIDE: Final = frozenset("MWmw@%")
_HEIGHT: Final = 120
_WIDEST: Final = 24


def bars(title: str, rows: Sequence[tuple[str, int, str]], unit: str = "") -> Markup:
    """Return a bar chart.

    Args:
        title: What it shows.
        rows: Label, number and class of the colour of each bar.
        unit: What is counted, behind each number; "" for objects and causes.
    """
    return stacked_bars(title, [(label, [(number, name)]) for label, number, name in rows], unit)


def stacked_bars(title: str, rows: Sequence[tuple[str, Sequence[tuple[int, str]]]], unit: str = "") -> Markup:
    """Return a chart of stacked bars.

    Args:
        title: What it shows.
        rows: Label of each bar, and number and class of the colour of each of its pieces.
        unit: What is counted, behind each number.
    """
    rows = [(visible(label), pieces) for label, pieces in rows]
    largest = max((sum(number for number, _ in pieces) for _, pieces in rows), default=0) or 1
    scale = (_WIDTH - _LABEL - _NUMBER) / largest
    names = list(dict.fromkeys(name for _, pieces in rows for count, name in pieces if count))
    has_legend = any(len(pieces) > 1 for _, pieces in rows)
    height = _ROW * (len(rows) + has_legend) + 4
    text = "; ".join(
        f"{label}: " + ", ".join(f"{number} {unit or name}" for number, name in pieces) for label, pieces in rows
    )
    parts = _head(title, text, height)
    if has_legend:
        parts += _legend(names, 4)
    for number, (label, pieces) in enumerate(rows, has_legend):
        top = number * _ROW
        parts.append(f'<text x="{_LABEL - 8}" y="{top + 15}" text-anchor="end">{escape(_fitted(label))}</text>')
        left = float(_LABEL)
        for count, name in pieces:
            width = max(count * scale, 1.0) if count else 0.0
            place = f'x="{left:.1f}" y="{top + 3}" width="{width:.1f}" height="16"'
            parts.append(f'<rect class="c-{escape(name)}" {place}/>')
            left += width
        total = sum(count for count, _ in pieces)
        parts.append(f'<text x="{left + 6:.1f}" y="{top + 15}">{total:,}{unit and f" {unit}"}</text>')
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - every text in it was escaped above


def _fitted(label: str) -> str:
    """Return a label that is not wider than its place; one that was cut ends in an ellipsis."""
    room = _WIDEST_LABEL
    for position, letter in enumerate(label):
        room -= 1.75 if letter in _WIDE else 2 if letter > "\u2e80" else 1.4 if letter.isupper() else 1
        if room < 0:
            return label[: max(1, position - 1)] + "…"
    return label


def columns(title: str, nights: Sequence[tuple[str, dict[str, int]]]) -> Markup:
    """Return a chart of stacked columns, one for each night, the oldest on the left.

    Args:
        title: What it shows.
        nights: Label of each night, and number by class of the colour of its pieces, the lowest piece last.
    """
    nights = [(visible(label), pieces) for label, pieces in nights]
    largest = max((sum(pieces.values()) for _, pieces in nights), default=0) or 1
    step = min(_WIDEST, (_WIDTH - _AXIS) / max(1, len(nights)))
    order = dict.fromkeys(name for _, pieces in nights for name in pieces)
    names = [name for name in order if any(pieces.get(name) for _, pieces in nights)]
    text = "; ".join(
        f"{label}: " + (", ".join(f"{count} {name}" for name, count in pieces.items() if count) or "none")
        if LAST_KNOWN not in pieces
        else f"{label}: not everything was read, {_read_text(pieces)}"
        for label, pieces in nights
    )
    parts = [*_head(title, text, _HEIGHT + 44), *_legend(names, _AXIS)]
    floor = _HEIGHT + 24
    parts.append(f'<text x="{_AXIS - 8}" y="34" text-anchor="end">{largest:,}</text>')
    parts.append(f'<text x="{_AXIS - 8}" y="{floor}" text-anchor="end">0</text>')
    for number, (_, pieces) in enumerate(nights):
        top = float(floor)
        for name, count in reversed(pieces.items()):
            tall = count * _HEIGHT / largest
            top -= tall
            place = f'x="{_AXIS + number * step:.1f}" y="{top:.1f}" width="{step * 0.85:.1f}" height="{tall:.1f}"'
            if count:
                parts.append(f'<rect class="c-{escape(name.replace(" ", "-"))}" {place}/>')
        if LAST_KNOWN in pieces:
            middle = _AXIS + (number + 0.42) * step
            parts.append(f'<text x="{middle:.1f}" y="{top - 3:.1f}" text-anchor="middle">?</text>')
    if nights:
        parts.append(f'<text x="{_AXIS}" y="{floor + 16}">{escape(nights[0][0])}</text>')
    if len(nights) > 1:
        right = max(_AXIS + 290.0, _AXIS + len(nights) * step)
        parts.append(f'<text x="{right:.1f}" y="{floor + 16}" text-anchor="end">{escape(nights[-1][0])}</text>')
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - every text in it was escaped above


def _read_text(pieces: dict[str, int]) -> str:
    """Return the numbers of a night that did not read everything."""
    read = ", ".join(f"{count} {name}" for name, count in pieces.items() if count and name != LAST_KNOWN)
    held = f"; {pieces[LAST_KNOWN]} more were known before" if pieces[LAST_KNOWN] else ""
    return (f"at least {read}" if read else "nothing known") + held


def _head(title: str, text: str, height: int) -> list[str]:
    """Return the beginning of a chart, with its title and the numbers as text for screen readers."""
    return [
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {height}" role="img" preserveAspectRatio="xMinYMin meet">',
        f"<title>{escape(title)}</title><desc>{escape(text)}</desc>",
    ]


def _legend(names: Sequence[str], left: int) -> list[str]:
    """Return what names the colours, in a row at the top."""
    step = min(_LEGEND, (_WIDTH - left) // max(1, len(names)))
    return [
        f'<rect class="c-{escape(name.replace(" ", "-"))}" x="{left + position * step}" y="4" width="12" height="12"/>'
        f'<text x="{left + position * step + 18}" y="15">{escape(name)}</text>'
        for position, name in enumerate(names)
    ]
