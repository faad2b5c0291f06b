"""Checks ``'constant'.format([literal, list])`` at compile time: the clauses against the types of the items.

Source: cel-go ext/formatting.go (stringFormatValidator).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.cel.errors import CelError
from auditor.cel.library.formatting import clause_at
from auditor.cel.syntax.ast import Call, Expr, ListLiteral, Literal, MapLiteral
from auditor.cel.types import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.cel.check.checked import CheckedExpression
    from auditor.cel.types import Type

__all__ = ["check_format"]

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


class _Wrong(Exception):
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
        except _Wrong as wrong:
            yield wrong.node_id, wrong.text
            continue
        given = len(items.elements)
        if given > used:
            yield node.id, f"too many arguments supplied to string.format (expected {used}, got {given})"


def _check(checked: CheckedExpression, node: Call, template: str, items: ListLiteral) -> int:
    used = at = 0
    while True:
        percent = template.find("%", at)
        if percent < 0:
            return used
        if template.startswith("%", percent + 1):
            at = percent + 2
            continue
        if percent + 1 == len(template):
            raise _Wrong(node.id, "unexpected end of string")
        if used >= len(items.elements):
            raise _Wrong(node.id, f"index {used} out of range")
        try:
            letter, _, at = clause_at(template, percent + 1)
        except CelError as error:
            raise _Wrong(node.id, error.text) from None
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
        raise _Wrong(bad.id, f"error during formatting: {text}, was given {given}")


def _type(checked: CheckedExpression, item: Expr) -> Type:
    """Return the type of an item; a wrapper, which may be null, counts as the wrapped type."""
    found = checked.types[item.id]
    return found.parameters[0] if found.kind is Kind.WRAPPER else found


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
