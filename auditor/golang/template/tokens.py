"""Splits the text of a template into tokens: text, delimiters, words, fields, numbers, strings.

Source: text/template/parse/lex.go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from auditor.golang.text import quote
from auditor.golang.unicode import is_digit, is_letter, is_print

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["KEYWORDS", "Token", "tokens"]

KEYWORDS: Final = frozenset(
    ["block", "break", "continue", "define", "else", "end", "if", "range", "nil", "template", "with"]
)
_SPACE: Final = " \t\r\n"
_QUOTED: Final = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"')
_CHARACTER: Final = re.compile(r"'(?:[^'\\\n]|\\[^\n])*'")
_TRIM_RIGHT: Final = re.compile(r"[ \t\r\n]-\}\}")
_NUMBER: Final = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?"
    r"|0[oO][0-7_]*(?:\.[0-7_]*)?|0[bB][01_]*(?:\.[01_]*)?"
    r"|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)i?"
)


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: text, left, right, space, assign, declare, pipe, comma, paren, string, raw, character, number, complex,
            field, variable, dot, bool, identifier, a keyword, char, error or eof.
        text: As written; the message of an error.
        at: Offset in the template.
        line: Line number of the offset, from 1.
    """

    kind: str
    text: str
    at: int
    line: int

    def __str__(self) -> str:
        if self.kind == "eof":
            return "EOF"
        if self.kind == "error":
            return self.text
        if self.kind in KEYWORDS or self.kind == "dot":
            return f"<{self.text}>"
        return f"{quote(self.text[:10])}..." if len(self.text) > 10 else quote(self.text)


class _Failed(Exception):
    """The text is not a token."""


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a template; the last one is an error or the end."""
    reader = _Reader(text)
    try:
        yield from reader.template()
    except _Failed as error:
        yield Token("error", str(error), reader.start, reader.line_of(reader.start))


class _Reader:
    """Reads a template from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.start = 0
        self.depth = 0

    def line_of(self, at: int) -> int:
        return 1 + self.text.count("\n", 0, at)

    def token(self, kind: str) -> Token:
        made = Token(kind, self.text[self.start : self.at], self.start, self.line_of(self.start))
        self.start = self.at
        return made

    def template(self) -> Iterator[Token]:
        text = self.text
        while True:
            opening = text.find("{{", self.at)
            if opening < 0:
                self.start, self.at = self.at, len(text)
                if self.at > self.start:
                    yield self.token("text")
                yield self.token("eof")
                return
            marked = text[opening + 2 : opening + 3] == "-" and text[opening + 3 : opening + 4] in (*_SPACE,)
            self.start, self.at = self.at, opening
            if marked:
                self.at = self.start + len(text[self.start : opening].rstrip(_SPACE))
            if self.at > self.start:
                yield self.token("text")
            self.start, self.at = opening, opening + 2
            inner = self.at + (2 if marked else 0)
            if text.startswith("/*", inner):
                self.start = inner
                self.comment(inner)
                continue
            yield self.token("left")
            self.start = self.at = inner
            self.depth = 0
            yield from self.action()

    def comment(self, at: int) -> None:
        end = self.text.find("*/", at + 2)
        if end < 0:
            raise _Failed("unclosed comment")
        self.at = end + 2
        if not self.closes():
            raise _Failed("comment ends before closing delimiter")
        self.close()

    def closes(self) -> bool:
        return self.text.startswith("}}", self.at) or _TRIM_RIGHT.match(self.text, self.at) is not None

    def close(self) -> Token:
        """Read the right delimiter, and the white space that it trims."""
        trims = not self.text.startswith("}}", self.at)
        self.start = self.at = self.at + (2 if trims else 0)
        self.at += 2
        made = self.token("right")
        if trims:
            self.at += len(self.text) - self.at - len(self.text[self.at :].lstrip(_SPACE))
            self.start = self.at
        return made

    def action(self) -> Iterator[Token]:
        """Yield the tokens up to the right delimiter."""
        while True:
            self.start = self.at
            if self.closes():
                if self.depth:
                    raise _Failed("unclosed left paren")
                yield self.close()
                return
            if self.at >= len(self.text):
                raise _Failed("unclosed action")
            yield self.inside()

    def inside(self) -> Token:
        letter = self.text[self.at]
        self.at += 1
        if letter in _SPACE:
            return self.space()
        if letter in "=|":
            return self.token("assign" if letter == "=" else "pipe")
        if letter == ":":
            if not self.text.startswith("=", self.at):
                self.at += 1
                raise _Failed("expected :=")
            self.at += 1
            return self.token("declare")
        if letter in "\"'`":
            return self.quoted(letter)
        if letter == "$":
            return self.token("variable") if self.ends_word() else self.name("variable")
        if letter == "." and self.at < len(self.text) and not "0" <= self.text[self.at] <= "9":
            return self.token("dot") if self.ends_word() else self.name("field")
        if letter in "+-." or "0" <= letter <= "9":
            return self.number()
        if _is_word(letter):
            return self.word()
        return self.mark(letter)

    def mark(self, letter: str) -> Token:
        if letter == "(":
            self.depth += 1
            return self.token("open")
        if letter == ")":
            self.depth -= 1
            if self.depth < 0:
                raise _Failed("unexpected right paren")
            return self.token("close")
        if letter < "\x80" and is_print(ord(letter)):
            return self.token("char")
        raise _Failed(f"unrecognized character in action: {_named(letter)}")

    def space(self) -> Token:
        while self.text[self.at : self.at + 1] in (*_SPACE,):
            self.at += 1
        if _TRIM_RIGHT.match(self.text, self.at - 1) and self.at - 1 > self.start:
            self.at -= 1  # the last one is part of the delimiter
        return self.token("space")

    def quoted(self, mark: str) -> Token:
        if mark == "`":
            end = self.text.find("`", self.at)
            if end < 0:
                raise _Failed("unterminated raw quoted string")
            self.at = end + 1
            return self.token("raw")
        match = (_QUOTED if mark == '"' else _CHARACTER).match(self.text, self.start)
        if match is None:
            raise _Failed("unterminated quoted string" if mark == '"' else "unterminated character constant")
        self.at = match.end()
        return self.token("string" if mark == '"' else "character")

    def name(self, kind: str) -> Token:
        while self.at < len(self.text) and _is_word(self.text[self.at]):
            self.at += 1
        if not self.ends_word():
            raise _Failed(f"bad character {_named(self.text[self.at])}")
        return self.token(kind)

    def word(self) -> Token:
        made = self.name("identifier")
        if made.text in KEYWORDS:
            return made._replace(kind=made.text)
        return made._replace(kind="bool") if made.text in ("true", "false") else made

    def number(self) -> Token:
        self.at = self.start
        self.one_number()
        if self.text[self.at : self.at + 1] in ("+", "-"):
            self.one_number()
            if self.text[self.at - 1] != "i":
                raise _Failed(f"bad number syntax: {quote(self.text[self.start : self.at])}")
            return self.token("complex")
        return self.token("number")

    def one_number(self) -> None:
        match = _NUMBER.match(self.text, self.at)
        self.at = match.end() if match is not None else self.at
        if self.at < len(self.text) and _is_word(self.text[self.at]):
            self.at += 1
            raise _Failed(f"bad number syntax: {quote(self.text[self.start : self.at])}")

    def ends_word(self) -> bool:
        letter = self.text[self.at : self.at + 1]
        return letter in ("", *_SPACE, *".,|:)(") or self.text.startswith("}}", self.at)


def _is_word(letter: str) -> bool:
    return letter == "_" or is_letter(letter) or is_digit(letter)


def _named(letter: str) -> str:
    shown = f" '{letter}'" if is_print(ord(letter)) else ""
    return f"U+{ord(letter):04X}{shown}"
