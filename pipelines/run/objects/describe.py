"""`auditor describe`: custom resources as kubectl describes them, with their events."""

from __future__ import annotations

import datetime
import sys
from typing import TYPE_CHECKING, Any

from auditor.base.errors import PlanError
from auditor.base.visible import visible
from auditor.printing.arguments import UsageError, read_arguments
from auditor.printing.describe import described
from auditor.printing.discovery import UnknownResource
from auditor.printing.get.server_errors import NotShown, StatusError
from auditor.server.clock import newest_time
from auditor.server.dump import DumpStore
from pipelines.run.query import TextWriter, is_incomplete, open_store
from pipelines.streams import ErrorLines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.records import JsonObject
    from auditor.printing.arguments import Wanted
    from auditor.printing.discovery import Resource
    from pipelines.run.objects.query_options import QueryOptions


def run_describe(options: QueryOptions, *, now: float | None) -> int:
    """Print the requested objects; return the exit code: 1 if one of them does not exist."""
    out, err = TextWriter(sys.stdout), ErrorLines()
    with open_store(options, err) as store:
        if not isinstance(store, DumpStore):
            advice = "name it in the place of the report"
            raise PlanError(options.target, "this needs the dump of one cluster", "", advice)
        errors: list[StatusError] = []
        try:
            wanted = read_arguments(
                store.discovery,
                options.args,
                selective=bool(options.labels),
                all_namespaces=False,
                warn=lambda text: err(f"{text}\n"),
            )
            _refuse_builtin(store, wanted)
            objects = list(_objects(store, wanted, options, errors))
            texts = [_text(store, obj, now, with_events=len(objects) == 1) for obj in objects]
        except (UnknownResource, UsageError) as error:
            err(f"error: {error}\n")
            return 2 if isinstance(error, UsageError) else 1
        shown = "\n\n\n".join(text.removesuffix("\n") for text in texts)
        if texts:
            out("\n".join(map(visible, shown.split("\n"))) + "\n")
        for failed in errors:
            reason = f" ({failed.reason})" if failed.reason else ""
            lead = "error" if isinstance(failed, NotShown) else f"Error from server{reason}"
            err(f"{lead}: {failed.message}\n")
        if errors:
            return 1
        if not texts:
            err(f"No resources found{f' in {options.namespace} namespace' if options.namespace else ''}.\n")
        return 3 if is_incomplete(store) else 0


def _refuse_builtin(store: DumpStore, wanted: Wanted) -> None:
    for resource in (*wanted.kinds, *(resource_ for resource_, _ in wanted.names)):
        if store.catalog.definition(resource) is None:
            raise UsageError(
                f"{resource.group_resource} is built in, and only custom resources are described here: "
                "`auditor query` prints its columns, with -o yaml all of it"
            )


def _objects(
    store: DumpStore, wanted: Wanted, options: QueryOptions, errors: list[StatusError]
) -> Iterator[tuple[Resource, JsonObject]]:
    for resource in wanted.kinds:
        try:
            for obj in store.list_objects(resource, options.namespace, options.labels, ""):
                yield resource, obj
        except StatusError as error:
            errors.append(error)
    for resource, name in wanted.names:
        try:
            yield resource, store.get_object(resource, options.namespace if resource.namespaced else "", name)
        except StatusError as error:
            errors.append(error)


def _text(store: DumpStore, one: tuple[Resource, JsonObject], now: float | None, *, with_events: bool) -> str:
    """Return the description of an object; for several objects kubectl prints no events."""
    resource, obj = one
    if not with_events:
        return described(obj, None, 0, on_terminal=sys.stdout.isatty())
    metadata: Any = obj.get("metadata") or {}
    moment = now if now is not None else newest_time(store)
    moment = moment if moment is not None else datetime.datetime.now(datetime.UTC).timestamp()
    events = store.list_objects(store.discovery.resolve("events"), metadata.get("namespace") or "", "", "")
    about = [event for event in events if _is_about(event, resource, metadata)]
    return described(obj, about, moment, on_terminal=sys.stdout.isatty())


def _is_about(event: JsonObject, resource: Resource, metadata: JsonObject) -> bool:
    involved: Any = event.get("involvedObject") or {}
    wanted = (resource.kind, metadata.get("name"), metadata.get("uid"))
    return (involved.get("kind"), involved.get("name"), involved.get("uid")) == wanted
