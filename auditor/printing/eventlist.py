"""``kubectl events``: a table of events, the oldest first.

Source: kubectl pkg/cmd/events (events.go, event_printer.go).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.base.visible import visible
from auditor.golang.times import GoTimeError, parse_rfc3339
from auditor.printing.printer_columns import human_duration
from auditor.printing.tables import align

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.base.records import JsonObject


def is_about(event: JsonObject, kind: str, name: str) -> bool:
    """Whether an event is about an object."""
    involved = event.get("involvedObject")
    return type(involved) is dict and (involved.get("kind"), involved.get("name")) == (kind, name)


def sorted_events(events: Sequence[JsonObject]) -> list[JsonObject]:
    """Return events sorted by the time when they were last seen."""
    return sorted(events, key=_last_seen)


def event_lines(events: Sequence[JsonObject], now: float, *, headers: bool, with_namespace: bool) -> str:
    """Return the table of sorted events."""
    lead = ["NAMESPACE"] if with_namespace else []
    lines = [[*lead, "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]] if headers else []
    for event in events:
        involved = event.get("involvedObject")
        about = involved if type(involved) is dict else {}
        metadata = event.get("metadata") or {}
        place = [str(metadata.get("namespace") or "")] if with_namespace else []
        cells = [interval(event, now), _text(event, "type"), _text(event, "reason")]
        cells += [f"{_text(about, 'kind')}/{_text(about, 'name')}", _text(event, "message").strip()]
        lines.append([visible(cell) for cell in [*place, *cells]])
    return align("".join("\t".join(line) + "\n" for line in lines))


def _text(obj: JsonObject, name: str) -> str:
    value = obj.get(name)
    return value if type(value) is str else ""


def _seconds(text: Any) -> float | None:
    """Return a time in seconds since 1970, or None if there is none."""
    try:
        time = parse_rfc3339(text) if type(text) is str else None
    except GoTimeError:
        return None
    return None if time is None or time.is_zero else time.seconds + time.nanoseconds / 1e9


def _since(text: Any, now: float) -> str:
    seconds = _seconds(text)
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


def _last_seen(event: JsonObject) -> float:
    series = event.get("series")
    if type(series) is dict:
        return _seconds(series.get("lastObservedTime")) or 0
    return _seconds(event.get("lastTimestamp")) or _seconds(event.get("eventTime")) or 0
