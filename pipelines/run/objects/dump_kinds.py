"""`auditor kinds`: what a dump has of each kind, which objects are being deleted, and which are the biggest."""

from __future__ import annotations

import sys
from functools import partial
from heapq import nlargest
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import label, visible
from auditor.base.wording import shortened
from auditor.printing.discovery import stored_kinds
from auditor.printing.print_rows import print_rows
from auditor.printing.printer_columns import human_duration
from auditor.server.clock import reference_time, time_text
from auditor.server.kind_totals import biggest_objects, deletions, totals
from pipelines.run.objects.chosen_kinds import note_of_no_kind
from pipelines.run.query import dump_of, open_stores
from pipelines.streams import ErrorLines, TextWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from auditor.printing.print_rows import Row
    from auditor.server.dump import DumpStore
    from auditor.server.kind_totals import KindTotals
    from pipelines.run.objects.query_options import QueryOptions

_NAME: Final = 27
_STORED: Final = 17
"""Characters of a name and of the stored versions in a table: their columns, and the others, fit into 80."""
_API: Final = ("shortnames", "apiversion", "namespaced", "verbs", "categories", "versions", "conversion")
_WIDE: Final = ("kind", "biggest", "oldest", "newest", *_API)
"""Columns that make a table wider than a terminal."""
_DESCENDING: Final = ("objects", "bytes", "deleting")


def run_kinds(
    options: QueryOptions,
    *,
    by_namespace: str | None,
    deleting: bool,
    biggest: int | None,
    sort_by: str,
    output: str,
    now: float | None,
) -> int:
    """Print the kinds of a dump, or its objects that are being deleted, or the biggest; return the exit code.

    Args:
        options: The dump or report, and how it is read.
        by_namespace: A row for each kind and namespace.
        deleting: Print the objects that are being deleted.
        biggest: Print so many of the biggest objects instead.
        sort_by: name, kind, objects, bytes or deleting.
        output: A form of rows.
        now: Ages are relative to this time in seconds since 1970; None for the newest time in the dump.

    Raises:
        PlanError: The dump of a report is missing.
    """
    out, err = TextWriter(sys.stdout), ErrorLines()
    with open_stores(options, err) as opened:
        rows: list[dict[str, Any]] = []
        for cluster, opened_store in opened.stores.items():
            store = dump_of(opened_store, options.target)
            moment = reference_time(store, now)
            lead = {"cluster": cluster} if opened.is_fleet else {}
            if deleting:
                rows += [
                    lead | row | _times("since", row["since"], moment) for row in deletions(store, options.namespace)
                ]
            elif biggest:
                rows += [lead | row for row in biggest_objects(store, biggest, options.namespace)]
            else:
                partly = options.namespace or by_namespace or any(source.is_export for source in store.plan.sources)
                rows += [
                    lead | _totals(kind, moment, whole=not partly)
                    for kind in totals(store, options.namespace, by_namespace=bool(by_namespace))
                ]
            _note_others(store, err)
        columns: dict[str, Any] = {"cluster": "cluster"} if opened.is_fleet else {}
        if biggest:
            rows = nlargest(biggest, rows, key=itemgetter("bytes"))
            columns |= {name: name for name in ("bytes", "kind", "namespace", "name")}
        elif deleting:
            columns |= _DELETIONS
        else:
            rows.sort(key=itemgetter(sort_by), reverse=sort_by in _DESCENDING)
            short = _short_names({row["name"] for row in rows}) if output == "table" else {}
            columns |= _columns(short, output, by_namespace=bool(by_namespace))
        wide = (*(() if biggest or deleting else _WIDE), *(("stored",) if by_namespace else ()), "message")
        out("".join(print_rows(rows, columns, output, wide=wide)))
        incomplete = opened.is_incomplete()
        if not rows and output in ("table", "wide"):
            among = " among those that could be read" if incomplete else ""
            err(f"No objects of known kinds{' are being deleted' if deleting else ''}{among}.\n")
        return 3 if incomplete else 0


def _short_names(names: Collection[str]) -> dict[str, str]:
    """Return the names of kinds that are too long, with the beginning of the group, which `query` takes, or without."""
    out = {}
    for name in names:
        short = name
        while len(short) > _NAME and "." in short:
            short = short.rpartition(".")[0]
        if sum(f"{other}.".startswith(f"{short}.") for other in names) == 1:  # no other kind is meant by it
            out[name] = short
    return out


def _note_others(store: DumpStore, err: Callable[[str], None]) -> None:
    """Report the definitions that no server serves, and the values of no kind."""
    for name, reason in store.catalog.broken.items():
        err(f"note: definition {label(name)} is not served: {visible(reason)}\n")
    note_of_no_kind(store, stored_kinds(store.discovery), "counted", err)


def _totals(kind: KindTotals, now: float, *, whole: bool) -> dict[str, Any]:
    """Return the row of a kind.

    Args:
        kind: Its totals.
        now: The time that ages are relative to.
        whole: Whether they are of all its objects as stored.
    """
    resource, definition = kind.resource, kind.definition
    versions = definition.versions.values() if definition is not None else ()
    known = {*kind.versions, *(version.name for version in versions if version.storage)}
    stored = definition.stored_versions if definition is not None and whole and not kind.unread else ()
    return {
        "name": resource.group_resource,
        "group": resource.group,
        "plural": resource.plural,
        "namespace": kind.namespace if resource.namespaced else None,
        "kind": resource.kind,
        "storedVersions": dict(sorted(kind.versions.items())),
        "emptyVersions": [version for version in stored if version not in known],
        "objects": kind.objects,
        "notRead": kind.unread,
        "bytes": kind.size,
        "biggest": {"name": kind.biggest[1], "bytes": kind.biggest[0]} if kind.objects else None,
        "deleting": kind.deleting,
        **_times("oldest", kind.oldest, now),
        **_times("newest", kind.newest, now),
        "shortnames": resource.short_names,
        "apiversion": resource.api_version,
        "namespaced": resource.namespaced,
        "verbs": kind.verbs,
        "categories": resource.categories,
        "versions": [f"{one.name}{'*' * one.storage}{'' if one.served else '!'}" for one in versions],
        "conversion": None if definition is None else definition.conversion,
    }


def _times(name: str, seconds: float | None, now: float) -> dict[str, Any]:
    """Return a time and its age."""
    if seconds is None:
        return {name: None, f"{name}Age": None}
    return {name: time_text(seconds), f"{name}Age": human_duration(now - seconds)}


def _columns(short: Mapping[str, str], output: str, *, by_namespace: bool) -> dict[str, Any]:
    is_cut = output == "table"
    return {
        "name": lambda row: short.get(row["name"], row["name"]),
        **({"namespace": "namespace"} if by_namespace else {}),
        "kind": "kind",
        "stored": lambda row: shortened(" ".join(_stored(row)), _STORED if is_cut else None) or "-",
        **{name: name for name in ("objects", "bytes")},
        "biggest": lambda row: row["biggest"] and "{bytes} {name}".format_map(row["biggest"]),
        "deleting": "deleting",
        "oldest": "oldestAge",
        "newest": "newestAge",
        **{name: partial(_cell, name) for name in _API},
    }


def _cell(name: str, row: Row) -> Any:
    return ",".join(row[name]) or None if isinstance(row[name], (list, tuple)) else row[name]


def _stored(row: Row) -> Iterator[str]:
    if row["notRead"]:
        yield f"not-read={row['notRead']}"
    yield from (f"{version or '?'}={count}" for version, count in row["storedVersions"].items())
    yield from (f"[{version}]" for version in row["emptyVersions"])


_DELETIONS: Final = {
    **{name: name for name in ("kind", "namespace", "name")},
    "age": "sinceAge",
    "waits for": lambda row: row["finalizers"] or None,
    "message": "messages",
}
