"""Times and durations as Go's package time parses and prints them, with its errors.

Python's datetime is limited to microseconds and the years 1 to 9999; here a time is seconds and nanoseconds. Go works
on bytes, so texts are processed as bytes (held as Latin-1 characters) and quoted byte by byte.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

RFC3339 = "2006-01-02T15:04:05Z07:00"
RFC3339_NANO = "2006-01-02T15:04:05.999999999Z07:00"

_DAYS_TO_EPOCH = 719_468  # from 1 March of year 0, from which days are counted below
_ZERO_SECONDS = -62_135_596_800  # 1 January of year 1


class GoTimeError(ValueError):
    """A text that Go does not accept as a time or a duration; the message is Go's."""


@dataclass(frozen=True, slots=True)
class GoTime:
    """An instant, as in time.Time.

    Attributes:
        seconds: Since 1970 in UTC; negative before.
        nanoseconds: From 0 to 999,999,999, added to the seconds.
        offset: The offset of the zone it was written in, in seconds east of UTC.
    """

    seconds: int
    nanoseconds: int = 0
    offset: int = 0

    @property
    def is_zero(self) -> bool:
        """Whether this is the first second of year 1, which Go treats as no time."""
        return self.seconds == _ZERO_SECONDS and self.nanoseconds == 0


# -- parse -------------------------------------------------------------------------------------------------------------

_ELEMENT = re.compile(r"2006|01|02|15|04|05|[.,]0+(?![0-9])|[.,]9+(?![0-9])|Z07:00|Z0700|-07:00|-0700")
_SIGNED = re.compile(r"[+-]?[0-9]+")
_FRACTION = re.compile(r"[.,][0-9]+")


class _Bad(Exception):
    """An element of a layout does not fit the text."""


class _OutOfRange(Exception):
    """An element has the right form, but its number is out of range; the text names the element."""


def parse_rfc3339(text: str) -> GoTime:
    """Return the instant in a text in RFC 3339, as time.Parse(time.RFC3339, ...) reads it.

    A fraction is allowed, also after a comma, and an hour may have one digit. `T` and `Z` must be upper case.

    Raises:
        GoTimeError: ``parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`` and the like.
    """
    plain = _PLAIN(text)
    if plain is not None:
        year, month, day, hour, minute, second = map(int, plain.groups())
        if 1 <= month <= 12 and 1 <= day <= days_in(year, month) and hour < 24 and minute < 60 and second < 60:
            return GoTime(_days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second, 0, 0)
    return parse_time(RFC3339, text)


_PLAIN = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})Z").fullmatch
"""Matches nearly all times of metadata, which need no layout."""


def unix_seconds(text: object) -> float | None:
    """Return a time in RFC 3339 in seconds since 1970; None if it is none, or Go's zero time."""
    try:
        time = parse_rfc3339(text) if isinstance(text, str) else None
    except GoTimeError:
        return None
    return None if time is None or time.is_zero else time.seconds + time.nanoseconds / 1e9


def parse_time(layout: str, text: str) -> GoTime:
    """Return the instant in a text, by one of Go's layouts.

    Args:
        layout: Made of ``2006 01 02 15 04 05 .000 .999 Z07:00 Z0700 -07:00 -0700`` and fixed characters.
        text: Without a zone in the layout the text is in UTC.
    Raises:
        GoTimeError: The text does not fit; the message is that of time.ParseError.

    Source: time.Parse.
    """
    return _TimeReading(layout, text).read()


@lru_cache(maxsize=64)
def _pieces(layout: str) -> tuple[tuple[str, str], ...]:
    """Split a layout into pairs of fixed text and the following element; the last element is empty."""
    pieces = []
    start = 0
    for element in _ELEMENT.finditer(layout):
        pieces.append((layout[start : element.start()], element[0]))
        start = element.end()
    return (*pieces, (layout[start:], ""))


class _TimeReading:
    """One parsing of one text; reads elements from its front."""

    def __init__(self, layout: str, text: str) -> None:
        self.layout = layout
        self.text = self.rest = text.encode("utf-8", "surrogatepass").decode("latin-1")
        self.year, self.month, self.day = 0, 1, 1
        self.hour = self.minute = self.second = self.nanoseconds = self.offset = 0

    def read(self) -> GoTime:
        pieces = _pieces(self.layout)
        for position, (fixed, element) in enumerate(pieces):
            for character in fixed:
                if not self.rest.startswith(character):
                    raise self.cannot(self.rest, fixed)
                self.rest = self.rest[1:]
            if not element:
                break
            hold = self.rest
            try:
                self.element(element, pieces[position + 1][1])
            except _OutOfRange as what:
                raise self.wrong(f": {what} out of range") from None
            except _Bad:
                raise self.cannot(hold, element) from None
        if self.rest:
            raise self.wrong(f": extra text: {_quote(self.rest)}")
        if not 1 <= self.day <= days_in(self.year, self.month):
            raise self.wrong(": day out of range")
        days = _days(self.year, self.month, self.day)
        seconds = days * 86_400 + self.hour * 3600 + self.minute * 60 + self.second - self.offset
        return GoTime(seconds, self.nanoseconds, self.offset)

    def wrong(self, message: str) -> GoTimeError:
        return GoTimeError(f"parsing time {_quote(self.text)}{message}")

    def cannot(self, rest: str, element: str) -> GoTimeError:
        return self.wrong(f" as {_quote(self.layout)}: cannot parse {_quote(rest)} as {_quote(element)}")

    def element(self, element: str, following: str) -> None:
        if element == "2006":
            year = self.rest[:4]
            if len(year) < 4 or not _is_number(year):
                raise _Bad
            self.rest = self.rest[4:]
            self.year = int(year)
        elif element == "01":
            self.month = self.number("month", 1, 12)
        elif element == "02":
            self.day = self.number("", 0, 99)
        elif element == "15":
            self.hour = self.number("hour", 0, 23, fixed=False)
        elif element == "04":
            self.minute = self.number("minute", 0, 59)
        elif element == "05":
            self.second = self.number("second", 0, 59)
            if following[:1] not in (".", ",") and (match := _FRACTION.match(self.rest)):
                self.fraction(match.end())
        elif element[0] in ".,":
            self.written_fraction(element)
        else:
            self.zone(element)

    def number(self, what: str, least: int, most: int, *, fixed: bool = True) -> int:
        digits = self.rest[:2] if _is_number(self.rest[1:2]) else self.rest[:1]
        if not _is_number(digits) or (fixed and len(digits) < 2):
            raise _Bad
        self.rest = self.rest[len(digits) :]
        number = int(digits)
        if not least <= number <= most:
            raise _OutOfRange(what)
        return number

    def fraction(self, length: int) -> None:
        """Read the point and the digits after it; digits beyond nanoseconds are cut."""
        self.nanoseconds = int(self.rest[1 : min(length, 10)].ljust(9, "0"))
        self.rest = self.rest[length:]

    def written_fraction(self, element: str) -> None:
        if element[1] == "0":
            digits = self.rest[1 : len(element)]
            # Go parses the digits as a number, which may have a sign.
            if len(digits) < len(element) - 1 or self.rest[0] not in ".," or not _SIGNED.fullmatch(digits):
                raise _Bad
            if int(digits) < 0:
                raise _OutOfRange("fractional second")
            self.nanoseconds = int(digits) * 10 ** (10 - len(element)) if len(element) <= 10 else int(digits[:9])
            self.rest = self.rest[len(element) :]
        elif match := _FRACTION.match(self.rest):
            self.fraction(match.end())

    def zone(self, element: str) -> None:
        if element[0] == "Z" and self.rest.startswith("Z"):
            self.rest = self.rest[1:]
            return
        width = 6 if ":" in element else 5
        zone = self.rest[:width]
        if len(zone) < width or (width == 6 and zone[3] != ":"):
            raise _Bad
        self.rest = self.rest[width:]
        hours, minutes = zone[1:3], zone[-2:]
        # Ranges are checked before the sign, minutes first.
        if _is_number(hours) and _is_number(minutes) and int(minutes) > 60:
            raise _OutOfRange("time zone offset minute")
        if _is_number(hours) and int(hours) > 24:
            raise _OutOfRange("time zone offset hour")
        if not (_is_number(hours) and _is_number(minutes)) or zone[0] not in "+-":
            raise _Bad
        offset = (int(hours) * 60 + int(minutes)) * 60
        self.offset = -offset if zone[0] == "-" else offset


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _quote(text: str) -> str:
    """Quote as package time does: bytes beyond ASCII and control characters as hexadecimal."""
    written = [
        f"\\x{ord(character):02x}" if character < " " or character >= "\x80" else character for character in text
    ]
    return '"' + "".join(["\\" + character if character in '"\\' else character for character in written]) + '"'


# -- the calendar ------------------------------------------------------------------------------------------------------


def days_in(year: int, month: int) -> int:
    """Return the number of days of a month (1 to 12), in the Gregorian calendar for all years."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 + ((month + (month >> 3)) & 1)


def _days(year: int, month: int, day: int) -> int:
    """Return the days from 1970 to a date. Years begin in March here, so that the leap day is the last."""
    if month <= 2:
        year -= 1
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _DAYS_TO_EPOCH


def _date(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a count of days since 1970; the inverse of `_days`."""
    era, of_era = divmod(days + _DAYS_TO_EPOCH, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month <= 2), month, day


# -- print -------------------------------------------------------------------------------------------------------------


def format_rfc3339(time: GoTime) -> str:
    """Return a time in UTC, to the second: ``2026-01-02T03:04:05Z``, as metav1.Time is written."""
    days, second = divmod(time.seconds, 86_400)
    year, month, day = _date(days)
    sign = "-" if year < 0 else ""
    clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}T{clock}Z"


def format_rfc3339_nano(time: GoTime) -> str:
    """Return a time in UTC with its fraction, without trailing zeros: ``2026-01-02T03:04:05.5Z``."""
    text = format_rfc3339(time)
    if not time.nanoseconds:
        return text
    return f"{text[:-1]}.{time.nanoseconds:09d}".rstrip("0") + "Z"


# -- durations ---------------------------------------------------------------------------------------------------------

_UNITS = {
    "ns": 1,
    "us": 1000,
    "\u00b5s": 1000,
    "\u03bcs": 1000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?([^0-9.]*)")
_MOST = 1 << 63
_MOST_DIGITS = 19  # Python refuses to read numbers of thousands of digits


def parse_duration(text: str) -> int:
    """Return the nanoseconds of a duration such as ``-1.5h`` or ``1h30m``, as time.ParseDuration counts them.

    Raises:
        GoTimeError: ``time: invalid duration "x"``, ``time: missing unit in duration "1"``, ``time: unknown unit "d" in
            duration "1d"``; a duration beyond int64 is invalid, too.
    """
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    total = 0
    position = 0
    if not rest:
        raise _invalid(text)
    while position < len(rest):
        part = _PART.match(rest, position)
        assert part is not None
        whole, point, fraction, unit = part.groups()
        if not whole and not fraction:
            raise _invalid(text)
        position = part.end()
        number = whole.lstrip("0") or "0"
        if len(number) > _MOST_DIGITS or int(number) > _MOST:
            raise _invalid(text)
        if not unit:
            raise GoTimeError(f"time: missing unit in duration {_quoted(text)}")
        size = _UNITS.get(unit)
        if size is None:
            raise GoTimeError(f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}")
        # Go adds in uint64: the sum of two parts of the largest size wraps to zero.
        part_size = _part_of_duration(int(number), fraction if point else "", size, text)
        total = (total + part_size) % (2 * _MOST)
        if total > _MOST:
            raise _invalid(text)
    if text.startswith("-"):
        return -total
    if total >= _MOST:
        raise _invalid(text)
    return total


def _part_of_duration(whole: int, fraction: str, size: int, text: str) -> int:
    if whole > _MOST // size:
        raise _invalid(text)
    part = whole * size
    digits, scale = _leading_fraction(fraction)
    if digits:
        part += int(float(digits) * (float(size) / scale))
        if part > _MOST:
            raise _invalid(text)
    return part


def _leading_fraction(fraction: str) -> tuple[int, float]:
    """Return as many digits as fit int64, and their scale as Go computes it, in float64."""
    digits, scale = 0, 1.0
    for digit in fraction:
        longer = digits * 10 + int(digit)
        if digits > (_MOST - 1) // 10 or longer > _MOST:
            break
        digits = longer
        scale *= 10
    return digits, scale


def _invalid(text: str) -> GoTimeError:
    return GoTimeError(f"time: invalid duration {_quoted(text)}")


def _quoted(text: str) -> str:
    return _quote(text.encode("utf-8", "surrogatepass").decode("latin-1"))


def format_duration(nanoseconds: int) -> str:
    """Return a duration as Go prints it: ``1h0m0s``, ``1.5s``, ``2ms``, ``0s``.

    Source: time.Duration.String.
    """
    amount = abs(nanoseconds)
    sign = "-" if nanoseconds < 0 else ""
    if amount == 0:
        return "0s"
    if amount < 1_000_000_000:
        unit, size = ("ns", 1) if amount < 1000 else ("µs", 1000) if amount < 1_000_000 else ("ms", 1_000_000)
        return sign + _decimal(amount, size) + unit
    minutes, rest = divmod(amount, 60_000_000_000)
    text = _decimal(rest, 1_000_000_000) + "s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        text = f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"
    return sign + text


def _decimal(amount: int, size: int) -> str:
    whole, rest = divmod(amount, size)
    if not rest:
        return str(whole)
    return f"{whole}.{rest:0{len(str(size)) - 1}d}".rstrip("0")
