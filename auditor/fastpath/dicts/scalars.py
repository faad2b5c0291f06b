"""Conditions on values of one type: strings, numbers, booleans; and enums of any type.

Each function takes a variable whose Python type is known, and returns conditions, cheap ones first. Conditions with the
statement `mode.bad` are exact; `mode.doubt` is used for behaviour of the server that is not reproduced here (an enum
that converts between types, a bound beyond 2^53).

Patterns and formats are functions that generated code calls, each with a cache of accepted values.

Source: kube-openapi pkg/validation/validate (string.go, number.go, values.go, type.go);
auditor.golang (regular expressions); auditor.validation (formats).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.fastpath.dicts.scope import Condition, Mode
from auditor.fastpath.dicts.support import INT64_MAX, LARGE_INTEGER, remembering
from auditor.golang.regex.compiled import GoRegexError, compile_pattern
from auditor.releases import changes
from auditor.schema.objectmeta import is_written_time
from auditor.validation import string_formats

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.codegen import Module
    from auditor.schema.structural import StructuralSchema


class Checks:
    """The string checks of one module; equal patterns or formats share one check and one cache.

    Each check is the text of a condition under which a string is refused, with a `{0}` where the variable goes.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self._known: dict[tuple[str, str], str | None] = {}

    def pattern(self, pattern: str) -> str | None:
        """Return the check of a pattern; None if it does not compile."""
        if ("pattern", pattern) not in self._known:
            try:
                search = compile_pattern(pattern).matches
            except GoRegexError:
                self._known["pattern", pattern] = None
            else:
                self._known["pattern", pattern] = self._bind(search)
        return self._known["pattern", pattern]

    def format(self, schema: StructuralSchema) -> str | None:
        """Return the check of the format of a schema; None if it restricts no strings."""
        name = string_formats.strip_format(schema)
        if not name or not string_formats.is_known(name):
            return None
        if ("format", name) not in self._known:
            check = _format_check(name)
            self._known["format", name] = self._bind_times(check) if _is_moment(name) else self._bind(check)
        return self._known["format", name]

    def text(self, schema: StructuralSchema) -> str | None:
        """Return the check of all keywords of a schema of type string, or None if not supported."""
        key = ("text", repr((schema.pattern, schema.format, schema.min_length, schema.max_length, schema.enum)))
        if key not in self._known:
            check = self._text_check(schema)
            has_more = schema.pattern or schema.enum or schema.min_length or schema.max_length is not None
            bind = self._bind_times if _is_moment(schema.format) and not has_more else self._bind
            self._known[key] = None if check is None else bind(check)
        return self._known[key]

    @staticmethod
    def _text_check(schema: StructuralSchema) -> Callable[[str], bool] | None:
        least, most = schema.min_length or 0, schema.max_length
        enum = frozenset(value for value in schema.enum if type(value) is str) if schema.enum else None
        matches = accepts = None
        if schema.pattern:
            try:
                matches = compile_pattern(schema.pattern).matches
            except GoRegexError:
                return None
        name = string_formats.strip_format(schema)
        if name and string_formats.is_known(name):
            accepts = _format_check(name)
        if not least and most is None and enum is None:
            alone = matches or accepts
            if alone is not None and (matches is None or accepts is None):
                return alone

        def check(text: str) -> bool:
            return (
                len(text) >= least
                and (most is None or len(text) <= most)
                and (enum is None or text in enum)
                and (matches is None or matches(text))
                and (accepts is None or accepts(text))
            )

        return check

    def _bind(self, check: Callable[[str], bool]) -> str:
        accepted, remember = remembering(check)
        return f"{{0}} not in {self.module.slot(accepted, 'm')} and not {self.module.slot(remember, 'p')}({{0}})"

    def _bind_times(self, check: Callable[[str], bool]) -> str:
        """Bind a check of times: they rarely repeat, and nearly all are written as the server writes them."""
        is_written = self.module.slot(is_written_time, "p")
        return f"{is_written}({{0}}) is None and not {self.module.slot(check, 'p')}({{0}})"


def _is_moment(name: str) -> bool:
    return name.replace("-", "") == "datetime"


def _format_check(name: str) -> Callable[[str], bool]:
    accepts = string_formats.accepts
    return lambda text: accepts(name, text)


_INT32: Final = (-(2**31), 2**31 - 1)
_WHOLE: Final = (-(2**53), 2**53)
_FLOAT32_MAX: Final = 3.4028234e38
"""Slightly less than the largest float32."""


def str_conditions(schema: StructuralSchema, x: str, mode: Mode, checks: Checks) -> list[Condition]:
    """Return conditions on a string."""
    conditions: list[Condition] = enum_conditions(schema, x, "str", mode, checks)
    if schema.max_length is not None:
        conditions.append((f"len({x}) > {schema.max_length}", mode.bad))
    if schema.min_length is not None and schema.min_length > 0:
        conditions.append((f"not {x}" if schema.min_length == 1 else f"len({x}) < {schema.min_length}", mode.bad))
    if schema.pattern:
        known = checks.pattern(schema.pattern)
        conditions.append((known.format(x), mode.bad) if known else ("True", mode.doubt))
    known = checks.format(schema) if schema.format else None
    if known:
        conditions.append((known.format(x), mode.bad))
    return conditions


def int_conditions(schema: StructuralSchema, x: str, mode: Mode, checks: Checks) -> list[Condition]:
    """Return conditions on an integer; when reading, the first one checks for integers beyond 64 bits."""
    low, high, doubtful = int_bounds(schema)
    conditions: list[Condition] = []
    test = _between(x, low, high)
    if mode is Mode.FUSED:
        conditions.append(
            (test, mode.bad)
            if test and high is not None
            else (f"{x} > {INT64_MAX}", f"raise Refused({LARGE_INTEGER!r})")
        )
        if test and high is None:
            conditions.append((test, mode.bad))
    elif test:
        conditions.append((test, mode.bad))
    if doubtful:
        conditions.append(("True", mode.doubt))
    if schema.multiple_of is not None:
        factor = int(schema.multiple_of)
        plain = 0 < factor <= _limits(schema)[1] and (factor == schema.multiple_of or not _only_integer(schema))
        conditions.append((f"{x} % {factor}", mode.bad) if plain else ("True", mode.doubt))
    return conditions + enum_conditions(schema, x, "int", mode, checks)


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
    conditions: list[Condition] = []
    if schema.type == "number" and schema.format == "float" and changes.NUMBER_FORMATS.holds:
        conditions.append((f"not {-_FLOAT32_MAX!r} <= {x} <= {_FLOAT32_MAX!r}", mode.doubt))
        if any(abs(bound) > _FLOAT32_MAX for bound in (schema.maximum, schema.minimum) if bound is not None):
            conditions.append(("True", mode.doubt))
    if schema.maximum is not None:
        sign = ">=" if schema.exclusive_maximum else ">"
        conditions.append((f"{x} {sign} {float(schema.maximum)!r}", mode.bad))
    if schema.minimum is not None:
        sign = "<=" if schema.exclusive_minimum else "<"
        conditions.append((f"{x} {sign} {float(schema.minimum)!r}", mode.bad))
    if schema.multiple_of is not None:
        conditions.append(("True", mode.doubt))
    return conditions + enum_conditions(schema, x, "float", mode, checks)


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
