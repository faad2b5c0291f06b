"""The functions that templates call: those of Go, and kubectl's ``exists`` and ``base64decode``.

Functions take values as `run` has them (`Boxed`: a value in an interface; `NOTHING`: no value).

Source: text/template/funcs.go; cli-runtime pkg/printers (jsonpath.go, template.go).
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_plus

from auditor.golang.printf import Byte, Int, go_bytes, go_text, go_type, sprint, sprintf, sprintln
from auditor.golang.template.errors import CallError
from auditor.golang.text import display
from auditor.golang.unicode import is_print

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FUNCTIONS", "NOTHING", "Boxed", "Function", "is_true", "type_of", "unboxed"]


class _Nothing:
    """The type of `NOTHING`."""


NOTHING: Final = _Nothing()
"""No value: the result of a missing key. It prints as ``<no value>``."""


@dataclass(frozen=True, slots=True)
class Boxed:
    """A value in an interface: an element of a list or map; its static type is ``interface {}``."""

    value: Any


@dataclass(frozen=True, slots=True)
class Function:
    """A function, and the types of its parameters.

    Attributes:
        fixed: A type for each parameter: ``value`` (any, also none), ``any``, ``string``.
        rest: The type of further arguments; empty means there are none.
    """

    call: Callable[..., Any]
    fixed: tuple[str, ...]
    rest: str = ""


def unboxed(value: Any) -> Any:
    """Return the value in an interface; `NOTHING` for an empty one."""
    if type(value) is not Boxed:
        return value
    return NOTHING if value.value is None else value.value


def type_of(value: Any) -> str:
    """Return the name of the static type of a value.

    Raises:
        CallError: There is no value.
    """
    if value is NOTHING:
        raise CallError("reflect: call of reflect.Value.Type on zero Value")
    return "interface {}" if type(value) is Boxed else go_type(value)


def is_true(value: Any) -> bool:
    """Whether ``if`` treats a value as true."""
    value = unboxed(value)
    return value is not NOTHING and bool(value)


def _length(value: Any) -> int:
    if type(value) in (str, list, dict):
        return Int(len(go_bytes(value)) if type(value) is str else len(value))
    raise CallError(f"len of type {type_of(value)}")


def _len(item: Any) -> int:
    if type(item) is Boxed and item.value is None:
        raise CallError("len of nil pointer")
    return _length(unboxed(item))


def _index_in(index: Any, most: int) -> int:
    if index is NOTHING:
        raise CallError("cannot index slice/array with nil")
    if type(index) not in (int, Int, Byte):
        raise CallError(f"cannot index slice/array with type {type_of(index)}")
    if not 0 <= index <= most:
        raise CallError(f"index out of range: {int(index)}")
    return int(index)


def _index(item: Any, *indexes: Any) -> Any:
    item = unboxed(item)
    if item is NOTHING:
        raise CallError("index of untyped nil")
    for each in indexes:
        index = unboxed(each)
        if type(item) is Boxed and item.value is None:
            raise CallError("index of nil pointer")
        item = _element(unboxed(item), index)
    return item


def _element(item: Any, index: Any) -> Any:
    if type(item) is dict:
        if index is NOTHING:
            raise CallError("value is nil; should be of type string")
        if type(index) is not str:
            raise CallError(f"value has type {type_of(index)}; should be string")
        return Boxed(item.get(index))
    if type(item) not in (list, str):
        raise CallError(f"can't index item of type {type_of(item)}")
    parts = item if type(item) is list else go_bytes(item)
    at = _index_in(index, len(parts))
    if at == len(parts):
        raise CallError(f"reflect: {'slice' if type(item) is list else 'string'} index out of range")
    return Boxed(parts[at]) if type(item) is list else Byte(parts[at])


def _slice(item: Any, *indexes: Any) -> Any:
    item = unboxed(item)
    if item is NOTHING:
        raise CallError("slice of untyped nil")
    if len(indexes) > 3:
        raise CallError(f"too many slice indexes: {len(indexes)}")
    if type(item) is str and len(indexes) == 3:
        raise CallError("cannot 3-index slice a string")
    if type(item) not in (str, list):
        raise CallError(f"can't slice item of type {type_of(item)}")
    parts = go_bytes(item) if type(item) is str else item
    bounds = [_index_in(index, len(parts)) for index in indexes]
    start, stop = [*bounds[:2], *[0, len(parts)][len(bounds[:2]) :]]
    for first, second in zip([start, stop], [stop, *bounds[2:]], strict=False):
        if first > second:
            raise CallError(f"invalid slice index: {first} > {second}")
    return go_text(parts[start:stop]) if type(item) is str else parts[start:stop]


# -- comparison


def _kind(value: Any) -> str:
    return {bool: "bool", int: "int", Int: "int", Byte: "uint", float: "float", str: "string"}.get(type(value), "")


def _eq(first: Any, *others: Any) -> bool:
    left = unboxed(first)
    if not others:
        raise CallError("missing argument for comparison")
    return any(_equal(left, unboxed(other)) for other in others)


def _equal(left: Any, right: Any) -> bool:
    kinds = _kind(left), _kind(right)
    if kinds[0] != kinds[1]:
        if set(kinds) == {"int", "uint"}:
            return bool(int(left) == int(right))
        if NOTHING not in (left, right):
            raise CallError(f"incompatible types for comparison: {type_of(left)} and {type_of(right)}")
        return False
    if kinds[0]:
        return bool(left == right)
    if left is NOTHING or right is NOTHING:
        return left is right
    if type(left) is not type(right):
        shown = f"{sprintf('%s', [left])}: {type_of(left)}, {type_of(right)}: {display(right)}"
        raise CallError(f"non-comparable types {shown}")
    raise CallError(f"non-comparable type {sprintf('%s', [right])}: {type_of(right)}")


def _less(first: Any, second: Any) -> bool:
    left, right = unboxed(first), unboxed(second)
    kinds = _kind(left), _kind(right)
    if not all(kinds):
        raise CallError("invalid type for comparison")
    if kinds[0] != kinds[1] and set(kinds) != {"int", "uint"}:
        raise CallError(f"incompatible types for comparison: {type_of(left)} and {type_of(right)}")
    if kinds[0] == "bool":
        raise CallError("invalid type for comparison")
    return bool(go_bytes(left) < go_bytes(right)) if kinds[0] == "string" else bool(left < right)


def _at_most(first: Any, second: Any) -> bool:
    return _less(first, second) or _eq(first, second)


# -- text


def _operands(args: tuple[Any, ...]) -> list[Any]:
    """Return arguments as package fmt receives them."""
    return [None if unboxed(arg) is NOTHING else unboxed(arg) for arg in args]


def _text(args: tuple[Any, ...]) -> str:
    """Return the text of arguments; a single string is returned unchanged."""
    operands = ["<no value>" if arg is None else arg for arg in _operands(args)]
    return operands[0] if len(operands) == 1 and type(operands[0]) is str else sprint(operands)


_HTML: Final[dict[str, str | int | None]] = {
    "\0": "\ufffd",
    '"': "&#34;",
    "'": "&#39;",
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
}
_JS: Final = {"\\": "\\\\", "'": "\\'", '"': '\\"', "<": "\\u003C", ">": "\\u003E", "&": "\\u0026", "=": "\\u003D"}


def _html(*args: Any) -> str:
    return _text(args).translate(str.maketrans(_HTML))


def _js(*args: Any) -> str:
    return "".join(map(_js_letter, _text(args)))


def _js_letter(letter: str) -> str:
    if letter in _JS:
        return _JS[letter]
    if " " <= letter < "\x7f" or "\udc80" <= letter <= "\udcff" or (letter >= "\x80" and is_print(ord(letter))):
        return letter
    return letter if letter == "\x7f" else f"\\u{ord(letter):04X}"


def _urlquery(*args: Any) -> str:
    return quote_plus(go_bytes(_text(args)), safe="-_.~")


def _exists(item: Any, *indexes: Any) -> bool:
    value: Any = None if unboxed(item) is NOTHING else unboxed(item)
    if not indexes:
        return True  # also for no value: Go looks for an empty interface, and there is none
    for each in indexes:
        index = unboxed(each)
        if type(value) is dict:
            key = "" if index is NOTHING else index
            if type(key) is not str:
                return False
            value = value.get(key)
        elif type(value) in (list, str):
            parts = value if type(value) is list else [Byte(byte) for byte in go_bytes(value)]
            if type(index) not in (int, Int, Byte) or not 0 <= index < len(parts):
                return False
            value = parts[index]
        else:
            return False
    return value is not None


def _base64decode(text: str) -> str:
    plain = text.replace("\r", "").replace("\n", "")
    match = re.match(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", plain)
    if match is None or match.end() != len(plain):
        raise CallError(f"base64 decode failed: illegal base64 data at input byte {_broken_at(text)}")
    return go_text(base64.b64decode(plain))


def _broken_at(text: str) -> int:
    """Return the offset at which Go's decoder stops in a text that is not base64."""
    group = 0
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    places = [at for at, letter in enumerate(text) if letter not in "\r\n"]
    for place, at in enumerate(places):
        letter = text[at]
        if letter == "=":
            if group < 2:
                return at
            rest = places[place + 1 :]
            if group == 2:
                if not rest:
                    return len(text)
                if text[rest[0]] != "=":
                    return rest[0] - 1 + 1
                rest = rest[1:]
            return rest[0] if rest else at
        if letter not in letters:
            return at
        group = (group + 1) % 4
    return len(text) - group


def _call(function: Any, *_: Any) -> Any:
    value = unboxed(function)
    if value is NOTHING:
        raise CallError("call of nil")
    raise CallError(f"non-function {{name}} of type {type_of(value)}")


FUNCTIONS: Final = {
    "and": Function(lambda *_: None, ("value",), "value"),  # `run` evaluates these two
    "or": Function(lambda *_: None, ("value",), "value"),
    "not": Function(lambda value: not is_true(value), ("value",)),
    "len": Function(_len, ("value",)),
    "index": Function(_index, ("value",), "value"),
    "slice": Function(_slice, ("value",), "value"),
    "call": Function(_call, ("value",), "value"),
    "eq": Function(_eq, ("value",), "value"),
    "ne": Function(lambda first, second: not _eq(first, second), ("value", "value")),
    "lt": Function(_less, ("value", "value")),
    "le": Function(_at_most, ("value", "value")),
    "gt": Function(lambda first, second: not _at_most(first, second), ("value", "value")),
    "ge": Function(lambda first, second: not _less(first, second), ("value", "value")),
    "html": Function(_html, (), "any"),
    "js": Function(_js, (), "any"),
    "urlquery": Function(_urlquery, (), "any"),
    "print": Function(lambda *args: sprint(_operands(args)), (), "any"),
    "println": Function(lambda *args: sprintln(_operands(args)), (), "any"),
    "printf": Function(lambda text, *args: sprintf(text, _operands(args)), ("string",), "any"),
    "exists": Function(_exists, ("any",), "any"),
    "base64decode": Function(_base64decode, ("string",)),
}
