"""Values in Go's formats: %q of strings, %v of JSON values, floats in both of Go's formats, type names."""

from __future__ import annotations

import math
from typing import Any

from auditor.golang.unicode import is_print

_SHORT_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}

_BROKEN = dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd")

_TYPE_NAMES = {
    str: "string",
    int: "int64",
    float: "float64",
    bool: "bool",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    type(None): "<nil>",
}


def quote(text: str) -> str:
    r"""Return `text` as Go's %q prints it: in double quotes, with unprintable characters escaped (``"a\n\u00a0"``).

    Args:
        text: Unicode text. Bytes that are not UTF-8, held as in Python's "surrogateescape", print as ``\xff``; other
            lone surrogates print as their three bytes in UTF-8.

    Source: strconv.Quote; printable means unicode.IsPrint of the server's Go release.
    """
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join([_quoted_character(character) for character in text]) + '"'


def without_broken(text: str) -> str:
    """Return `text` with U+FFFD for every byte that is not UTF-8, as in Go's runes and JSON.

    Args:
        text: Such bytes are held as in Python's "surrogateescape".
    """
    return text if text.isascii() else text.translate(_BROKEN)


def _quoted_character(character: str) -> str:
    short = _SHORT_ESCAPES.get(character)
    if short is not None:
        return short
    code = ord(character)
    if is_print(code):
        return character
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if 0xD800 <= code <= 0xDFFF:
        return "".join([f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass")])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def float_v(number: float) -> str:
    """Return a float64 as Go's %v prints it: ``1e+06``, ``100000``, ``1e-05``, ``+Inf``.

    Source: fmt, strconv.FormatFloat(f, 'g', -1, 64): exponents below -4 or from 6 on use the exponent form.
    """
    if not math.isfinite(number):
        return _not_finite(number)
    sign, digits, exponent = _shortest(number)
    if exponent < -4 or exponent >= 6:
        return sign + _exponent_form(digits, exponent)
    return sign + _plain_form(digits, exponent)


def float_json(number: float) -> str:
    """Return a float64 as Go's JSON encoder writes it: ``1000000``, ``1e+21``, ``1e-7``.

    Args:
        number: Go refuses to encode NaN and infinities, which JSON does not have. Here they print as with %v.

    Source: encoding/json floatEncoder, the same as ES6: exponent form below 1e-6 and from 1e21 on.
    """
    if not math.isfinite(number):
        return _not_finite(number)
    sign, digits, exponent = _shortest(number)
    if number == 0 or -6 <= exponent < 21:
        return sign + _plain_form(digits, exponent)
    text = _exponent_form(digits, exponent)
    return sign + (text[:-2] + text[-1] if text[-4:-1] == "e-0" else text)


def _not_finite(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "+Inf" if number > 0 else "-Inf"


def _shortest(number: float) -> tuple[str, str, int]:
    """Return sign, shortest digits that round-trip, and the decimal exponent of the first digit."""
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    point = len(whole) + int(exponent or 0)
    stripped = digits.lstrip("0")
    if not stripped:
        return sign, "0", 0
    point -= len(digits) - len(stripped)
    return sign, stripped.rstrip("0"), point - 1


def _plain_form(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def _exponent_form(digits: str, exponent: int) -> str:
    mantissa = f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def display(value: Any) -> str:
    """Return a JSON value as Go's %v prints it: ``map[a:1 b:[x <nil>]]``; strings as they are, map keys sorted.

    Source: fmt; maps are printed in key order since Go 1.12.
    """
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is float:
        return float_v(value)
    if value is None:
        return "<nil>"
    if kind is list:
        return "[" + " ".join([display(item) for item in value]) + "]"
    if kind is dict:
        return "map[" + " ".join([f"{key}:{display(value[key])}" for key in sorted(value)]) + "]"
    return str(value)


def go_syntax(value: Any) -> str:
    """Return a JSON value as Go's %#v prints it: ``map[string]interface {}{"a":1}``; map keys sorted.

    Source: fmt.
    """
    kind = type(value)
    if kind is str:
        return quote(value)
    if kind is list:
        return "[]interface {}{" + ", ".join(map(go_syntax, value)) + "}"
    if kind is dict:
        return (
            "map[string]interface {}{"
            + ", ".join([f"{quote(key)}:{go_syntax(value[key])}" for key in sorted(value)])
            + "}"
        )
    return "interface {}(nil)" if value is None else display(value)


def type_name(value: Any) -> str:
    """Return the name of the Go type of a decoded JSON value, as %T prints it: ``map[string]interface {}``.

    Other values name their own type (`go_type`).
    """
    return _TYPE_NAMES.get(type(value)) or str(getattr(value, "go_type", type(value).__name__))
