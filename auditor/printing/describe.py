"""``kubectl describe`` of custom resources: all fields with readable labels, and the events of the object.

Source: kubectl pkg/describe/describe.go (genericDescriber, smartLabelFor, DescribeEvents); text/tabwriter.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import visible, visible_tree
from auditor.golang.go_text import display
from auditor.golang.unicode import is_letter
from auditor.printing.eventlist import interval, sorted_events
from auditor.printing.tables import align_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from auditor.base.records import JsonObject


_PADDING: Final = 2
_MOST: Final = 140
"""Largest length in bytes of an annotation that is printed on one line."""
_NOT_PRINTED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_SKIPPED: Final = frozenset(
    [".metadata.name", ".metadata.namespace", ".metadata.labels", ".metadata.annotations", ".metadata.managedFields"]
)
_ON_ONE_LINE: Final = frozenset(["labels", "name", "namespace"])
"""Fields whose texts have no line breaks in any object that a server accepts."""
_ACRONYMS: Final = frozenset(["API", "URL", "UID", "GUID"])


def described(obj: JsonObject, events: Sequence[JsonObject] | None, now: float, *, on_terminal: bool = False) -> str:
    """Return the description of an object.

    Args:
        obj: As a server reads it.
        events: The events of the object, in any order; None leaves them out.
        now: Seconds since 1970, for the ages of events.
        on_terminal: Indent the continuation lines of a value, so that no line begins with content; kubectl does not.
    """
    if on_terminal:
        obj = _visible_names(obj)
    metadata: Any = obj.get("metadata") or {}
    lines = [f"Name:\t{metadata.get('name') or ''}", f"Namespace:\t{metadata.get('namespace') or ''}"]
    lines += _labels(metadata.get("labels") or {})
    lines += _annotations(metadata.get("annotations") or {})
    lines += _content(obj, 0, "", on_terminal=on_terminal)
    if events is None:
        return _tabbed(lines)
    if not events:
        return _tabbed([*lines, "Events:\t<none>"])
    table = ["Events:", "  Type\tReason\tAge\tFrom\tMessage", "  ----\t------\t----\t----\t-------"]
    table += [_event(event, now) for event in sorted_events(events)]
    return _tabbed(lines) + _tabbed(table)


def section(title: str, texts: Mapping[str, Sequence[str]]) -> str:
    """Return texts by label below a title, each on a line of its own."""
    lines = [
        f"  {'' if number else f'{label}:'}\t{text}"
        for label, all_ in texts.items()
        for number, text in enumerate(all_)
    ]
    return _tabbed([f"{title}:", *lines])


def _visible_names(value: Any) -> Any:
    """Return a value without control characters in names and labels; other texts keep their lines."""
    if type(value) is dict:
        return {
            visible(name): visible_tree(below) if name in _ON_ONE_LINE else _visible_names(below)
            for name, below in value.items()
        }
    return [_visible_names(item) for item in value] if type(value) is list else value


def _labels(labels: dict[str, str]) -> list[str]:
    shown = [f"{key}={labels[key]}" for key in sorted(labels)] or ["<none>"]
    return [f"{'' if position else 'Labels:'}\t{label}" for position, label in enumerate(shown)]


def _annotations(annotations: dict[str, str]) -> list[str]:
    out: list[str] = []
    for key in sorted(annotations):
        if key == _NOT_PRINTED:
            continue
        value = annotations[key].removesuffix("\n")
        lead = "\t" if out else "Annotations:\t"
        if len(value.encode("utf-8", "replace")) + len(key) + 2 > _MOST or "\n" in value:
            out.append(f"{lead}{key}:")
            out += [f"\t  {_shortened(line)}" for line in value.split("\n")]
        else:
            out.append(f"{lead}{key}: {value}")
    return out or ["Annotations:\t<none>"]


def _shortened(line: str) -> str:
    data = line.encode("utf-8", "surrogatepass")
    return line if len(data) <= _MOST - 2 else data[: _MOST - 2].decode("utf-8", "replace") + "..."


def _content(obj: JsonObject, level: int, path: str, *, on_terminal: bool) -> list[str]:
    lines: list[str] = []
    margin = "  " * level
    hanging = f"\n{margin}    " if on_terminal else "\n"
    for key in sorted(obj):
        value, place = obj[key], f"{path}.{key}"
        if place in _SKIPPED:
            continue
        if type(value) is dict:
            lines += [f"{margin}{_label(key)}:", *_content(value, level + 1, place, on_terminal=on_terminal)]
        elif type(value) is list:
            lines.append(f"{margin}{_label(key)}:")
            for item in value:
                if type(item) is dict:
                    lines += _content(item, level + 1, place, on_terminal=on_terminal)
                else:
                    lines += f"{margin}  {display(item)}".replace("\n", hanging).split("\n")
        else:
            lines += f"{margin}{_label(key)}:\t{display(value)}".replace("\n", hanging).split("\n")
    return lines


def _label(field: str) -> str:
    """Return a readable label for a field name: ``API Version`` for ``apiVersion``."""
    if not all(is_letter(letter) or letter == "-" for letter in field):
        return field
    parts = _camel_case(field)
    merged: list[str] = []
    position = 0
    while position < len(parts):
        part, following = parts[position], parts[position + 1] if position + 1 < len(parts) else ""
        if (
            len(part) >= 2
            and following[:1].isupper()
            and not any(character.isalpha() and not character.isupper() for character in part)
        ):
            merged.append(part + following)
            position += 2
            continue
        merged.append(part)
        position += 1
    return " ".join(_word(part) for part in merged)


def _word(part: str) -> str:
    if part.upper() in _ACRONYMS:
        return part.upper()
    return part[:1].upper() + part[1:] if part == part.lower() else part


def _camel_case(text: str) -> list[str]:
    """Split a name where its letters change case; the last of several capitals begins the next word."""
    return re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+|[^A-Za-z]+", text)


def _event(event: JsonObject, now: float) -> str:
    source: Any = event.get("source") or {}
    involved: Any = event.get("involvedObject") or {}
    message = str(event.get("message") or "").strip()
    if involved.get("fieldPath"):
        message = f"{involved['fieldPath']}: {message}"
    by = source.get("component") or event.get("reportingComponent") or ""
    return f"  {event.get('type') or ''}\t{event.get('reason') or ''}\t{interval(event, now)}\t{by}\t{message}"


def _tabbed(lines: list[str]) -> str:
    return "".join(line + "\n" for line in align_lines(lines, padding=_PADDING))
