"""What goes wrong in the CEL language: errors of an evaluation (values) and issues of a compilation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.golang.errorf import as_format

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

__all__ = [
    "COST_LIMIT_EXCEEDED",
    "CelError",
    "CompileError",
    "CostLimitExceeded",
    "GaveUp",
    "Issue",
    "errors_as_formats",
]

COST_LIMIT_EXCEEDED = "operation cancelled: actual cost limit exceeded"


class CelError(Exception):
    """A runtime error of CEL, in cel-go's words.

    Raised by the functions of the libraries, held as a value by the interpreter: CEL's logical operators absorb errors,
    and the cost of a call whose argument is an error is counted as any other.

    Args:
        text: What cel-go prints, e.g. ``no such key: a``.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def as_value(self) -> Self:
        """Return it as something to hold: without the frames it was raised through, which hold it and all they saw."""
        return self.with_traceback(None)

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, CelError) and self.text == other.text

    def __hash__(self) -> int:
        return hash((type(self), self.text))


class CostLimitExceeded(CelError):
    """The evaluation was cancelled because its cost passed the limit; never absorbed."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(COST_LIMIT_EXCEEDED)


class GaveUp(CelError):
    """The evaluation took too long or too much memory for us, where the server might have had a result."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Issue:
    """One complaint of the compiler.

    Attributes:
        line: From 1.
        column: From 1, in code points.
        text: The complaint without position.
    """

    line: int
    column: int
    text: str


class CompileError(Exception):
    """A text that is no valid expression in its environment.

    Args:
        text: The whole text as cel-go prints it: issues with source line and caret, or one plain line when a constant
            part of the expression could not be computed.
        issues: The issues, in the order of the text; empty for constant parts that could not be computed.
    """

    def __init__(self, text: str, issues: tuple[Issue, ...] = ()) -> None:
        super().__init__(text, issues)
        self.text = text
        self.issues = issues

    def __str__(self) -> str:
        return self.text


def errors_as_formats(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose errors read as before `changes.PERCENTS_IN_ERRORS`."""

    def called(*args: Any) -> Any:
        try:
            return call(*args)
        except CelError as error:
            raise CelError(as_format(error.text)) from None

    return called
