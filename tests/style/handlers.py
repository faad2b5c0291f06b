"""A handler of any exception raises it again, reports it or counts it; none loses it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.style.files import Module, Project

__all__ = ["handlers_lose_nothing"]

SUPPRESSES: Final = {
    ("auditor/shards/shard_keys.py", "broken"): "the names of a value that is named as lost",
    ("pipelines/engines/ray.py", "_forget"): "tasks of a run that ends with another error",
    ("pipelines/run/objects/read_ahead.py", "_read"): "rows that the process that answers reads again",
}
"""(file, function) of a `suppress(Exception)`, and what it is for: nothing that a result depends on."""
BROAD: Final = {"Exception", "BaseException"}


def handlers_lose_nothing(project: Project) -> Iterator[str]:
    """No handler of any exception loses it; what suppresses any exception is listed."""
    suppressed = set()
    for module in project.sources():
        for node in module.nodes:
            if isinstance(node, ast.ExceptHandler) and _is_broad(node) and not _keeps_it(node):
                yield f"{module.name}:{node.lineno}: any exception is lost: raise it, report it, count it, or catch fewer"
        for function, call in suppressing(module):
            suppressed.add((module.name, function))
            if (module.name, function) not in SUPPRESSES:
                yield f"{module.name}:{call.lineno}: {function} suppresses any exception: name the exceptions"
    for name, function in sorted(SUPPRESSES.keys() - suppressed):
        yield f"tests/style/handlers.py:1: {function} of {name} suppresses nothing: remove it from the list"


def _is_broad(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or bool(_names(handler.type) & BROAD)


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _keeps_it(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler raises, uses what it caught (reports or counts it), or prints the trace."""
    for node in (each for line in handler.body for each in ast.walk(line)):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Name) and node.id == handler.name):
            return True
        if isinstance(node, ast.Attribute) and node.attr in ("print_exc", "format_exc"):
            return True
    return False


def suppressing(module: Module) -> Iterator[tuple[str, ast.Call]]:
    """Yield each `suppress` of any exception, with the functions that it is in."""
    if "suppress" not in module.text:
        return
    for function in module.functions():
        for call in ast.walk(function):
            if (
                isinstance(call, ast.Call)
                and ast.unparse(call.func).rpartition(".")[2] == "suppress"
                and any(_names(word) & BROAD for word in call.args)
            ):
                yield function.name, call
