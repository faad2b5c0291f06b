"""Large classes of characters: what is remembered and looked up in blocks is what the tables say, and costs little."""

from __future__ import annotations

import random

import pytest
import re2

from auditor.golang import unicode as tables
from auditor.golang.regex import syntax
from auditor.golang.regex.syntax import parse
from auditor.golang.regex.tree import Chars, complement, folded, normal
from tests.counting import calls_of

POINTS, CASES = tables._folds()


def ranges_of(draw: random.Random) -> tuple[tuple[int, int], ...]:
    found = []
    for _ in range(draw.randint(1, 4)):
        low = draw.choice([draw.randint(0, 0x250), draw.choice(POINTS), draw.randint(0, tables.MAX_RUNE)])
        found.append((low, min(tables.MAX_RUNE, low + draw.choice([0, 1, 5, 300, 70_000, 1 << 20]))))
    return normal(found)


def folded_plainly(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Add the other cases of each code point, one by one."""
    cases = [case for low, high in ranges for code in POINTS if low <= code <= high for case in CASES[code]]
    return normal([*ranges, *((case, case) for case in cases)])


def test_cases_by_blocks_are_those_of_the_points() -> None:
    draw = random.Random(28)
    for _ in range(300):
        ranges = ranges_of(draw)
        assert folded(ranges) == folded_plainly(ranges)


@pytest.mark.parametrize("written", [r"\pL", r"\PL", r"\p{^Lu}", r"\p{Lc}", r"\W", r"[[:^alpha:]]", r"[^\PLx\d]"])
@pytest.mark.parametrize("flags", ["", "(?i)"])
def test_a_class_that_was_read_before_is_read_alike(flags: str, written: str) -> None:
    first, other = "(?i)" if not flags else "(?-i)", "(?-i)" if not flags else "(?i)"
    parse(first + written * 2)  # remembered with the other case
    tree = parse(flags + written).tree
    assert isinstance(tree, Chars)
    assert parse(f"{flags}{written}{written}").tree.items == (tree, tree)
    assert parse(f"{first}{written}{other}{written}").tree.items[1] == tree


def test_classes_in_brackets_are_folded_together_as_they_are_alone() -> None:
    draw = random.Random(29)
    for _ in range(200):
        ranges = ranges_of(draw)
        text = "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges)
        for pattern, wanted in ((f"(?i)[{text}]", folded_plainly(ranges)), (f"[^{text}]", complement(ranges))):
            assert parse(pattern).tree.ranges == wanted


def test_re2_reads_what_is_written_for_it() -> None:
    draw = random.Random(30)
    for number in range(400):
        code = number if number < 0x100 else draw.randint(0, tables.MAX_RUNE)
        if 0xD800 <= code <= 0xDFFF:
            continue
        written = re2.compile(parse(f"[\\x{{{code:x}}}-\\x{{{min(code + 3, tables.MAX_RUNE):x}}}]").re2.encode())
        for other in range(max(0, code - 2), min(code + 6, tables.MAX_RUNE + 1)):
            if not 0xD800 <= other <= 0xDFFF:
                assert bool(written.fullmatch(chr(other).encode())) == (code <= other <= code + 3), hex(other)


@pytest.mark.parametrize("one", [r"\pL", r"[^\pLx]", r"[\x{0}-\x{10ffff}]"])
def test_a_class_of_a_pattern_costs_little_however_often_it_is_there(one: str) -> None:
    def calls(count: int) -> int:
        return calls_of(lambda: parse("(?i)" + one * count))

    syntax._class_of.cache_clear()
    syntax._re2_class.cache_clear()
    first, few, many = calls(1), calls(20), calls(160)
    assert many < 12 * few
    assert many < 160 * first / 5
