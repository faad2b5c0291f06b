"""The end of `auditor validate`: why objects would be refused, one line a cause, worst first."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from auditor.base.wording import counted, objects
from auditor.output.views.layout import Line, TableColumn, fitted, table_lines

if TYPE_CHECKING:
    from auditor.output.formats.problems import Content


_COLUMNS: Final = (
    TableColumn("CAUSE"),
    TableColumn("KIND", may_shrink=True, may_go=1),
    TableColumn("WHAT", may_shrink=True),
    TableColumn("OBJECTS", is_number=True),
)


def answer_lines(content: Content, width: int, most: int) -> list[Line]:
    """Return the causes in the answers to manifests, a section for each severity.

    Args:
        content: The answers.
        width: Columns of the terminal.
        most: Lines at most, at least 3.
    """
    out: list[Line] = []
    causes = content.causes
    groups = {kind: len({cause.group for cause in causes if cause.kind == kind}) for kind in {c.kind for c in causes}}
    shown = 0
    for severity, group in groupby(causes, key=lambda cause: cause.severity):
        every = list(group)
        is_last = shown + len(every) == len(causes)
        room = most - len(out) - 1
        first = every[: room if is_last and len(every) <= room else max(0, room - 1)]
        if not first:
            break
        cells = [
            (cause.id, cause.kind if groups[cause.kind] == 1 else cause.kind_name, cause.title, objects(cause.objects))
            for cause in first
        ]
        out.append(Line(f"{severity.upper()} {counted(len(every), 'cause')}", severity))
        out += table_lines(_COLUMNS, cells, width, styles=[severity] * len(cells), indent=2, header=False)
        shown += len(first)
        if len(first) < len(every):
            break
    if shown < len(causes):
        out.append(Line(f"and {counted(len(causes) - shown, 'more cause')}: -o markdown=FILE lists them", "dim"))
    return fitted(out, width)
