"""The nodes of a template. `str` of a node is its template text, as errors print it.

Source: text/template/parse/node.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from auditor.golang.text import quote

__all__ = [
    "Action", "Branch", "Chain", "Command", "Constant", "Field", "Identifier", "Include", "Jump", "Node", "Pipe",
    "Text", "Variable",
]  # fmt: skip


@dataclass(slots=True)
class Node:
    """A part of a template, with its position in the text."""

    at: int


@dataclass(slots=True)
class Text(Node):
    """Text that is printed unchanged."""

    text: str


@dataclass(slots=True)
class Constant(Node):
    """A dot, nil, a boolean, a number or a string; `kind` is dot, nil, bool, number or string.

    Attributes:
        value: An int or a float for numbers.
        text: As written.
    """

    kind: str
    value: Any
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(slots=True)
class Field(Node):
    """``.a.b``."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return "".join(f".{name}" for name in self.names)


@dataclass(slots=True)
class Variable(Node):
    """``$x`` or ``$x.a.b``; the first name has the dollar sign."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.names)


@dataclass(slots=True)
class Identifier(Node):
    """The name of a function."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(slots=True)
class Chain(Node):
    """Fields of the result of a pipeline in parentheses, or of a function."""

    inner: Node
    names: tuple[str, ...]

    def __str__(self) -> str:
        inner = f"({self.inner})" if isinstance(self.inner, Pipe) else str(self.inner)
        return inner + "".join(f".{name}" for name in self.names)


@dataclass(slots=True)
class Command(Node):
    """A function or value, and its arguments."""

    args: list[Node] = field(default_factory=list)

    def __str__(self) -> str:
        return " ".join(f"({arg})" if isinstance(arg, Pipe) else str(arg) for arg in self.args)


@dataclass(slots=True)
class Pipe(Node):
    """Commands that each take the result of the previous one; the last result is assigned to variables."""

    commands: list[Command] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    assigns: bool = False

    def __str__(self) -> str:
        names = ", ".join(map(str, self.variables))
        lead = f"{names} {'=' if self.assigns else ':='} " if names else ""
        return lead + " | ".join(map(str, self.commands))


@dataclass(slots=True)
class Action(Node):
    """A pipeline whose result is printed."""

    pipe: Pipe

    def __str__(self) -> str:
        return f"{{{{{self.pipe}}}}}"


@dataclass(slots=True)
class Branch(Node):
    """``if``, ``range`` or ``with``."""

    kind: str
    pipe: Pipe
    body: list[Node]
    otherwise: list[Node] | None = None


@dataclass(slots=True)
class Jump(Node):
    """``break`` or ``continue``; the parser also uses it for ``end`` and ``else``."""

    kind: str

    def __str__(self) -> str:
        return f"{{{{{self.kind}}}}}"


@dataclass(slots=True)
class Include(Node):
    """A call of another template: ``template`` and ``block``."""

    name: str
    pipe: Pipe | None

    def __str__(self) -> str:
        return f"{{{{template {quote(self.name)}{f' {self.pipe}' if self.pipe is not None else ''}}}}}"
