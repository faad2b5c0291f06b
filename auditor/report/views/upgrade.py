"""The summary of an upgrade scan as lines that fit a width: the answer first, then each definition, then what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.base.visible import visible
from auditor.report.upgrade_terminal import MOST_LINES, upgrade_summary
from auditor.report.views.layout import Line, clipped, command_lines, width_of, wrapped

if TYPE_CHECKING:
    from auditor.report.findings.model import FindingsModel

__all__ = ["upgrade_lines"]

_ALL = 1000
"""Lines from which on nothing is left out."""
_STYLES = {"blocks": "worse", "safe-after": "medium", "attention": "medium", "safe": "better"}


def upgrade_lines(model: FindingsModel, width: int, most: int) -> list[Line]:
    """Return the summary of the report of an upgrade.

    Args:
        model: The report.
        width: Columns of the terminal.
        most: Lines at most, at least 40.
    """
    section = model.manifest["upgrade"]
    texts = upgrade_summary(model.manifest, visible(model.shown), most=_most(most)).split("\n")
    at = next((number for number, text in enumerate(texts) if text.startswith("Next: ")), len(texts))
    texts.insert(at, f"Report: {visible(model.shown)}")
    first = Line(texts[0], _STYLES.get(section["decision"], "bold"))
    return [part for line in (first, *map(Line, texts[1:])) for part in _fitted(line, width)]


def _most(most: int) -> int | None:
    """Return the bound of the summary, which has a line of its own less."""
    return None if most >= _ALL else max(most, MOST_LINES) - 1


def _fitted(line: Line, width: int) -> list[Line]:
    """Return a line in the width: sentences are wrapped, rows of tables cut, commands parted as a shell takes them."""
    text = line.text.lstrip()
    blanks = len(line.text) - len(text)
    if width_of(line.text) <= width:
        return [line]
    if text.startswith(("auditor ", "Report: ")):
        return command_lines(line, width, indent=blanks + 2)
    if "   " in text:
        return [Line(clipped(line.text, width), line.style)]
    return wrapped(line, width, indent=min(blanks + 2, width // 2))
