"""Executes a template.

Source: text/template/exec.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NoReturn

from auditor.golang.printf import Int, go_bytes
from auditor.golang.template.errors import CallError, TemplateError
from auditor.golang.template.functions import FUNCTIONS, NOTHING, Boxed, is_true, type_of, unboxed
from auditor.golang.template.nodes import (
    Action,
    Branch,
    Chain,
    Command,
    Constant,
    Field,
    Identifier,
    Include,
    Jump,
    Node,
    Pipe,
    Text,
    Variable,
)  # fmt: skip
from auditor.golang.template.parse import NAME, parse
from auditor.golang.text import display, quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["GoTemplate", "compile_go_template"]

_DEEPEST: Final = 100
"""How many templates may be nested here; Go allows 100,000."""
_ABSENT: Final = object()
"""There is no result of a previous command."""


@dataclass(frozen=True, slots=True)
class GoTemplate:
    """A parsed template; `compile_go_template` makes it."""

    text: str
    templates: dict[str, list[Node]]

    def execute(self, data: Any, *, allow_missing: bool = True) -> tuple[str, TemplateError | None]:
        """Return the text of the template for a JSON value, and the error that ended it early, if any.

        Args:
            data: A JSON value.
            allow_missing: A missing key is not an error.
        """
        run = _Run(self, allow_missing=allow_missing)
        try:
            run.template(NAME, data)
        except TemplateError as error:
            return "".join(run.out), error
        return "".join(run.out), None


@lru_cache(maxsize=64)
def compile_go_template(text: str) -> GoTemplate:
    """Parse a template.

    Raises:
        TemplateError: The text is Go's.
    """
    return GoTemplate(text, parse(text, FUNCTIONS))


class _Jumped(Exception):
    """``break`` or ``continue``."""


class _Run:
    """One execution."""

    def __init__(self, template: GoTemplate, *, allow_missing: bool) -> None:
        self.source = template
        self.allow_missing = allow_missing
        self.out: list[str] = []
        self.node: Node = Text(0, "")
        self.name = NAME
        self.variables: list[list[Any]] = []
        self.depth = 0

    def fail(self, text: str) -> NoReturn:
        before = go_bytes(self.source.text[: self.node.at])
        line = before.count(b"\n") + 1
        column = len(before) - (before.rfind(b"\n") + 1)
        place = f"{NAME}:{line}:{column}"
        raise TemplateError(f"template: {place}: executing {quote(self.name)} at <{self.node}>: {text}")

    # ---- nodes

    def template(self, name: str, dot: Any) -> None:
        outer = self.name, self.variables
        self.name, self.variables = name, [["$", dot]]
        self.walk(self.source.templates[name], dot)
        self.name, self.variables = outer

    def walk(self, body: list[Node], dot: Any) -> None:
        for node in body:
            self.node = node
            if isinstance(node, Text):
                self.out.append(node.text)
            elif isinstance(node, Action):
                value = self.pipe(node.pipe, dot)
                if not node.pipe.variables:
                    self.node = node
                    self.out.append("<no value>" if value is NOTHING else display(value))
            elif isinstance(node, Branch):
                mark = len(self.variables)
                if node.kind == "range":
                    self.loop(node, dot)
                else:
                    self.choice(node, dot)
                del self.variables[mark:]
            elif isinstance(node, Include):
                self.include(node, dot)
            elif isinstance(node, Jump):
                raise _Jumped(node.kind)

    def choice(self, node: Branch, dot: Any) -> None:
        value = self.pipe(node.pipe, dot)
        if is_true(value):
            self.walk(node.body, value if node.kind == "with" else dot)
        elif node.otherwise is not None:
            self.walk(node.otherwise, dot)

    def loop(self, node: Branch, dot: Any) -> None:
        value = self.pipe(node.pipe, dot)
        variables = node.pipe.variables
        mark = len(self.variables)
        ran = False
        for index, element in self.elements(value, len(variables)):
            ran = True
            named = [element] if len(variables) == 1 else [index, element]
            for at, (variable, each) in enumerate(zip(variables, named, strict=False)):
                if node.pipe.assigns:
                    self.assign(variable.names[0], each)
                else:
                    self.variables[mark - len(variables) + at][1] = each
            try:
                self.walk(node.body, element)
            except _Jumped as jumped:
                if jumped.args[0] == "break":
                    return
            finally:
                del self.variables[mark:]
        if not ran and node.otherwise is not None:
            self.walk(node.otherwise, dot)

    def elements(self, value: Any, variables: int) -> Iterator[tuple[Any, Any]]:
        if type(value) is list:
            yield from ((Int(at), Boxed(each)) for at, each in enumerate(value))
        elif type(value) is dict:
            yield from ((key, Boxed(value[key])) for key in sorted(value))
        elif isinstance(value, int) and type(value) is not bool:
            if variables > 1:
                self.fail(f"can't use {value} to iterate over more than one variable")
            yield from ((NOTHING, type(value)(each)) for each in range(value))
        elif value is not NOTHING:
            self.fail(f"range can't iterate over {display(value)}")

    def include(self, node: Include, dot: Any) -> None:
        if node.name not in self.source.templates:
            self.fail(f"template {quote(node.name)} not defined")
        if self.depth == _DEEPEST:
            self.fail(f"exceeded maximum template depth ({_DEEPEST})")
        value = NOTHING if node.pipe is None else self.pipe(node.pipe, dot)
        self.depth += 1
        self.template(node.name, value)
        self.depth -= 1

    # ---- pipelines

    def pipe(self, pipe: Pipe, dot: Any) -> Any:
        self.node = pipe
        value: Any = _ABSENT
        for command in pipe.commands:
            value = unboxed(self.command(command, dot, value))
        for variable in pipe.variables:
            if pipe.assigns:
                self.assign(variable.names[0], value)
            else:
                self.variables.append([variable.names[0], value])
        return value

    def assign(self, name: str, value: Any) -> None:
        for variable in reversed(self.variables):
            if variable[0] == name:
                variable[1] = value
                return
        self.fail(f"undefined variable: {name}")

    def variable(self, name: str) -> Any:
        for variable in reversed(self.variables):
            if variable[0] == name:
                return variable[1]
        return self.fail(f"undefined variable: {name}")

    def command(self, command: Command, dot: Any, final: Any) -> Any:
        first = command.args[0]
        has_args = len(command.args) > 1 or final is not _ABSENT
        if isinstance(first, Identifier):
            return self.call(first, command, command.args[1:], dot, final)
        if isinstance(first, (Field, Chain)):
            return self.fields(first, dot, has_args=has_args)
        if isinstance(first, Variable) and len(first.names) > 1:
            return self.fields(first, dot, has_args=has_args)
        if not isinstance(first, Pipe):
            self.node = first
        if has_args:
            self.fail(f"can't give argument to non-function {first}")
        if isinstance(first, Constant) and first.kind == "nil":
            self.fail("nil is not a command")
        return self.plain(first, dot)

    def plain(self, node: Node, dot: Any) -> Any:
        """Return the value of a node that has no arguments."""
        if isinstance(node, Pipe):
            return self.pipe(node, dot)
        self.node = node
        if isinstance(node, Identifier):
            return self.call(node, node, [], dot, _ABSENT)
        if isinstance(node, Variable) and len(node.names) == 1:
            return self.variable(node.names[0])
        if isinstance(node, (Field, Chain, Variable)):
            return self.fields(node, dot, has_args=False)
        if not isinstance(node, Constant):
            self.fail(f"can't evaluate command {quote(str(node))}")
        if node.kind == "dot":
            return dot
        if node.kind == "number" and type(node.value) is int and not -(2**63) <= node.value < 2**63:
            self.fail(f"{node.text} overflows int")
        return Int(node.value) if node.kind == "number" and type(node.value) is int else node.value

    def fields(self, node: Field | Chain | Variable, dot: Any, *, has_args: bool) -> Any:
        self.node = node
        value, names = dot, node.names
        if isinstance(node, Variable):
            value, names = self.variable(names[0]), names[1:]
        elif isinstance(node, Chain):
            if isinstance(node.inner, Constant) and node.inner.kind == "nil":
                self.fail(f"indirection through explicit nil in {node}")
            value = self.plain(node.inner, dot)
        for at, name in enumerate(names):
            value = self.field(value, name, has_args=has_args and at == len(names) - 1)
        return value

    def field(self, receiver: Any, name: str, *, has_args: bool) -> Any:
        if receiver is NOTHING:
            if not self.allow_missing:
                self.fail(f"nil data; no entry for key {quote(name)}")
            return NOTHING
        static = type_of(receiver)
        inner = receiver.value if type(receiver) is Boxed else receiver
        if inner is None:
            self.fail(f"nil pointer evaluating {static}.{name}")
        if type(inner) is not dict:
            self.fail(f"can't evaluate field {name} in type {static}")
        if has_args:
            self.fail(f"{name} is not a method but has arguments")
        if name in inner:
            return Boxed(inner[name])
        if not self.allow_missing:
            self.fail(f"map has no entry for key {quote(name)}")
        return NOTHING

    # ---- functions

    def call(self, word: Identifier, place: Node, args: Sequence[Node], dot: Any, final: Any) -> Any:
        self.node = word
        name, function = word.name, FUNCTIONS[word.name]
        given = len(args) + (final is not _ABSENT)
        wanted = len(function.fixed)
        if function.rest and given < wanted:
            self.fail(f"wrong number of args for {name}: want at least {wanted} got {len(args)}")
        if not function.rest and given != wanted:
            self.fail(f"wrong number of args for {name}: want {wanted} got {given}")
        if name in ("and", "or"):
            return self.logical(name, args, dot, final)
        types = [*function.fixed, *[function.rest] * (given - wanted)]
        values = [self.argument(arg, kind, dot) for arg, kind in zip(args, types, strict=False)]
        if final is not _ABSENT:
            values.append(self.checked(final, types[-1]))
        try:
            return function.call(*values)
        except CallError as error:
            self.node = place
            text = str(error).replace("{name}", str(args[0]) if args else display(final))
            return self.fail(f"error calling {name}: {text}")

    def logical(self, name: str, args: Sequence[Node], dot: Any, final: Any) -> Any:
        value: Any = NOTHING
        for arg in args:
            value = self.argument(arg, "value", dot)
            if is_true(value) is (name == "or"):
                return value
        return value if final is _ABSENT else final

    def argument(self, node: Node, kind: str, dot: Any) -> Any:
        self.node = node
        if isinstance(node, Constant) and node.kind == "nil":
            if kind == "string":
                self.fail("cannot assign nil to string")
            return NOTHING
        if isinstance(node, Constant) and node.kind != "dot":
            if kind == "string" and node.kind != "string":
                self.fail(f"expected string; found {node}")
            return self.plain(node, dot)
        return self.checked(self.plain(node, dot), kind)

    def checked(self, value: Any, kind: str) -> Any:
        """Return a value converted to the type of a parameter."""
        if kind != "string":
            return value
        if value is NOTHING:
            self.fail("invalid value; expected string")
        inner = value if type(value) is Boxed and value.value is None else unboxed(value)
        if type(inner) is not str:
            self.fail(f"wrong type for value; expected string; got {type_of(inner)}")
        return inner
