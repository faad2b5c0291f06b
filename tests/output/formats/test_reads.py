"""How often a page reads the problems of a report: once, unless there are more than it shows."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from auditor.causes.severity import SEVERITIES
from auditor.output.formats.registry import FORMATS
from tests.output.formats.drawn import many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.output.formats.problems import Problem


@pytest.mark.parametrize(("count", "reads"), [(40, 1), (500, 1), (1_000, 2)])
def test_a_page_reads_the_problems_once(count: int, reads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auditor.output.formats.html.data.MOST_ROWS", 500)
    base, found = many(count), []

    def problems() -> Iterator[Problem]:
        found.append(count)
        return base.problems()

    page = io.StringIO()
    FORMATS["html"].write(replace(base, problems=problems), page)
    assert len(found) == reads
    assert f"The {min(100, count)} worst of {count:,}" in page.getvalue()
    assert ("The report has 500 more problems, not shown in this page" in page.getvalue()) == (count > 500)


@pytest.mark.parametrize("most", [0, 7, 100, 101, 900])
def test_the_worst_are_the_first_of_the_worst_severities_in_the_order_of_the_report(most: int) -> None:
    what = many(1_000)
    every = list(enumerate(what.problems()))
    chosen = sorted(every, key=lambda one: (SEVERITIES.index(one[1].severity), one[0]))[:most]
    assert list(what.worst(most)) == [one for _, one in sorted(chosen, key=lambda one: one[0])]
