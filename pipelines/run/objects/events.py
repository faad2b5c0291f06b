"""`auditor events`: the events of a dump, also those about the objects that an object owns."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from auditor.base.errors import PlanError
from auditor.base.wording import are, counted
from auditor.printing.eventlist import event_columns, involved_object, last_seen, sorted_events
from auditor.printing.get.fetch import without_managed_fields
from auditor.printing.jsonpath import JsonPathError, relaxed
from auditor.printing.print_rows import print_rows
from auditor.printing.printer_columns import human_duration
from auditor.printing.sorting import FieldNotFound, Unsortable, order_by
from auditor.server.clock import newest_time, reference_time
from auditor.server.references import References
from pipelines.run.objects.chosen_kinds import REFUSED, refusal
from pipelines.run.objects.unknown_kinds import is_incomplete
from pipelines.run.query import open_dump
from pipelines.streams import ErrorLines, TextWriter

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.server.dump import DumpStore
    from pipelines.run.objects.query_options import QueryOptions


def run_events(
    options: QueryOptions,
    *,
    output: str,
    about: str,
    types: tuple[str, ...],
    since: float | None,
    sort_by: str,
    headers: bool,
    now: float | None,
) -> int:
    """Print the events of a dump, the oldest first; return the exit code.

    Args:
        options: The dump, and which events.
        output: A form of rows.
        about: KIND/NAME of an object: only events about it and what it owns; empty for all.
        types: Only events of these types; empty for all.
        since: Only events that were last seen at most so many seconds before `now`; None for all. Without a newest
            time, as in an export, they are before the newest event.
        sort_by: A path by whose values they are sorted; empty for the time.
        headers: Whether a table has a header.
        now: Seconds since 1970; None for the newest time of the dump.

    Raises:
        PlanError: An option has a value that it cannot have, or the dump of one cluster is missing.
    """
    out, err = TextWriter(sys.stdout), ErrorLines()
    wanted = {word.lower() for text in types for word in text.split(",") if word}
    if wanted - {"normal", "warning"}:
        raise PlanError("--types", ", ".join(sorted(wanted)), "Normal or Warning")
    with open_dump(options, err) as store:
        try:
            listed = list(store.list_objects(store.discovery.resolve("events"), options.namespace, options.labels, ""))
            events = _about(store, listed, about, options.namespace) if about else listed
            events = sorted_events(events)
            if wanted:
                events = [event for event in events if str(event.get("type")).lower() in wanted]
            moment = reference_time(store, now)
            shown = events
            if events and since is not None:
                end = newest_time(store) if now is None else now
                end = max(map(last_seen, listed)) if end is None else end
                shown = _recent(events, end - since, moment, err)
            if sort_by and shown:
                shown = [shown[number] for number in order_by(shown, relaxed(sort_by))]
        except (*REFUSED, FieldNotFound, JsonPathError, Unsortable) as error:
            return refusal(error, store, err)
        columns: Any = event_columns(moment, with_namespace=not options.namespace)
        rows = map(without_managed_fields, shown)
        out("".join(print_rows(rows, columns, output, headers=headers, named=not options.namespace)))
        if not events:
            err(f"No events found in {options.namespace} namespace.\n" if options.namespace else "No events found.\n")
        return 3 if is_incomplete(store) else 0


def _about(store: DumpStore, events: list[JsonObject], about: str, namespace: str) -> list[JsonObject]:
    """Return the events about an object, which need not exist any more, and about what it owns."""
    word, slash, name = about.partition("/")
    if not slash or not name:
        raise PlanError("--for", about, "KIND/NAME")
    resource = store.discovery.resolve(word, lambda text: store.warn(f"{text}\n"))
    owned = References(store).owned_by(resource, namespace, name)
    out = []
    for event in events:
        involved = involved_object(event)
        place = tuple(involved.get(field) or "" for field in ("kind", "namespace", "name"))
        if place in owned or (place[0], place[2]) == (resource.kind, name):
            out.append(event)
    return out


def _recent(events: list[JsonObject], begin: float, now: float, err: ErrorLines) -> list[JsonObject]:
    """Return the events from a time on; if there are none, the newest is named, as are those without a time."""
    times = [last_seen(event) for event in events]
    if unknown := times.count(0):
        err(f"note: {counted(unknown, 'event')} without a time {are(unknown)} not shown\n")
    recent = [event for event, time in zip(events, times, strict=True) if time and time >= begin]
    newest = max(times, default=0)
    if not recent:
        age = f"; the newest was last seen {human_duration(now - newest)} ago" if newest else ""
        err(f"No events found in this time{age}.\n")
    return recent
