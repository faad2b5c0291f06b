"""Splits the text of an expression into tokens, by the rules of CEL's grammar, and reads literals.

Characters that begin no token are reported and skipped, as ANTLR does; the parser then sees the rest.
Source: cel-go parser/gen/CEL.g4, parser/unescape.go; Go strconv.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from auditor.releases import changes

END = "<EOF>"

_ESCAPE = r"""\\(?:[abfnrtv"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"""
_QUOTED = "|".join(
    (
        rf'"""(?:{_ESCAPE}|[^\\])*?"""',
        rf"'''(?:{_ESCAPE}|[^\\])*?'''",
        rf'"(?:{_ESCAPE}|[^\\"\n\r])*"',
        rf"'(?:{_ESCAPE}|[^\\'\n\r])*'",
        r'[rR]"""[\s\S]*?"""',
        r"[rR]'''[\s\S]*?'''",
        r'[rR]"[^"\n\r]*"',
        r"[rR]'[^'\n\r]*'",
    )
)
_SPELLINGS = (
    r"(?P<SPACE>[\t \r\n\f]+|//[^\n]*)",
    rf"(?P<BYTES>[bB](?:{_QUOTED}))",
    rf"(?P<STRING>{_QUOTED})",
    r"(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)",
    r"(?P<NUM_UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])",
    r"(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)",
    r"(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)",
    r"(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)",
    r"(?P<SYMBOL>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])",
)
_TOKEN = {
    True: re.compile("|".join(_SPELLINGS)),
    False: re.compile("|".join(spelling for spelling in _SPELLINGS if "ESC_IDENTIFIER" not in spelling)),
}
"""Tokens, by whether there are names in backticks."""
# How far the lexer reads before it finds that there is no token.
_STRAY = (
    rf'"(?:{_ESCAPE}|[^\\"\n\r])*(?:\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{{0,3}}|U[0-9a-fA-F]{{0,7}}|[0-3][0-7]?)?)?'
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*(?:\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{{0,3}}|U[0-9a-fA-F]{{0,7}}|[0-3][0-7]?)?)?"
    r"|&|\||="
)
_DEAD_END = {True: re.compile(rf"{_STRAY}|`[A-Za-z0-9_.\-/ ]*"), False: re.compile(_STRAY)}
_KEYWORDS = frozenset({"in", "true", "false", "null"})
_SYMBOLS = (
    *("==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":"),
    *("+", "*", "/", "%", "true", "false", "null"),
)
_KINDS = (END, *_SYMBOLS, "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER")
"""Kinds of tokens, in the order in which errors list them."""


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: Name in the grammar for literals and identifiers; the text itself for symbols and keywords; `END`.
        text: As written.
        offset: Where it starts, in code points.
    """

    kind: str
    text: str
    offset: int


class Skipped(NamedTuple):
    """Text that is not a token: start and end, in code points, and the error."""

    start: int
    stop: int
    complaint: str


def tokenize(text: str) -> tuple[list[Token], list[Skipped]]:
    """Return the tokens, the last one being `END`, and the parts that are not tokens."""
    tokens: list[Token] = []
    errors: list[Skipped] = []
    position = 0
    has_backticks = changes.BACKTICKS_ARE_READ.holds
    match, dead_end = _TOKEN[has_backticks].match, _DEAD_END[has_backticks].match
    while position < len(text):
        token = match(text, position)
        if token is None:
            dead = dead_end(text, position)
            stop = (dead.end() if dead else position) + 1
            complaint = f"token recognition error at: '{text[position:stop]}'"
            errors.append(Skipped(position, min(stop, len(text)), complaint))
            position = stop
            continue
        kind, part = token.lastgroup or "", token.group()
        if kind != "SPACE":
            if kind == "SYMBOL" or (kind == "IDENTIFIER" and part in _KEYWORDS):
                kind = part
            tokens.append(Token(kind, part, position))
        position = token.end()
    tokens.append(Token(END, END, len(text)))
    return tokens, errors


def quoted(text: str) -> str:
    """Return text of an expression as errors show it."""
    shown = text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{shown}'"


def listing(kinds: frozenset[str]) -> str:
    """Return kinds of tokens as errors list them, at least one."""
    names = [f"'{kind}'" if kind in _SYMBOLS else kind for kind in _KINDS if kind in kinds]
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"


_QUOTED_ESCAPE = re.compile(r"\\([xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
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

    return _QUOTED_ESCAPE.sub(replace, content)


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
    for escape in _QUOTED_ESCAPE.finditer(content):
        out += content[position : escape.start()].encode()
        position = escape.end()
        part = escape[1]
        if part in _SIMPLE:
            out += _SIMPLE[part].encode()
        elif len(part) == 1 or part[0] in "uU":
            raise ValueError("unable to unescape string")
        else:
            out.append(int(part, 8) if part[0] in "0123" else int(part[1:], 16))
    return bytes(out + content[position:].encode())
