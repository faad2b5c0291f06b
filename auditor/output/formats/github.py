"""Annotations of a GitHub job, as workflow commands, and its summary.

Source: GitHub shows ten annotations a level and step, and refuses a summary above 1 MiB as a whole.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from auditor.base.visible import visible
from auditor.output.formats.markdown import write_markdown
from auditor.output.formats.problems import cut

if TYPE_CHECKING:
    from typing import TextIO

    from auditor.output.formats.problems import Content


_LEVELS: Final = {"critical": "error", "high": "error", "medium": "warning", "low": "notice"}
_SHOWN: Final = 9
_LONGEST: Final = 1000
_MOST_SUMMARY: Final = 900_000
_SPECIAL: Final = re.compile(r"[%\r\n]")


def write_annotations(content: Content, out: TextIO) -> None:
    """Write nine annotations a level, the worst first, and one that says how many more there are."""
    totals: Counter[str] = Counter()
    by_severity = content.tally().by_severity + Counter(problem.severity for problem in content.unread)
    for severity, count in by_severity.items():
        totals[_LEVELS[severity]] += count
    shown: Counter[str] = Counter()
    wanted: dict[str, int] = {}
    lines: list[tuple[str, str]] = []
    for severity in _LEVELS:
        wanted[severity] = max(0, _SHOWN - shown[_LEVELS[severity]])
        shown[_LEVELS[severity]] += min(wanted[severity], by_severity[severity])
    for problem in content.entries():
        if problem.accepted or not wanted[problem.severity]:
            continue
        wanted[problem.severity] -= 1
        name = f"{problem.kind_name} {problem.object_name}"
        place = f"file={_property(problem.uri)},line={problem.line},title={_property(cut(name, 200))}"
        text = _data(cut(problem.message, _LONGEST))
        lines.append((problem.severity, f"::{_LEVELS[problem.severity]} {place}::{text}\n"))
    for severity in _LEVELS:
        out.writelines(line for severity_of_line, line in lines if severity_of_line == severity)
    for level, total in totals.items():
        if total > shown[level]:
            more = total - shown[level]
            out.write(f"::{level} title=auditor::{more} more problems of this level; the report has all\n")


def _data(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", visible(text))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def write_job_summary(content: Content, out: TextIO) -> None:
    """Write the summary of a job in Markdown, below 1 MiB."""
    write_markdown(content, out, most=_MOST_SUMMARY, causes=1000)
