"""Splits the text of an expression into tokens, by the rules of CEL's grammar.

Characters that begin no token are reported and skipped, as ANTLR does; the parser then sees the rest.
Source: cel-go parser/gen/CEL.g4.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from auditor.releases import changes

__all__ = ["END", "Skipped", "Token", "listing", "quoted", "tokenize"]

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
    False: re.compile("|".join(one for one in _SPELLINGS if "ESC_IDENTIFIER" not in one)),
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
        found = match(text, position)
        if found is None:
            dead = dead_end(text, position)
            stop = (dead.end() if dead else position) + 1
            complaint = f"token recognition error at: '{text[position:stop]}'"
            errors.append(Skipped(position, min(stop, len(text)), complaint))
            position = stop
            continue
        kind, part = found.lastgroup or "", found.group()
        if kind != "SPACE":
            if kind == "SYMBOL" or (kind == "IDENTIFIER" and part in _KEYWORDS):
                kind = part
            tokens.append(Token(kind, part, position))
        position = found.end()
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
