"""Values of literals: numbers and quoted strings.

Source: cel-go parser/unescape.go; Go strconv.
"""

from __future__ import annotations

import math
import re

from auditor.releases import changes

__all__ = ["parse_double", "parse_int", "unescape_bytes", "unescape_string"]

_ESCAPE = re.compile(r"\\([xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
_SIMPLE = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_MIN_INT, _MAX_INT, _MAX_UINT = -(2**63), 2**63 - 1, 2**64 - 1


def parse_int(text: str, *, unsigned: bool) -> int | None:
    """Return the number of a token with its sign and without its `u`; None if it exceeds 64 bits."""
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    digits = digits if digits.startswith("0x") else digits.lstrip("0") or "0"
    if len(digits) > 4000:  # more digits than Python converts, and too many in any case
        return None
    value = sign * int(digits, 0)
    low, high = (0, _MAX_UINT) if unsigned else (_MIN_INT, _MAX_INT)
    return value if low <= value <= high else None


def parse_double(text: str) -> float | None:
    """Return the number of a token; None if it is too large."""
    value = float(text)
    return None if math.isinf(value) else value


def _content(token: str) -> tuple[str, bool]:
    """Return the text between the quotes of a token, and whether it is raw."""
    text = token.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    width = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[width:-width], raw


def _no_character(code: int) -> str:
    """Return the text for the number of an escape that is no character."""
    if changes.NO_HALF_CHARACTERS.holds:
        raise ValueError("invalid unicode code point")
    if 0x10FFFF < code < 0x80000000:  # the server's numbers have a sign
        raise ValueError("unable to unescape string")
    return "\ufffd"


def unescape_string(token: str) -> str:
    """Return the string of a quoted token.

    Raises:
        ValueError: In cel-go's words.
    """
    content, raw = _content(token)
    if raw or "\\" not in content:
        return content

    def replace(found: re.Match[str]) -> str:
        part = found[1]
        if len(part) == 1:
            if part not in _SIMPLE:
                raise ValueError("unable to unescape string")
            return _SIMPLE[part]
        code = int(part, 8) if part[0] in "0123" else int(part[1:], 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            return _no_character(code)
        return chr(code)

    return _ESCAPE.sub(replace, content)


def unescape_bytes(token: str) -> bytes:
    r"""Return the bytes of a quoted token, its `b` already taken away; `\x` and octal escapes are single bytes.

    Raises:
        ValueError: In cel-go's words.
    """
    content, raw = _content(token)
    if raw or "\\" not in content:
        return content.encode()
    out = bytearray()
    position = 0
    for found in _ESCAPE.finditer(content):
        out += content[position : found.start()].encode()
        position = found.end()
        part = found[1]
        if part in _SIMPLE:
            out += _SIMPLE[part].encode()
        elif len(part) == 1 or part[0] in "uU":
            raise ValueError("unable to unescape string")
        else:
            out.append(int(part, 8) if part[0] in "0123" else int(part[1:], 16))
    return bytes(out + content[position:].encode())
