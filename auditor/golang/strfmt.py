"""Dates, times and durations as the strfmt package of the server's validator reads them.

Upstream checks formats and makes the values for rules with different functions, which do not agree about every text;
both are here. Source: kube-openapi pkg/validation/strfmt.
"""

from __future__ import annotations

import re

from auditor.golang.times import RFC3339, RFC3339_NANO, GoTime, GoTimeError, days_in, parse_duration, parse_time

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_CLOCK = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_LAYOUTS = (
    "2006-01-02T15:04:05.000000Z07:00",
    "2006-01-02T15:04:05.000Z07:00",
    RFC3339,
    RFC3339_NANO,
    "2006-01-02T15:04:05",
)
_PARTS = re.compile(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)")
_NANOSECONDS_BY_UNIT = {
    ("ns", "nano"): 1,
    ("us", "µs", "micro"): 1_000,
    ("ms", "milli"): 1_000_000,
    ("s", "sec"): 1_000_000_000,
    ("m", "min"): 60_000_000_000,
    ("h", "hr", "hour"): 3_600_000_000_000,
    ("d", "day"): 86_400_000_000_000,
    ("w", "wk", "week"): 604_800_000_000_000,
}
_MAX_INT64 = 2**63 - 1
_DIGITS_OF_INT64 = 19


def is_date(text: str) -> bool:
    """Whether a text is a calendar day such as ``2026-01-31``; years begin at 0000."""
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = (int(part) for part in match.groups())
    return 1 <= month <= 12 and 1 <= day <= days_in(year, month)


def is_date_time(text: str) -> bool:
    """Whether a text passes as `date-time`: less strict than RFC 3339; text after a second ``t`` is ignored."""
    day, *clocks = text.translate(_LOWER).split("t", 2)
    return bool(clocks) and _CLOCK.fullmatch(clocks[0]) is not None and is_date(day)


def is_duration(text: str) -> bool:
    """Whether a text passes as `duration`."""
    try:
        parse_lenient_duration(text)
    except GoTimeError:
        return False
    return True


def parse_date(text: str) -> GoTime:
    """Return midnight UTC of a day, as rules see a value of format `date`.

    Raises:
        GoTimeError: As time.Parse of ``2006-01-02``.
    """
    return parse_time("2006-01-02", text)


def parse_date_time(text: str) -> GoTime:
    """Return the time that rules see for a value of format `date-time`; an empty text is the start of 1970.

    Raises:
        GoTimeError: No layout fits; the message is about the last, which has no zone.

    Source: strfmt.ParseDateTime.
    """
    if not text:
        return GoTime(0)
    for layout in _LAYOUTS[:-1]:
        try:
            return parse_time(layout, text)
        except GoTimeError:
            continue
    return parse_time(_LAYOUTS[-1], text)


def parse_lenient_duration(text: str) -> int:
    """Return the nanoseconds of a duration in Go's format, or the sum of all parts such as ``2 weeks`` in a text.

    Raises:
        GoTimeError: There is no such part, or one has a number beyond int64.

    Source: strfmt.ParseDuration. The sum is int64 and wraps, as Go's does.
    """
    try:
        return parse_duration(text)
    except GoTimeError:
        pass
    total = 0
    known = False
    for digits, unit in _PARTS.findall(text):
        number = digits.lstrip("0") or "0"
        if len(number) > _DIGITS_OF_INT64 or int(number) > _MAX_INT64:
            raise GoTimeError(f'strconv.Atoi: parsing "{digits}": value out of range')
        size = _size_of(unit.translate(_LOWER))
        if size is not None:
            known = True
            total += int(number) * size
    if not known:
        raise GoTimeError(f"unable to parse {text} as duration")
    return (total + 2**63) % 2**64 - 2**63


def _size_of(unit: str) -> int | None:
    for names, size in _NANOSECONDS_BY_UNIT.items():
        if unit in names or unit.startswith(names[-1]):
            return size
    return None
