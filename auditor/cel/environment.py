"""The environment in which an expression is compiled: its variables, types and functions.

`Environment` is cheap to make once its libraries are declared (`Libraries`), so that every schema can have its own. The
compiler is loaded with the first expression: most definitions have no rules.
Source: cel-go cel/env.go, cel/program.go; k8s.io/apiserver pkg/cel/environment/base.go.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from auditor.base.errors import PatternTooSlow
from auditor.cel.cel_errors import CelError, CompileError, GaveUp, Issue
from auditor.cel.declarations import Declarations, Libraries
from auditor.cel.operations import text_memory
from auditor.cel.operations.cost import Cancelled, Tracker
from auditor.cel.run.attributes import Variables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from auditor.cel.cel_types import ObjectType, Type
    from auditor.cel.check.checked import CheckedExpression
    from auditor.cel.run.attributes import ExpressionNode
    from auditor.cel.syntax.ast import ParsedExpression


PER_CALL_LIMIT = 1_000_000
"""Largest cost of one evaluation of a rule."""
_MOST_ISSUES = 100
_LONGEST_LINE = 16_384  # bytes
_WIDE_DOT, _WIDE_CARET = "\uff0e", "\uff3e"


@lru_cache(maxsize=1)
def _standard() -> Libraries:
    from auditor.cel.library.standard import standard  # noqa: PLC0415 - with the first expression

    return Libraries(standard())


class Environment(Declarations):
    """Variables, types and functions, and the compiler of expressions that use them.

    Args:
        variables: Name to type.
        libraries: The functions; CEL's standard library if None.
        object_types: The declared object types that types of variables and fields refer to.
        cross_type_comparisons: Whether the checker accepts ``1 < 1.5``.
        checks_literals: Whether literals that must fail are refused (durations, timestamps, regular expressions), and
            lists and maps of mixed types.
        has_pairs: Whether macros with two variables exist.
    """

    def __init__(
        self,
        variables: Mapping[str, Type],
        libraries: Libraries | None = None,
        object_types: Iterable[ObjectType] = (),
        *,
        cross_type_comparisons: bool = True,
        checks_literals: bool = True,
        has_pairs: bool = True,
    ) -> None:
        from auditor.cel.library.standard import CROSS_TYPE_COMPARISONS  # noqa: PLC0415 - with the first expression

        disabled = frozenset() if cross_type_comparisons else CROSS_TYPE_COMPARISONS
        super().__init__(variables, _standard() if libraries is None else libraries, object_types, disabled)
        self.checks_literals = checks_literals
        self.has_pairs = has_pairs

    def check(self, text: str, rewrite: Callable[[ParsedExpression], None] | None = None) -> CheckedExpression:
        """Parse an expression and check its types and literals.

        Args:
            text: The expression.
            rewrite: Changes its tree before its types are checked.

        Raises:
            CompileError: It is not valid; the text is that of the server behind ``compilation failed: ``.
            CompilerPanic: The server's compiler panics on it.
        """
        from auditor.cel.check.checker import check  # noqa: PLC0415 - with the first expression
        from auditor.cel.syntax.parse import parse  # noqa: PLC0415
        from auditor.cel.validators import validate  # noqa: PLC0415

        parsed, issues = parse(text, pairs=self.has_pairs)
        if issues or parsed is None:
            raise CompileError(display_issues(text, issues), _sorted(issues))
        if rewrite is not None:
            rewrite(parsed)
        checked, issues = check(self, parsed)
        if not issues and self.checks_literals:
            issues = validate(checked)
        if issues:
            raise CompileError(display_issues(text, issues), _sorted(issues))
        return checked

    def program(self, checked: CheckedExpression) -> Program:
        """Prepare a checked expression for evaluation.

        Raises:
            CompileError: A constant part cannot be computed; the text is that of the server behind
                ``program instantiation failed: ``, and there are no issues.
            CompilerPanic: The server's compiler panics on it.
        """
        from auditor.cel.run.interpreter import plan  # noqa: PLC0415 - with the first expression

        return Program(checked, plan(self, checked))

    def compile(self, text: str) -> Program:
        """Do `check` and `program`.

        Raises:
            CompileError: As these do.
        """
        return self.program(self.check(text))


class Program:
    """An expression that can be evaluated.

    Attributes:
        checked: The expression with its types; `checked.type` is the type of the result.
    """

    __slots__ = ("_root", "checked")

    def __init__(self, checked: CheckedExpression, root: ExpressionNode) -> None:
        self.checked = checked
        self._root = root

    def evaluate(
        self, variables: Mapping[str, Any], cost_limit: int = PER_CALL_LIMIT, deadline: float | None = None
    ) -> tuple[Any, int]:
        """Evaluate the expression.

        Args:
            variables: Values by name, see `auditor.cel.cel_values`; a `CelError` is an error wherever it is used.
            cost_limit: Evaluation ends when it has cost more.
            deadline: Time (of `time.thread_time`) at which the evaluation is given up.

        Returns:
            The value, or a `CelError` (a `CostLimitExceeded` beyond the limit, a `GaveUp` beyond the deadline or out of
            memory), and the cost.
        """
        tracker = Tracker(cost_limit, deadline)
        text_memory.begin()
        try:
            value = self._root.run(Variables(variables, tracker))
        except Cancelled as end:
            return end.failure.as_value(), tracker.cost
        except MemoryError:
            return GaveUp("evaluation took too much memory"), tracker.cost
        except PatternTooSlow:
            return GaveUp("evaluation took too long"), tracker.cost
        except RecursionError:
            return CelError("internal error: recursion too deep"), tracker.cost
        return value, tracker.cost


def _sorted(issues: list[Issue]) -> tuple[Issue, ...]:
    return tuple(sorted(issues, key=lambda issue: (issue.line, issue.column)))


def display_issues(text: str, issues: Iterable[Issue]) -> str:
    """Return issues as cel-go prints them: position, line and caret, the first hundred in the order of the text."""
    all_issues = list(issues)
    shown = [_display(text, issue) for issue in _sorted(all_issues[:_MOST_ISSUES])]
    if len(all_issues) > _MOST_ISSUES:
        shown.append(f"{len(all_issues) - _MOST_ISSUES} more errors were truncated")
    return "\n".join(shown)


def _display(text: str, issue: Issue) -> str:
    head = f"ERROR: <input>:{issue.line}:{issue.column}: {issue.text}"
    lines = text.split("\n")
    if not 1 <= issue.line <= len(lines):
        return head
    line = lines[issue.line - 1].replace("\t", " ")
    if len(line.encode("utf-8", "surrogatepass")) > _LONGEST_LINE:
        return head
    column = max(issue.column - 1, 0)
    marks = "".join("." if letter.isascii() else _WIDE_DOT for letter in line[:column])
    caret = "^" if line[column : column + 1].isascii() else _WIDE_CARET
    return f"{head}\n | {line}\n | {marks}{caret}"
