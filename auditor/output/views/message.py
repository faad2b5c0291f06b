"""A short message about a run, for a chat, a webhook or a mail: its state, critical causes, what is missing.

It has no value of an object and no text of a finding: both may be secret, and a message leaves the machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import visible
from auditor.base.wording import counted, objects
from auditor.causes.severity import SEVERITIES
from auditor.causes.verdict import STATE_WORDS
from auditor.output.formats.problems import cut
from auditor.output.views.summary import clusters_text, severities_text
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
    """Return one line: the state, what was audited, the causes by severity."""
    return _cut(f"auditor: {STATE_WORDS[content.state]}: {content.title}: {content.headline}", _TITLE)


def message_text(content: Content) -> str:
    """Return the message, at most `MOST_CHARACTERS` long; what is left out is counted."""
    run = content.run
    lines = [message_title(content), f"{run.started:%Y-%m-%d %H:%M} UTC, {run.keys:,} keys, {run.seconds:.1f} s"]
    critical = [cause for cause in content.open_causes if cause.severity == "critical"][:_CAUSES]
    others = [cause for cause in content.open_causes if cause.severity != "critical"][: _CAUSES - len(critical)]
    lines += [_cut(f"- {_cause_line(cause)}", _LINE) for cause in critical]
    lines += [_cut(text, _LINE) for text in content.warnings[:_WARNINGS]]
    if len(content.warnings) > _WARNINGS:
        lines.append(f"and {len(content.warnings) - _WARNINGS} more such lines")
    lines += [_cut(text, _LINE) for text in content.deleting]
    lines += [_cut(f"- {_cause_line(cause)}", _LINE) for cause in others]
    if rest := content.open_causes[len(critical) + len(others) :]:
        lines.append(f"and {counted(len(rest), 'more cause')}: {severities_text(rest)}")
    lines.append(f"Problems: {content.problems_text}")
    if content.accepted:
        lines.append(f"Accepted: {objects(content.accepted)}")
    if content.not_judged:
        lines.append(_cut(f"Not judged: {', '.join(content.not_judged)}", _LINE))
    if content.open_causes and (remedy := content.open_causes[0].remedy):
        lines.append(f"To do first: {remedy}")
    lines.append(_cut(content.exit_text or f"Exit code {run.exit_code}.", 2 * _LINE))
    lines.append(_cut(f"Report: {content.shown}", 2 * _LINE))
    return "\n".join(lines)[:MOST_CHARACTERS]


def message_data(content: Content) -> dict[str, Any]:
    """Return the message as JSON data, for a webhook."""
    tally = content.tally()
    return {
        "schema": _SCHEMA,
        "title": message_title(content),
        "text": message_text(content),
        "state": content.state,
        "verdict": content.verdict,
        "exit_code": content.run.exit_code,
        "started": f"{content.run.started:%Y-%m-%dT%H:%M:%SZ}",
        "report": _cut(content.shown, 2 * _LINE),
        "problems": {
            severity: count_or_none(tally.by_severity[severity], is_whole=content.is_whole) for severity in SEVERITIES
        },
        "accepted": count_or_none(tally.accepted, is_whole=content.is_whole),
        "accepted_objects": count_or_none(content.accepted, is_whole=content.is_whole),
        "causes": count_or_none(len(content.open_causes), is_whole=content.is_whole),
        "not_read": len(content.unread),
    }


def _cause_line(cause: Cause) -> str:
    change = {"new": "NEW ", "more": "MORE "}.get(cause.change or "", "")
    where = f" in {clusters_text(cause.clusters)}" if cause.clusters else ""
    count = objects(cause.objects)
    return f"{change}{cause.severity} {cause.kind_name}: {count}{where}, {cause.title} ({cause.id})"


def _cut(text: str, most: int) -> str:
    return cut(visible(" ".join(text.split())), most)
