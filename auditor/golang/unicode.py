"""Character classes of the Unicode version of the server's Go release (15.0), independent of Python's version.

Two text files beside this module have one run per line, with first code point and name, as in unicode.Categories and
unicode.Scripts of Go 1.26. A third one has the sets of code points, one per line, that differ only in case, in the
order of unicode.SimpleFold. The files are read at first use.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


MAX_RUNE = 0x10FFFF

_NAMES_OF_CATEGORIES = {
    "Cased_Letter": "LC",
    "Close_Punctuation": "Pe",
    "Combining_Mark": "M",
    "Connector_Punctuation": "Pc",
    "Control": "Cc",
    "Currency_Symbol": "Sc",
    "Dash_Punctuation": "Pd",
    "Decimal_Number": "Nd",
    "Enclosing_Mark": "Me",
    "Final_Punctuation": "Pf",
    "Format": "Cf",
    "Initial_Punctuation": "Pi",
    "Letter": "L",
    "Letter_Number": "Nl",
    "Line_Separator": "Zl",
    "Lowercase_Letter": "Ll",
    "Mark": "M",
    "Math_Symbol": "Sm",
    "Modifier_Letter": "Lm",
    "Modifier_Symbol": "Sk",
    "Nonspacing_Mark": "Mn",
    "Number": "N",
    "Open_Punctuation": "Ps",
    "Other": "C",
    "Other_Letter": "Lo",
    "Other_Number": "No",
    "Other_Punctuation": "Po",
    "Other_Symbol": "So",
    "Paragraph_Separator": "Zp",
    "Private_Use": "Co",
    "Punctuation": "P",
    "Separator": "Z",
    "Space_Separator": "Zs",
    "Spacing_Mark": "Mc",
    "Surrogate": "Cs",
    "Symbol": "S",
    "Titlecase_Letter": "Lt",
    "Unassigned": "Cn",
    "Uppercase_Letter": "Lu",
    "cntrl": "Cc",
    "digit": "Nd",
    "punct": "P",
}
_ALIASES = {name.replace("_", "").capitalize(): category for name, category in _NAMES_OF_CATEGORIES.items()}
_CASED = frozenset({"Lu", "Ll", "Lt"})
_NO_SCRIPT = "-"
_BLOCK = 64
"""Size of the blocks in which other cases are looked up: a pattern may have thousands of large ranges."""

Ranges = tuple[tuple[int, int], ...]


@cache
def _runs(name: str) -> tuple[list[int], list[str]]:
    lines = Path(__file__).with_name(f"unicode_{name}.txt").read_text(encoding="ascii").splitlines()
    pairs = [line.split() for line in lines]
    return [int(start, 16) for start, _ in pairs], [value for _, value in pairs]


def is_print(code: int) -> bool:
    """Report whether a code point is printable to Go: letters, marks, numbers, punctuation, symbols, ASCII space.

    Source: unicode.IsPrint.
    """
    return code >= 0x20 if code < 0x7F else _category(code)[0] in "LMNPS"


def is_letter(text: str) -> bool:
    """Return whether a text is one letter for Go; false for an empty text.

    Source: unicode.IsLetter.
    """
    return text.isalpha() if text.isascii() else _category(ord(text))[0] == "L"


def is_digit(text: str) -> bool:
    """Return whether a text is one decimal digit for Go; false for an empty text.

    Source: unicode.IsDigit.
    """
    return text.isdigit() if text.isascii() else _category(ord(text)) == "Nd"


def digits_end(text: str, at: int) -> int:
    """Return the end of the digits and points that begin at `at`."""
    while at < len(text) and (text[at] == "." or is_digit(text[at])):
        at += 1
    return at


def _category(code: int) -> str:
    starts, names = _runs("categories")
    return names[bisect_right(starts, code) - 1]


@cache
def _folds() -> tuple[list[int], dict[int, list[int]]]:
    """Return the code points that have other cases, in order, and all cases of each."""
    lines = Path(__file__).with_name("unicode_folds.txt").read_text(encoding="ascii").splitlines()
    sets = [[int(code, 16) for code in line.split()] for line in lines]
    cases = {code: codes for codes in sets for code in codes}
    return sorted(cases), cases


def other_cases(low: int, high: int) -> list[tuple[int, int]]:
    """Return, as unordered ranges, the characters that differ only in case from a code point of a range.

    They include the code points of the range that have other cases. Source: unicode.SimpleFold.
    """
    points, _ = _folds()
    begin, end = bisect_left(points, low), bisect_right(points, high)
    first, last = -(-begin // _BLOCK), end // _BLOCK
    if first >= last:
        return _cases_of(begin, end)
    cases = _cases_of(begin, first * _BLOCK) + _cases_of(last * _BLOCK, end)
    for number in range(first, last):
        cases += _cases_of_block(number)
    return cases


def _cases_of(begin: int, end: int) -> list[tuple[int, int]]:
    """Return, as ranges, the cases of some of the code points that have other cases, by their indices among these."""
    points, cases = _folds()
    pairs: list[tuple[int, int]] = []
    for code in sorted({case for point in points[begin:end] for case in cases[point]}):
        if pairs and pairs[-1][1] == code - 1:
            pairs[-1] = (pairs[-1][0], code)
        else:
            pairs.append((code, code))
    return pairs


@cache
def _cases_of_block(number: int) -> list[tuple[int, int]]:
    return _cases_of(number * _BLOCK, (number + 1) * _BLOCK)


def unprintable(text: str) -> list[tuple[int, str]]:
    """Return the characters of a text that are not printable for Go, each with its offset in UTF-8."""
    if text.isascii() and text.isprintable():
        return []
    spans: list[tuple[int, str]] = []
    position = 0
    for character in text:
        if not is_print(ord(character)):
            spans.append((position, character))
        position += len(character.encode("utf-8", "surrogatepass"))
    return spans


def class_name(name: str) -> str:
    """Return the name of a class in the tables: ``Lu`` for ``uppercase letter``; unknown names are only normalized."""
    name = "".join([character for character in name if character not in "_ -"])
    name = name.capitalize() if name.isascii() else ""
    return _ALIASES.get(name, name)


@cache
def class_ranges(name: str) -> Ranges | None:
    r"""Return the code points of the class ``\p{name}``, as inclusive ranges in order, or None if there is none.

    Args:
        name: A category (`Lu`, `L`, `Uppercase_Letter`), a script (`Greek`), `Any`, `Assigned` or `ASCII`. Letter
            case, underscores, hyphens and spaces do not matter; for this reason Go 1.26 does not find scripts whose own
            name has an underscore (`Old_Italic`), and so neither do we.

    Source: regexp/syntax unicodeTable.
    """
    name = class_name(name)
    if name == "Any":
        return ((0, MAX_RUNE),)
    if name == "Ascii":
        return ((0, 0x7F),)
    if name == "Assigned":
        return _ranges("categories", lambda category: category != "Cn")
    if name in ("Lc", "LC"):
        return _ranges("categories", lambda category: category in _CASED)
    categories = set(_runs("categories")[1])
    if name in categories:
        return _ranges("categories", lambda category: category == name)
    if name in {category[0] for category in categories}:
        return _ranges("categories", lambda category: category[0] == name)
    if name in set(_runs("scripts")[1]) - {_NO_SCRIPT}:
        return _ranges("scripts", lambda script: script == name)
    return None


def _ranges(of: str, wanted: Callable[[str], bool]) -> Ranges:
    starts, names = _runs(of)
    ends = [*[start - 1 for start in starts[1:]], MAX_RUNE]
    ranges: list[tuple[int, int]] = []
    for start, end, name in zip(starts, ends, names, strict=True):
        if not wanted(name):
            continue
        if ranges and ranges[-1][1] == start - 1:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return tuple(ranges)
