"""Go's arithmetic where verdicts depend on it: conversions between float64 and int64, and tests for integers.

Source: kube-openapi pkg/validation/validate/values.go; go-openapi/swag conv/convert.go; conversions as on amd64.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["INT32", "INT64", "fits_float32", "fits_integer", "truncate", "whole_test"]

INT64: Final = (-(2**63), 2**63 - 1)
INT32: Final = (-(2**31), 2**31 - 1)
_SAFE: Final = float(2**53 - 1)
_EPSILON: Final = 1e-9
_FLOAT32_OVERFLOW: Final = Decimal(2**128 - 2**103)


def truncate(value: float) -> int:
    """Convert a float64 to int64 toward zero; a number out of range gives the smallest int64, as on amd64."""
    if -9.3e18 < value < 9.3e18:
        whole = math.trunc(value)
        if INT64[0] <= whole <= INT64[1]:
            return whole
    return INT64[0]


def whole_test() -> Callable[[float], bool]:
    """Return the test whether a float64 counts as an integer: within 2^53 - 1, and whole or nearly so."""
    return _is_nearly_whole if changes.WHOLE_NUMBERS.holds else _is_nearly_cut


def _is_nearly_cut(value: float) -> bool:
    """Return whether a number is whole, or positive and slightly above a whole number."""
    if not -_SAFE <= value <= _SAFE:
        return False
    if value.is_integer():
        return True
    cut = math.floor(value)
    return cut > 0 and (value - cut) / (value + cut) < _EPSILON


def _is_nearly_whole(value: float) -> bool:
    """Return whether a number is whole up to a relative 1e-9."""
    if not -_SAFE <= value <= _SAFE:
        return False
    if value.is_integer():
        return True
    # Go rounds half away from zero.
    rounded = math.copysign(math.floor(abs(value) + 0.5), value)
    return rounded != 0 and abs(value - rounded) < _EPSILON * abs(rounded)


def fits_integer(value: float, bounds: tuple[int, int]) -> bool:
    """Return whether the shortest decimal text of a number parses as an integer within the bounds."""
    if type(value) is int:
        return bounds[0] <= value <= bounds[1]
    # The shortest text, not the exact value: 2^63 prints as 9223372036854775808 rounded to 17 digits, then zeros.
    return float(value).is_integer() and bounds[0] <= int(Decimal(repr(value))) <= bounds[1]


def fits_float32(value: float) -> bool:
    """Return whether the shortest decimal text of a number fits into a float32."""
    return abs(Decimal(repr(value))) < _FLOAT32_OVERFLOW
