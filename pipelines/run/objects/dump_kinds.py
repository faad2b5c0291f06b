"""`auditor kinds`: what a dump has of each kind, and which objects are being deleted."""

from __future__ import annotations

import datetime
import sys
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import PlanError
from auditor.base.visible import label, visible
from auditor.base.wording import counted
from auditor.golang.times import GoTime, format_rfc3339
from auditor.printing.print_rows import print_rows
from auditor.printing.printer_columns import human_duration
from auditor.server.clock import newest_time
from auditor.server.comparison import compared_kinds
from auditor.server.dump import DumpStore
from auditor.server.kind_totals import deletions, totals
from pipelines.run.query import TextWriter, open_stores
from pipelines.streams import ErrorLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.crds.definition import CustomResourceDefinition
    from auditor.printing.print_rows import Columns, Row
    from auditor.server.kind_totals import Deletion, KindTotals
    from pipelines.run.objects.query_options import QueryOptions

_PLACE: Final = 24
"""Characters of the biggest object's name in a table."""
WIDE: Final = ("shortnames", "apiversion", "namespaced", "verbs", "categories", "versions", "conversion")
_DESCENDING: Final = ("objects", "bytes", "deleting")


def run_kinds(
    options: QueryOptions, *, by_namespace: bool, deleting: bool, sort_by: str, output: str, now: float | None
) -> int:
    """Print the kinds of a dump, or its objects that are being deleted; return the exit code.

    Args:
        options: The dump or report, and how it is read.
        by_namespace: A row for each kind and namespace.
        deleting: Print the objects that are being deleted.
        sort_by: name, kind, objects, bytes or deleting.
        output: A form of rows.
        now: Ages are relative to this time in seconds since 1970; None for the newest time in the dump.

    Raises:
        PlanError: The dump of a report is missing.
    """
    out, err = TextWriter(sys.stdout), ErrorLines()
    with open_stores(options, err) as opened:
        rows: list[dict[str, Any]] = []
        for cluster, store in opened.stores.items():
            if not isinstance(store, DumpStore):
                raise PlanError(options.target, "this needs the dump of the report", "", "--dump names it")
            moment = now if now is not None else newest_time(store)
            moment = moment if moment is not None else datetime.datetime.now(datetime.UTC).timestamp()
            lead = {"cluster": cluster} if opened.is_fleet else {}
            if deleting:
                rows += [lead | _deletion(each, moment) for each in deletions(store, options.namespace)]
            else:
                partly = options.namespace or by_namespace or any(source.is_export for source in store.plan.sources)
                rows += [
                    lead | _totals(kind, moment, whole=not partly)
                    for kind in totals(store, options.namespace, by_namespace=by_namespace)
                ]
            if not (deleting or options.namespace):
                _note_others(store, err)
        if not deleting:
            sign = -1 if sort_by in _DESCENDING else 1
            rows.sort(key=lambda row: sign * row[sort_by] if sign < 0 else row[sort_by])
        columns: dict[str, Any] = {"cluster": "cluster"} if opened.is_fleet else {}
        columns |= _DELETIONS if deleting else _columns(output, by_namespace=by_namespace)
        out("".join(print_rows(rows, columns, output, wide=(*WIDE, "message"))))
        incomplete = opened.is_incomplete()
        if not rows and output in ("table", "wide"):
            among = " among those that could be read" if incomplete else ""
            err(f"No objects {'are being deleted' if deleting else 'of known kinds'}{among}.\n")
        return 3 if incomplete else 0


def _note_others(store: DumpStore, err: Callable[[str], None]) -> None:
    """Report the definitions that no server serves, and the values of no kind."""
    for name, reason in store.catalog.broken.items():
        err(f"note: definition {label(name)} is not served: {visible(reason)}\n")
    if others := list(store.rows.outside(list(compared_kinds(store, store)))):
        first = store.rows.place(others[0])
        err(f"note: {counted(len(others), 'value')} of no kind that its definitions name, not counted; first {first}\n")


def _totals(kind: KindTotals, now: float, *, whole: bool) -> dict[str, Any]:
    resource, definition = kind.resource, kind.definition
    size, biggest = kind.biggest
    versions = definition.versions.values() if definition is not None else ()
    storage = [version.name for version in versions if version.storage]
    return {
        "name": resource.group_resource,
        "group": resource.group,
        "plural": resource.plural,
        "kind": resource.kind,
        "namespace": kind.namespace if resource.namespaced else None,
        "storedVersions": dict(sorted(kind.versions.items())),
        "emptyVersions": [
            version
            for version in (definition.stored_versions if definition is not None and whole and not kind.unread else ())
            if version not in kind.versions and version not in storage
        ],
        "objects": kind.objects,
        "notRead": kind.unread,
        "bytes": kind.size,
        "biggest": {"name": biggest, "bytes": size} if kind.objects else None,
        "deleting": kind.deleting,
        "oldest": _time(kind.oldest),
        "newest": _time(kind.newest),
        "oldestAge": _age(kind.oldest, now),
        "newestAge": _age(kind.newest, now),
        "shortNames": list(resource.short_names),
        "apiVersion": resource.api_version,
        "namespaced": resource.namespaced,
        "verbs": list(kind.verbs),
        "categories": list(resource.categories),
        "definition": None if definition is None else _definition(definition),
    }


def _definition(definition: CustomResourceDefinition) -> dict[str, Any]:
    return {
        "conversion": definition.conversion,
        "versions": [
            {"name": version.name, "served": version.served, "storage": version.storage}
            for version in definition.versions.values()
        ],
    }


def _columns(output: str, *, by_namespace: bool) -> dict[str, Any]:
    columns: Columns = {
        "name": "name",
        **({"namespace": "namespace"} if by_namespace else {}),
        "kind": "kind",
        "stored": lambda row: " ".join(_stored(row)) or "-",
        "objects": "objects",
        "bytes": "bytes",
        "biggest": lambda row: _biggest(row, whole=output != "table"),
        "deleting": "deleting",
        "oldest": "oldestAge",
        "newest": "newestAge",
        "shortnames": lambda row: ",".join(row["shortNames"]),
        "apiversion": "apiVersion",
        "namespaced": "namespaced",
        "verbs": lambda row: ",".join(row["verbs"]),
        "categories": lambda row: ",".join(row["categories"]),
        "versions": lambda row: ",".join(map(_served, row["definition"]["versions"])) if row["definition"] else "-",
        "conversion": lambda row: row["definition"]["conversion"] if row["definition"] else "-",
    }
    return dict(columns)


def _stored(row: Row) -> Iterator[str]:
    yield from (f"{version or '?'}={count}" for version, count in row["storedVersions"].items())
    yield from (f"[{version}]" for version in row["emptyVersions"])
    if row["notRead"]:
        yield f"not-read={row['notRead']}"


def _biggest(row: Row, *, whole: bool) -> str:
    if row["biggest"] is None:
        return "-"
    name = row["biggest"]["name"]
    if not whole and len(name) > _PLACE:
        name = f"{name[: _PLACE // 2 - 1]}...{name[2 - _PLACE // 2 :]}"
    return f"{row['biggest']['bytes']} {name}"


def _served(version: Row) -> str:
    return f"{version['name']}{'*' if version['storage'] else ''}{'' if version['served'] else '!'}"


_DELETIONS: Final = {
    "kind": "kind",
    "namespace": "namespace",
    "name": "name",
    "age": "age",
    "waits for": lambda row: ", ".join(row["finalizers"]) or "-",
    "message": lambda row: "; ".join(row["messages"]),
}


def _deletion(deletion: Deletion, now: float) -> dict[str, Any]:
    return {
        "kind": deletion.resource.kind,
        "group": deletion.resource.group,
        "namespace": deletion.namespace,
        "name": deletion.name,
        "since": _time(deletion.since),
        "age": _age(deletion.since, now),
        "finalizers": list(deletion.finalizers),
        "messages": list(deletion.messages),
    }


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else format_rfc3339(GoTime(int(seconds)))


def _age(seconds: float | None, now: float) -> str:
    return "-" if seconds is None else human_duration(now - seconds)
