"""type, nullable and enum.

Source: kube-openapi pkg/validation/validate/type.go, validator.go (basicCommonValidator).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.longtext import LONG, LongText
from auditor.golang.go_text import display, quote
from auditor.golang.jsontext import encode
from auditor.ratcheting import canonical_text
from auditor.validation.field_errors import NOT_SUPPORTED, TYPE_INVALID, not_supported_detail
from auditor.validation.keywords.failure import Check, Complaint, Sink
from auditor.validation.keywords.number_keywords import truncate, whole_test

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.trail import Trail
    from auditor.ratcheting import CorrelatedObject


_NAMES: Final = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}
_FORMATS: Final = {int: "int64", float: "float64"}


def _wrong_type(path: str, _value: Any, parameter: tuple[str, str]) -> Complaint:
    expected, kind = parameter
    detail = f"{path} in body must be of type {expected}: {quote(kind)}"
    return Complaint(path, TYPE_INVALID, kind, detail, detail)


def null_type(types: tuple[str, ...], *, nullable: bool) -> Check | None:
    """Return the check of null, or None if null is allowed."""
    if not types or nullable:
        return None
    parameter = (",".join(types), "null")

    def check(value: Any, trail: Trail, sink: Sink, _twin: CorrelatedObject | None) -> int:
        sink.append((_wrong_type, trail, value, parameter))
        return 0

    return check


def type_(kind: type, types: tuple[str, ...], format_: str) -> tuple[int, Check | None]:
    """Return the type check of values of a kind: its constant match count, and the part that may fail.

    Args:
        kind: Python type of the value, not None.
        types: The types of the schema; x-kubernetes-int-or-string is integer and string.
        format_: The format of the schema; empty if it was stripped.
    """
    if not types and not format_:
        return 0, None
    if kind is not float:
        parameter = _mismatch(kind, types, format_, integral=False)
        return (1, None) if parameter is None else (0, _failing(parameter))
    whole = _mismatch(float, types, format_, integral=True)
    broken = _mismatch(float, types, format_, integral=False)
    if whole is None and broken is None:
        return 1, None
    if whole is not None:
        return 0, _failing(whole)
    is_whole = whole_test()

    def check(value: Any, trail: Trail, sink: Sink, _twin: CorrelatedObject | None) -> int:
        if is_whole(value):
            return 1
        sink.append((_wrong_type, trail, value, broken))
        return 0

    return 0, check


def _failing(parameter: tuple[str, str]) -> Check:
    def check(value: Any, trail: Trail, sink: Sink, _twin: CorrelatedObject | None) -> int:
        sink.append((_wrong_type, trail, value, parameter))
        return 0

    return check


def _mismatch(kind: type, types: tuple[str, ...], format_: str, *, integral: bool) -> tuple[str, str] | None:
    """Return (expected, found) if a value of this kind fails; `integral` only matters for floats."""
    name = _NAMES[kind]
    fits = name in types or (kind is float and integral and "integer" in types) or (kind is int and "number" in types)
    sequence = kind is str or kind is list
    if not sequence and format_ and not fits and _FORMATS.get(kind, "") != format_:
        return format_, _FORMATS.get(kind, "")
    if sequence and format_ and "number" not in types and "integer" not in types:
        return None
    return None if fits else (",".join(types), name)


class _Allowed:
    """The values of an enum, prepared for each kind of value, and their printed form."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.strings = frozenset(value for value in values if type(value) is str)
        self.ints = frozenset(value for value in values if type(value) is int)
        self.floats = frozenset(value for value in values if type(value) is float)
        self.bools = frozenset(value for value in values if type(value) is bool)
        self.compounds = frozenset(canonical_text(value) for value in values if type(value) in (list, dict))
        self.detail = not_supported_detail(value if type(value) is str else encode(value) for value in values)
        self.printed = display(list(values))

    def accepts(self, kind: type) -> Callable[[Any], bool]:
        """Return a test whether a value of a kind equals one of the values, converted to that value's Go type."""
        if kind is str:
            return self.strings.__contains__
        if kind is bool:
            return self.bools.__contains__
        if kind is int:
            return self._accepts_int if self.floats or self.strings else self.ints.__contains__
        if kind is float:
            return lambda value: value in self.floats or truncate(value) in self.ints
        return lambda value: bool(self.compounds) and canonical_text(value) in self.compounds

    def _accepts_int(self, value: int) -> bool:
        return value in self.ints or float(value) in self.floats or _rune(value) in self.strings


def _rune(value: int) -> str:
    """Convert an integer to a string as Go does: the character of that code point."""
    if 0 <= value < 0xD800 or 0xE000 <= value <= 0x10FFFF:
        return chr(value)
    return "\ufffd"


def _unsupported(path: str, value: Any, parameter: _Allowed) -> Complaint:
    begin = f"{path} in body should be one of "
    is_long = len(parameter.printed) > LONG
    text = LongText(begin, parameter.printed) if is_long else begin + parameter.printed
    return Complaint(path, NOT_SUPPORTED, value, parameter.detail, text)


def enum(values: tuple[Any, ...]) -> Callable[[type], Check]:
    """Return the function that makes the enum check for one kind of value; null never matches, even if listed."""
    allowed = _Allowed(values)

    def for_kind(kind: type) -> Check:
        accepts: Callable[[Any], bool] = allowed.accepts(kind) if kind in _NAMES else _nothing

        def check(value: Any, trail: Trail, sink: Sink, _twin: CorrelatedObject | None) -> int:
            if not accepts(value):
                sink.append((_unsupported, trail, value, allowed))
            return 0

        return check

    return for_kind


def _nothing(_value: Any) -> bool:
    return False
