"""Converts a value to what Arrow takes for its column; what the column cannot hold without loss is put aside.

A value fits if the column gives the same value back: a number that is equal, a time that is the same instant. Nothing
is rounded, cut or spelled in another way to make it fit.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.columns.column_types import Kind
from auditor.golang.jsontext import encode
from auditor.golang.times import GoTimeError, parse_rfc3339

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.columns.column_types import Column


Path = tuple[str | int, ...]
"""The steps to a value: names and indexes."""
Rest = dict[Path, Any]
"""Values that do not fit, by their paths."""

_MOST: Final = 1 << 63
_FIRST_SECOND: Final = -62_135_596_800  # 1 January of year 1
_LAST_SECOND: Final = 253_402_300_799  # 31 December of year 9999
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*").fullmatch


def fit(column: Column, value: Any, path: Path, rest: Rest) -> Any:
    """Return a value as Arrow takes it for a column; None if it does not fit, and is then put aside.

    Args:
        column: The column.
        value: Decoded JSON.
        path: Where the value is in its object.
        rest: Gets each value that does not fit, the smallest possible part of the given one.
    """
    kind = column.kind
    if kind is Kind.STRUCT and type(value) is dict:
        fields = dict(column.fields)
        made = {}
        for name, below in value.items():
            if name in fields:
                made[name] = fit(fields[name], below, (*path, name), rest)
            else:
                rest[*path, name] = below
        return made
    if kind is Kind.LIST and type(value) is list:
        assert column.item is not None
        return [fit(column.item, below, (*path, index), rest) for index, below in enumerate(value)]
    if kind is Kind.MAP and type(value) is dict:
        assert column.item is not None
        pairs = []
        for name, below in value.items():
            if is_text(name):
                pairs.append((name, fit(column.item, below, (*path, name), rest)))
            else:
                rest[*path, name] = below
        return pairs
    fitting = None if kind not in _FITTING else _FITTING[kind](value)
    if fitting is None:
        rest[path] = value
    return fitting


def _text(value: Any) -> str | None:
    return value if is_text(value) else None


def is_text(value: Any) -> bool:
    """Whether a value is a text that UTF-8 can hold: one without halves of surrogate pairs."""
    if type(value) is not str:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _integer(value: Any) -> int | None:
    """Return an integer; 1.0 is one, as JSON has one sort of numbers, and -0.0 is none."""
    if type(value) is float and value.is_integer() and (value or math.copysign(1, value) > 0):
        value = int(value)
    return value if type(value) is int and -_MOST <= value < _MOST else None


def _number(value: Any) -> float | None:
    if type(value) is int and abs(value) < 1 << 1023 and float(value) == value:
        return float(value)
    return value if type(value) is float else None


def _boolean(value: Any) -> bool | None:
    return value if type(value) is bool else None


def microseconds(value: Any) -> int | None:
    """Return a time in RFC 3339 in microseconds since 1970; None if it is none, finer, or not of year 1 to 9999."""
    if type(value) is not str:
        return None
    try:
        time = parse_rfc3339(value)
    except GoTimeError:
        return None
    if time.nanoseconds % 1000 or not _FIRST_SECOND <= time.seconds <= _LAST_SECOND:
        return None
    return time.seconds * 1_000_000 + time.nanoseconds // 1000


def json_text(value: Any) -> str:
    """Return a value as JSON text, with sorted keys."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONEncodeError:  # a larger integer, half of a surrogate pair, or too deep for it
        try:
            return json.dumps(value, sort_keys=True, separators=(",", ":"))
        except RecursionError:
            return encode(value)


_FITTING: Final[dict[Kind, Callable[[Any], Any]]] = {
    Kind.STRING: _text,
    Kind.INTEGER: _integer,
    Kind.NUMBER: _number,
    Kind.BOOLEAN: _boolean,
    Kind.TIME: microseconds,
    Kind.JSON: json_text,
}
"""What returns a value in the form that Arrow takes, or None if it does not fit."""


def path_text(path: Path) -> str:
    """Return a path as text: ``spec.ports[0].port``; a name that is not plain is JSON: ``data["tls.key"]``."""
    text = ""
    for step in path:
        if type(step) is int:
            text += f"[{step}]"
        elif _PLAIN_NAME(str(step)) is None:
            text += f"[{json.dumps(step)}]"
        else:
            text += f".{step}" if text else str(step)
    return text


def rest_text(rest: Rest) -> str | None:
    """Return the values that do not fit as JSON text, an object from path to value; None if there are none."""
    return json_text({path_text(path): value for path, value in rest.items()}) if rest else None
