"""`auditor watch`: the events that a watch with selectors would have sent, from the revisions in a dump."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import orjson

from auditor.base.visible import visible
from auditor.golang import jsontext
from auditor.printing.discovery import UnknownResource
from auditor.printing.get.server_errors import StatusError
from auditor.printing.print_rows import NDJSON, print_rows
from auditor.printing.tables import align
from auditor.server.dump import DumpStore
from auditor.server.history import changes
from auditor.sources.registry_key import printable_key
from pipelines.run.query import TextWriter, open_stores
from pipelines.streams import ErrorLines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.printing.discovery import Resource
    from auditor.server.history import WatchEvent
    from pipelines.run.objects.query_options import QueryOptions


def run_watch(options: QueryOptions, kind: str, *, after: int | None, output: str) -> int:
    """Print the changes of a kind; return the exit code."""
    out, err = TextWriter(sys.stdout), ErrorLines()
    with open_stores(options, err) as opened:
        if len(opened.stores) > 1:
            names = ", ".join(opened.stores)
            err(
                f"error: this is the report of {len(opened.stores)} clusters ({names}), each with its own revisions: "
                "--cluster NAME chooses one\n"
            )
            return 2
        store = next(iter(opened.stores.values()))
        if not isinstance(store, DumpStore):
            err("error: the dump of this report is not here (--dump names it)\n")
            return 2
        try:
            resource = store.discovery.resolve(kind, lambda text: err(text + "\n"))
            changes_ = changes(
                store,
                resource,
                namespace=options.namespace,
                labels=options.labels,
                fields=options.fields,
                after=after,
            )
            if output in ("table", "wide"):
                out(_table(store, resource, changes_))
                return 3 if opened.is_incomplete() else 0
            lines = _lines(store, resource, changes_)
            is_of_lines = output in ("json", NDJSON)  # kubectl's JSON of a watch is a line for each event
            for text in lines if is_of_lines else print_rows(map(orjson.loads, lines), (), output):
                out(text)
        except UnknownResource as error:
            near = store.discovery.similar(error.name)
            err(f"error: {error}\n")
            if near:
                err(f"did you mean {' or '.join(near)}?\n")
            return 1
        except StatusError as error:
            err(f"Error from server ({error.reason}): {error.message}\n")
            return 1
        return 3 if opened.is_incomplete() else 0


def _lines(store: DumpStore, resource: Resource, found: Iterator[WatchEvent]) -> Iterator[str]:
    for change in found:
        try:
            line = _line(store, resource, change)
        except Exception as error:  # noqa: BLE001 - it is left out
            store.leave_out(printable_key(change.key), error)
            continue
        yield line


def _line(store: DumpStore, resource: Resource, change: WatchEvent) -> str:
    obj: Any = change.object
    if obj is None:
        what = "corrupt object " if change.is_corrupt else ""
        obj = StatusError(500, "InternalError", f"{what}{printable_key(change.key)}: {change.reason}").status()
    else:
        obj = store.reader.concealed(resource, obj)
    return f'{{"type":"{change.type}","object":{jsontext.encode(obj)}}}\n'


def _line_of(cells: list[str]) -> str:
    return "\t".join(map(visible, cells))


def _table(store: DumpStore, resource: Resource, found: Iterator[WatchEvent]) -> str:
    labels = [name for name in store.selection.labels_of(resource) if not name.startswith("metadata.")]
    namespace = ["NAMESPACE"] if resource.namespaced else []
    lines = [_line_of(["REVISION", "EVENT", *namespace, "NAME", *(name.upper() for name in labels)])]
    for change in found:
        try:
            lines.append(_row(store, resource, change, labels))
        except Exception as error:  # noqa: BLE001 - it is left out
            store.leave_out(printable_key(change.key), error)
    return align("".join(line + "\n" for line in lines)) if len(lines) > 1 else ""


def _row(store: DumpStore, resource: Resource, change: WatchEvent, labels: list[str]) -> str:
    metadata = (change.object or {}).get("metadata") or {}
    cells = [str(change.revision), change.type]
    if change.object is None:
        return _line_of([*cells, printable_key(change.key), change.reason[:200]])
    seen = store.fields_of(resource, change.object)
    cells += [str(metadata.get("namespace") or "")] if resource.namespaced else []
    return _line_of([*cells, str(metadata.get("name") or ""), *(seen.get(name, "") for name in labels)])
