"""``"%s has %d".format([x, y])``: the types that each clause accepts, and how they print.

Top-level values print as ``string()`` would; values inside of lists and maps print as CEL would write them, doubles
with six decimals. ``%f`` and ``%e`` are printed for the locale en-US by another library: groups of three digits,
``1.5×10⁰³``, ``∞``. The number after the point is the precision of ``%f``; of ``%e`` it is the width of the field.

Source: cel-go ext/formatting.go (strings version 1 to 3); golang.org/x/text/message, internal/number; Go fmt, strconv.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from auditor.cel.cel_errors import CelError, errors_as_formats
from auditor.cel.cel_types import Kind
from auditor.cel.cel_values import MISSING, MapValue, UInt, is_list, is_map
from auditor.cel.operations import text_memory
from auditor.cel.operations.conversions import to_string
from auditor.cel.operations.cost import Cancelled
from auditor.cel.operations.equality import find, type_of
from auditor.golang.go_text import quote
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_PRECISION = 6
_NO_VERB = "%!(NOVERB)"
_LARGEST_NUMBER = 1_000_000
"""Reading of a number stops when it exceeds this, as in fmt and similar packages."""
_INT_MAX = 2**63 - 1
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_INFINITIES = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_TIMES, _SPACED_TIMES = "×10", "\u202f×\u202f10"
_DIGITS = re.compile("[0-9]*")
_PANIC = "internal error: runtime error: invalid memory address or nil pointer dereference"


def formatter() -> Callable[[str, Any], str]:
    """Return the function that replaces clauses as the release that is reproduced does."""
    format_ = format_string if changes.NO_SPACED_EXPONENTS.holds else partial(format_string, times=_SPACED_TIMES)
    return format_ if changes.PERCENTS_IN_ERRORS.holds else errors_as_formats(format_)


def format_string(template: str, arguments: Any, times: str = _TIMES) -> str:
    """Return the template with its clauses replaced by the arguments.

    Args:
        template: ``%%`` and clauses ``%[.number]letter``.
        arguments: A list; extra arguments are ignored.
        times: The text before the power of ten of `%e`.
    Raises:
        CelError: A clause is malformed, has no argument, or one of a type that it does not print.
    """
    values = arguments if type(arguments) is list else list(arguments.cel_iter())
    text, used, position = [], 0, 0
    while True:
        percent = template.find("%", position)
        if percent < 0:
            text.append(template[position:])
            return text_memory.join(text)
        text.append(template[position:percent])
        if template.startswith("%", percent + 1):
            text.append("%")
            position = percent + 2
            continue
        if used >= len(values):
            raise CelError(f"index {used} out of range")
        if percent + 1 == len(template):
            raise CelError("unexpected end of string")
        letter, number, position = clause_at(template, percent + 1)
        value = values[used]
        if isinstance(value, CelError):
            raise value
        text.append(_print(letter, number, value, times))
        used += 1


def clause_at(template: str, at: int) -> tuple[str, int | None, int]:
    """Return letter and number of the clause after a ``%``, and the position after it.

    Raises:
        CelError: There is no clause. The checker reports the same errors for constant templates.
    """
    doing = "could not parse formatting clause: "
    try:
        number, at = _number_at(template, at)
    except CelError as error:
        raise CelError(f"{doing}{error}") from None
    letter = template[at]
    if letter not in _CLAUSES:
        byte = letter.encode("utf-8", "surrogateescape")[0]
        raise CelError(f'{doing}unrecognized formatting clause "{chr(byte)}"')
    return letter, number, at + 1


def _number_at(template: str, at: int) -> tuple[int | None, int]:
    if template[at] != ".":
        return None, at
    match = _DIGITS.match(template, at + 1)
    digits = match[0] if match else ""
    doing = "error while parsing precision: "
    end = at + 1 + len(digits)
    if end == len(template):
        raise CelError(f"{doing}could not find end of precision specifier")
    doing += "error while converting precision to integer: "
    if not digits:
        raise CelError(f'{doing}strconv.Atoi: parsing "": invalid syntax')
    number = digits.lstrip("0") or "0"
    if len(number) > 19 or int(number) > _INT_MAX:
        raise CelError(f'{doing}strconv.Atoi: parsing "{digits}": value out of range')
    return int(number), end


def _print(letter: str, number: int | None, value: Any, times: str) -> str:
    try:
        if letter == "f":
            return _fixed(_double(value, "fixed-point"), _PRECISION if number is None else number)
        if letter == "e":
            return _scientific(_double(value, "scientific"), _PRECISION if number is None else number, times)
        return _CLAUSES[letter](value)
    except CelError as error:
        raise CelError(f"error during formatting: {error}") from None


# -- clauses -----------------------------------------------------------------------------------------------------------

_AS_STRING = frozenset(
    {Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.BOOL, Kind.STRING, Kind.BYTES, Kind.TIMESTAMP, Kind.DURATION, Kind.TYPE}
)


def _wrong(clause: str, value: Any) -> CelError:
    return CelError(f"{clause}, was given {type_of(value).name}")


def _string(value: Any) -> str:
    if value is None:
        return "null"
    if is_list(value):
        return f"[{', '.join([_literal(item) for item in _items(value)])}]"
    if is_map(value):
        return _map(value)
    if type_of(value).kind not in _AS_STRING:
        kinds = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
        raise _wrong(f"string clause can only be used on {kinds}", value)
    try:
        return to_string(value)
    except CelError as error:
        raise CelError(f"could not convert argument {quote(str(error))} to string") from None


def _items(value: Any) -> Iterator[Any]:
    for item in value if type(value) in (list, dict) else value.cel_iter():
        if isinstance(item, CelError):
            raise item
        yield item


def _map(value: Any) -> str:
    entries = []
    for key in _items(value):
        if key is None and type(value) is not MapValue:  # an unknown field of an object; the server panics
            raise Cancelled(CelError(_PANIC))
        kind = type_of(key)
        if kind.kind not in (Kind.STRING, Kind.BOOL, Kind.INT, Kind.UINT):
            raise CelError(f"no formatting function for map key of type {kind.name}")
        value_at = find(value, key)
        if value_at is MISSING:  # null in a field of an object counts as absent
            raise CelError(f"could not find key: {quote(key)}")
        entries.append((_literal(key), _literal(value_at)))
    entries.sort(key=lambda entry: entry[0])
    return f"{{{', '.join([f'{key}:{text}' for key, text in entries])}}}"


def _literal(value: Any) -> str:
    """Print a value inside of a list or map."""
    if isinstance(value, CelError):
        raise value
    if type(value) is float:
        return f"{value:.{_PRECISION}f}" if math.isfinite(value) else f'"{to_string(value)}"'
    match type_of(value).kind:
        case Kind.STRING:
            return quote(value)
        case Kind.BYTES:
            return f"b{quote(_string(value))}"
        case Kind.TIMESTAMP:
            return f"timestamp({quote(to_string(value))})"
        case Kind.DURATION:
            return f"duration({quote(to_string(value))})"
        case Kind.OPAQUE | Kind.OBJECT if not is_map(value):
            raise CelError(f"no formatting function for {type_of(value).name}")
    return _string(value)


def _decimal(value: Any) -> str:
    if type(value) not in (int, UInt):
        raise _wrong("decimal clause can only be used on integers", value)
    return str(int(value))


def _binary(value: Any) -> str:
    if type(value) not in (int, UInt, bool):
        raise _wrong("only integers and bools can be formatted as binary", value)
    return f"{int(value):b}"


def _octal(value: Any) -> str:
    if type(value) not in (int, UInt):
        raise _wrong("octal clause can only be used on integers", value)
    return f"{int(value):o}"


def _hexadecimal(value: Any) -> str:
    if type(value) is str:
        return value.encode("utf-8", "surrogateescape").hex()
    if type(value) is bytes:
        return value.hex()
    if type(value) in (int, UInt):
        return f"{int(value):x}"
    raise _wrong("only integers, byte buffers, and strings can be formatted as hex", value)


def _double(value: Any, clause: str) -> float:
    if type(value) is float:
        return value
    if type(value) is str and value in _INFINITIES:
        return _INFINITIES[value]
    raise _wrong(f"{clause} clause can only be used on doubles", value)


_CLAUSES: dict[str, Callable[[Any], str]] = {
    "s": _string,
    "d": _decimal,
    "f": _decimal,  # these two take a number: see _print
    "e": _decimal,
    "b": _binary,
    "x": _hexadecimal,
    "X": lambda value: _hexadecimal(value).upper(),
    "o": _octal,
}


# -- doubles for the locale en-US --------------------------------------------------------------------------------------


def _special(value: float) -> str | None:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return None


def _too_large(number: int) -> bool:
    """Whether fmt stops reading a number: it exceeds the limit before its last digit."""
    return number // 10 > _LARGEST_NUMBER


def _fixed(value: float, precision: int) -> str:
    """Print with a number of decimals. The maximum is stored in 16 bits, the minimum in 8."""
    if _too_large(precision):
        return _NO_VERB
    special = _special(value)
    if special is not None:
        return special
    most = precision & 0xFFFF
    least = precision & 0xFF
    size = abs(value)
    exact = f"{size:.{most}f}" if most < 0x8000 else format(Decimal(repr(size)), "f")
    whole, _, decimals = exact.partition(".")
    decimals = decimals.rstrip("0").ljust(least, "0")
    return f"{'-' if value < 0 else ''}{int(whole):,}{'.' if decimals else ''}{decimals}"


def _scientific(value: float, width: int, times: str) -> str:
    """Print with six decimals and a power of ten, in a field whose width is stored in 16 bits."""
    if _too_large(width):
        return _NO_VERB
    text = _special(value)
    if text is None:
        mantissa, _, exponent = f"{value or 0.0:.{_PRECISION}e}".partition("e")
        text = f"{mantissa}{times}{exponent.removeprefix('+').translate(_SUPERSCRIPTS)}"
    return text.rjust(width & 0xFFFF)
