"""The files that are checked: each is read and parsed once."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FOLDERS", "Module", "Project", "read_project"]

FOLDERS: Final = ("auditor", "pipelines", "tests", "deploy", "sample-data")
"""Folders whose modules are checked."""

_DOCUMENTS: Final = ("*.md", "docs/**/*.md", "deploy/**/*.md", "tests/**/*.md")
_LITERAL: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"""|' r"'''(?:\\.|[^\\])*?'''|" r'"(?:\\.|[^"\\\n])*"|' r"'(?:\\.|[^'\\\n])*'|" r"#([^\n]*)",
    re.DOTALL,
)
"""A string, or a comment with its text as a group."""


@dataclass(frozen=True)
class Module:
    """A module: its path from the root, and its text."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Yield each function and method, nested ones too."""
        return (node for node in self.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))

    def strings(self) -> Iterator[tuple[int, str]]:
        """Yield line and text of each string constant and docstring."""
        for node in self.nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.lineno, node.value

    def comments(self) -> Iterator[tuple[int, str]]:
        """Yield line and text of each comment."""
        for match in _LITERAL.finditer(self.text):
            if match[1] is not None:
                yield self.text.count("\n", 0, match.start()) + 1, match[1].lstrip("#: ")

    @cached_property
    def values(self) -> list[tuple[int, str]]:
        """Line and text of each string constant that is no docstring."""
        docstrings = {
            id(node.body[0].value)
            for node in self.nodes
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        return [
            (node.lineno, node.value)
            for node in self.nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        ]


@dataclass(frozen=True)
class Project:
    """What is checked."""

    modules: list[Module]
    documents: dict[str, str]
    """Markdown, by its path from the root."""

    def below(self, *folders: str) -> list[Module]:
        """Return the modules of some folders of the root."""
        return [module for module in self.modules if module.name.partition("/")[0] in folders]

    def sources(self) -> list[Module]:
        """Return the modules of the product."""
        return self.below("auditor", "pipelines")

    def named(self, name: str) -> Module | None:
        """Return a module by its path, or None if there is none."""
        return next((module for module in self.modules if module.name == name), None)


def read_project() -> Project:
    """Read every file once."""
    modules = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    documents = sorted({path for pattern in _DOCUMENTS for path in ROOT.glob(pattern)})
    return Project(
        [Module(path.relative_to(ROOT).as_posix(), path.read_text()) for path in modules],
        {path.relative_to(ROOT).as_posix(): path.read_text() for path in documents},
    )
