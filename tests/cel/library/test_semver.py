"""Semantic versions: strict and lenient reading, precedence. Answers are the server's."""

import pytest

from auditor.cel.cel_errors import CelError
from auditor.cel.library.semver import functions, parse_semver
from auditor.cel.operations.equality import equal_not_null
from tests.cel.library.calling import outcome

LIBRARY = functions()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "Version string empty"),
        ("1", "No Major.Minor.Patch elements found"),
        ("1.0", "No Major.Minor.Patch elements found"),
        ("v1.0.0", 'Invalid character(s) found in major number "v1"'),
        ("1.é.0", 'Invalid character(s) found in minor number "é"'),
        ("1.0.0.0", 'Invalid character(s) found in patch number "0.0"'),
        ("01.0.0", 'Major number must not contain leading zeroes "01"'),
        ("1.00.0", 'Minor number must not contain leading zeroes "00"'),
        ("1.0.01", 'Patch number must not contain leading zeroes "01"'),
        (".0.0", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("18446744073709551616.0.0", 'strconv.ParseUint: parsing "18446744073709551616": value out of range'),
        ("1.0.0-", "Prerelease is empty"),
        ("1.0.0-a..b", "Prerelease is empty"),
        ("1.0.0-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("1.0.0-99999999999999999999", 'strconv.ParseUint: parsing "99999999999999999999": value out of range'),
        ("1.0.0-x_y", 'Invalid character(s) found in prerelease "x_y"'),
        ("1.0.0+", "Build meta data is empty"),
        ("1.0.0+a+b", 'Invalid character(s) found in build meta data "a+b"'),
    ],
)
def test_what_is_no_version_is_refused_in_the_servers_words(text, complaint):
    assert outcome(LIBRARY, "string_to_semver", text) == CelError(complaint)
    assert outcome(LIBRARY, "string_bool_to_semver", text, False) == CelError(complaint)
    assert outcome(LIBRARY, "is_semver_string", text) is False


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("0.0.0", (0, 0, 0)),
        ("1.2.3-rc.1+b5.001", (1, 2, 3)),
        ("1.2.3--", (1, 2, 3)),
        ("18446744073709551615.9223372036854775808.1", (-1, -(2**63), 1)),
    ],
)
def test_numbers_of_a_version_are_signed(text, parts):
    version = outcome(LIBRARY, "string_to_semver", text)
    found = tuple([outcome(LIBRARY, f"semver_{part}", version) for part in ("major", "minor", "patch")])
    assert found == parts


@pytest.mark.parametrize(
    ("text", "strict"),
    [
        ("v1", "1.0.0"),
        ("v1.2", "1.2.0"),
        ("01.002.0003", "1.2.3"),
        ("000.0.0", "0.0.0"),
        ("1.2.03-rc+b", "1.2.3-rc+b"),
        ("1.2.-rc", "1.2.0-rc"),
        ("", CelError('strconv.ParseUint: parsing "": invalid syntax')),
        ("vv1.0.0", CelError('Invalid character(s) found in major number "0v1"')),
        ("é.0.0", CelError('Invalid character(s) found in major number "0é"')),
        ("1.2-rc", CelError("short version cannot contain PreRelease/Build meta data")),
        ("1+b", CelError("short version cannot contain PreRelease/Build meta data")),
        ("1.2.3-01", CelError('Numeric PreRelease version must not contain leading zeroes "01"')),
    ],
)
def test_normalizing_drops_a_v_and_zeros_and_fills_in(text, strict):
    read = outcome(LIBRARY, "string_bool_to_semver", text, True)
    assert read == (strict if isinstance(strict, CelError) else parse_semver(strict))
    assert outcome(LIBRARY, "is_semver_string_bool", text, True) is not isinstance(strict, CelError)


ORDERED = [
    "1.0.0-0",
    "1.0.0-2",
    "1.0.0-11",
    "1.0.0-a",
    "1.0.0-a.0",
    "1.0.0-a.b",
    "1.0.0-b",
    "1.0.0",
    "1.0.1",
    "1.2.0",
    "2.0.0",
]


@pytest.mark.parametrize("low", range(len(ORDERED)))
@pytest.mark.parametrize("high", range(len(ORDERED)))
def test_versions_are_ordered_by_precedence(low, high):
    one, other = parse_semver(ORDERED[low]), parse_semver(ORDERED[high])
    order = (low > high) - (low < high)
    assert outcome(LIBRARY, "semver_compare_to", one, other) == order
    assert outcome(LIBRARY, "semver_is_less_than", one, other) is (order < 0)
    assert outcome(LIBRARY, "semver_is_greater_than", one, other) is (order > 0)
    assert equal_not_null(one, other) is (order == 0)


def test_build_metadata_does_not_count():
    one, other = parse_semver("1.0.0+a"), parse_semver("1.0.0+b")
    assert equal_not_null(one, other)
    assert hash(one) == hash(other)


def test_a_version_equals_no_other_kind_of_value():
    assert equal_not_null(parse_semver("1.0.0"), "1.0.0") == CelError("no such overload")
