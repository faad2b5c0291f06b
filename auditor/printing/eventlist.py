"""``kubectl events``: a table of events, the oldest first.

Source: kubectl pkg/cmd/events (events.go, event_printer.go).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.golang.times import unix_seconds
from auditor.printing.printer_columns import human_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from auditor.base.records import JsonObject


def sorted_events(events: Sequence[JsonObject]) -> list[JsonObject]:
    """Return events sorted by the time when they were last seen."""
    return sorted(events, key=last_seen)


def event_columns(now: float, *, with_namespace: bool) -> dict[str, Callable[[JsonObject], str]]:
    """Return the columns of a table of events, as functions of an event."""

    def about(event: JsonObject) -> str:
        involved = involved_object(event)
        return f"{_text(involved, 'kind')}/{_text(involved, 'name')}"

    return {
        **({"namespace": lambda event: _text(event.get("metadata") or {}, "namespace")} if with_namespace else {}),
        "last seen": lambda event: interval(event, now),
        "type": lambda event: _text(event, "type"),
        "reason": lambda event: _text(event, "reason"),
        "object": about,
        "message": lambda event: _text(event, "message").strip(),
    }


def involved_object(event: JsonObject) -> JsonObject:
    """Return the reference of an event to the object that it is about; empty if it has none."""
    involved = event.get("involvedObject")
    return involved if type(involved) is dict else {}


def _text(obj: JsonObject, name: str) -> str:
    value = obj.get(name)
    return value if type(value) is str else ""


def _since(text: Any, now: float) -> str:
    seconds = unix_seconds(text)
    return "<unknown>" if seconds is None else human_duration(now - seconds)


def interval(event: JsonObject, now: float) -> str:
    """Return how long ago and how often an event was seen."""
    series, count = event.get("series"), event.get("count")
    first = _since(event.get("eventTime") or event.get("firstTimestamp"), now)
    if type(series) is dict:
        return f"{_since(series.get('lastObservedTime'), now)} (x{series.get('count', 0)} over {first})"
    if type(count) is int and count > 1:
        return f"{_since(event.get('lastTimestamp'), now)} (x{count} over {first})"
    return first


def last_seen(event: JsonObject) -> float:
    """Return when an event was last seen, in seconds since 1970; 0 if it has no time."""
    series = event.get("series")
    if type(series) is dict:
        return unix_seconds(series.get("lastObservedTime")) or 0
    return unix_seconds(event.get("lastTimestamp")) or unix_seconds(event.get("eventTime")) or 0
