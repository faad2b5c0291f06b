"""Numbers as a client sends them back: a float without fraction is written as an integer, and decoded as one.

The server decodes a stored 1.0 as a float and returns it as 1; a client that sends this back changes the type of the
value. Ratcheting then sees a changed field, and transition rules see an integer and a float.

Source: encoding/json (floatEncoder); sigs.k8s.io/json (int64 where a literal has no fraction and fits).
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import re2

from auditor.golang import jsontext

_BEYOND: Final = 2.0**63
_EXACT: Final = 2.0**53
_OPTIONS: Final = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
_OPTIONS.log_errors = False
_SUSPECT: Final = re2.compile(
    rb"[:\[,]\s*-?(?:[0-9]+(?:\.0+|(?:\.[0-9]+)?[eE][-+]?[0-9]+)|[0-9.]{18,})\s*[,\]}]", _OPTIONS
)
"""A number that may be a float without fraction: with only zeros after the point, an exponent, or many digits."""


def _is_respelled(number: float) -> bool:
    return number.is_integer() and -_BEYOND < number < _BEYOND


def may_be_respelled(data: bytes) -> bool:
    """Return whether a number in stored JSON may be written differently when it is sent back; False is certain."""
    return _SUSPECT.search(data) is not None


def has_respelled(value: Any) -> bool:
    """Return whether a decoded value has a number whose type changes when it is sent back."""
    stack = [value]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is dict:
            stack.extend(node.values())
        elif kind is list:
            stack.extend(node)
        elif kind is float and _is_respelled(node):
            return True
    return False


def as_sent(value: Any) -> Any:
    """Return a copy of a decoded value as a client sends it back that received it as JSON."""
    try:
        return _copy(value)
    except RecursionError:  # too deep for Python's recursion: convert the text
        return jsontext.decode(jsontext.encode(value).encode())


def _copy(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: _copy(below) for key, below in value.items()}
    if kind is list:
        return [_copy(below) for below in value]
    if kind is float and _is_respelled(value):
        # Go writes the shortest digits that identify a float, then zeros.
        return int(value) if -_EXACT <= value <= _EXACT else int(Decimal(repr(value)))
    return value
