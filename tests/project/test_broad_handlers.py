"""A handler of any exception raises it again, reports it or counts it; none loses it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SUPPRESSES = {
    ("auditor/shards/shard_keys.py", "broken"): "the names of a value that is named as lost",
    ("pipelines/engines/ray.py", "_forget"): "tasks of a run that ends with another error",
}
"""(file, function) of a `suppress(Exception)`, and what it is for: nothing that a result depends on."""
BROAD = {"Exception", "BaseException"}


def handlers(tree: ast.AST, function: str = "") -> Iterator[tuple[str, ast.ExceptHandler]]:
    """Yield the handlers of any exception, each with the function that it is in."""
    for node in ast.iter_child_nodes(tree):
        name = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
        if isinstance(node, ast.ExceptHandler):
            caught = {one.id for one in ast.walk(node.type) if isinstance(one, ast.Name)} if node.type else BROAD
            if caught & BROAD:
                yield function, node
        yield from handlers(node, name)


def keeps_it(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler raises, uses what it caught (reports or counts it), or prints the trace."""
    for node in (one for line in handler.body for one in ast.walk(line)):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Name) and node.id == handler.name):
            return True
        if isinstance(node, ast.Attribute) and node.attr in ("print_exc", "format_exc"):
            return True
    return False


def losing(path: Path) -> set[tuple[str, str]]:
    name = path.relative_to(ROOT).as_posix()
    return {(name, function) for function, one in handlers(ast.parse(path.read_text())) if not keeps_it(one)}


def test_no_handler_loses_what_it_catches() -> None:
    sources = [path for name in ("auditor", "pipelines") for path in sorted((ROOT / name).rglob("*.py"))]
    assert [one for path in sources for one in losing(path)] == []


def suppressing(path: Path) -> set[tuple[str, str]]:
    """Return (file, function) of each `suppress` of any exception."""
    name, tree = path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())
    return {
        (name, function.name)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and ast.unparse(call.func).rpartition(".")[2] == "suppress"
        and {one.id for word in call.args for one in ast.walk(word) if isinstance(one, ast.Name)} & BROAD
    }


def test_what_suppresses_any_exception_is_listed() -> None:
    sources = [path for name in ("auditor", "pipelines") for path in sorted((ROOT / name).rglob("*.py"))]
    assert {one for path in sources for one in suppressing(path)} == SUPPRESSES.keys()


def test_a_handler_that_loses_an_exception_is_found() -> None:
    def kept(body: str) -> list[bool]:
        source = f"def f():\n    try:\n        g()\n    {body}\n"
        return [keeps_it(one) for _, one in handlers(ast.parse(source))]

    assert kept("except Exception:\n        return None") == [False]
    assert kept("except:\n        pass") == [False]
    assert kept("except (OSError, BaseException) as error:\n        h(error)") == [True]
    assert kept("except Exception:\n        undo()\n        raise") == [True]
    assert kept("except OSError:\n        pass") == []
