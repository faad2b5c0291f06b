"""Parts of timestamps and durations: year, month, hours, in a time zone.

Source: cel-go common/stdlib/standard.go, common/types/duration.go.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from auditor.cel.cel_errors import CelError
from auditor.golang.go_text import quote

if TYPE_CHECKING:
    from collections.abc import Callable
    from zoneinfo import ZoneInfo

    from auditor.cel.cel_values import Duration, Timestamp


_SECOND = 10**9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
_INTEGER = re.compile(r"[+-]?[0-9]+")


def _atoi(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise CelError(f"strconv.Atoi: parsing {quote(text)}: invalid syntax")
    if len(text.lstrip("+-0")) > 19 or not -(2**63) <= int(text) < 2**63:
        raise CelError(f"strconv.Atoi: parsing {quote(text)}: value out of range")
    return int(text)


def _wrapped(number: int) -> int:
    """Return a number wrapped to 64 bits."""
    return (number + 2**63) % 2**64 - 2**63


@lru_cache(maxsize=512)
def _zone(name: str) -> ZoneInfo:
    """Return the zone with a name; if its file is not a zone, the operating system's message is the error."""
    if ".." in name or name[0] in "/\\":
        raise CelError("time: invalid location name")
    if "\0" in name:
        raise CelError("invalid argument")
    from zoneinfo import TZPATH, ZoneInfo  # noqa: PLC0415 - it brings the settings that Python was built with along

    failure = ""
    for folder in TZPATH:
        try:
            with open(f"{folder}/{name}", "rb") as file:  # noqa: PTH123 - a Path drops the slash at the end
                return ZoneInfo.from_file(file, name)
        except FileNotFoundError:
            continue
        except OSError as error:
            failure = failure or str(error.strerror).lower()
        except ValueError:
            failure = failure or "malformed time zone information"
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise CelError(failure or f"unknown time zone {name}") from None


def _offset(seconds: int, name: str) -> int:
    """Return the difference in seconds between the zone's clock and UTC at an instant."""
    if ":" in name:
        hours, _, minutes = name.partition(":")
        hour, minute = _atoi(hours), _atoi(minutes)
        nanos = _wrapped((hour * 60 - minute if name.startswith("-") else hour * 60 + minute) * 60 * _SECOND)
        return _floating(_SECOND)(nanos) if nanos >= 0 else -_floating(_SECOND)(-nanos)
    if name in ("", "UTC", "Local"):  # the server's own zone is not known
        return 0
    zone = _zone(name)
    instant = min(max(_EPOCH + timedelta(seconds=seconds), _FIRST), _LAST)
    offset = instant.astimezone(zone).utcoffset()
    return int(offset.total_seconds()) if offset else 0


def _date(days: int) -> tuple[int, int, int, int]:
    """Return year, month, day and day of the year (all counted from 0 except the year) of a day since 1970."""
    days += 719_468  # since 0000-03-01, so that a leap day ends a year
    era, day_of_era = divmod(days, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5
    month = (shifted + 2) % 12
    year = era * 400 + year_of_era + (month < 2)
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return year, month, day, (day_of_year - 306 if month < 2 else day_of_year + 59 + leap)


TIMESTAMP_GETTERS: dict[str, Callable[[int, int], int]] = {
    "getFullYear": lambda seconds, _: _date(seconds // 86_400)[0],
    "getMonth": lambda seconds, _: _date(seconds // 86_400)[1],
    "getDayOfYear": lambda seconds, _: _date(seconds // 86_400)[3],
    "getDayOfMonth": lambda seconds, _: _date(seconds // 86_400)[2],
    "getDate": lambda seconds, _: _date(seconds // 86_400)[2] + 1,
    "getDayOfWeek": lambda seconds, _: (seconds // 86_400 + 4) % 7,
    "getHours": lambda seconds, _: seconds // 3600 % 24,
    "getMinutes": lambda seconds, _: seconds // 60 % 60,
    "getSeconds": lambda seconds, _: seconds % 60,
    "getMilliseconds": lambda _, nanos: nanos // 1_000_000,
}
"""Name to function of the zone's seconds since 1970 and the nanoseconds of the second."""


def timestamp_getter(name: str) -> Callable[..., int]:
    """Return the function of a timestamp and, optionally, a time zone."""
    getter = TIMESTAMP_GETTERS[name]

    def get(timestamp: Timestamp, zone: str = "") -> int:
        seconds, nanos = divmod(timestamp.nanos, _SECOND)
        return getter(seconds + (_offset(seconds, zone) if zone else 0), nanos)

    return get


def _floating(unit: int) -> Callable[[int], int]:
    """Return the number of whole units as Go computes it, with a double that may round up."""
    return lambda nanos: int(float(nanos // unit) + float(nanos % unit) / unit)


DURATION_GETTERS: dict[str, Callable[[int], int]] = {
    "getHours": _floating(3600 * _SECOND),
    "getMinutes": _floating(60 * _SECOND),
    "getSeconds": _floating(_SECOND),
    "getMilliseconds": lambda nanos: nanos // 1_000_000,
}
"""Name to function of a number of nanoseconds that is not negative."""


def duration_getter(name: str) -> Callable[[Duration], int]:
    """Return the function of a duration: its length in one unit, truncated."""
    getter = DURATION_GETTERS[name]
    return lambda duration: -getter(-duration.nanos) if duration.nanos < 0 else getter(duration.nanos)
