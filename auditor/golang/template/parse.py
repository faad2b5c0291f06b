"""Parses tokens into nodes.

Source: text/template/parse/parse.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.golang.template.errors import TemplateError
from auditor.golang.template.literals import number, unquote
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
from auditor.golang.template.tokens import Token, tokens
from auditor.golang.text import quote

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["NAME", "parse"]

NAME: Final = "output"
"""The name that kubectl gives to the template."""
_DEEPEST: Final = 10_000
_OPERANDS: Final = frozenset(
    ["bool", "character", "complex", "dot", "field", "identifier", "number", "nil", "raw", "string", "variable", "open"]
)


def parse(text: str, functions: Collection[str]) -> dict[str, list[Node]]:
    """Return the templates in a text by name, the main one as `NAME`.

    Raises:
        TemplateError: The text is Go's.
    """
    return _Parser(text, functions).run()


class _Parser:
    """Reads tokens, with a look ahead."""

    def __init__(self, text: str, functions: Collection[str]) -> None:
        self.functions = functions
        self.source = tokens(text)
        self.ahead: list[Token] = []
        self.last = Token("text", "", 0, 1)
        self.line = 1
        self.action_line = 0
        self.depth = 0
        self.loops = 0
        self.names = ["$"]
        self.templates: dict[str, list[Node]] = {}

    # ---- tokens

    def next(self) -> Token:
        """Take a token."""
        token = self.ahead.pop() if self.ahead else self.pull()
        self.line = token.line
        return token

    def pull(self) -> Token:
        self.last = next(self.source, self.last)
        return self.last

    def back(self, *given: Token) -> None:
        """Put tokens back; the first one is read first."""
        self.ahead += reversed(given)

    def peek(self) -> Token:
        token = self.next()
        self.back(token)
        return token

    def next_word(self) -> Token:
        """Take the next token that is not a space."""
        token = self.next()
        while token.kind == "space":
            token = self.next()
        return token

    def peek_word(self) -> Token:
        token = self.next_word()
        self.back(token)
        return token

    def fail(self, text: str) -> TemplateError:
        return TemplateError(f"template: {NAME}:{self.line}: {text}")

    def unexpected(self, token: Token, context: str) -> TemplateError:
        if token.kind != "error":
            return self.fail(f"unexpected {token} in {context}")
        extra = ""
        if self.action_line not in (0, token.line):
            started = f"started at {NAME}:{self.action_line}"
            extra = f" {started}" if token.text.endswith(" action") else f" in action {started}"
        return self.fail(f"{token}{extra}")

    def expect(self, kinds: tuple[str, ...], context: str) -> Token:
        token = self.next_word()
        if token.kind not in kinds:
            raise self.unexpected(token, context)
        return token

    def unquoted(self, token: Token) -> str:
        try:
            return unquote(token.text)
        except TemplateError as error:
            raise self.fail(str(error)) from None

    # ---- templates

    def run(self) -> dict[str, list[Node]]:
        root: list[Node] = []
        while self.peek().kind != "eof":
            if self.peek().kind == "left":
                opening = self.next()
                word = self.next_word()
                if word.kind == "define":
                    self.definition()
                    continue
                self.back(opening, word)
            node = self.text_or_action()
            if isinstance(node, Jump) and node.kind in ("end", "else"):
                raise self.fail(f"unexpected {node}")
            root.append(node)
        self.add(NAME, root)
        return self.templates

    def definition(self) -> None:
        context = "define clause"
        name = self.unquoted(self.expect(("string", "raw"), context))
        self.expect(("right",), context)
        self.own_template(name, context)

    def own_template(self, name: str, context: str) -> None:
        """Read the body of a template that is defined inside another one."""
        outer = self.names, self.loops, self.action_line, self.depth
        self.names, self.loops, self.action_line, self.depth = ["$"], 0, 0, 0
        body, end = self.items()
        if end.kind != "end":
            raise self.fail(f"unexpected {end} in {context}")
        self.names, self.loops, self.action_line, self.depth = outer
        self.add(name, body)

    def add(self, name: str, body: list[Node]) -> None:
        before = self.templates.get(name)
        if before is None or _is_empty(before):
            self.templates[name] = body
        elif not _is_empty(body):
            raise self.fail(f"template: multiple definition of template {quote(name)}")

    def items(self) -> tuple[list[Node], Jump]:
        """Read up to the end of a body; return what ended it."""
        body: list[Node] = []
        while self.peek_word().kind != "eof":
            node = self.text_or_action()
            if isinstance(node, Jump) and node.kind in ("end", "else"):
                return body, node
            body.append(node)
        raise self.fail("unexpected EOF")

    def text_or_action(self) -> Node:
        token = self.next_word()
        if token.kind == "text":
            return Text(token.at, token.text)
        if token.kind != "left":
            raise self.unexpected(token, "input")
        self.action_line = token.line
        node = self.action()
        self.action_line = 0
        return node

    # ---- actions

    def action(self) -> Node:
        token = self.next_word()
        if token.kind in ("if", "range", "with"):
            return self.branch(token.kind)
        if token.kind in ("break", "continue"):
            return self.jump(token)
        if token.kind == "else":
            follows = self.peek_word()
            if follows.kind not in ("if", "with"):
                follows = self.expect(("right",), "else")
            return Jump(follows.at, "else")
        if token.kind == "end":
            return Jump(self.expect(("right",), "end").at, "end")
        if token.kind == "template":
            return self.include()
        if token.kind == "block":
            return self.block()
        self.back(token)
        return Action(token.at, self.pipeline("command", "right"))

    def jump(self, token: Token) -> Node:
        after = self.next_word()
        if after.kind != "right":
            raise self.unexpected(after, f"{{{{{token.kind}}}}}")
        if not self.loops:
            raise self.fail(f"{{{{{token.kind}}}}} outside {{{{range}}}}")
        return Jump(token.at, token.kind)

    def branch(self, kind: str) -> Branch:
        known = len(self.names)
        pipe = self.pipeline(kind, "right")
        self.loops += kind == "range"
        body, end = self.items()
        self.loops -= kind == "range"
        otherwise: list[Node] | None = None
        if end.kind == "else":
            if kind in ("if", "with") and self.peek().kind == kind:
                self.next()
                otherwise = [self.branch(kind)]
            else:
                otherwise, end = self.items()
                if end.kind != "end":
                    raise self.fail(f"expected end; found {end}")
        del self.names[known:]
        return Branch(pipe.at, kind, pipe, body, otherwise)

    def template_name(self, context: str) -> tuple[Token, str]:
        token = self.expect(("string", "raw"), context)
        return token, self.unquoted(token)

    def include(self) -> Include:
        context = "template clause"
        token, name = self.template_name(context)
        follows = self.next_word()
        if follows.kind == "right":
            return Include(token.at, name, None)
        self.back(follows)
        return Include(token.at, name, self.pipeline(context, "right"))

    def block(self) -> Include:
        context = "block clause"
        token, name = self.template_name(context)
        pipe = self.pipeline(context, "right")
        self.own_template(name, context)
        return Include(token.at, name, pipe)

    # ---- pipelines

    def pipeline(self, context: str, end: str) -> Pipe:
        pipe = Pipe(self.peek_word().at)
        self.declarations(pipe, context)
        while True:
            token = self.next_word()
            if token.kind == end:
                self.check(pipe, context)
                return pipe
            if token.kind not in _OPERANDS:
                raise self.unexpected(token, context)
            self.back(token)
            pipe.commands.append(self.command())

    def declarations(self, pipe: Pipe, context: str) -> None:
        while self.peek_word().kind == "variable":
            name = self.next_word()
            after = self.next()
            self.back(after)
            mark = self.peek_word()
            if mark.kind in ("assign", "declare"):
                self.next_word()
                pipe.assigns = mark.kind == "assign"
                self.declare(pipe, name)
                return
            if (mark.kind, mark.text) != ("char", ","):
                self.back(name, *([after] if after.kind == "space" else []))
                return
            self.next_word()
            self.declare(pipe, name)
            if context != "range" or len(pipe.variables) >= 2:
                raise self.fail(f"too many declarations in {context}")
            if self.peek_word().kind not in ("variable", "right", "close"):
                raise self.fail("range can only initialize variables")

    def declare(self, pipe: Pipe, name: Token) -> None:
        pipe.variables.append(Variable(name.at, (name.text,)))
        self.names.append(name.text)

    def check(self, pipe: Pipe, context: str) -> None:
        if not pipe.commands:
            raise self.fail(f"missing value for {context}")
        for stage, command in enumerate(pipe.commands[1:], 2):
            if isinstance(command.args[0], Constant):
                raise self.fail(f"non executable command in pipeline stage {stage}")

    def command(self) -> Command:
        command = Command(self.peek_word().at)
        while True:
            self.peek_word()
            operand = self.operand()
            if operand is not None:
                command.args.append(operand)
            token = self.next()
            if token.kind == "space":
                continue
            if token.kind in ("right", "close"):
                self.back(token)
            elif token.kind != "pipe":
                raise self.unexpected(token, "operand")
            break
        if not command.args:
            raise self.fail("empty command")
        return command

    def operand(self) -> Node | None:
        node = self.term()
        if node is None or self.peek().kind != "field":
            return node
        at = self.peek().at
        names: list[str] = []
        while self.peek().kind == "field":
            names.append(self.next().text[1:])
        if isinstance(node, Field):
            return Field(at, (*node.names, *names))
        if isinstance(node, Variable):
            return Variable(at, (*node.names, *names))
        if isinstance(node, Constant):
            raise self.fail(f"unexpected . after term {quote(str(node))}")
        return Chain(at, node, tuple(names))

    def term(self) -> Node | None:
        token = self.next_word()
        if token.kind == "identifier":
            if token.text not in self.functions:
                raise self.fail(f"function {quote(token.text)} not defined")
            return Identifier(token.at, token.text)
        if token.kind == "variable":
            if token.text not in self.names:
                raise self.fail(f"undefined variable {quote(token.text)}")
            return Variable(token.at, (token.text,))
        if token.kind == "field":
            return Field(token.at, (token.text[1:],))
        if token.kind == "open":
            return self.parenthesized()
        made = self.constant(token)
        if made is None:
            self.back(token)
        return made

    def parenthesized(self) -> Pipe:
        if self.depth >= _DEEPEST:
            raise self.fail("max expression depth exceeded")
        self.depth += 1
        pipe = self.pipeline("parenthesized pipeline", "close")
        self.depth -= 1
        return pipe

    def constant(self, token: Token) -> Constant | None:
        kind = token.kind
        value: Any = None
        if kind in ("character", "complex", "number"):
            try:
                value, kind = number(token.text, kind), "number"
            except TemplateError as error:
                raise self.fail(str(error)) from None
        elif kind in ("string", "raw"):
            value, kind = self.unquoted(token), "string"
        elif kind == "bool":
            value = token.text == "true"
        elif kind not in ("dot", "nil"):
            return None
        return Constant(token.at, kind, value, token.text)


def _is_empty(body: list[Node]) -> bool:
    return all(isinstance(node, Text) and not node.text.strip(" \t\n\v\f\r\x85\xa0") for node in body)
