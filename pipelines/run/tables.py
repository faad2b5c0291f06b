"""`auditor tables`: the objects of a dump or a report as typed Parquet, a data set a kind."""

from __future__ import annotations

import errno
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import PlanError, ReportNotWritable, is_environment
from auditor.base.progress import tell
from auditor.columns import KindColumns
from auditor.columns.dataset import Written, described, write_parts, write_schemas
from auditor.plan.options import AuditOptions
from auditor.printing.discovery import UnknownResource, stored_kinds
from auditor.printing.print_rows import print_rows
from auditor.selectors.partitions import Folders
from auditor.server.dump import DumpStore
from auditor.server.fleet_store import FleetStore
from auditor.server.kind_batches import kind_parts
from auditor.sources.files.work_folder import work_folder
from pipelines.run.objects.chosen_kinds import note_of_no_kind
from pipelines.run.query import TextWriter, is_incomplete, open_store
from pipelines.run.report_target import mode_of, set_modes, target_of
from pipelines.streams import ErrorLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from auditor.printing.discovery import Resource
    from auditor.server.fleet_store import AnyStore
    from auditor.server.kind_batches import KindPart
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
            raise NotWritten from None
        rows = _write(store, kinds, folder, are_named=bool(options.args))
        if not rows:
            err("No objects of known kinds.\n")
            raise NotWritten
        origin = {"source": options.target, "as": options.shown_as, "secrets_shown": options.mode.show_secrets}
        write_schemas(rows, folder, **origin)
        incomplete = is_incomplete(store)
    TextWriter(sys.stdout)("".join(print_rows(rows, _COLUMNS, output)))
    return 3 if incomplete else 0


class NotWritten(Exception):
    """There is nothing to write; it was said why."""


@contextmanager
def new_tables(out: str, *inputs: str) -> Iterator[Path]:
    """Yield a new folder that becomes that of the tables if the block ends without an error.

    Args:
        out: Where the tables are to be.
        inputs: What the run reads: nothing is written into these, and nobody may read more of the tables.

    Raises:
        PlanError: There is something already, or it cannot be written.
    """
    target = target_of(out)
    check_new(target, inputs)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with work_folder(target.parent, f".{target.name}") as work:
            folder = work / "tables"
            folder.mkdir()
            yield folder
            set_modes(folder, mode_of(AuditOptions(dumps=inputs), folder))
            folder.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            check_new(target, inputs)
        kind = ReportNotWritable if is_environment(error) else PlanError
        reason = f"cannot be written: {error.strerror or error}"
        raise kind(out, reason, "a path in a writable folder", "give another OUT") from error


def check_new(target: Path, inputs: Sequence[str]) -> None:
    """Refuse a folder that has anything in it, or is within what is read.

    Raises:
        PlanError: It is refused.
    """
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        found = "is not empty" if target.is_dir() else "is a file"
        raise PlanError(str(target), found, "a new or empty folder: tables are never written over anything")
    for given in inputs:
        if Path(given).is_dir() and target.resolve().is_relative_to(Path(given).resolve()):
            raise PlanError(str(target), f"is in {given}, which is read", "a folder elsewhere")


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
    for one in store.stores.values() if isinstance(store, FleetStore) else (store,):
        if isinstance(one, DumpStore):
            own = stored_kinds(one.discovery)
            for resource in own:
                kinds.setdefault((resource.group, resource.kind), resource)
            note_of_no_kind(one, own, "written", one.warn)
        else:
            next(iter(kind_parts(store, one.discovery.resources[0])))  # it says what is missing
    return list(kinds.values())


def _write(store: AnyStore, kinds: Sequence[Resource], folder: Path, *, are_named: bool) -> list[dict[str, Any]]:
    """Write the rows of kinds; return the entry of each kind that has any, or was named."""
    folders, entries = Folders(), []
    for resource in kinds:
        parts = kind_parts(store, resource)
        if not are_named and all(part.is_empty() for part in parts):
            continue
        columns, written = KindColumns.merged([part.columns for part in parts]), Written()
        below = folders.table_folder(columns.name, columns.group, columns.kind)
        write_parts(_batches(parts, columns, written), columns.schema, folder / below)
        entries.append(described(columns, below, written))
    return entries


def _batches(parts: Sequence[KindPart], columns: KindColumns, written: Written) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a kind, and count them."""
    for part in parts:
        for rows in part.batches_of_rows():
            batch = columns.batch(rows)
            with_rest = batch.num_rows - batch["_rest"].null_count
            written.add(Written(batch.num_rows, with_rest, sum(row.object is None for row in rows)))
            tell("writing", written.rows, None, f"{columns.kind} objects")
            yield batch
