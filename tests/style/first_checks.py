"""Tests of data beside the project repeat what other tests check with the project's own data."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from tests.shared import RECORDED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.style.files import Module, Project

__all__ = ["second_checks_have_a_first", "tests_read_what_is_recorded"]

READERS: Final = ("shared", "shared_lines", "unpacked", "extracted")
"""Functions whose first argument is the name of reference data."""
BENCHMARKED: Final = ("test_there_is_a_json_schema_for_each_drawn_kind",)
"""Tests of benchmarks, whose objects are drawn for definitions beside the project."""


def second_checks(module: Module) -> Iterator[tuple[int, str, str]]:
    """Yield line, data and the file with the first check of each mark."""
    for node in module.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "second_check":
            [name] = [ast.literal_eval(each) for each in node.args]
            [by] = [ast.literal_eval(each.value) for each in node.keywords if each.arg == "by"]
            yield node.lineno, name, by


def second_checks_have_a_first(project: Project) -> Iterator[str]:
    """The file that a second check names has a test that always runs."""
    for module in project.below("tests"):
        for line, name, by in second_checks(module):
            if name.split("/", maxsplit=1)[0] not in ("vectors", "golden", "corpus", "cases"):
                yield f"{module.name}:{line}: {name} is no reference data: name what ../shared has"
            first = project.named(by)
            if first is None or not _has_first(first):
                yield f"{module.name}:{line}: {by} has no test that always runs: name a file that has"


def _has_first(module: Module) -> bool:
    """Return whether a module has a test that is no second check."""
    if any("second_check" in ast.unparse(node) for node in _marks(module)):
        return False
    return any(
        function.name.startswith("test_") and not _is_marked(function, "second_check")
        for function in module.functions()
    )


def _marks(module: Module) -> Iterator[ast.Assign]:
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node.targets[0]):
            yield node


def _is_marked(function: ast.FunctionDef | ast.AsyncFunctionDef, *marks: str) -> bool:
    written = " ".join(map(ast.unparse, function.decorator_list))
    return any(mark in written for mark in marks)


def tests_read_what_is_recorded(project: Project) -> Iterator[str]:
    """A clone alone skips no test of each change; slower ones may build programs of ../shared."""
    for module in project.below("tests"):
        if not module.name.rpartition("/")[2].startswith("test_"):
            continue
        if any(ast.unparse(node.value).startswith("second_check(") for node in _marks(module)):
            continue
        for test in module.functions():
            marks = ("second_check", "pytest.mark.slow", "pytest.mark.nightly")
            if not test.name.startswith("test_") or test.name in BENCHMARKED or _is_marked(test, *marks):
                continue
            for call in ast.walk(test):
                if (
                    isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Name)
                    and call.func.id in READERS
                    and call.args
                    and isinstance(call.args[0], ast.Constant)
                    and not (RECORDED / str(call.args[0].value)).exists()
                ):
                    yield (
                        f"{module.name}:{call.lineno}: {call.args[0].value} is not in tests/recorded: "
                        "record it, or mark the test as a second check"
                    )
