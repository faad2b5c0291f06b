"""Conditions on values of one type: strings, numbers, booleans; and enums of any type.

Each function takes a variable whose Python type is known, and returns conditions, cheap ones first. Conditions with the
statement `mode.bad` are exact; `mode.doubt` is used for behaviour of the server that is not reproduced here (an enum
that converts between types, a bound beyond 2^53).

Source: kube-openapi pkg/validation/validate (string.go, number.go, values.go, type.go).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.fastpath.dicts.scope import Condition, Mode
from auditor.fastpath.dicts.support import INT64_MAX, LARGE_INTEGER
from auditor.releases import changes

if TYPE_CHECKING:
    from auditor.fastpath.dicts.checks import Checks
    from auditor.schema.structural import StructuralSchema

__all__ = ["bool_conditions", "enum_conditions", "float_conditions", "int_bounds", "int_conditions", "str_conditions"]

_INT32: Final = (-(2**31), 2**31 - 1)
_WHOLE: Final = (-(2**53), 2**53)
_FLOAT32_MAX: Final = 3.4028234e38
"""Slightly less than the largest float32."""


def str_conditions(schema: StructuralSchema, x: str, mode: Mode, checks: Checks) -> list[Condition]:
    """Return conditions on a string."""
    found: list[Condition] = enum_conditions(schema, x, "str", mode, checks)
    if schema.max_length is not None:
        found.append((f"len({x}) > {schema.max_length}", mode.bad))
    if schema.min_length is not None and schema.min_length > 0:
        found.append((f"not {x}" if schema.min_length == 1 else f"len({x}) < {schema.min_length}", mode.bad))
    if schema.pattern:
        known = checks.pattern(schema.pattern)
        found.append((f"{x} not in {known[0]} and not {known[1]}({x})", mode.bad) if known else ("True", mode.doubt))
    known = checks.format(schema) if schema.format else None
    if known:
        found.append((f"{x} not in {known[0]} and not {known[1]}({x})", mode.bad))
    return found


def int_conditions(schema: StructuralSchema, x: str, mode: Mode, checks: Checks) -> list[Condition]:
    """Return conditions on an integer; when reading, the first one checks for integers beyond 64 bits."""
    low, high, doubtful = int_bounds(schema)
    found: list[Condition] = []
    test = _between(x, low, high)
    if mode is Mode.FUSED:
        found.append(
            (test, mode.bad)
            if test and high is not None
            else (f"{x} > {INT64_MAX}", f"raise Refused({LARGE_INTEGER!r})")
        )
        if test and high is None:
            found.append((test, mode.bad))
    elif test:
        found.append((test, mode.bad))
    if doubtful:
        found.append(("True", mode.doubt))
    if schema.multiple_of is not None:
        factor = int(schema.multiple_of)
        plain = 0 < factor <= _limits(schema)[1] and (factor == schema.multiple_of or not _only_integer(schema))
        found.append((f"{x} % {factor}", mode.bad) if plain else ("True", mode.doubt))
    return found + enum_conditions(schema, x, "int", mode, checks)


def int_bounds(schema: StructuralSchema) -> tuple[int | None, int | None, bool]:
    """Return the smallest and largest allowed integer (None if not given), and whether there are further limits."""
    low: int | None = None
    high: int | None = None
    doubtful = False
    limits = _limits(schema)
    if limits is _INT32:
        low, high = limits
    for bound, exclusive, upper in (
        (schema.maximum, schema.exclusive_maximum, True),
        (schema.minimum, schema.exclusive_minimum, False),
    ):
        if bound is None:
            continue
        whole = int(bound)
        if not limits[0] <= whole <= limits[1] or (whole != bound and _only_integer(schema)):
            doubtful = True
        elif upper:
            whole -= exclusive
            high = whole if high is None else min(high, whole)
        else:
            whole += exclusive
            low = whole if low is None else max(low, whole)
    return low, high, doubtful


def _limits(schema: StructuralSchema) -> tuple[int, int]:
    """Return the range of integers in which a keyword is exact; outside, the server may judge differently."""
    return _INT32 if _only_integer(schema) and schema.format == "int32" else _WHOLE


def _only_integer(schema: StructuralSchema) -> bool:
    """Return whether the server checks values and bounds against the range of an integer."""
    return schema.type == "integer" and not schema.int_or_string and changes.NUMBER_FORMATS.holds


def _between(x: str, low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"not {low} <= {x} <= {high}"
    if high is not None:
        return f"{x} > {high}"
    return f"{x} < {low}" if low is not None else ""


def float_conditions(schema: StructuralSchema, x: str, mode: Mode, checks: Checks) -> list[Condition]:
    """Return conditions on a float of a schema that is not `integer`."""
    found: list[Condition] = []
    if schema.type == "number" and schema.format == "float" and changes.NUMBER_FORMATS.holds:
        found.append((f"not {-_FLOAT32_MAX!r} <= {x} <= {_FLOAT32_MAX!r}", mode.doubt))
        if any(abs(bound) > _FLOAT32_MAX for bound in (schema.maximum, schema.minimum) if bound is not None):
            found.append(("True", mode.doubt))
    if schema.maximum is not None:
        sign = ">=" if schema.exclusive_maximum else ">"
        found.append((f"{x} {sign} {float(schema.maximum)!r}", mode.bad))
    if schema.minimum is not None:
        sign = "<=" if schema.exclusive_minimum else "<"
        found.append((f"{x} {sign} {float(schema.minimum)!r}", mode.bad))
    if schema.multiple_of is not None:
        found.append(("True", mode.doubt))
    return found + enum_conditions(schema, x, "float", mode, checks)


def bool_conditions(schema: StructuralSchema, x: str, mode: Mode, checks: Checks) -> list[Condition]:
    """Return conditions on a boolean."""
    return enum_conditions(schema, x, "bool", mode, checks)


def enum_conditions(schema: StructuralSchema, x: str, kind: str, mode: Mode, checks: Checks) -> list[Condition]:
    """Return the condition that a value of a type is not in the enum.

    Before comparing, the server converts the value to the type of each allowed value, if Go can: integers and floats to
    each other, integers to strings (a code point). Matches that need such a conversion are not decided here.
    """
    if not schema.enum:
        return []
    kinds = {type(value) for value in schema.enum}
    same: frozenset[Any]
    certain = True
    if kind == "str":
        same = frozenset(value for value in schema.enum if type(value) is str)
    elif kind == "bool":
        same = frozenset(value for value in schema.enum if type(value) is bool)
    elif kind == "int":
        same = frozenset(value for value in schema.enum if type(value) is int)
        certain = str not in kinds and float not in kinds
    elif kind == "float":
        same = frozenset(value for value in schema.enum if type(value) is float)
        certain = str not in kinds and int not in kinds
    else:
        return [("True", mode.doubt)]
    if not same:
        return [("True", mode.bad if certain else mode.doubt)]
    return [(f"{x} not in {checks.module.slot(same)}", mode.bad if certain else mode.doubt)]
