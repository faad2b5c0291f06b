"""`auditor refs`: which objects name an object, and which references name objects that do not exist."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from auditor.base.errors import PlanError
from auditor.base.records import place_text
from auditor.base.wording import are, counted
from auditor.printing.discovery import UnknownResource
from auditor.printing.print_rows import print_rows
from auditor.server.dump import DumpStore
from auditor.server.references import Reference, References
from pipelines.run.query import TextWriter, is_incomplete, open_store
from pipelines.streams import ErrorLines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.run.objects.query_options import QueryOptions


_COLUMNS = {"kind": "kind", "namespace": "namespace", "name": "name", "field": "field"}


def run_refs(options: QueryOptions, wanted: str, *, dangling: bool, output: str) -> int:
    """Print references; return the exit code.

    Args:
        options: The dump or report, and how it is read.
        wanted: KIND/NAME; empty with `dangling`.
        dangling: Print the references to objects that do not exist.
        output: A form of rows.

    Raises:
        PlanError: There is no such kind, or the dump of a report is missing.
    """
    out, err = TextWriter(sys.stdout), ErrorLines()
    with open_store(options, err) as store:
        if not isinstance(store, DumpStore):
            raise PlanError(options.target, "is no single dump", "a dump, or the report of one beside its dump")
        references = References(store)
        if dangling:
            rows = list(_dangling(store, references, options.namespace, err))
        else:
            kind, _, name = wanted.partition("/")
            try:
                rows = [_row(reference) for reference in references.to(kind, options.namespace or "default", name)]
            except UnknownResource as error:
                raise PlanError("", str(error), "", "`auditor kinds DUMP` prints the kinds") from None
        columns = {**_COLUMNS, **({"refers to": "target"} if dangling else {})}
        out("".join(print_rows(rows, columns, output)))
        if not rows and output in ("table", "wide"):
            err("No references found.\n")
        return 3 if is_incomplete(store) else 0


def _row(reference: Reference) -> dict[str, Any]:
    return {
        "kind": reference.resource.kind,
        "group": reference.resource.group,
        "namespace": reference.namespace,
        "name": reference.name,
        "field": reference.field,
    }


def _dangling(store: DumpStore, references: References, namespace: str, err: ErrorLines) -> Iterator[dict[str, Any]]:
    """Yield the references to what does not exist; an export can tell that only of kinds that it has objects of."""
    existing = references.existing()
    is_export = any(source.is_export for source in store.plan.sources)
    known = {(target.group, target.plural) for target in existing}
    unknown = 0
    for reference in references.all():
        target = reference.target
        if reference.is_optional or target in existing or (namespace and reference.namespace != namespace):
            continue
        if is_export and (target.group, target.plural) not in known:
            unknown += 1
            continue
        place = place_text(target.namespace, target.name or "(without a name)")
        resource = f"{target.plural}.{target.group}" if target.group else target.plural
        yield {**_row(reference), "target": f"{resource} {place}"}
    if unknown:
        what = f"{counted(unknown, 'reference')} to kinds that the export has no object of"
        err(f"note: {what} {are(unknown)} not checked\n")
