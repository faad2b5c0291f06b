"""Charts as SVG that screen readers can read; colours come from the style sheet, by class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from markupsafe import Markup, escape

from auditor.base.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["bars", "stacked_bars"]

_WIDTH: Final = 640
_LABEL: Final = 220
_ROW: Final = 22
_NUMBER: Final = 70
_LEGEND: Final = 95
_LONGEST_LABEL: Final = 30


def bars(title: str, rows: Sequence[tuple[str, int, str]]) -> Markup:
    """Return a bar chart.

    Args:
        title: What it shows.
        rows: Label, number and class of the colour of each bar.
    """
    return stacked_bars(title, [(label, [(number, name)]) for label, number, name in rows])


def stacked_bars(title: str, rows: Sequence[tuple[str, Sequence[tuple[int, str]]]]) -> Markup:
    """Return a chart of stacked bars.

    Args:
        title: What it shows.
        rows: Label of each bar, and number and class of the colour of each of its pieces.
    """
    rows = [(visible(label), pieces) for label, pieces in rows]
    largest = max((sum(number for number, _ in pieces) for _, pieces in rows), default=0) or 1
    scale = (_WIDTH - _LABEL - _NUMBER) / largest
    names = list(dict.fromkeys(name for _, pieces in rows for count, name in pieces if count))
    has_legend = any(len(pieces) > 1 for _, pieces in rows)
    height = _ROW * (len(rows) + has_legend) + 4
    text = "; ".join(f"{label}: " + ", ".join(f"{number} {name}" for number, name in pieces) for label, pieces in rows)
    parts = [
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {height}" role="img" preserveAspectRatio="xMinYMin meet">',
        f"<title>{escape(title)}</title><desc>{escape(text)}</desc>",
    ]
    if has_legend:
        parts += [
            f'<rect class="c-{escape(name)}" x="{_LABEL + at * _LEGEND}" y="4" width="12" height="12"/>'
            f'<text x="{_LABEL + at * _LEGEND + 18}" y="15">{escape(name)}</text>'
            for at, name in enumerate(names)
        ]
    for number, (label, pieces) in enumerate(rows, has_legend):
        top = number * _ROW
        shown = label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"
        parts.append(f'<text x="{_LABEL - 8}" y="{top + 15}" text-anchor="end">{escape(shown)}</text>')
        left = float(_LABEL)
        for count, name in pieces:
            width = max(count * scale, 1.0) if count else 0.0
            place = f'x="{left:.1f}" y="{top + 3}" width="{width:.1f}" height="16"'
            parts.append(f'<rect class="c-{escape(name)}" {place}/>')
            left += width
        total = sum(count for count, _ in pieces)
        parts.append(f'<text x="{left + 6:.1f}" y="{top + 15}">{total:,}</text>')
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - every text in it was escaped above
