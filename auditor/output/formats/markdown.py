"""A short report in Markdown, for a chat or a job's summary."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Final

from auditor.base.visible import visible
from auditor.base.wording import counted, objects
from auditor.causes.verdict import STATE_WORDS
from auditor.output.formats.problems import cut
from auditor.output.views.summary import clusters_text, severities_text

if TYPE_CHECKING:
    from typing import TextIO

    from auditor.causes.topics import Cause
    from auditor.output.formats.problems import Content


_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#!|~&@])")
_LONGEST: Final = 160


def markdown(content: Content, *, most: int, causes: int) -> str:
    """Return a report in Markdown of at most so many bytes and causes."""
    out = io.StringIO()
    write_markdown(content, out, most=most, causes=causes)
    return out.getvalue()


def write_markdown(content: Content, out: TextIO, *, most: int = 60_000, causes: int = 50) -> None:
    """Write the verdict, what was not judged, is missing or damaged, and the worst causes.

    Args:
        content: The report.
        out: Where to write.
        most: Bytes at most; what is left out is counted.
        causes: Causes at most.
    """
    run = content.run
    title = _escaped(cut(content.title, _LONGEST))
    head = [
        f"**{STATE_WORDS[content.state]}** **{title}** · {_escaped(content.headline)}",
        "",
        f"{run.started:%Y-%m-%d %H:%M} UTC · {run.keys:,} keys · problems: {content.problems_text}"
        + (f" · {objects(content.accepted)} accepted" if content.accepted else ""),
        *([_escaped(content.exit_text)] if content.exit_text else ()),
        *([_escaped(cut(f"Not judged: {', '.join(content.not_judged)}", _LONGEST))] if content.not_judged else ()),
    ]
    head += [f"- {_escaped(cut(text, _LONGEST))}" for text in content.warnings[:20]]
    if len(content.warnings) > 20:
        head.append(f"- and {len(content.warnings) - 20} more")
    head += [f"- {_escaped(cut(text, _LONGEST))}" for text in content.deleting]
    table = []
    if content.open_causes:
        table = [
            "",
            "| severity | kind | example | what | what to do | objects | clusters | cause |",
            "|---|---|---|---|---|---|---|---|",
        ]
    last = ["", _escaped(cut(content.all_clear, 500))]
    lines = [*head, *table]
    left = most - sum(len(line.encode()) + 1 for line in (*lines, *last)) - 100
    shown = 0
    for cause in content.open_causes[:causes]:
        line = _row(cause)
        left -= len(line.encode()) + 1
        if left < 0:
            break
        lines.append(line)
        shown += 1
    if rest := content.open_causes[shown:]:
        lines += ["", f"and {counted(len(rest), 'more cause')}: {severities_text(rest)}"]
    out.write("\n".join([*lines, *last]) + "\n")


def _row(cause: Cause) -> str:
    what = cut(cause.title, _LONGEST)
    if cause.schema_changes:
        what += f" (definition changed: {cut('; '.join(cause.schema_changes), _LONGEST)})"
    example = cut(cause.examples[0], _LONGEST) if cause.examples else ""
    change = f" {cause.change}" if cause.change in ("new", "more") else ""
    cells = (
        cause.severity + change,
        cause.kind_name,
        example,
        what,
        cause.remedy,
        str(cause.objects),
        clusters_text(cause.clusters),
        cause.id,
    )
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", visible(text))
