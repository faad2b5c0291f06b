"""Ages as kubectl prints them.

Source: apimachinery pkg/util/duration/duration.go (HumanDuration); printers pkg/printers/internalversion (translate*).
"""

from __future__ import annotations

__all__ = ["human_duration"]

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY
_LONGEST = 9223372036


def human_duration(seconds: float) -> str:
    """Return a duration in the format of kubectl's AGE: ``90s``, ``2m3s``, ``4h5m``, ``3d4h``, ``2y1d``.

    Args:
        seconds: The duration; negative for a time in the future. Go's durations end after 292 years.
    """
    whole = min(int(seconds), _LONGEST)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two(seconds: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{large_name}" + (f"{rest}{small_name}" if rest else "")
