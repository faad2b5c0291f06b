"""Formats JSON values, integers and bytes as Go's package fmt does: ``Sprintf``, ``Sprint``, ``Sprintln``, %#v.

Source: fmt (print.go, format.go).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

from auditor.golang.text import display, float_v, quote, type_name
from auditor.golang.unicode import MAX_RUNE, is_print

__all__ = ["Byte", "Int", "go_bytes", "go_text", "go_type", "sprint", "sprintf", "sprintln", "syntax"]

_MOST: Final = 1_000_000
"""The largest width or precision that has an effect."""
_INTEGER_VERBS: Final = {"d": "d", "b": "b", "o": "o", "O": "o", "x": "x", "X": "X"}


class Byte(int):
    """A uint8, the result of indexing a string."""


class Int(int):
    """An int: a constant in a template, or the result of a function; integers of JSON are int64."""


def go_bytes(text: str) -> bytes:
    """Return the bytes of a string as Go holds it."""
    return text.encode("utf-8", "surrogateescape" if _is_escaped(text) else "surrogatepass")


def _is_escaped(text: str) -> bool:
    return any("\udc80" <= letter <= "\udcff" for letter in text)


def go_text(data: bytes) -> str:
    """Return a string of bytes, which need not be UTF-8."""
    return data.decode("utf-8", "surrogateescape")


def go_type(value: Any) -> str:
    """Return the name of the Go type of a value: ``int``, ``uint8``, ``int64``, ``map[string]interface {}``."""
    if type(value) is Byte:
        return "uint8"
    return "int" if type(value) is Int else type_name(value)


def syntax(value: Any) -> str:
    """Return a value in Go's syntax, as %#v prints it."""
    kind = type(value)
    if kind is str:
        return quote(value)
    if kind is list:
        return "[]interface {}{" + ", ".join(map(syntax_inside, value)) + "}"
    if kind is dict:
        parts = (f"{quote(key)}:{syntax_inside(value[key])}" for key in sorted(value))
        return "map[string]interface {}{" + ", ".join(parts) + "}"
    if kind is Byte:
        return f"0x{value:x}"
    return display(value)


def syntax_inside(value: Any) -> str:
    """Return an element of a list or map in Go's syntax."""
    return "interface {}(nil)" if value is None else syntax(value)


def sprint(args: list[Any]) -> str:
    """Return operands one after another, with a blank between two that are both not strings."""
    out = []
    for at, arg in enumerate(args):
        if at and type(arg) is not str and type(args[at - 1]) is not str:
            out.append(" ")
        out.append(display(arg))
    return "".join(out)


def sprintln(args: list[Any]) -> str:
    """Return operands with blanks between them, and the end of the line."""
    return " ".join(map(display, args)) + "\n"


@dataclass(frozen=True, slots=True)
class _Spec:
    """The part of a directive between ``%`` and the verb."""

    minus: bool = False
    plus: bool = False
    sharp: bool = False
    space: bool = False
    zero: bool = False
    width: int | None = None
    precision: int | None = None

    def pad(self, text: str) -> str:
        """Pad a text to the width; runes are counted."""
        missing = (self.width or 0) - len(text)
        if missing <= 0:
            return text
        if self.minus:
            return text + " " * missing
        return ("0" if self.zero else " ") * missing + text

    def pad_number(self, sign: str, digits: str) -> str:
        """Pad a number to the width; zeros go between the sign and the digits."""
        if self.zero and not self.minus and self.width is not None:
            return sign + digits.rjust(self.width - len(sign), "0")
        return replace(self, zero=False).pad(sign + digits)


class _Printer:
    """One call of Sprintf."""

    def __init__(self, text: str, args: list[Any]) -> None:
        self.text = text
        self.args = args
        self.at = 0
        self.number = 0
        self.reordered = False
        self.good_index = True
        self.after_index = False
        self.out: list[str] = []

    def run(self) -> str:
        text = self.text
        while self.at < len(text):
            percent = text.find("%", self.at)
            if percent < 0:
                percent = len(text)
            self.out.append(text[self.at : percent])
            self.at = percent + 1
            if percent < len(text):
                self.directive()
        if not self.reordered and self.number < len(self.args):
            extra = ", ".join(_named(arg) for arg in self.args[self.number :])
            self.out.append(f"%!(EXTRA {extra})")
        return "".join(self.out)

    def directive(self) -> None:
        self.good_index, self.after_index = True, False
        spec = self.flags()
        self.index()
        spec = self.width(spec)
        spec = self.precision(spec)
        if not self.after_index:
            self.index()
        if self.at >= len(self.text):
            self.out.append("%!(NOVERB)")
            return
        verb = self.text[self.at]
        self.at += 1
        if verb == "%":
            self.out.append("%")
        elif not self.good_index:
            self.out.append(f"%!{verb}(BADINDEX)")
        elif self.number >= len(self.args):
            self.out.append(f"%!{verb}(MISSING)")
        else:
            arg = self.args[self.number]
            self.number += 1
            self.out.append(_formatted(spec, verb, arg))

    def flags(self) -> _Spec:
        seen = set()
        while self.at < len(self.text) and self.text[self.at] in "+-# 0":
            seen.add(self.text[self.at])
            self.at += 1
        minus = "-" in seen
        return _Spec(minus=minus, plus="+" in seen, sharp="#" in seen, space=" " in seen, zero="0" in seen)

    def index(self) -> None:
        """Read ``[n]``, the number of the next argument."""
        if not self.text.startswith("[", self.at):
            return
        self.reordered = True
        end = self.text.find("]", self.at)
        if end < 0:
            self.good_index = False
            self.at += 1
            return
        inner = self.text[self.at + 1 : end]
        self.at = end + 1
        if inner.isascii() and inner.isdigit() and 1 <= int(inner) <= len(self.args):
            self.number = int(inner) - 1
            self.after_index = True
        else:
            self.good_index = False

    def star(self) -> int | None:
        """Read the argument for ``*``; None if it is not a small integer."""
        self.at += 1
        self.after_index = False
        value: Any = self.args[self.number] if self.number < len(self.args) else None
        self.number += self.number < len(self.args)
        return int(value) if type(value) in (int, Int, Byte) and abs(value) <= _MOST else None

    def width(self, spec: _Spec) -> _Spec:
        if self.text.startswith("*", self.at):
            width = self.star()
            if width is None:
                self.out.append("%!(BADWIDTH)")
                return spec
            return replace(spec, width=abs(width), minus=spec.minus or width < 0)
        number = self.digits()
        if number is not None and self.after_index:
            self.good_index = False
        return replace(spec, width=number)

    def precision(self, spec: _Spec) -> _Spec:
        if not self.text.startswith(".", self.at):
            return spec
        self.at += 1
        if self.after_index:
            self.good_index = False
        self.index()
        if self.text.startswith("*", self.at):
            precision = self.star()
            if precision is None:
                self.out.append("%!(BADPREC)")
                return spec
            return replace(spec, precision=precision if precision >= 0 else None)
        return replace(spec, precision=self.digits() or 0)

    def digits(self) -> int | None:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] in "0123456789":
            self.at += 1
        number = int(self.text[start : self.at] or -1) if self.at - start < 8 else -1
        return number if 0 <= number <= _MOST else None


def sprintf(text: str, args: list[Any]) -> str:
    """Return a format with its directives replaced."""
    return _Printer(text, args).run()


def _named(value: Any) -> str:
    return "<nil>" if value is None else f"{go_type(value)}={display(value)}"


def _bad(spec: _Spec, verb: str, value: Any) -> str:
    return f"%!{verb}({go_type(value)}={_of_kind(spec, 'v', value)})"


def _formatted(spec: _Spec, verb: str, value: Any) -> str:
    if value is None:
        return spec.pad("<nil>") if verb in "Tv" else f"%!{verb}(<nil>)"
    if verb == "T":
        return _string(spec, "s", go_type(value), value)
    if verb == "v" and spec.sharp:
        return replace(spec, zero=False).pad(syntax(value)) if type(value) is str else syntax(value)
    return _of_kind(replace(spec, plus=False) if verb == "v" else spec, verb, value)


def _of_kind(spec: _Spec, verb: str, value: Any) -> str:
    kind = type(value)
    if kind is bool:
        return spec.pad(display(value)) if verb in "tv" else _bad(spec, verb, value)
    if kind in (int, Int, Byte):
        return _integer(spec, verb, value)
    if kind is float:
        return _float(spec, verb, value)
    if kind is str:
        return _string(spec, verb, value, value)
    if kind is list:
        return "[" + " ".join(_element(spec, verb, each) for each in value) + "]"
    if kind is dict:
        return (
            "map["
            + " ".join(f"{_of_kind(spec, verb, key)}:{_element(spec, verb, value[key])}" for key in sorted(value))
            + "]"
        )
    return display(value)


def _element(spec: _Spec, verb: str, value: Any) -> str:
    if value is None:
        return "<nil>"
    return _of_kind(spec, verb, value)


def _integer(spec: _Spec, verb: str, value: int) -> str:
    if verb == "v":
        verb = "d"
    if verb == "c":
        return spec.pad(_rune(value))
    if verb == "q":
        return spec.pad(_quoted_rune(value))
    if verb == "U":
        text = f"U+{value:04X}" if spec.precision is None else f"U+{value:0{max(spec.precision, 4)}X}"
        if spec.sharp and 0 <= value <= MAX_RUNE and is_print(value):
            text += f" '{chr(value)}'"
        return replace(spec, zero=False).pad(text)
    if verb not in _INTEGER_VERBS:
        return _bad(spec, verb, value)
    sign = "-" if value < 0 else "+" if spec.plus else " " if spec.space else ""
    digits = format(abs(value), _INTEGER_VERBS[verb])
    if spec.precision is not None:
        if spec.precision == 0 and value == 0:
            return " " * (spec.width or 0)
        digits = digits.rjust(spec.precision, "0")
        spec = replace(spec, zero=False)
    prefix = {"O": "0o"}.get(verb, "")
    if spec.sharp:
        prefix = {"b": "0b", "o": "" if digits.startswith("0") else "0", "x": "0x", "X": "0X"}.get(verb, prefix)
    if spec.zero and not spec.minus and spec.width is not None:  # the width counts the digits and the sign only
        return sign + prefix + digits.rjust(spec.width - len(sign), "0")
    return replace(spec, zero=False).pad(sign + prefix + digits)


def _rune(value: int) -> str:
    valid = 0 <= value <= MAX_RUNE and not 0xD800 <= value < 0xE000
    return chr(value) if valid else "\ufffd"


def _quoted_rune(value: int) -> str:
    letter = _rune(value)
    if letter == '"':
        return "'\"'"
    return "'\\''" if letter == "'" else f"'{quote(letter)[1:-1]}'"


def _float(spec: _Spec, verb: str, value: float) -> str:
    if verb == "v":
        verb = "g"
    if verb not in "eEfFgGxXb":
        return _bad(spec, verb, value)
    if not math.isfinite(value):
        text = float_v(value)
        sign = text[0] if text[0] == "-" or (spec.plus and text[0] == "+") else " " if spec.space else ""
        return replace(spec, zero=False).pad(sign + text.lstrip("+-"))
    negative = math.copysign(1.0, value) < 0
    sign = "-" if negative else "+" if spec.plus else " " if spec.space else ""
    precision = spec.precision
    if verb in "xX":
        digits = _hexadecimal(abs(value), precision)
        digits = digits.upper() if verb == "X" else digits
    elif verb == "b":
        mantissa, exponent = math.frexp(abs(value))
        digits = f"{int(mantissa * 2**53)}p{exponent - 53:+d}" if value else "0p-1074"
    elif verb in "gG" and precision is None:
        digits = float_v(abs(value))
    elif verb in "gG":
        digits = format(abs(value), f".{precision or 1}g")
    else:
        digits = format(abs(value), f".{6 if precision is None else precision}{verb.lower()}")
    return spec.pad_number(sign, digits.upper() if verb in "EG" else digits)


def _hexadecimal(value: float, precision: int | None) -> str:
    """Return a float as %x prints it: ``0x1.8p+01``."""
    mantissa, exponent = math.frexp(value)
    bits, exponent = (int(mantissa * 2**53), exponent - 1) if value else (0, 0)
    if precision is not None and precision < 13:
        unit = 1 << (52 - 4 * precision)
        low, bits = bits % unit, bits // unit
        bits += low * 2 > unit or (low * 2 == unit and bits % 2)
        bits *= unit
        if bits >> 53:
            bits, exponent = bits >> 1, exponent + 1
    fraction = f"{bits & (2**52 - 1):013x}"
    fraction = fraction.rstrip("0") if precision is None else fraction[:precision].ljust(precision, "0")
    return f"0x{bits >> 52}{'.' if fraction else ''}{fraction}p{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _string(spec: _Spec, verb: str, text: str, value: Any) -> str:
    if verb in "xX":
        data = go_bytes(text)[: spec.precision]
        gap = " " if spec.space else ""
        lead = f"0{verb}" if spec.sharp and data else ""
        inner = gap + (lead if gap else "")
        digits = lead + inner.join(format(byte, f"02{verb}") for byte in data)
        return spec.pad(digits)
    if spec.precision is not None:
        text = text[: spec.precision]
    if verb in "vs":
        return spec.pad(text)
    if verb != "q":
        return _bad(spec, verb, value)
    if spec.sharp and "`" not in text and all(letter == "\t" or " " <= letter != "\x7f\ufeff" for letter in text):
        return spec.pad(f"`{text}`")
    return spec.pad(_ascii(quote(text)) if spec.plus else quote(text))


def _ascii(quoted: str) -> str:
    return "".join(
        letter if letter < "\x80" else f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"
        for letter in quoted
    )
