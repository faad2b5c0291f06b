"""Conversions between types: int(x), string(x), timestamp(x) and others.

Source: cel-go common/types, ConvertToType of each type; Go strconv.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_values import Duration, Timestamp, TypeValue, UInt
from auditor.cel.operations.arithmetic import MAX_INT, MAX_SECOND, MAX_UINT, MIN_INT, MIN_SECOND, timestamp_of
from auditor.cel.operations.equality import type_of
from auditor.golang.go_text import float_v
from auditor.golang.times import GoTime, GoTimeError, format_rfc3339_nano, parse_duration, parse_rfc3339

_SECOND = 10**9
_INTEGER = re.compile(r"[+-]?[0-9]+")
_UNSIGNED = re.compile(r"[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9_]+\.?[0-9_]*|\.[0-9_]+)(?:[eE][+-]?[0-9_]+)?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F_]+\.?[0-9a-fA-F_]*|\.[0-9a-fA-F_]+)[pP][+-]?[0-9_]+")
_UNDERSCORES = re.compile(r"(?<![0-9a-fA-FxX])_|_(?![0-9a-fA-F])")
_INFINITE = re.compile(r"(?i:[+-]?inf(?:inity)?|nan)")
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def _failure(value: Any, target: str) -> CelError:
    return CelError(f"type conversion error from '{type_of(value).name}' to '{target}'")


def to_int(value: Any) -> int:
    """Return ``int(value)`` of a string, double, uint, duration (nanoseconds) or timestamp (seconds)."""
    kind = type(value)
    if kind is int:
        return int(value)
    if kind is str:
        if _INTEGER.fullmatch(value) and len(value.lstrip("+-0")) < 20 and MIN_INT <= int(value) <= MAX_INT:
            return int(value)
        raise _failure(value, "int")
    if kind is float:
        if not math.isfinite(value) or not -(2.0**63) < value < 2.0**63:
            raise CelError("integer overflow")
        return int(value)
    if kind is UInt:
        if value > MAX_INT:
            raise CelError("integer overflow")
        return int(value)
    if kind is Duration:
        return int(value.nanos)
    if kind is Timestamp:
        return int(value.nanos // _SECOND)
    raise _failure(value, "int")


def to_uint(value: Any) -> UInt:
    """Return ``uint(value)`` of a string, double or int."""
    kind = type(value)
    if kind is UInt:
        return UInt(value)
    if kind is str:
        if _UNSIGNED.fullmatch(value) and len(value.lstrip("0")) < 21 and int(value) <= MAX_UINT:
            return UInt(int(value))
        raise _failure(value, "uint")
    if kind is float:
        if not math.isfinite(value) or not 0 <= value < 2.0**64:
            raise CelError("unsigned integer overflow")
        return UInt(int(value))
    if kind is int:
        if value < 0:
            raise CelError("unsigned integer overflow")
        return UInt(value)
    raise _failure(value, "uint")


def to_double(value: Any) -> float:
    """Return ``double(value)`` of a string, int or uint."""
    if type(value) is str:
        number = parse_float(value)
        if number is None:
            raise _failure(value, "double")
        return number
    if type(value) in (float, int, UInt):
        return float(value)
    raise _failure(value, "double")


def parse_float(text: str) -> float | None:
    """Return the result of Go's ParseFloat (decimal and hexadecimal, underscores, inf and nan), or None if it fails."""
    if _INFINITE.fullmatch(text):
        return float(text)
    hexadecimal = _HEXADECIMAL.fullmatch(text)
    if not (hexadecimal or _DECIMAL.fullmatch(text)) or _UNDERSCORES.search(text):
        return None
    digits = text.replace("_", "")
    try:
        number = float.fromhex(digits) if hexadecimal else float(digits)
    except (ValueError, OverflowError):
        return None
    return None if math.isinf(number) else number


def to_bool(value: Any) -> bool:
    """Return ``bool(value)`` of a string."""
    if type(value) is bool:
        return value
    if type(value) is str:
        if value in _TRUE:
            return True
        if value in _FALSE:
            return False
    raise _failure(value, "bool")


def to_bytes(value: Any) -> bytes:
    """Return ``bytes(value)`` of a string."""
    if type(value) is bytes:
        return value
    if type(value) is str:
        return value.encode("utf-8", "surrogateescape")
    raise _failure(value, "bytes")


def to_string(value: Any) -> str:
    """Return ``string(value)`` of any scalar."""
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is UInt:
        return str(int(value))
    if kind is float:
        return float_v(value)
    if kind is bytes:
        try:
            return str(value, "utf-8")
        except UnicodeDecodeError:
            raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None
    if kind is Duration:
        return format_duration(value)
    if kind is Timestamp:
        return format_timestamp(value)
    if kind is TypeValue:
        return str(value.name)
    if value is None:
        return "null"
    raise _failure(value, "string")


def format_duration(duration: Duration) -> str:
    """Return a duration in seconds, as ``string(duration)`` does: ``5400s``, ``0.5s``."""
    nanos = abs(duration.nanos)
    seconds = float(nanos // _SECOND) + float(nanos % _SECOND) / 1e9
    text = format(Decimal(repr(seconds)), "f").removesuffix(".0")
    return f"{'-' if duration.nanos < 0 else ''}{text}s"


def format_timestamp(timestamp: Timestamp) -> str:
    """Return a timestamp in its own zone: ``2024-02-29T12:30:00.5+01:00``."""
    seconds, nanos = divmod(timestamp.nanos, _SECOND)
    text = format_rfc3339_nano(GoTime(seconds + timestamp.zone, nanos))
    if not timestamp.zone:
        return text
    minutes = abs(timestamp.zone) // 60
    return f"{text[:-1]}{'-' if timestamp.zone < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def to_duration(value: Any) -> Duration:
    """Return ``duration(value)`` of a string."""
    if type(value) is Duration:
        return value
    if type(value) is str:
        try:
            return Duration(parse_duration(value))
        except GoTimeError:
            pass
    raise _failure(value, "google.protobuf.Duration")


def to_timestamp(value: Any) -> Timestamp:
    """Return ``timestamp(value)`` of a string in RFC 3339 or of seconds since 1970."""
    if type(value) is Timestamp:
        return value
    if type(value) is int:
        if not MIN_SECOND <= value <= MAX_SECOND:
            raise CelError("timestamp overflow")
        return Timestamp(value * _SECOND)
    if type(value) is str:
        try:
            moment = parse_rfc3339(value)
        except GoTimeError:
            raise _failure(value, "google.protobuf.Timestamp") from None
        return timestamp_of(moment.seconds * _SECOND + moment.nanoseconds, moment.offset)
    raise _failure(value, "google.protobuf.Timestamp")


def to_type(value: Any) -> TypeValue:
    """Return ``type(value)``."""
    return TypeValue(type_of(value).name)
