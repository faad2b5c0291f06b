"""Reports that are drawn: content with hostile texts in every place, for all formats."""

from __future__ import annotations

import dataclasses
import datetime
import random
from typing import TYPE_CHECKING, Any

from auditor.causes.model import Run, Source
from auditor.causes.severity import SEVERITIES
from auditor.causes.topics import Cause
from auditor.output.formats.problems import Content, KindCount, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\u2028\u2029\u202e\u200f",
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\x00\x01\x1b[31mred\x1b[0m",
    "]]>&amp;<!--",
    "\"'`\\",
    "a\nNext: nothing to do.",
    "::error::forged",
    "%0A::error::forged",
    "{{7*7}}",
    "{% raw %}",
    "..",
    "a/b",
    "\ud800",
    "\ufffe\uffff",
    "x" * 5000,
    "| a | b |",
    "[link](javascript:alert(1))",
    "<!channel> @here",
    "',\"\n#",
    "é漢字🎉",
    "",
]
"""Texts that a format must not act on."""

START = datetime.datetime(2026, 11, 25, 2, 0, tzinfo=datetime.UTC)


def content(seed: int, *, objects: int = 40, hostile: bool = True) -> Content:
    """Return a drawn report.

    Args:
        seed: The seed of the random numbers.
        objects: Objects with problems.
        hostile: Whether names and messages are hostile.
    """
    rng = random.Random(seed)

    def text(plain: str) -> str:
        return rng.choice(HOSTILE) if hostile and rng.random() < 0.5 else plain

    causes = [_cause(rng, number, text) for number in range(rng.randint(0, 12))]
    problems: list[Problem] = []
    for number in range(objects if causes else 0):
        cause = rng.choice(causes)
        for each in range(rng.randint(1, 3)):
            found = Problem(
                cluster=rng.choice(["", "prod", text("staging")]),
                group=cause.group,
                kind=cause.kind,
                version="v1",
                namespace=rng.choice(["", "team-a", text("team-b")]),
                name=text(f"object-{number}"),
                key=f"/registry/g/k/{number}",
                severity=cause.severity,
                change=rng.choice(["", "new", "same"]),
                cause=cause.id,
                check=cause.check or "impact",
                type=cause.type or cause.impact or "",
                field=text(f"spec.list[{each}]"),
                rule="",
                message=text("spec.list: Invalid value"),
                verdict="",
                owner=text("helm"),
                accepted=rng.random() < 0.1,
                uri=f"g/k/{number}.json",
                line=1 + each,
                number=each,
            )
            problems.append(found)
    open_objects = {one.id: sum(p.cause == one.id and not p.accepted for p in problems) for one in causes}
    causes = [dataclasses.replace(one, objects=open_objects[one.id], accepted_objects=0) for one in causes]
    kinds = [
        KindCount(text("example.com"), text("Widget"), {"valid": rng.randint(0, 9), "invalid": rng.randint(0, 9)})
        for _ in range(rng.randint(0, 5))
    ]
    run = Run(
        clusters=("prod",),
        sources=(Source(text("a.db"), "prod", "etcd-snapshot", 7, START - datetime.timedelta(hours=2), 9),),
        started=START,
        seconds=1.5,
        keys=1234,
        checked=1234,
        tool="0.1.0",
        kubernetes="v1.37.2",
        exit_code=rng.choice([0, 1, 3]),
        compared_with=None,
    )
    return Content(
        title=text("prod"),
        shown=text("out/tonight"),
        run=run,
        verdict=rng.choice(["worse", "incomplete", "same", "better", "not-compared"]),
        reasons=(text("1 new cause"),),
        warnings=tuple(text("MISSING  staging") for _ in range(rng.randint(0, 3))),
        not_judged=(text("1 key without a definition"),) if rng.random() < 0.5 else (),
        all_clear=text("Next: read the findings."),
        causes=causes,
        kinds=kinds,
        problems=lambda: iter(problems),
    )


def many(count: int) -> Content:
    """Return a report with so many problems, each of an object of its own."""
    base = next(one for one in (content(seed, hostile=False) for seed in range(40)) if len(one.causes) > 5)
    first = next(iter(base.problems()))
    causes = base.causes

    def problems() -> Iterator[Problem]:
        for number in range(count):
            cause = causes[number % len(causes)]
            yield dataclasses.replace(
                first,
                cause=cause.id,
                severity=cause.severity,
                namespace=f"team-{number % 200}",
                name=f"object-{number}",
                field=f"spec.template.list[{number % 50}].value",
                message=f'Invalid value: "{number * 7919 % 1_000_003}": must be at most 100',
                accepted=False,
                uri=f"g/k/team-{number % 200}/object-{number}.json",
            )

    return dataclasses.replace(base, problems=problems)


def _cause(rng: random.Random, number: int, text: Any) -> Cause:
    is_impact = rng.random() < 0.3
    values: dict[str, Any] = {one.name: 0 for one in dataclasses.fields(Cause)}
    return Cause(
        **{
            **values,
            "id": f"{number:08x}",
            "digest": f"{number:064x}",
            "severity": rng.choice(SEVERITIES),
            "change": rng.choice([None, "new", "more", "same"]),
            "title": text("spec.list[*]: Invalid value"),
            "group": "example.com",
            "kind": text("Widget"),
            "version": "v1",
            "impact": "breaks-list" if is_impact else None,
            "check": None if is_impact else "schema",
            "type": None if is_impact else "FieldValueInvalid",
            "field": None if is_impact else text("spec.list[*]"),
            "rule": None,
            "guard_path": None,
            "clusters": ("prod",),
            "objects": 1,
            "first_seen": START,
            "last_seen": START,
            "owners": (text("helm"),),
            "schema_changes": (text("required: + spec.tier"),) if rng.random() < 0.3 else (),
            "examples": (text("/registry/g/k/1"),),
            "messages": (text("Invalid value"),),
            "example_clusters": ("prod",),
        }
    )
