"""Character classes of Go's Unicode version, whatever Python's is."""

import unicodedata

import pytest

from auditor.golang.unicode import MAX_RUNE, class_ranges, is_digit, is_letter, is_print

SAME = [
    ("Lu", "Uppercase_Letter"),
    ("Lu", "uppercaseletter"),
    ("Lu", "lu"),
    ("L", "Letter"),
    ("LC", "Cased Letter"),
    ("LC", "lc"),
    ("P", "punct"),
    ("Nd", "digit"),
    ("Cc", "cntrl"),
    ("Greek", "g-r_e ek"),
    ("Any", "any"),
    ("ASCII", "ascii"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_names_are_compared_loosely(one, other):
    assert class_ranges(one) is not None
    assert class_ranges(one) == class_ranges(other)


@pytest.mark.parametrize("name", ["Foo", "", "X", "Old_Italic", "OldItalic", "\u017f", "L&", "-"])
def test_what_go_does_not_find_is_no_class(name):
    assert class_ranges(name) is None


def test_a_category_is_the_sum_of_its_parts():
    def points(name):
        return {point for low, high in class_ranges(name) for point in range(low, high + 1)}

    assert points("S") == points("Sm") | points("Sc") | points("Sk") | points("So")
    assert points("LC") == points("Lu") | points("Ll") | points("Lt")
    assert points("Assigned") == set(range(MAX_RUNE + 1)) - points("Cn")


def test_known_characters_agree_with_python():
    """Characters keep their category; those that Python's Unicode has not assigned may have one here, and back."""
    old = [point for point in range(0x3000) if unicodedata.ucd_3_2_0.category(chr(point)) not in ("Cn", "Co")]
    moved = [
        point for point in old if is_print(point) != (unicodedata.category(chr(point))[0] in "LMNPS" or point == 32)
    ]
    assert not moved


@pytest.mark.parametrize(
    ("point", "printable"),
    [
        (0x20, True),
        (0x7F, False),
        (0xA0, False),
        (0xAD, False),
        (0x3000, False),
        (0x31350, True),
        (0x323AF, True),
        (0x323B0, False),
    ],
)
def test_printable_is_what_unicode_15_has_without_blanks(point, printable):
    assert is_print(point) is printable


@pytest.mark.parametrize(
    ("text", "letter", "digit"),
    [
        ("", False, False),
        ("a", True, False),
        ("_", False, False),
        ("7", False, True),
        ("\u00b2", False, False),  # a superscript, which is alphanumeric to Python
        ("\u0663", False, True),
        ("\U00031350", True, False),  # both are new in Unicode 15.0
        ("\U00011f50", False, True),
        ("\U0002ebf0", False, False),  # in 15.1
    ],
)
def test_letters_and_digits_are_those_of_unicode_15(text, letter, digit):
    assert (is_letter(text), is_digit(text)) == (letter, digit)
