"""Errors of CEL: errors of an evaluation (which are values) and issues of a compilation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self


PANIC = "panic: "
"""The beginning of the text of a `CompilerPanic`."""
COST_LIMIT_EXCEEDED = "operation cancelled: actual cost limit exceeded"


class CelError(Exception):
    """A runtime error of CEL, with cel-go's message.

    Functions of the libraries raise it, and the interpreter holds it as a value: CEL's logical operators absorb errors,
    and a call with an error as argument costs as much as any other.

    Args:
        text: cel-go's message, e.g. ``no such key: a``.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def as_value(self) -> Self:
        """Return the error as a value: without its traceback, whose frames refer to the error and to other objects."""
        return self.with_traceback(None)

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, CelError) and self.text == other.text

    def __hash__(self) -> int:
        return hash((type(self), self.text))


class CostLimitExceeded(CelError):
    """The evaluation was cancelled because its cost exceeded the limit; never absorbed."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(COST_LIMIT_EXCEEDED)


class GaveUp(CelError):
    """The evaluation took too much time or memory for us; the server might have a result."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Issue:
    """One issue of the compiler.

    Attributes:
        line: From 1.
        column: From 1, in code points.
        text: The message without position.
    """

    line: int
    column: int
    text: str


class CompileError(Exception):
    """A text that is not a valid expression in its environment.

    Args:
        text: The message as cel-go prints it: issues with source line and caret, or one line if a constant part of the
            expression could not be computed.
        issues: The issues, in the order of the text; empty for constant parts that could not be computed.
    """

    def __init__(self, text: str, issues: tuple[Issue, ...] = ()) -> None:
        super().__init__(text, issues)
        self.text = text
        self.issues = issues

    def __str__(self) -> str:
        return self.text


class CompilerPanic(Exception):
    """An expression on which the server's compiler panics: the server closes the connection of the request.

    Args:
        text: Go's text, e.g. ``runtime error: index out of range [0] with length 0``.
    """

    def __init__(self, text: str) -> None:
        super().__init__(f"{PANIC}{text}")


_VERB = re.compile(r"%[#0+\- ]*(?P<width>\*|[0-9]*)(?:\.(?P<precision>\*|[0-9]*))?(?P<verb>.?)", re.DOTALL)


def _as_format(text: str) -> str:
    """Return the text that `fmt.Errorf(text)` makes: each verb is one whose operand is missing.

    Source: Go fmt/print.go (doPrintf).
    """
    return _VERB.sub(_missing, text)


def _missing(directive: re.Match[str]) -> str:
    verb = directive["verb"]
    bad_width = "%!(BADWIDTH)" if directive["width"] == "*" else ""
    stars = bad_width + ("%!(BADPREC)" if directive["precision"] == "*" else "")
    if not verb:
        return f"{stars}%!(NOVERB)"
    return f"{stars}%" if verb == "%" else f"{stars}%!{verb}(MISSING)"


def errors_as_formats(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose errors read as before `changes.PERCENTS_IN_ERRORS`."""

    def called(*args: Any) -> Any:
        try:
            return call(*args)
        except CelError as error:
            raise CelError(_as_format(error.text)) from None

    return called


def syntax_error(text: str) -> str:
    """Return the message for a text that is no expression; read as a format before `changes.PERCENTS_IN_ERRORS`."""
    message = f"Syntax error: {text}"
    return message if changes.PERCENTS_IN_ERRORS.holds else _as_format(message)
