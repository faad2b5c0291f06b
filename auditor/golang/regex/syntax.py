"""The grammar of Go's regular expressions: Go's error for a pattern that Go refuses, else a tree.

RE2 matches (`compiled`), and its grammar is similar to Go's: its errors differ, it allows ``\\C``, it refuses two
groups of the same name, and it has another version of Unicode. So every pattern is parsed here first. Besides the tree,
the parser writes the pattern for RE2: without names of groups and flags of case, with classes as ranges.

Source: regexp/syntax of Go 1.26, with the flags of syntax.Perl.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from auditor.golang.regex.tree import (
    Assertion,
    Chars,
    Concat,
    Node,
    alternate,
    complement,
    concat,
    folded,
    normal,
    repeat,
)
from auditor.golang.unicode import MAX_RUNE, class_name, class_ranges

if TYPE_CHECKING:
    from auditor.golang.unicode import Ranges


_MAX_REPEAT = 1000
_MAX_HEIGHT = 1000
_MAX_SIZE = (128 << 20) // 40

_DIGIT = ((0x30, 0x39),)
_WORD = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE = ((0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20))
_PERL_CLASSES = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_POSIX_CLASSES: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0x00, 0x7F),),
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0x00, 0x1F), (0x7F, 0x7F)),
    "digit": _DIGIT,
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((0x09, 0x0D), (0x20, 0x20)),
    "upper": ((0x41, 0x5A),),
    "word": _WORD,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}
_CONTROL_ESCAPES = {"a": 0x07, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_ANY: Ranges = ((0, MAX_RUNE),)
_NOT_NEWLINE: Ranges = ((0, 9), (11, MAX_RUNE))
_NEVER_FOLDED = frozenset({"LC", "Lc"})
_REMEMBERED_CLASSES = 256
_ALPHANUMERIC = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class GoRegexError(ValueError):
    """A pattern that Go does not compile; the message is Go's: ``error parsing regexp: missing closing ): `a(` ``."""


def _error(what: str, where: str) -> GoRegexError:
    return GoRegexError(f"error parsing regexp: {what}: `{where}`")


@dataclass(frozen=True, slots=True)
class Syntax:
    """A parsed pattern: its tree, and the same pattern written for RE2."""

    tree: Node
    re2: str


@dataclass(slots=True)
class _OpenGroup:
    """A parenthesis that is still open, or the whole pattern: finished branches, items of the last branch."""

    captures: bool
    flags: frozenset[str]
    branches: list[Node] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)

    def close(self) -> Node:
        return alternate([*self.branches, concat(self.items)])


_BROKEN = re.compile("[\udc80-\udcff]")
"""Bytes that are not UTF-8, as "surrogateescape" holds them."""


def parse(pattern: str) -> Syntax:
    """Parse a pattern as Go does.

    Args:
        pattern: From a schema or a rule; the syntax is RE2's.
    Raises:
        GoRegexError: Go does not compile the pattern; the text is that of regexp.Compile.

    Source: regexp/syntax Parse, with the flags of syntax.Perl.
    """
    broken = _BROKEN.search(pattern)
    if broken is not None:
        raise _error("invalid UTF-8", pattern[broken.start() :])
    return _PatternParser(pattern).parse()


class _PatternParser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.flags: frozenset[str] = frozenset()
        self.groups = [_OpenGroup(captures=False, flags=self.flags)]
        self.written: list[str] = []

    def parse(self) -> Syntax:
        pattern = self.pattern
        last_repeat: int | None = None
        while self.at < len(pattern):
            start = self.at
            character = pattern[start]
            this_repeat: int | None = None
            if character == "(":
                self.open_group()
            elif character == "|":
                self.at += 1
                self.written.append("|")
                group = self.groups[-1]
                group.branches.append(concat(group.items))
                group.items = []
            elif character == ")":
                self.close_group()
            elif character == "^":
                self.add(Assertion("^" if "m" in self.flags else "\\A"), 1)
            elif character == "$":
                self.add(Assertion("$" if "m" in self.flags else "\\z"), 1)
            elif character == ".":
                self.add(Chars(_ANY if "s" in self.flags else _NOT_NEWLINE), 1)
            elif character == "[":
                self.bracket()
            elif character in "*+?":
                self.at += 1
                least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[character]
                self.repeat(least, most, start, last_repeat, counted=False)
                this_repeat = start
            elif character == "{" and (counts := self.counts()) is not None:
                least, most = counts
                if least < 0 or least > _MAX_REPEAT or (most is not None and (most > _MAX_REPEAT or least > most)):
                    raise _error("invalid repeat count", pattern[start : self.at])
                self.repeat(least, most, start, last_repeat, counted=True)
                this_repeat = start
            elif character == "\\":
                self.backslash()
            else:
                self.add_literal(ord(character), 1)
            last_repeat = this_repeat
        if len(self.groups) != 1:
            raise _error("missing closing )", pattern)
        tree = self.groups[0].close()
        self.check(tree)
        return Syntax(tree, "".join(self.written))

    # Building

    def fold(self, ranges: Ranges) -> Ranges:
        return _class_of(ranges, folds=True, negated=False) if "i" in self.flags else ranges

    def add(self, node: Node, length: int, written: str | None = None) -> None:
        text = self.pattern[self.at : self.at + length]
        self.at += length
        self.groups[-1].items.append(node)
        self.written.append(text if written is None else written)

    def add_class(self, ranges: Ranges, length: int) -> None:
        self.add(Chars(ranges), length, _re2_class(ranges))

    def add_literal(self, code: int, length: int) -> None:
        ranges = self.fold(((code, code),))
        self.add(Chars(ranges), length, _re2_class(ranges) if "i" in self.flags else None)

    def check(self, node: Node) -> None:
        if node.size > _MAX_SIZE:
            raise _error("expression too large", self.pattern)
        if node.height > _MAX_HEIGHT:
            raise _error("expression nests too deeply", self.pattern)

    def repeat(self, least: int, most: int | None, start: int, last_repeat: int | None, counted: bool) -> None:
        pattern = self.pattern
        if pattern.startswith("?", self.at):
            self.at += 1
        if last_repeat is not None:
            raise _error("invalid nested repetition operator", pattern[last_repeat : self.at])
        items = self.groups[-1].items
        if not items:
            raise _error("missing argument to repetition operator", pattern[start : self.at])
        node = repeat(items[-1], least, most, counted)
        if counted and (least >= 2 or (most or 0) >= 2) and node.repeats > _MAX_REPEAT:
            raise _error("invalid repeat count", pattern[start : self.at])
        self.check(node)
        items[-1] = node
        self.written.append(pattern[start : self.at])

    def counts(self) -> tuple[int, int | None] | None:
        """Read ``{2}``, ``{2,}`` or ``{2,5}``; anything else is literal text. More than 8 digits count as -1."""
        end = self.pattern.find("}", self.at)
        if end < 0:
            return None
        least_text, comma, most_text = self.pattern[self.at + 1 : end].partition(",")
        least = _count(least_text)
        if least is None:
            return None
        most: int | None = least
        if comma:
            most = _count(most_text) if most_text else None
            if most is None and most_text:
                return None
            if most is not None and most < 0:
                least = -1
        self.at = end + 1
        return least, most

    # Groups

    def open_group(self) -> None:
        pattern, start = self.pattern, self.at
        if not pattern.startswith("(?", start):
            self.at += 1
            self.written.append("(")
            self.groups.append(_OpenGroup(captures=True, flags=self.flags))
            return
        rest_length = len(pattern) - start
        with_p = rest_length > 4 and pattern.startswith("P<", start + 2)
        if with_p or (rest_length > 3 and pattern.startswith("<", start + 2)):
            end = pattern.find(">", start)
            if end < 0:
                raise _error("invalid named capture", pattern[start:])
            name = pattern[start + (4 if with_p else 3) : end]
            if not name or not all(character == "_" or character in _ALPHANUMERIC for character in name):
                raise _error("invalid named capture", pattern[start : end + 1])
            self.at = end + 1
            self.written.append("(")
            self.groups.append(_OpenGroup(captures=True, flags=self.flags))
            return
        self.perl_flags()

    def perl_flags(self) -> None:
        pattern, start = self.pattern, self.at
        added: set[str] = set(self.flags)
        negative = saw_flag = False
        position = start + 2
        while position < len(pattern):
            character = pattern[position]
            position += 1
            if character in "imsU":
                (added.discard if negative else added.add)(character)
                saw_flag = True
            elif character == "-" and not negative:
                negative, saw_flag = True, False
            elif character in ":)" and (saw_flag or not negative):
                if character == ":":
                    self.groups.append(_OpenGroup(captures=False, flags=self.flags))
                self.flags = frozenset(added)
                self.written.append(_without_case(pattern[start:position]))
                self.at = position
                return
            else:
                break
        raise _error("invalid or unsupported Perl syntax", pattern[start:position])

    def close_group(self) -> None:
        if len(self.groups) == 1:
            raise _error("unexpected )", self.pattern)
        group = self.groups.pop()
        node = group.close()
        if group.captures:
            node = Concat((node,), node.height + 1, node.size + 2, node.repeats)
        self.check(node)
        self.flags = group.flags
        self.groups[-1].items.append(node)
        self.written.append(")")
        self.at += 1

    # Backslashes

    def backslash(self) -> None:
        pattern, start = self.pattern, self.at
        following = pattern[start + 1 : start + 2]
        if following in ("A", "z", "b", "B"):
            self.add(Assertion("\\" + following), 2)
        elif following == "C":
            raise _error("invalid escape sequence", "\\C")
        elif following == "Q":
            end = pattern.find("\\E", start + 2)
            for character in pattern[start + 2 : end if end >= 0 else len(pattern)]:
                ranges = self.fold(((ord(character), ord(character)),))
                self.add(Chars(ranges), 0, _re2_class(ranges))
            self.at = end + 2 if end >= 0 else len(pattern)
        elif following in ("p", "P") and len(pattern) - start >= 2:
            ranges, end = self.unicode_class(start)
            self.add_class(ranges, end - start)
        elif following.lower() in _PERL_CLASSES and following:
            self.add_class(self.perl_class(following), 2)
        else:
            code, end = self.escape(start)
            self.add_literal(code, end - start)

    def perl_class(self, letter: str) -> Ranges:
        return _class_of(_PERL_CLASSES[letter.lower()], folds="i" in self.flags, negated=not letter.islower())

    def unicode_class(self, start: int) -> tuple[Ranges, int]:
        r"""Read ``\pL`` or ``\p{^Greek}`` at `start`; return its ranges and the end."""
        pattern = self.pattern
        negated = pattern[start + 1] == "P"
        if start + 2 >= len(pattern):
            raise _error("invalid character class range", pattern[start:])
        if pattern[start + 2] == "{":
            closing = pattern.find("}", start)
            if closing < 0:
                raise _error("invalid character class range", pattern[start:])
            end = closing + 1
            name = pattern[start + 3 : closing]
        else:
            end = start + 3
            name = pattern[start + 2]
        if name.startswith("^"):
            negated = not negated
            name = name[1:]
        ranges = class_ranges(name)
        if ranges is None:
            raise _error("invalid character class range", pattern[start:end])
        folds = "i" in self.flags and class_name(name) not in _NEVER_FOLDED
        return _class_of(ranges, folds=folds, negated=negated), end

    def escape(self, start: int) -> tuple[int, int]:
        """Read the backslash and what follows as one character; return it and the end."""
        pattern = self.pattern
        position = start + 1
        if position >= len(pattern):
            raise _error("trailing backslash at end of expression", "")
        character = pattern[position]
        position += 1
        if character in "01234567" and (character == "0" or pattern[position : position + 1] in tuple("01234567")):
            code = int(character)
            for _ in range(2):
                if pattern[position : position + 1] not in tuple("01234567"):
                    break
                code = code * 8 + int(pattern[position])
                position += 1
            return code, position
        if character == "x":
            return self.hexadecimal(start, position)
        if character in _CONTROL_ESCAPES:
            return _CONTROL_ESCAPES[character], position
        if ord(character) < 0x80 and character not in _ALPHANUMERIC:
            return ord(character), position
        raise _error("invalid escape sequence", pattern[start:position])

    def hexadecimal(self, start: int, at: int) -> tuple[int, int]:
        pattern = self.pattern
        if at >= len(pattern):
            raise _error("invalid escape sequence", pattern[start:at])
        if pattern[at] != "{":
            digits_text = pattern[at : at + 2]
            if len(digits_text) < 2 or not all(_is_hexadecimal(digit) for digit in digits_text):
                raise _error("invalid escape sequence", pattern[start : at + 2])
            return int(digits_text, 16), at + 2
        at += 1
        code = digits = 0
        while at < len(pattern):
            character = pattern[at]
            at += 1
            if character == "}" and digits:
                return code, at
            if not _is_hexadecimal(character):
                break
            code = code * 16 + int(character, 16)
            digits += 1
            if code > MAX_RUNE:
                break
        raise _error("invalid escape sequence", pattern[start:at])

    # Brackets

    def bracket(self) -> None:
        pattern, start = self.pattern, self.at
        position = start + 1
        negated = pattern.startswith("^", position)
        if negated:
            position += 1
        ranges: list[tuple[int, int]] = []
        plain: list[tuple[int, int]] = []  # to be folded, once for all of them
        first = True
        while position >= len(pattern) or pattern[position] != "]" or first:
            first = False
            if pattern.startswith("[:", position) and (closing := pattern.find(":]", position + 2)) >= 0:
                ranges += self.posix_class(pattern[position : closing + 2])
                position = closing + 2
            elif pattern.startswith(("\\p", "\\P"), position):
                ranges_, position = self.unicode_class(position)
                ranges += ranges_
            elif pattern[position : position + 1] == "\\" and pattern[position + 1 : position + 2].lower() in (
                *_PERL_CLASSES,
            ):
                ranges += self.perl_class(pattern[position + 1])
                position += 2
            else:
                low, high, position = self.class_range(position, start)
                plain.append((low, high))
        ranges += self.fold(normal(plain))
        members = normal(ranges)
        self.add_class(complement(members) if negated else members, position + 1 - start)

    def posix_class(self, name: str) -> Ranges:
        word = name[2:-2]
        members = _POSIX_CLASSES.get(word.removeprefix("^"))
        if members is None:
            raise _error("invalid character class range", name)
        return _class_of(members, folds="i" in self.flags, negated=word.startswith("^"))

    def class_range(self, at: int, start: int) -> tuple[int, int, int]:
        pattern = self.pattern
        low, end = self.class_character(at, start)
        high = low
        if pattern.startswith("-", end) and end + 1 < len(pattern) and pattern[end + 1] != "]":
            high, end = self.class_character(end + 1, start)
            if high < low:
                raise _error("invalid character class range", pattern[at:end])
        return low, high, end

    def class_character(self, at: int, start: int) -> tuple[int, int]:
        if at >= len(self.pattern):
            raise _error("missing closing ]", self.pattern[start:])
        if self.pattern[at] == "\\":
            return self.escape(at)
        return ord(self.pattern[at]), at + 1


@lru_cache(maxsize=_REMEMBERED_CLASSES)
def _class_of(ranges: Ranges, *, folds: bool, negated: bool) -> Ranges:
    """Return the ranges of a class; they are cached, as a pattern may name a large class thousands of times."""
    members = folded(ranges) if folds else ranges
    return complement(members) if negated else members


@lru_cache(maxsize=_REMEMBERED_CLASSES)
def _re2_class(ranges: Ranges) -> str:
    """Write a class for RE2; an empty one as the complement of all characters."""
    written = "".join([_re2_range(low, high) for low, high in ranges or _ANY])
    return f"[{written}]" if ranges else f"[^{written}]"


def _re2_range(low: int, high: int) -> str:
    """Write a range for RE2; short, as a pattern of some kilobytes may have millions of ranges."""
    return _re2_character(low) if low == high else f"{_re2_character(low)}-{_re2_character(high)}"


def _re2_character(code: int) -> str:
    """Write a character of a class: unescaped if it is a letter, a digit or not ASCII."""
    character = chr(code)
    is_plain = character in _ALPHANUMERIC or (code >= 0x80 and not 0xD800 <= code <= 0xDFFF)
    return character if is_plain else f"\\x{{{code:x}}}"


def _without_case(flags: str) -> str:
    """Write ``(?i-s:`` or ``(?is)`` without the flag for case, as the ranges of classes include all cases."""
    on, _, off = flags[2:-1].replace("i", "").partition("-")
    rest = f"{on}-{off}" if off else on
    return f"(?{rest}{flags[-1]}" if rest or flags[-1] == ":" else ""


def _count(text: str) -> int | None:
    if not text or not text.isascii() or not text.isdigit() or (len(text) >= 2 and text[0] == "0"):
        return None
    return int(text) if len(text) <= 8 else -1


def _is_hexadecimal(character: str) -> bool:
    return character in "0123456789abcdefABCDEF"
