"""Functions that generated code calls: they raise if CEL has an error, and if they cannot know.

The caller treats any exception as "not proven" and runs the interpreter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_values import Duration, Optional_, Timestamp

if TYPE_CHECKING:
    from collections.abc import Callable


class GiveUp(Exception):
    """The code cannot prove the rule; the interpreter decides."""


class _Absent:
    """Type of `ABSENT`."""

    __slots__ = ()


ABSENT: Final = _Absent()
"""The empty optional."""

_MOST_TEXTS: Final = 4096
_LONGEST: Final = 256
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1


class Memo(dict[Any, Any]):
    """Caches the results of a function of one text; it is emptied when it is full. Exceptions are not cached.

    Args:
        work_out: The function.
    """

    __slots__ = ("work_out",)

    def __init__(self, work_out: Callable[[Any], Any]) -> None:
        super().__init__()
        self.work_out = work_out

    def __missing__(self, text: Any) -> Any:
        if type(text) is not str:
            raise GiveUp
        result = self.work_out(text)
        if len(text) <= _LONGEST:
            if len(self) >= _MOST_TEXTS:
                self.clear()
            self[text] = result
        return result


def _not_null(value: Any) -> Any:
    if value is None:
        raise GiveUp
    return value


def _there(value: Any) -> Any:
    """Return an attribute of a record, which must exist."""
    if value is None or value is UNSET:
        raise GiveUp
    return value


def _get_attribute(record: Any, name: str) -> Any:
    """Return an optional of an attribute."""
    value = getattr(record, name)
    return ABSENT if value is None or value is UNSET else value


def _get(fields: dict[str, Any], key: str) -> Any:
    """Return an optional of a field; null is absent."""
    value = fields.get(key)
    return ABSENT if value is None else value


def _get_entry(entries: dict[str, Any], key: Any) -> Any:
    """Return an optional of a map's value, which must not be null."""
    return ABSENT if key not in entries else _not_null(entries[key])


def _get_item(items: list[Any], index: int) -> Any:
    return _not_null(items[index]) if 0 <= index < len(items) else ABSENT


def _further(optional: Any, read: Callable[..., Any], key: Any) -> Any:
    return ABSENT if optional is ABSENT else read(optional, key)


def _item(items: list[Any], index: int) -> Any:
    if index < 0:
        raise GiveUp
    return items[index]


def _value(optional: Any) -> Any:
    if optional is ABSENT:
        raise GiveUp
    return optional


def _or(optional: Any, other: Any) -> Any:
    return other if optional is ABSENT else optional


def _int(value: int) -> int:
    if _INT_MIN <= value <= _INT_MAX:
        return value
    raise GiveUp


def _is_int(value: Any) -> int:
    if type(value) is not int:
        raise GiveUp
    return value


def _is_str(value: Any) -> str:
    if type(value) is not str:
        raise GiveUp
    return value


def _is_dict(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise GiveUp
    return value


def _part(value: Any, key: Any) -> Any:
    """Return the part of a map or list at a key or index of any type."""
    kind = type(value)
    if kind is dict or (kind is list and type(key) is int and key >= 0):
        return value[key]
    raise GiveUp


def _each(value: Any) -> Any:
    """Return what a macro over a map or list goes through."""
    if type(value) is not dict and type(value) is not list:
        raise GiveUp
    return value


def _sized(value: Any) -> Any:
    if type(value) not in (str, list, dict):
        raise GiveUp
    return value


def _true_or_false(value: Any) -> bool:
    """Return the result of a comparison that may be an error."""
    if type(value) is not bool:
        raise GiveUp
    return value


def _checked(value: Any) -> Any:
    if isinstance(value, CelError):
        raise GiveUp
    return value


def _from_optional(value: Any) -> Any:
    if type(value) is not Optional_:
        raise GiveUp
    return value.value if value.has else ABSENT


def _length(value: Any, *keys: str) -> int:
    """Return the number of items at the end of a path; 0 if there is nothing."""
    for key in keys:
        value = value.get(key) if type(value) is dict else getattr(value, key, None)
    return 0 if value is None or value is UNSET else len(value)


def _same_items(left: list[Any], right: list[Any]) -> bool:
    """Return whether two lists are equal; the left one is a set of scalars."""
    return len(left) == len(right) and set(left) == set(right)


def _holds_items(left: list[Any], right: list[Any]) -> bool:
    """Return whether two lists have the same length, and the left, a set of scalars, has all items of the right."""
    return len(left) == len(right) and set(left).issuperset(right)


NAMES: Final[dict[str, Any]] = {
    "_NO": ABSENT,
    "_U": UNSET,
    "_not_null": _not_null,
    "_there": _there,
    "_get_attribute": _get_attribute,
    "_get": _get,
    "_get_entry": _get_entry,
    "_get_item": _get_item,
    "_further": _further,
    "_item": _item,
    "_value": _value,
    "_or": _or,
    "_int": _int,
    "_is_int": _is_int,
    "_is_str": _is_str,
    "_is_dict": _is_dict,
    "_part": _part,
    "_each": _each,
    "_sized": _sized,
    "_true_or_false": _true_or_false,
    "_checked": _checked,
    "_from_optional": _from_optional,
    "_length": _length,
    "_holds_items": _holds_items,
    "_same_items": _same_items,
    "_Duration": Duration,
    "_Timestamp": Timestamp,
}
"""Globals of generated code."""
