"""Getters of timestamps with a zone: valid zones, and the server's errors for others."""

from __future__ import annotations

from pathlib import Path

import pytest

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import STRING
from auditor.cel.kubernetes import kubernetes_environment

PROGRAM = kubernetes_environment({"zone": STRING}).compile(
    "string(timestamp('2024-02-29T12:30:45Z').getFullYear(zone)) + ' ' + "
    "string(timestamp('2024-02-29T12:30:45Z').getHours(zone))"
)


def asked(zone: str) -> str:
    value, _ = PROGRAM.evaluate({"zone": zone})
    return value.text if isinstance(value, CelError) else value


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ('"x:00', r"""strconv.Atoi: parsing "\"x": invalid syntax"""),
        ("\\x:1", r"""strconv.Atoi: parsing "\\x": invalid syntax"""),
        ("\x01:0", r"""strconv.Atoi: parsing "\x01": invalid syntax"""),
        ("\u2028:0", r"""strconv.Atoi: parsing "\u2028": invalid syntax"""),
        ("1:99999999999999999999", 'strconv.Atoi: parsing "99999999999999999999": value out of range'),
    ],
)
def test_what_is_no_number_is_quoted(zone: str, text: str) -> None:
    assert asked(zone) == text


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("2562047788015215:0", "2024 12"),
        ("2562047788015216:0", "2024 13"),
        ("-2562047788015216:0", "2024 12"),
        ("9223372036854775807:0", "2024 11"),
        ("9223372036854775807:60", "2024 12"),
        ("-1:-9223372036854775808", "2024 11"),
        ("1111111111111111111:0", "2083 6"),
        ("1000000:0", "2138 4"),
        ("01:99", "2024 15"),
        ("-01:-5", "2024 11"),
    ],
)
def test_offsets_overflow_as_nanoseconds_in_64_bits(zone: str, text: str) -> None:
    assert asked(zone) == text


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("a..b", "time: invalid location name"),
        ("a/../b", "time: invalid location name"),
        ("/etc", "time: invalid location name"),
        ("x\0y", "invalid argument"),
        ("Nowhere", "unknown time zone Nowhere"),
    ],
)
def test_some_names_are_of_no_zone(zone: str, text: str) -> None:
    assert asked(zone) == text


@pytest.mark.skipif(not Path("/usr/share/zoneinfo/zone.tab").exists(), reason="zones are no files here")
@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("Europe", "is a directory"),
        ("Europe/", "is a directory"),
        ("UTC/", "not a directory"),
        ("x" * 300, "file name too long"),
        ("zone.tab", "malformed time zone information"),
        ("Europe//Berlin", "2024 13"),
        ("./Europe/./Berlin", "2024 13"),
    ],
)
def test_a_name_is_that_of_a_file(zone: str, text: str) -> None:
    assert asked(zone) == text
