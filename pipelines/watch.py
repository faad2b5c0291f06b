"""`auditor watch`: what a watch with selectors would have sent, from the revisions that a dump still has."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from auditor.golang import jsontext
from auditor.printing.discovery import UnknownResource
from auditor.printing.get import StatusError
from auditor.printing.tables import align
from auditor.sources.registry_key import printable_key
from pipelines.dump_store import DumpStore
from pipelines.history import changes
from pipelines.query import Writer, is_damaged, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.printing.discovery import Resource
    from pipelines.history import Change
    from pipelines.query import QueryOptions

__all__ = ["run_watch"]


def run_watch(options: QueryOptions, kind: str, *, after: int | None, output: str) -> int:
    """Print the changes of a kind; return the exit code."""
    out, err = Writer(sys.stdout), Writer(sys.stderr)
    with open_store(options, err) as store:
        if not isinstance(store, DumpStore):
            err("error: the dump of this report is not here (--dump names it)\n")
            return 2
        try:
            resource = store.discovery.resolve(kind, lambda text: err(text + "\n"))
            found = changes(
                store,
                resource,
                namespace=options.namespace,
                labels=options.labels,
                fields=options.fields,
                after=after,
            )
            if output == "table":
                out(_table(store, resource, found))
            else:
                for change in found:
                    out(_line(store, resource, change))
        except UnknownResource as error:
            near = store.discovery.similar(error.name)
            err(f"error: {error}\n" + (f"did you mean {' or '.join(near)}?\n" if near else ""))
            return 2
        except StatusError as error:
            err(f"Error from server ({error.reason}): {error.message}\n")
            return 2
        return 3 if is_damaged(store) else 0


def _line(store: DumpStore, resource: Resource, change: Change) -> str:
    obj: Any = change.object
    if obj is None:
        obj = StatusError(500, "InternalError", f"corrupt object {printable_key(change.key)}: {change.reason}").status()
    else:
        obj = store.concealed(resource, obj)
    return f'{{"type":"{change.type}","object":{jsontext.encode(obj)}}}\n'


def _table(store: DumpStore, resource: Resource, found: Iterator[Change]) -> str:
    labels = [name for name in store.labels_of(resource) if not name.startswith("metadata.")]
    namespace = ["NAMESPACE"] if resource.namespaced else []
    lines = ["\t".join(["REVISION", "EVENT", *namespace, "NAME", *(name.upper() for name in labels)])]
    for change in found:
        metadata = (change.object or {}).get("metadata") or {}
        cells = [str(change.revision), change.type]
        if change.object is None:
            lines.append("\t".join([*cells, printable_key(change.key), change.reason.partition("\n")[0][:200]]))
            continue
        seen = store.fields_of(resource, change.object)
        cells += [str(metadata.get("namespace") or "")] if resource.namespaced else []
        lines.append("\t".join([*cells, str(metadata.get("name") or ""), *(seen.get(name, "") for name in labels)]))
    return align("".join(line + "\n" for line in lines)) if len(lines) > 1 else ""
