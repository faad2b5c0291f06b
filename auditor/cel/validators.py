"""Checks of the server beyond types: literals that must fail, and literals of mixed types, wrong calls of `format`.

Each check looks at one checked expression and returns issues. Source: cel-go cel/validator.go, ext/formatting.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.cel.cel_errors import CelError, CompilerPanic, Issue
from auditor.cel.cel_types import Kind, Type
from auditor.cel.library.formatting import clause_at
from auditor.cel.operations.conversions import to_duration, to_timestamp
from auditor.cel.syntax.ast import Call, Expr, ListLiteral, Literal, MapLiteral, children, descendants
from auditor.golang.regex.compiled import GoRegexError, compile_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from auditor.cel.check.checked import CheckedExpression


_AS_STRING = frozenset({
    Kind.LIST, Kind.MAP, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.BOOL, Kind.STRING, Kind.TIMESTAMP, Kind.BYTES,
    Kind.DURATION, Kind.TYPE, Kind.NULL,
})  # fmt: skip
_ANY_STRING = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and"
    " timestamps"
)
_HEXADECIMAL = (
    frozenset({Kind.INT, Kind.UINT, Kind.STRING, Kind.BYTES}),
    "only integers, byte buffers, and strings can be formatted as hex",
)
_CLAUSES: dict[str, tuple[frozenset[Kind], str]] = {
    "d": (frozenset({Kind.INT, Kind.UINT}), "decimal clause can only be used on integers"),
    "f": (frozenset({Kind.DOUBLE, Kind.STRING}), "fixed-point clause can only be used on doubles"),
    "e": (frozenset({Kind.DOUBLE, Kind.STRING}), "scientific clause can only be used on doubles"),
    "b": (
        frozenset({Kind.INT, Kind.UINT, Kind.BOOL}),
        "only integers and bools can be formatted as binary",
    ),
    "x": _HEXADECIMAL,
    "X": _HEXADECIMAL,
    "o": (frozenset({Kind.INT, Kind.UINT}), "octal clause can only be used on integers"),
}


class _TemplateFault(Exception):
    """A template does not match its arguments; has the faulty node and the text."""

    def __init__(self, node_id: int, text: str) -> None:
        super().__init__(text)
        self.node_id = node_id
        self.text = text


def check_format(checked: CheckedExpression, nodes: Iterable[Expr]) -> Iterator[tuple[int, str]]:
    """Yield node and error for each call of ``format`` that must fail."""
    for node in nodes:
        if not isinstance(node, Call) or node.function != "format" or len(node.args) != 1:
            continue
        template, items = node.target, node.args[0]
        if not isinstance(template, Literal) or type(template.value) is not str or not isinstance(items, ListLiteral):
            continue
        reference = checked.references.get(node.id)
        if reference is None or "string_format" not in reference.overloads:
            continue
        try:
            used = _check(checked, node, template.value, items)
        except _TemplateFault as wrong:
            yield wrong.node_id, wrong.text
            continue
        given = len(items.elements)
        if given > used:
            yield node.id, f"too many arguments supplied to string.format (expected {used}, got {given})"


def _check(checked: CheckedExpression, node: Call, template: str, items: ListLiteral) -> int:
    used = position = 0
    while True:
        percent = template.find("%", position)
        if percent < 0:
            return used
        if template.startswith("%", percent + 1):
            position = percent + 2
            continue
        if percent + 1 == len(template):
            raise _TemplateFault(node.id, "unexpected end of string")
        if used >= len(items.elements):
            raise _TemplateFault(node.id, f"index {used} out of range")
        try:
            letter, _, position = clause_at(template, percent + 1)
        except CelError as error:
            raise _TemplateFault(node.id, error.text) from None
        _check_item(checked, letter, items.elements[used])
        used += 1


def _check_item(checked: CheckedExpression, letter: str, item: Expr) -> None:
    if letter == "s":
        bad = _not_printable(checked, item)
        text = _ANY_STRING
    else:
        allowed, text = _CLAUSES[letter]
        kind = _type(checked, item).kind
        bad = None if kind is Kind.DYN or kind in allowed else item
    if bad is not None:
        given = _type(checked, bad).name
        raise _TemplateFault(bad.id, f"error during formatting: {text}, was given {given}")


def _type(checked: CheckedExpression, item: Expr) -> Type:
    """Return the type of an item; a wrapper, which may be null, counts as the wrapped type."""
    type_ = checked.types[item.id]
    return type_.parameters[0] if type_.kind is Kind.WRAPPER else type_


def _not_printable(checked: CheckedExpression, item: Expr) -> Expr | None:
    kind = _type(checked, item).kind
    if kind is not Kind.DYN and kind not in _AS_STRING:
        return item
    parts: list[Expr] = []
    if isinstance(item, ListLiteral):
        parts = list(item.elements)
    elif isinstance(item, MapLiteral):
        parts = [part for entry in item.entries for part in (entry.key, entry.value)]
    return next((bad for part in parts if (bad := _not_printable(checked, part)) is not None), None)


_MIXED_LITERALS_ALLOWED_IN = "format"


def validate(checked: CheckedExpression) -> list[Issue]:
    """Return the issues of the literals of an expression.

    Raises:
        CompilerPanic: A literal has an optional item whose type is dynamic; the server expects `optional_type`.
    """
    issues: list[Issue] = []
    nodes = list(descendants(checked.parsed.root))
    for node_id, text in (*_bad_arguments(nodes), *_mixed(checked), *check_format(checked, nodes)):
        issues.append(Issue(*checked.parsed.location(node_id), text))
    return issues


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
            yield from _first_mismatch(checked, literal)
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
    if not optional:
        return kind
    if not kind.parameters:
        raise CompilerPanic("runtime error: index out of range [0] with length 0")
    return kind.parameters[0]


def _first_mismatch(checked: CheckedExpression, literal: ListLiteral) -> Iterator[tuple[int, str]]:
    expected: Type | None = None
    for index, element in enumerate(literal.elements):
        kind = _item_type(checked, element, optional=index in literal.optional)
        if expected is None:
            expected = kind
        elif not _equivalent(expected, kind):
            yield element.id, _mismatch(expected, kind)
            return  # the server does not look at the items after it


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
