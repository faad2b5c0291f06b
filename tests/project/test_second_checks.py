"""Tests of data beside the project repeat what other tests check with the project's own data."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from tests.shared import RECORDED, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator


def second_checks() -> Iterator[tuple[str, str, str]]:
    """Yield file, data and the file with the first check of each mark."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "second_check":
                [name] = [ast.literal_eval(each) for each in node.args]
                [by] = [ast.literal_eval(each.value) for each in node.keywords if each.arg == "by"]
                yield path.relative_to(ROOT).as_posix(), name, by


READERS = ("shared", "shared_lines", "unpacked", "extracted")
"""Functions whose first argument is the name of reference data."""
BENCHMARKED = ("test_there_is_a_json_schema_for_each_drawn_kind",)
"""Tests of benchmarks, whose objects are drawn for definitions beside the project."""
MARKS = sorted(set(second_checks()))


@pytest.mark.parametrize(("file", "name", "by"), MARKS)
def test_the_first_check_is_a_test_with_data_of_the_project(file: str, name: str, by: str) -> None:
    assert file.startswith("tests/")
    assert name.split("/", maxsplit=1)[0] in ("vectors", "golden", "corpus")
    tree = ast.parse((ROOT / by).read_text())
    first = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not any("second_check" in ast.unparse(mark) for mark in node.decorator_list)
    ]
    whole = [
        ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node)
    ]
    assert first
    assert not any("second_check" in mark for mark in whole)


def test_there_are_some_and_they_are_left_out_without_their_data(pytestconfig: pytest.Config) -> None:
    assert len(MARKS) > 10
    assert any("second_check" in line for line in pytestconfig.getini("markers"))


def test_tests_that_always_run_read_what_the_project_has_recorded() -> None:
    """A clone alone skips none of them; slower tests may build programs of ../shared."""
    missing = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text())
        if any(ast.unparse(node).startswith("pytestmark = second_check(") for node in tree.body):
            continue
        for test in ast.walk(tree):
            if not isinstance(test, ast.FunctionDef) or not test.name.startswith("test_"):
                continue
            marks = " ".join(map(ast.unparse, test.decorator_list))
            if test.name in BENCHMARKED or "second_check" in marks or "pytest.mark.slow" in marks:
                continue
            names = [
                ast.literal_eval(call.args[0])
                for call in ast.walk(test)
                if isinstance(call, ast.Call)
                and ast.unparse(call.func) in READERS
                and ast.unparse(call.args[0])[0] in "'\""
            ]
            missing += [(path.name, test.name, name) for name in names if not (RECORDED / name).exists()]
    assert missing == []
