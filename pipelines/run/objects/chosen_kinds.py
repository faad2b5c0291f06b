"""Which kinds and objects the arguments of a command mean, and what is said where there are none."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from auditor.base.errors import SelectorError
from auditor.base.wording import by_count, counted, first_of
from auditor.printing.arguments import UsageError, read_arguments
from auditor.printing.discovery import UnknownResource, stored_kinds
from auditor.printing.get.server_errors import StatusError
from auditor.server.dump import DumpStore
from auditor.server.fleet_store import FleetStore, stores_of
from auditor.server.live_list import Selection
from pipelines.run.objects.unknown_kinds import lost_definitions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from auditor.printing.discovery import Discovery, Resource
    from auditor.server.fleet_store import AnyStore
    from pipelines.run.objects.query_options import QueryOptions


_PLACES = 4
"""Places that a note names."""
REFUSED = (StatusError, UnknownResource, UsageError)
"""Errors in the arguments of a command that `refusal` reports."""


def refusal(error: Exception, store: AnyStore, err: Callable[[str], None], lead: str = "error: ") -> int:
    """Report an error in the arguments of a command as kubectl does, with similar kinds; return the exit code.

    It is 3 for an unknown kind whose definition may not have been readable.
    """
    if isinstance(error, StatusError):
        err(f"Error from server ({error.reason}): {error.message}\n")
        return 1
    err(f"{lead}{error}\n")
    if not isinstance(error, UnknownResource):
        return 2 if isinstance(error, UsageError) else 1
    for line in store.discovery.advice(error.name):
        err(f"{line}\n")
    if lost := lost_definitions(store):
        err(f"note: {lost}\n")
    return 3 if lost else 1


def kinds_and_name(
    discovery: Discovery, args: Sequence[str], command: str, err: Callable[[str], None], *, selective: bool = False
) -> tuple[list[Resource], str]:
    """Return the kinds that arguments name, and the name of the one object that they name; empty for all.

    Args:
        discovery: The kinds.
        args: KIND, KIND NAME or KIND/NAME.
        command: The command, for an error.
        err: Called with warnings.
        selective: Whether there are selectors.

    Raises:
        UnknownResource, UsageError: There is no such kind, or they name several objects.
    """
    wanted = read_arguments(
        discovery,
        args,
        selective=selective,
        all_namespaces=False,
        warn=lambda text: err(f"{text}\n"),
        command=f"auditor {command} DUMP",
    )
    if len(wanted.names) > 1:
        raise UsageError("give one KIND/NAME")
    return list(wanted.kinds) or [resource for resource, _ in wanted.names], "".join(name for _, name in wanted.names)


def kinds_that_take(
    kinds: Iterable[Resource], check: Callable[[Resource], object], err: Callable[[str], None]
) -> list[Resource]:
    """Return the kinds that take the selectors; the others are named in a note.

    Args:
        kinds: The kinds.
        check: Raises SelectorError or StatusError for a kind that does not take them.
        err: Called with the note.

    Raises:
        SelectorError, StatusError: No kind takes them.
    """
    taking: list[Resource] = []
    refused: list[Exception] = []
    names: list[str] = []
    for resource in kinds:
        try:
            check(resource)
            taking.append(resource)
        except (SelectorError, StatusError) as error:
            refused.append(error)
            names.append(resource.kind)
    if refused and not taking:
        raise next((error for error in refused if getattr(error, "advice", "")), refused[0])
    if refused:
        kinds_without = first_of(names, 3, by_count(len(names) - 3, "kind", "kinds"))
        err(f"note: not searched, as they have no such field: {kinds_without}\n")
    return taking


def every_kind(store: AnyStore, options: QueryOptions, err: Callable[[str], None]) -> str:
    """Return the kinds that have objects and take the selectors, as an argument of `query`; with -n namespaced ones.

    Raises:
        SelectorError, StatusError: No kind takes them.
    """
    kinds = stored_kinds(store.discovery)
    for part in stores_of(store).values():
        if isinstance(part, DumpStore):
            note_of_no_kind(part, kinds, "searched", part.warn)
    if options.namespace:
        kinds = [resource for resource in kinds if resource.namespaced]
    if isinstance(store, DumpStore):
        kinds = [resource for resource in kinds if next(store.rows.of(resource), None) is not None]

    def check(resource: Resource) -> None:
        serving, own = store.serving(resource) if isinstance(store, FleetStore) else (store, resource)
        if isinstance(serving, DumpStore):
            selection = Selection(serving.catalog, options.mode, options.where, options.get.count_by)
            selection.parsed(own, options.labels, options.fields)
            if options.where:
                selection.where_of(own)

    taking = kinds_that_take(kinds, check, err)
    return ",".join(f"{resource.plural}.{resource.version}.{resource.group}" for resource in taking)


def kinds_at_version(
    store: AnyStore, args: tuple[str, ...], version: str, err: Callable[[str], None]
) -> tuple[str, ...]:
    """Return arguments of `query` with a version at each kind; unknown kinds are left, so that `get` reports them."""

    def named(kind: str, members: tuple[Resource, ...] = ()) -> str:
        try:
            resources = members or (store.discovery.resolve(kind, lambda text: err(text + "\n")),)
        except UnknownResource:
            return kind
        return ",".join(f"{resource.plural}.{version}.{resource.group}" for resource in resources)

    if any("/" in arg for arg in args):
        parts = (arg.partition("/") for arg in args)
        return tuple(f"{named(kind)}{slash}{name}" for kind, slash, name in parts)
    return tuple(
        arg if position else ",".join(named(kind, store.discovery.category(kind)) for kind in arg.split(","))
        for position, arg in enumerate(args)
    )


def note_of_no_kind(
    store: DumpStore, kinds: Sequence[Resource], done: str, warn: Callable[[str], None], dump: str = ""
) -> None:
    """Report how many values of a dump belong to none of some kinds, so that a command did nothing with them."""
    rows = list(store.rows.outside(kinds))
    if rows:
        places = Counter(map(store.rows.kind_place, rows)).most_common()
        named = ", ".join(f"{count} at {place}" for place, count in places[:_PLACES])
        more = f" and {counted(len(places) - _PLACES, 'more place')}" if len(places) > _PLACES else ""
        where = f"first {store.rows.place(rows[0])}" if len(rows) == 1 else f"{named}{more}"
        advice = "; --crds gives definitions" if rows[0].key is None else ""
        values = counted(len(rows), "value")
        warn(f"note: {dump}{values} of no kind that its definitions name, not {done}; {where}{advice}\n")
