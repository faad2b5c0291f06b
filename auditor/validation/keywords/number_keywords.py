"""multipleOf, minimum, maximum and the range of integer and float formats.

The meaning of a bound depends on the Go type of the value: an int64 is compared with the bound cut to an int64, a
float64 with the bound itself. If a schema has type integer and a bound is not an integer, every value gets an extra
finding and is compared as float64; servers before `changes.NUMBER_FORMATS` ignore types and formats here.

Source: kube-openapi pkg/validation/validate/validator.go (numberValidator), values.go; go-openapi/swag conv/convert.go;
conversions as on amd64.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from auditor.golang.go_text import float_v
from auditor.releases import changes
from auditor.validation.field_errors import INVALID
from auditor.validation.keywords.failure import Check, Complaint, Describe, Sink, composite

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.trail import Trail
    from auditor.ratcheting import CorrelatedObject
    from auditor.schema.structural import StructuralSchema


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


_Test = tuple["Callable[[Any], bool]", Describe, Any, bool]
"""(fails, describe, parameter, report the value as float64)."""


def number(schema: StructuralSchema, types: tuple[str, ...], format_: str) -> dict[type, Check]:
    """Return the checks for int and for float values; a kind that cannot fail is missing."""
    single = types[0] if len(types) == 1 and types[0] in ("integer", "number") else ""
    known = {"integer": ("int32", "int64"), "number": ("float", "double")}.get(single, ())
    return {
        kind: _check(tests)
        for kind in (int, float)
        if (tests := _tests(kind, schema, single, format_ if format_ in known else ""))
    }


def _check(tests: list[_Test]) -> Check:
    def check(value: Any, trail: Trail, sink: Sink, _twin: CorrelatedObject | None) -> int:
        for fails, describe, parameter, as_float in tests:
            if fails(value):
                sink.append((describe, trail, float(value) if as_float else value, parameter))
        return 0

    return check


def _tests(kind: type, schema: StructuralSchema, single: str, format_: str) -> list[_Test]:
    tests: list[_Test] = []
    fits = _range(single, format_)
    if fits is not None and not (kind is int and format_ != "int32"):
        tests.append((lambda value: not fits(value), _out_of_range, ("Checked", single, format_), False))
    for prefix, bound, make in (
        ("MultipleOf", schema.multiple_of, _multiple_of),
        ("Minimum boundary", schema.minimum, _minimum(exclusive=schema.exclusive_minimum)),
        ("Maximum boundary", schema.maximum, _maximum(exclusive=schema.exclusive_maximum)),
    ):
        if bound is None:
            continue
        exact = float(bound)
        if fits is not None and not fits(exact):
            tests.append((lambda _value: True, _out_of_range, (prefix, single, format_), False))
            tests.append(make(exact, as_float=True))
        else:
            tests.append(make(truncate(exact) if kind is int else exact, as_float=kind is float))
    return tests


def _range(single: str, format_: str) -> Callable[[float], bool] | None:
    if not changes.NUMBER_FORMATS.holds:
        return None
    if single == "integer":
        bounds = INT32 if format_ == "int32" else INT64
        return lambda value: fits_integer(value, bounds)
    return fits_float32 if single == "number" and format_ == "float" else None


def _out_of_range(path: str, _value: Any, parameter: tuple[str, str, str]) -> Complaint:
    prefix, type_, format_ = parameter
    which = f"with format {format_}" if format_ else "(default format)"
    return composite(f"{prefix} value must be of type {type_} {which} in {path}")


def _plain(bound: float) -> str:
    return str(bound) if type(bound) is int else float_v(bound)


def _multiple_of(factor: float, *, as_float: bool) -> _Test:
    if factor <= 0:
        return (lambda _value: True, _not_positive, factor, False)
    if not as_float:
        return (lambda value: value % factor != 0, _not_multiple, factor, False)
    is_whole = whole_test()
    if factor < 1:
        inverse = 1 / factor
        return (lambda value: not is_whole(inverse * value), _not_multiple, factor, True)
    return (lambda value: not is_whole(float(value) / factor), _not_multiple, factor, True)


def _not_positive(path: str, _value: Any, factor: float) -> Complaint:
    detail = f"factor MultipleOf declared for {path} must be positive: {_plain(factor)}"
    return Complaint(path, INVALID, factor, detail, detail)


def _not_multiple(path: str, value: Any, factor: float) -> Complaint:
    detail = f"{path} in body should be a multiple of {_plain(factor)}"
    return Complaint(path, INVALID, value, detail, detail)


def _minimum(*, exclusive: bool) -> Callable[..., _Test]:
    def make(bound: float, *, as_float: bool) -> _Test:
        if as_float:
            fails = (lambda value: float(value) <= bound) if exclusive else (lambda value: float(value) < bound)
        else:
            fails = (lambda value: value <= bound) if exclusive else (lambda value: value < bound)
        return (fails, _beyond, ("greater than" if exclusive else "greater than or equal to", bound), as_float)

    return make


def _maximum(*, exclusive: bool) -> Callable[..., _Test]:
    def make(bound: float, *, as_float: bool) -> _Test:
        if as_float:
            fails = (lambda value: float(value) >= bound) if exclusive else (lambda value: float(value) > bound)
        else:
            fails = (lambda value: value >= bound) if exclusive else (lambda value: value > bound)
        return (fails, _beyond, ("less than" if exclusive else "less than or equal to", bound), as_float)

    return make


def _beyond(path: str, value: Any, parameter: tuple[str, float]) -> Complaint:
    relation, bound = parameter
    detail = f"{path} in body should be {relation} {_plain(bound)}"
    return Complaint(path, INVALID, value, detail, detail)
