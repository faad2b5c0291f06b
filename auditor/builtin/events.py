"""The two forms of an Event: v1, in which it is stored, and events.k8s.io/v1.

Source: kubernetes pkg/apis/events/v1/conversion.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from auditor.base.records import JsonObject

__all__ = ["event_at"]

_CORE_TO_EVENTS: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_EVENTS_TO_CORE: Final = {new: old for old, new in _CORE_TO_EVENTS.items()}


def event_at(obj: JsonObject, group: str) -> JsonObject:
    """Return an Event in the form of a group: empty for v1, ``events.k8s.io``."""
    api_version = f"{group}/v1" if group else "v1"
    if obj.get("apiVersion") == api_version or obj.get("kind") != "Event":
        return obj
    names = _CORE_TO_EVENTS if group else _EVENTS_TO_CORE
    found = {names.get(key, key): value for key, value in obj.items()}
    if group:  # empty names of the controller are left out
        found = {key: value for key, value in found.items() if value != "" or not key.startswith("reporting")}
    return {**found, "apiVersion": api_version}
