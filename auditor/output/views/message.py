"""A short message about a run, for a chat, a webhook or a mail: verdict, what is missing, the worst causes.

It has no value of an object and no text of a finding: both may be secret, and a message leaves the machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import visible
from auditor.base.wording import counted
from auditor.causes.severity import SEVERITIES
from auditor.causes.verdict import VERDICT_WORDS
from auditor.output.formats.problems import cut
from auditor.store.allclear import count_or_none

if TYPE_CHECKING:
    from auditor.causes.topics import Cause
    from auditor.output.formats.problems import Content


MOST_CHARACTERS: Final = 3000
_SCHEMA: Final = "auditor/notification/v1"
_CAUSES: Final = 10
_WARNINGS: Final = 5
_LINE: Final = 150
_TITLE: Final = 120


def message_title(content: Content) -> str:
    """Return one line: the verdict, and what was audited."""
    return _cut(f"auditor: {VERDICT_WORDS.get(content.verdict, content.verdict)}: {content.title}", _TITLE)


def message_text(content: Content) -> str:
    """Return the message, at most `MOST_CHARACTERS` long; what is left out is counted."""
    run, tally = content.run, content.tally()
    accepted = f", {tally.accepted} accepted" if tally.accepted else ""
    lines = [message_title(content), f"{run.started:%Y-%m-%d %H:%M} UTC, {run.keys:,} keys, {run.seconds:.1f} s"]
    if content.reasons:
        lines.append(_cut(f"Why: {', '.join(content.reasons)}", _LINE))
    lines += [_cut(text, _LINE) for text in content.warnings[:_WARNINGS]]
    if len(content.warnings) > _WARNINGS:
        lines.append(f"and {len(content.warnings) - _WARNINGS} more such lines")
    lines += [_cut(text, _LINE) for text in content.deleting]
    lines.append(f"Problems: {content.problems_text}{accepted}")
    lines += [_cut(f"- {_cause_line(cause)}", _LINE) for cause in content.open_causes[:_CAUSES]]
    if (more := len(content.open_causes) - _CAUSES) > 0:
        lines.append(f"and {counted(more, 'more cause')}")
    if content.not_judged:
        lines.append(_cut(f"Not judged: {', '.join(content.not_judged)}", _LINE))
    lines.append(_cut(f"Exit code {run.exit_code}. Report: {content.shown}", 2 * _LINE))
    return "\n".join(lines)[:MOST_CHARACTERS]


def message_data(content: Content) -> dict[str, Any]:
    """Return the message as JSON data, for a webhook."""
    tally = content.tally()
    return {
        "schema": _SCHEMA,
        "title": message_title(content),
        "text": message_text(content),
        "verdict": content.verdict,
        "exit_code": content.run.exit_code,
        "started": f"{content.run.started:%Y-%m-%dT%H:%M:%SZ}",
        "report": _cut(content.shown, 2 * _LINE),
        "problems": {
            severity: count_or_none(tally.by_severity[severity], is_whole=content.is_whole) for severity in SEVERITIES
        },
        "accepted": count_or_none(tally.accepted, is_whole=content.is_whole),
        "causes": count_or_none(len(content.open_causes), is_whole=content.is_whole),
        "not_read": len(content.unread),
    }


def _cause_line(cause: Cause) -> str:
    change = {"new": "NEW ", "more": "MORE "}.get(cause.change or "", "")
    return f"{change}{cause.severity} {cause.id} {cause.kind_name}: {counted(cause.objects, 'object')}, {cause.title}"


def _cut(text: str, most: int) -> str:
    return cut(visible(" ".join(text.split())), most)
