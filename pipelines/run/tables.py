"""`auditor tables`: the objects of a dump or a report as typed Parquet, a data set a kind."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import visible
from auditor.columns import KindColumns
from auditor.columns.dataset import Written, described, write_parts, write_schemas
from auditor.printing.discovery import UnknownResource, stored_kinds
from auditor.printing.print_rows import print_rows
from auditor.selectors.partitions import folders_of
from auditor.server.dump import DumpStore
from auditor.server.fleet_store import stores_of
from auditor.server.kind_batches import kind_parts
from auditor.sources.stores.locations import shown_url
from pipelines.run.audit_tables import batches_of, new_tables
from pipelines.run.objects.chosen_kinds import note_of_no_kind
from pipelines.run.objects.unknown_kinds import MAY_BE_LOST, is_incomplete, lost_definitions
from pipelines.run.query import open_store
from pipelines.streams import ErrorLines, TextWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from auditor.printing.discovery import Resource
    from auditor.server.fleet_store import AnyStore
    from pipelines.run.objects.query_options import QueryOptions


_COLUMNS: Final = ("kind", "group", "rows", "with_rest", "not_read")


def run_tables(options: QueryOptions, out: str, output: str) -> int:
    """Write the tables of some kinds, or of all that have objects; return the exit code.

    Args:
        options: The dump or report; `args` are the kinds.
        out: The new folder.
        output: A form of rows, for the summary.

    Raises:
        PlanError: The folder cannot be written, or the dump of the report is missing.
    """
    err = ErrorLines()
    if options.shown_as == "stored":
        options.mode.stored = True
    with new_tables(out, options.target) as folder, open_store(options, err) as store:
        try:
            kinds = _kinds(store, options.args, err)
        except UnknownResource as error:
            err(f"error: {error}\n")
            if near := store.discovery.similar(error.name):
                err(f"did you mean {' or '.join(near)}?\n")
            if lost := lost_definitions(store):
                err(f"note: {lost}\n")
            raise NotWritten(3 if lost else 1) from None
        rows = write_kinds(store, kinds, folder, are_named=bool(options.args))
        if not rows:
            err("No objects of known kinds.\n")
            raise _not_written(store, err)
        sources = [visible(shown_url(options.target))]
        secrets_shown = options.mode.show_secrets
        write_schemas(rows, folder, sources, shown_as=options.shown_as, secrets_shown=secrets_shown)
        incomplete = is_incomplete(store) or any(row["not_read"] for row in rows)
    TextWriter(sys.stdout)("".join(print_rows(rows, _COLUMNS, output)))
    return 3 if incomplete else 0


class NotWritten(Exception):
    """There is nothing to write; it was said why. The argument is the exit code."""


def _not_written(store: AnyStore, err: Callable[[str], None]) -> NotWritten:
    if not is_incomplete(store):
        return NotWritten(1)
    err(f"note: {MAY_BE_LOST}\n")
    return NotWritten(3)


def _kinds(store: AnyStore, args: Sequence[str], err: Callable[[str], None]) -> list[Resource]:
    """Return the kinds that the arguments name, or all; each once.

    Raises:
        UnknownResource: There is no such kind.
    """
    if args:
        words = [word for arg in args for word in arg.split(",") if word]
        named = [store.discovery.resolve(word, lambda text: err(f"{text}\n")) for word in words]
        return list({(resource.group, resource.kind): resource for resource in named}.values())
    kinds: dict[tuple[str, str], Resource] = {}
    for one in stores_of(store).values():
        if isinstance(one, DumpStore):
            own = stored_kinds(one.discovery)
            for resource in own:
                kinds.setdefault((resource.group, resource.kind), resource)
            note_of_no_kind(one, own, "written", one.warn)
        else:
            next(iter(kind_parts(store, one.discovery.resources[0])))  # it says what is missing
    return list(kinds.values())


def write_kinds(store: AnyStore, kinds: Sequence[Resource], folder: Path, *, are_named: bool) -> list[dict[str, Any]]:
    """Write the rows of kinds; return the entry of each kind that has any, or was named."""
    plans = (one.plan for one in stores_of(store).values() if isinstance(one, DumpStore))
    folders, entries = folders_of(*plans), []
    for resource in kinds:
        parts = kind_parts(store, resource)
        if not are_named and all(part.is_empty() for part in parts):
            continue
        columns, written = KindColumns.merged([part.columns for part in parts]), Written()
        below = folders.table_folder(columns.name, columns.group, columns.kind)
        write_parts(batches_of(parts, columns, written), columns.schema, folder / below)
        if not (are_named or written.rows):  # a report counts keys by kind, also those that are no objects
            shutil.rmtree(folder / below)
            continue
        entries.append(described(columns, below, written))
    return entries
