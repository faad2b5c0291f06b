"""Formats of large reports: files of bounded size where a service bounds them, in memory that does not grow."""

from __future__ import annotations

import io
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from auditor.output.formats.registry import FORMATS
from tests.counting import calls_of
from tests.output.formats.drawn import many
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

_MEASURED = """
import sys
sys.path.insert(0, sys.argv[1])
from auditor.output.formats.registry import FORMATS
from tests.output.formats.drawn import many
with open(sys.argv[3], "w", encoding="utf-8", errors="backslashreplace") as out:
    FORMATS[sys.argv[2]].write(many(int(sys.argv[4])), out)
(most,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]  # of this program alone
print(int(most) >> 10)
"""


def megabytes(name: str, path: Path, count: int) -> int:
    """Write a format in a process of its own, and return its peak of memory."""
    words = [sys.executable, "-c", _MEASURED, str(ROOT), name, str(path), str(count)]
    return int(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("objects", [200_000, pytest.param(1_000_000, marks=pytest.mark.nightly)])
def test_junit_of_many_objects_is_small_and_counts_them_all(tmp_path: Path, objects: int) -> None:
    path = tmp_path / "junit.xml"
    assert megabytes("junit", path, objects) <= 250
    assert path.stat().st_size < 30_000_000
    cases: Counter[str] = Counter()
    left_out = 0
    for _, case in ET.iterparse(path):
        if case.tag == "testcase":
            name = case.get("name", "")
            if "more objects with problems" in name:
                left_out += int(name.split()[0])
            elif not name.endswith(" valid"):
                cases[name] += 1
        case.clear()
    assert cases.total() + left_out == objects
    assert max(cases.values()) == 1
    assert 50_000 < cases.total() < 200_000


@pytest.mark.parametrize(
    "name", ["sarif", "codequality", "github", "github-summary", "csv", "ndjson", "prometheus", "openreports"]
)
def test_the_memory_of_a_format_does_not_grow_with_the_report(name: str, tmp_path: Path) -> None:
    small, large = (megabytes(name, tmp_path / "out", count) for count in (1_000, 100_000))
    assert large <= small + 40


def test_the_work_for_a_page_does_not_grow_faster_than_its_problems() -> None:
    few, many_more = many(1_000), many(8_000)
    page = FORMATS["html"]
    page.write(few, io.StringIO())
    assert calls_of(lambda: page.write(many_more, io.StringIO())) < 8 * calls_of(lambda: page.write(few, io.StringIO()))
