"""Lines on removed and deprecated versions of kinds in the summary of an upgrade scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import label
from auditor.base.wording import by_count, counted, objects
from auditor.report.terminal import format_table

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["api_lines"]

_FEW: Final = 6
_WORST_FIRST: Final = ("undecodable", "undecodable-before", "decoded", "left-over")
_STATES: Final = {
    "decoded": "decoded as before; the next write stores another version",
    "left-over": "no server keeps objects at these keys",
}


def api_lines(section: dict[str, Any], report: str, *, everything: bool) -> Iterator[str]:
    """Yield the lines; no line if nothing was found.

    Args:
        section: `apis` of the section `upgrade`.
        report: The folder of the report.
        everything: Leave nothing out.
    """
    lines = [
        *_stored(section),
        *_helm(section),
        *_without_server(section),
        *_clients(section, report, everything=everything),
        *_deprecated(section),
    ]
    if lines:
        yield f"removed and deprecated APIs, as of Kubernetes {section['release']}:"
        yield from (f"  {line}" for line in lines)


def _stored(section: dict[str, Any]) -> Iterator[str]:
    for one in sorted(section["stored"], key=lambda one: _WORST_FIRST.index(one["state"])):
        state = _STATES.get(one["state"])
        if state is None:
            since = f" since 1.{int(one['decoded_until'].partition('.')[2]) + 1}" if one["decoded_until"] else ""
            state = f"not decoded{since}: no LIST of the kind works"
            state += ", before or after" if one["state"] == "undecodable-before" else ""
        api = f"{label(one['api_version'])} {label(one['kind'])}"
        yield f"STORED  {objects(one['objects'])} at {api}, {_gone(one)}: {state}"
        for sample in one["samples"][:1]:
            yield f"        {sample['key']}"


def _gone(one: dict[str, Any]) -> str:
    instead = f"; use {one['replacement']}" if one["replacement"] else ""
    if one["removed"]:
        return f"removed in {one['removed']}{instead}"
    return f"deprecated in {one['deprecated']}{instead}" if one["deprecated"] else "no longer there"


def _to_come(one: dict[str, Any]) -> str:
    later = f", removed in {one['removed']}" if one["removed"] else ""
    return f"deprecated in {one['deprecated']}{later}"


def _helm(section: dict[str, Any]) -> Iterator[str]:
    if section["helm"] is None:
        return
    for one in section["helm"]["releases"]:
        name = f"{label(one['namespace'])}/{label(one['release'])} revision {one['revision']}"
        yield f"HELM    {name}: its manifest has {label(one['api_version'])} {label(one['kind'])}, {_gone(one)}"
    for one in section["helm"]["unread"]:
        yield f"HELM    {counted(one['count'], 'release')} could not be read: {one['reason']}"
    if more := section["helm"]["more"]:
        yield f"HELM    and {more} more versions that are gone, in manifests of deployed releases"
    older = section["helm"]["older"]
    rest = f"; {counted(older, 'older revision')} not read: a rollback to one may need more" if older else ""
    yield f"HELM    {counted(section['helm']['read'], 'deployed release')} read{rest}"


def _without_server(section: dict[str, Any]) -> Iterator[str]:
    for one in section["api_services"]:
        service = label(one["service"])
        yield f"APISERVICE  {label(one['name'])}: its Service {service} is not in the dump: requests for it fail"
    for one in section["webhooks"]:
        service = label(one["service"])
        yield f"WEBHOOK  {label(one['definition'])}: the Service {service} of its conversion webhook is not in the dump"


def _clients(section: dict[str, Any], report: str, *, everything: bool) -> Iterator[str]:
    """Yield who wrote at versions that are gone: an object once written so says it for good."""
    order = ("removed-by-upgrade", "removed", "removed-before", "deprecated")
    found = sorted(section["clients"], key=lambda one: order.index(one["state"]))
    rows = [
        (
            f"{label(one['api_version'])} {label(one['kind'])}",
            one["objects"],
            label(one["manager"] or "") if one["how"] == "managedFields" else one["how"],
            (one["last_write"] or "")[:10],
            _gone(one).partition(";")[0] if one["state"] != "deprecated" else _to_come(one),
        )
        for one in found
    ]
    if rows:
        yield "CLIENTS wrote objects at these versions once; whether they still do is for their owners to say:"
        shown = rows if everything else rows[:_FEW]
        yield from format_table(("VERSION AND KIND", "OBJECTS", "BY", "LAST", "STATE"), shown, indent="  ").split("\n")
        if len(shown) < len(rows):
            yield f"  and {len(rows) - len(shown)} more: auditor changes {report}"


def _deprecated(section: dict[str, Any]) -> Iterator[str]:
    for one in section["deprecated_versions"]:
        used = ", ".join(f"{label(use['manager'] or use['how'])} ({objects(use['objects'])})" for use in one["clients"])
        n = one["objects_stored"]
        stored = f"{objects(n)} {by_count(n, 'is', 'are')} stored at it" if n else "no object is stored at it"
        by = f"; written by {used}" if used else ""
        version = f"{label(one['definition'])} {label(one['version'])}"
        yield f"DEPRECATED  {version}, which its definition still serves: {stored}{by}"
