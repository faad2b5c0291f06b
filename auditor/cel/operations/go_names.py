"""Values and their classes as cel-go's error texts print them (Go's %v and %T).

Source: Go fmt; the String methods in cel-go common/types.
"""

from __future__ import annotations

from typing import Any

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_values import Duration, Optional_, Timestamp, TypeValue, UInt, is_list, is_map
from auditor.cel.operations.equality import find
from auditor.golang.go_text import float_v
from auditor.golang.times import GoTime, format_duration, format_rfc3339_nano


def show(value: Any) -> str:
    """Return a value as %v prints it: strings unquoted, lists in brackets."""
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is UInt:
        return str(int(value))
    if kind is float:
        return float_v(value)
    if value is None:
        return "0"
    if kind is bytes:
        return f"[{' '.join(str(byte) for byte in value)}]"
    if kind is Duration:
        return format_duration(value.nanos)
    if kind is Timestamp:
        return _show_time(value)
    if kind is TypeValue:
        return str(value.name)
    if kind is Optional_:
        return f"optional({show(value.value)})" if value.has else "optional.none()"
    if isinstance(value, CelError):
        return value.text
    if is_list(value):
        items = value if kind is list else value.cel_iter()
        return f"[{', '.join(show(item) for item in items)}]"
    if is_map(value):
        keys = value if kind is dict else value.cel_iter()
        return f"{{{', '.join(f'{show(key)}: {show(find(value, key))}' for key in keys)}}}"
    return str(value)


def _show_time(value: Timestamp) -> str:
    seconds, nanos = divmod(value.nanos, 10**9)
    text = format_rfc3339_nano(GoTime(seconds + value.zone, nanos)).replace("T", " ").rstrip("Z")
    if not value.zone:
        return f"{text} +0000 UTC"
    minutes = abs(value.zone) // 60
    zone = f"{'-' if value.zone < 0 else '+'}{minutes // 60:02d}{minutes % 60:02d}"
    return f"{text} {zone} {zone}"


_GO_TYPES: dict[type, str] = {
    bool: "types.Bool",
    int: "types.Int",
    UInt: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    type(None): "types.Null",
    Duration: "types.Duration",
    Timestamp: "types.Timestamp",
    Optional_: "*types.Optional",
    TypeValue: "*types.Type",
    list: "*types.baseList",
}


def go_type(value: Any) -> str:
    """Return the name of the server's class for a value; values of other packages have it as `go_type`."""
    known = _GO_TYPES.get(type(value))
    if known is not None:
        return known
    own = getattr(value, "go_type", None)
    if own is not None:
        return str(own)
    return "*types.baseMap" if is_map(value) else f"cel.{type(value).__name__}"
