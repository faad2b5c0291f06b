"""Readers for objects whose shape is not checked, and texts that several printers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from auditor.golang.times import GoTime, GoTimeError, format_rfc3339, parse_rfc3339
from auditor.printing.printer_columns import age_of

if TYPE_CHECKING:
    from auditor.base.records import JsonObject


NONE: Final = "<none>"
SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""White space in Go."""
Printer = Callable[[Any, float], list[Any]]


def walk(obj: Any, path: str) -> Any:
    """Return the value at a dotted path, or None if there is none."""
    for step in path.split("."):
        obj = obj.get(step) if type(obj) is dict else None
    return obj


def text(obj: Any, path: str) -> str:
    """Return the text at a path; empty if there is none."""
    value = walk(obj, path)
    return value if type(value) is str else ""


def containers_text(spec: Any) -> list[str]:
    """Return the names of the containers of a Pod's spec, and their images."""
    containers = many(spec, "containers")
    return [",".join(text(container, name) for container in containers) for name in ("name", "image")]


def given(obj: Any, path: str, default: str) -> str:
    """Return the text at a path, even if it is empty; the default if there is none."""
    value = walk(obj, path)
    return value if type(value) is str else default


def lowered(words: str) -> str:
    """Return a text in lower case as Go converts it: letter by letter, one to one."""
    return "".join("i" if letter == "\u0130" else letter.lower() for letter in words)


def number(obj: Any, path: str, default: int = 0) -> int:
    """Return the integer at a path, or the default."""
    value = walk(obj, path)
    return value if type(value) is int else default


def many(obj: Any, path: str) -> list[JsonObject]:
    """Return the objects in the list at a path, or an empty list; items that are not objects count as empty ones."""
    value = walk(obj, path)
    return [item if type(item) is dict else {} for item in value] if type(value) is list else []


def texts(obj: Any, path: str) -> list[str]:
    """Return the texts in the list at a path, or an empty list; items that are not texts count as empty ones."""
    value = walk(obj, path)
    return [item if type(item) is str else "" for item in value] if type(value) is list else []


def mapping(obj: Any, path: str) -> JsonObject:
    """Return the object at a path, or an empty one."""
    value = walk(obj, path)
    return value if type(value) is dict else {}


def condition(obj: Any, kind: str) -> JsonObject | None:
    """Return the first condition of a type in the status, or None."""
    return next((state for state in many(obj, "status.conditions") if state.get("type") == kind), None)


def entry(values: JsonObject, name: str, default: str) -> str:
    """Return a quantity or another short value by name; the default if it is absent or null."""
    value = values.get(name)
    return default if value is None else str(value)


def first_of(*texts: str) -> str:
    """Return the first text that is not empty."""
    return next((text for text in texts if text), "")


def age(obj: JsonObject, now: float, path: str = "metadata.creationTimestamp") -> str:
    """Return how long ago the time at a path was; ``<unknown>`` if there is none."""
    return age_of(text(obj, path), now)


def seconds_of(obj: JsonObject, path: str) -> float | None:
    """Return the time at a path in seconds since 1970, or None."""
    try:
        moment = parse_rfc3339(text(obj, path))
    except GoTimeError:
        return None
    return moment.seconds + moment.nanoseconds / 1e9


def utc(moment: str) -> str:
    """Return a time in full, as tables show it: RFC 3339 in UTC; Go's zero time if there is none."""
    try:
        instant = parse_rfc3339(moment or "0001-01-01T00:00:00Z")
    except GoTimeError:
        return moment
    return format_rfc3339(GoTime(instant.seconds))


def labels_text(labels: Any) -> str:
    """Return labels as ``a=b,c=d``, in the order of these pairs; ``<none>`` if there are none."""
    if type(labels) is not dict or not labels:
        return NONE
    return ",".join(sorted(f"{key}={entry(labels, key, '')}" for key in labels))


def listed_text(items: list[str]) -> str:
    """Return the first three items joined by commas, and the number of further ones."""
    return ",".join(items[:3]) + (f" + {len(items) - 3} more..." if len(items) > 3 else "")


def load_balancer(obj: JsonObject) -> str:
    """Return the addresses of the load balancer; not cut, as a server always answers with the widest table."""
    addresses = set()
    for ingress in many(obj, "status.loadBalancer.ingress"):
        addresses.add(text(ingress, "ip") or text(ingress, "hostname"))
    return ",".join(sorted(addresses - {""}))


_OPERATORS: Final = {"In": "in", "NotIn": "notin"}


def label_selector(selector: Any) -> str:
    """Return a LabelSelector as text; ``<none>`` if it is empty or absent."""
    if type(selector) is not dict:
        return NONE
    terms: list[tuple[str, str]] = []
    match_labels = selector.get("matchLabels")
    for key, value in (match_labels if type(match_labels) is dict else {}).items():
        terms.append((key, f"{key}={value or ''}"))
    for expression in many(selector, "matchExpressions"):
        key, operator = text(expression, "key"), text(expression, "operator")
        if operator in _OPERATORS:
            values = ",".join(sorted(texts(expression, "values")))
            terms.append((key, f"{key} {_OPERATORS[operator]} ({values})"))
        else:
            terms.append((key, f"!{key}" if operator == "DoesNotExist" else key))
    return ",".join(term for _, term in sorted(terms, key=lambda pair: pair[0])) or NONE


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
    event = {names.get(key, key): value for key, value in obj.items()}
    if group:  # empty names of the controller are left out
        event = {key: value for key, value in event.items() if value != "" or not key.startswith("reporting")}
    return {**event, "apiVersion": api_version}
