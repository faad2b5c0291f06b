"""Numbers, characters and strings in the text of a template.

Source: strconv (quote.go, atoi.go, atof.go), text/template/parse (newNumber).
"""

from __future__ import annotations

import math
import re
from typing import Final

from auditor.golang.printf import go_text
from auditor.golang.template.errors import TemplateError
from auditor.golang.text import quote
from auditor.golang.unicode import MAX_RUNE

__all__ = ["number", "unquote"]

_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|[0-7]{3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SIMPLE: Final = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "'": 39, '"': 34}
_UNDERSCORES: Final = re.compile(r"[+-]?(?:0[xXoObB]_?|(?=[0-9]))[0-9a-fA-F]*(?:_[0-9a-fA-F]+)*")
_INTEGER: Final = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEX_FLOAT: Final = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")


def unquote(quoted: str) -> str:
    """Return the text of a string or character in quotes.

    Raises:
        TemplateError: An escape is not valid.
    """
    mark, inner = quoted[0], quoted[1:-1]
    if mark == "`":
        return inner.replace("\r", "")
    out = bytearray()
    at = 0
    while at < len(inner):
        if inner[at] != "\\":
            out += inner[at].encode("utf-8", "surrogatepass")
            at += 1
            continue
        match = _ESCAPE.match(inner, at)
        meant = _meant(match[1], mark) if match is not None else None
        if match is None or meant is None:
            raise TemplateError("invalid syntax")
        out += meant
        at = match.end()
    return go_text(bytes(out))


def _meant(escape: str, mark: str) -> bytes | None:
    if len(escape) == 1:
        known = escape in _SIMPLE and (escape not in "'\"" or escape == mark)
        return bytes([_SIMPLE[escape]]) if known else None
    code = int(escape, 8) if escape.isdigit() else int(escape[1:], 16)
    if escape[0] in "uU":
        return None if code > MAX_RUNE or 0xD800 <= code < 0xE000 else chr(code).encode()
    return bytes([code]) if code < 256 else None


def number(text: str, kind: str) -> int | float:
    """Return the constant of a token: an int, or a float if it is written as one.

    Args:
        text: As written.
        kind: ``number``, ``character`` or ``complex``.
    Raises:
        TemplateError: Go refuses it, or it is a complex number, which is not supported here.
    """
    if kind == "character":
        meant = unquote(text)
        if len(meant) != 1:
            raise TemplateError("malformed character constant: " + text if meant else "invalid syntax")
        return ord(meant)
    if kind == "complex" or text.endswith("i"):
        raise TemplateError(f"complex numbers are not read here: {quote(text)}")
    plain = text.replace("_", "") if "_" in text and _UNDERSCORES.fullmatch(text.partition(".")[0]) else text
    if _INTEGER.fullmatch(plain):
        return _integer(plain, text)
    hexadecimal = _HEX_FLOAT.fullmatch(plain)
    if hexadecimal is None and not _FLOAT.fullmatch(plain):
        raise TemplateError(f"illegal number syntax: {quote(text)}")
    value = float.fromhex(plain) if hexadecimal is not None else float(plain)
    if math.isinf(value):
        raise TemplateError(f"illegal number syntax: {quote(text)}")
    return value


def _integer(plain: str, text: str) -> int:
    sign = -1 if plain.startswith("-") else 1
    digits = plain.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1] not in "xXoObB":
        value = sign * int(digits, 8)
    else:
        value = sign * int(digits, 0)
    if not -(2**63) <= value < 2**64:
        raise TemplateError(f"integer overflow: {quote(text)}")
    return value
