"""JUnit XML: a suite for each kind, a case for each object with problems, one case for all valid objects of a kind.

Each cluster, dump or part of one that was not read is a case with an error.

Sources: the subset that Jenkins (junit-4.xsd) and GitLab read: names of cases are unique, a file has less than 30 MB,
and characters that XML 1.0 does not have are replaced.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from auditor.base.visible import visible
from auditor.base.wording import counted, objects
from auditor.output.formats.problems import NOT_READ, cut
from auditor.store.allclear import UNREAD_STATES

if TYPE_CHECKING:
    from typing import TextIO

    from auditor.output.formats.problems import Content, Problem


MOST_BYTES: Final = 27_000_000
_MOST_CASES: Final = 90_000
_LONGEST: Final = 300
_MOST_TEXTS: Final = 20
_FORBIDDEN: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ERRORS: Final = frozenset({"unreadable", "crashes-server", "breaks-list", "breaks-watch", *UNREAD_STATES})
_SKIPPED: Final = ("needs-webhook", "needs-conversion", "unserved", "sealed", "orphaned")


@dataclass(slots=True)
class _Suite:
    cases: list[str] = field(default_factory=list)
    left_out: int = 0


@dataclass(slots=True)
class _Case:
    """An object: its first problem, the first texts, and the number of all."""

    problem: Problem
    texts: list[str]
    count: int = 1


class _Suites:
    """The suites, in memory: they hold no more than one file may have."""

    def __init__(self) -> None:
        self.by_kind: dict[str, _Suite] = {}
        self._names: Counter[tuple[str, str]] = Counter()
        self._bytes = 0
        self._cases = 0

    def add(self, case: _Case) -> None:
        problem, kind = case.problem, visible(case.problem.kind_name)
        suite = self.by_kind.setdefault(kind, _Suite())
        if self._cases >= _MOST_CASES:
            suite.left_out += 1
            return
        tag = "error" if problem.type in _ERRORS else "failure"
        first = cut(visible(case.texts[0]), _LONGEST)
        body = "\n".join(map(visible, case.texts))
        body += f"\nand {case.count - _MOST_TEXTS} more" if case.count > _MOST_TEXTS else ""
        name = self.unique(kind, visible(problem.object_name))
        text = (
            f"  <testcase classname={_attribute(kind)} name={_attribute(name)}>"
            f"<{tag} type={_attribute(problem.type)} message={_attribute(first)}>{_text(body)}</{tag}></testcase>\n"
        )
        size = len(text.encode())
        if self._bytes + size > MOST_BYTES:
            suite.left_out += 1
            return
        self._bytes += size
        self._cases += 1
        suite.cases.append(text)

    def unique(self, kind: str, name: str) -> str:
        """Return a name that no other case of the kind has."""
        name = cut(name, _LONGEST)
        self._names[(kind, name)] += 1
        number = self._names[(kind, name)]
        return name if number == 1 else self.unique(kind, f"{cut(name, _LONGEST - 20)} ({number})")


def write_junit(content: Content, out: TextIO) -> None:
    """Write a report as JUnit XML."""
    suites = _Suites()
    for kind in content.kinds:
        suites.by_kind.setdefault(visible(kind.name), _Suite())
    last: _Case | None = None
    for problem in content.entries():
        if problem.accepted:
            continue
        mark = "" if problem.check == NOT_READ else f"[{problem.cause} {problem.severity}] "
        text = cut(f"{mark}{problem.message}", _LONGEST)
        if last and _same(last.problem, problem):
            last.count += 1
            if len(last.texts) < _MOST_TEXTS:
                last.texts.append(text)
            continue
        if last:
            suites.add(last)
        last = _Case(problem, [text])
    if last:
        suites.add(last)
    valid = Counter[str]()
    skipped: dict[str, Counter[str]] = {}
    for kind in content.kinds:
        valid[visible(kind.name)] += kind.statuses.get("valid", 0)
        for status in _SKIPPED:
            if kind.statuses.get(status):
                skipped.setdefault(visible(kind.name), Counter())[status] += kind.statuses[status]
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="auditor">\n')
    for name in sorted(suites.by_kind):
        _write_suite(out, name or "(no kind)", suites.by_kind[name], valid[name], skipped.get(name, Counter()))
    out.write("</testsuites>\n")


def _same(one: Problem, other: Problem) -> bool:
    def place(problem: Problem) -> tuple[str, ...]:
        return (problem.cluster, problem.kind_name, problem.key, problem.namespace, problem.name, problem.version)

    return place(one) == place(other) and (one.check == "impact") == (other.check == "impact")


def _write_suite(out: TextIO, name: str, suite: _Suite, valid: int, skipped: Counter[str]) -> None:
    more = []
    kind = _attribute(name)
    if valid:
        more.append(f'  <testcase classname={kind} name="{objects(valid)} valid"/>\n')
    more += [
        f'  <testcase classname={kind} name="{objects(count)} {status}">'
        f'<skipped message="{objects(count)} not judged: {status}"/></testcase>\n'
        for status, count in sorted(skipped.items())
    ]
    if suite.left_out:
        more_objects = counted(suite.left_out, "more object")
        more.append(
            f'  <testcase classname={kind} name="{more_objects} with problems">'
            f'<failure type="more" message="{objects(suite.left_out)} with problems not in this file; the report '
            f'has all"/></testcase>\n'
        )
    shown_failures = sum("<failure" in case for case in suite.cases) + bool(suite.left_out)
    shown_errors = len(suite.cases) + bool(suite.left_out) - shown_failures
    tests = len(suite.cases) + len(more)
    if not tests:
        return
    out.write(
        f'<testsuite name={kind} tests="{tests}" failures="{shown_failures}" errors="{shown_errors}" '
        f'skipped="{len(skipped)}">\n'
    )
    out.writelines(suite.cases)
    out.writelines(more)
    out.write("</testsuite>\n")


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def _attribute(text: str) -> str:
    return quoteattr(_clean(text), {"\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})


def _text(text: str) -> str:
    return escape(_clean(text))
