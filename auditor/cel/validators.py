"""Checks of the server beyond types: literals that must fail, and literals of mixed types.

Each check looks at one checked expression and returns issues. Source: cel-go cel/validator.go, ext/formatting.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.cel.check.format_check import check_format
from auditor.cel.errors import CelError, Issue
from auditor.cel.operations.conversions import to_duration, to_timestamp
from auditor.cel.syntax.ast import Call, Expr, ListLiteral, Literal, MapLiteral, children, descendants
from auditor.cel.types import Kind, Type
from auditor.golang.regex.compiled import GoRegexError, compile_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.cel.check.checked import CheckedExpression

__all__ = ["validate"]

_MIXED_LITERALS_ALLOWED_IN = "format"


def validate(checked: CheckedExpression) -> list[Issue]:
    """Return the issues of the literals of an expression."""
    found: list[Issue] = []
    nodes = list(descendants(checked.parsed.root))
    for node_id, text in (*_bad_arguments(nodes), *_mixed(checked), *check_format(checked, nodes)):
        found.append(Issue(*checked.parsed.location(node_id), text))
    return found


def _is_regex(value: object) -> bool:
    try:
        compile_pattern(str(value))
    except GoRegexError:
        return False
    return True


def _converts(convert: Callable[[object], object]) -> Callable[[object], bool]:
    def succeeds(value: object) -> bool:
        try:
            convert(value)
        except CelError:
            return False
        return True

    return succeeds


_ARGUMENTS: tuple[tuple[str, Callable[[object], bool]], ...] = (
    ("duration", _converts(to_duration)),
    ("timestamp", _converts(to_timestamp)),
    ("matches", _is_regex),
)


def _bad_arguments(nodes: list[Expr]) -> Iterator[tuple[int, str]]:
    for name, is_good in _ARGUMENTS:
        for node in nodes:
            if isinstance(node, Call) and node.function == name and node.args:
                arg = node.args[0]
                if isinstance(arg, Literal) and not is_good(arg.value):
                    yield arg.id, f"invalid {name} argument"


def _mixed(checked: CheckedExpression) -> Iterator[tuple[int, str]]:
    """Yield items of lists and maps whose type is not that of the first; arguments of ``format`` may be mixed."""
    literals = list(_outside_format(checked.parsed.root))
    for literal in literals:
        if isinstance(literal, ListLiteral):
            items = [
                (element.id, _item_type(checked, element, optional=index in literal.optional))
                for index, element in enumerate(literal.elements)
            ]
            yield from _first_mismatch(items)
    for literal in literals:
        if isinstance(literal, MapLiteral) and literal.entries:
            keys = [(entry.key.id, checked.types[entry.key.id]) for entry in literal.entries]
            values = [
                (entry.value.id, _item_type(checked, entry.value, optional=entry.optional)) for entry in literal.entries
            ]
            for (key_id, key), (value_id, value) in zip(keys, values, strict=True):
                if not _equivalent(keys[0][1], key):
                    yield key_id, _mismatch(keys[0][1], key)
                if not _equivalent(values[0][1], value):
                    yield value_id, _mismatch(values[0][1], value)


def _outside_format(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Call) and expr.function == _MIXED_LITERALS_ALLOWED_IN:
        return
    for child in children(expr):
        yield from _outside_format(child)
    yield expr


def _item_type(checked: CheckedExpression, expr: Expr, *, optional: bool) -> Type:
    kind = checked.types[expr.id]
    return kind.parameters[0] if optional and kind.parameters else kind


def _first_mismatch(items: list[tuple[int, Type]]) -> Iterator[tuple[int, str]]:
    for node_id, kind in items:
        if not _equivalent(items[0][1], kind):
            yield node_id, _mismatch(items[0][1], kind)
            return


def _mismatch(expected: Type, found: Type) -> str:
    return f"expected type '{expected}' but found '{found}'"


def _equivalent(left: Type, right: Type) -> bool:
    """Return whether two types are the same, apart from the names of type parameters."""
    return (
        left.kind is right.kind
        and (left.kind is Kind.PARAM or left.name == right.name)
        and len(left.parameters) == len(right.parameters)
        and all(map(_equivalent, left.parameters, right.parameters))
    )
