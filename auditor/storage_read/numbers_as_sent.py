"""Numbers as a client sends them back: a double without fraction is spelled without one, and is then an integer.

The server decodes 1.0 as a double and shows it as 1; a client that sends that back changes the type of the value. To
ratcheting the field has then changed, and transition rules see an integer beside a double.

Source: encoding/json (floatEncoder); sigs.k8s.io/json (int64 where a literal has no fraction and fits).
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import re2

from auditor.golang import jsontext

__all__ = ["as_sent", "has_respelled", "may_be_respelled"]

_BEYOND: Final = 2.0**63
_EXACT: Final = 2.0**53
_OPTIONS: Final = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
_OPTIONS.log_errors = False
_SUSPECT: Final = re2.compile(
    rb"[:\[,]\s*-?(?:[0-9]+(?:\.0+|(?:\.[0-9]+)?[eE][-+]?[0-9]+)|[0-9.]{18,})\s*[,\]}]", _OPTIONS
)
"""A number that may be a double without fraction: it ends in zeros after the point, has an exponent, or has more digits
than a double holds."""


def _is_respelled(number: float) -> bool:
    return number.is_integer() and -_BEYOND < number < _BEYOND


def may_be_respelled(data: bytes) -> bool:
    """Tell from stored JSON whether a number in it may be spelled otherwise when it is sent back; False is certain."""
    return _SUSPECT.search(data) is not None


def has_respelled(value: Any) -> bool:
    """Tell whether a decoded value holds a number that changes its type when it is sent back."""
    stack = [value]
    while stack:
        one = stack.pop()
        kind = type(one)
        if kind is dict:
            stack.extend(one.values())
        elif kind is list:
            stack.extend(one)
        elif kind is float and _is_respelled(one):
            return True
    return False


def as_sent(value: Any) -> Any:
    """Return a copy of a decoded value as it comes back from a client that got it as JSON."""
    try:
        return _copy(value)
    except RecursionError:  # deeper than Python's frames: by the text itself
        return jsontext.decode(jsontext.encode(value).encode())


def _copy(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: _copy(below) for key, below in value.items()}
    if kind is list:
        return [_copy(below) for below in value]
    if kind is float and _is_respelled(value):
        # Go writes the shortest digits that tell a double from its neighbours, then zeros.
        return int(value) if -_EXACT <= value <= _EXACT else int(Decimal(repr(value)))
    return value
