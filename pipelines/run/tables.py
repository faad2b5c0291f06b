"""`auditor tables`: the objects of a dump or a report as typed Parquet, a data set a kind."""

from __future__ import annotations

import errno
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.base.arrow import read_parquet
from auditor.base.errors import EngineError, PlanError, ReportNotWritable, is_environment
from auditor.base.progress import tell
from auditor.base.wording import counted
from auditor.causes.parts import part_files
from auditor.columns import KindColumns
from auditor.columns.dataset import Written, described, write_part, write_parts, write_schemas
from auditor.plan.limits import bound_worker
from auditor.plan.options import AuditOptions
from auditor.printing.discovery import UnknownResource, stored_kinds
from auditor.printing.print_rows import print_rows
from auditor.releases import running_as
from auditor.selectors.partitions import Folders, folders_of
from auditor.server.dump import DumpStore
from auditor.server.fleet_store import FleetStore
from auditor.server.kind_batches import AuditedReport, ReportKindPart, kind_parts
from auditor.server.object_reader import ReadMode
from auditor.sources.files.work_folder import work_folder
from auditor.sources.stores.locations import is_remote, shown_url
from pipelines.engines import PRELOAD, run_inline, run_processes
from pipelines.log import LOG
from pipelines.run.objects.chosen_kinds import note_of_no_kind
from pipelines.run.query import TextWriter, is_incomplete, open_store
from pipelines.run.report_target import mode_of, set_modes, target_of
from pipelines.streams import ErrorLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from auditor.plan.run_plan import Plan
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
    if is_remote(out):
        raise PlanError(out, "is a URL", "a folder of this machine", "copy the finished folder there")
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
    folders, entries = _folders(store), []
    for resource in kinds:
        parts = kind_parts(store, resource)
        if not are_named and all(part.is_empty() for part in parts):
            continue
        columns, written = KindColumns.merged([part.columns for part in parts]), Written()
        below = folders.table_folder(columns.name, columns.group, columns.kind)
        write_parts(_batches(parts, columns, written), columns.schema, folder / below)
        entries.append(described(columns, below, written))
    return entries


def _folders(store: AnyStore) -> Folders:
    """Return the names of the folders of kinds; those of definitions are plain, whatever is written."""
    stores = store.stores.values() if isinstance(store, FleetStore) else (store,)
    definitions = (each for one in stores if isinstance(one, DumpStore) for each in one.catalog.definitions.values())
    return Folders((each.name, each.group, each.kind) for each in definitions)


def _batches(parts: Sequence[KindPart], columns: KindColumns, written: Written) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a kind, and count them."""
    for part in parts:
        for rows in part.batches_of_rows():
            batch = columns.batch(rows)
            with_rest = batch.num_rows - batch["_rest"].null_count
            written.add(Written(batch.num_rows, with_rest, sum(row.object is None for row in rows)))
            tell("writing", written.rows, None, f"{columns.kind} objects")
            yield batch


# ---- of an audit


def tables_of_audit(plan: Plan, report: Path, manifest: dict[str, Any], folder: Path) -> None:
    """Write the tables of all kinds of an audit whose report is complete, by workers as the audit has, part by part.

    Args:
        plan: The plan of the audit; its definitions are where they are now.
        report: Folder of the report.
        manifest: Its manifest.
        folder: The new folder.
    """
    options = plan.options
    names = [path.name for path in part_files(report / "objects")]
    ready = partial(_part_writer, plan, report, manifest, folder)
    if options.jobs == 1 or options.engine != "processes" or len(names) <= 1:
        answers = run_inline(ready, names, on_lost=_lost)
    else:
        answers = run_processes(ready, names, jobs=min(options.jobs, len(names)), on_lost=_lost, preload=PRELOAD)
    entries: dict[str, dict[str, Any]] = {}
    for done, answer in enumerate(answers, 1):
        for entry in answer:
            known = entries.setdefault(entry["folder"], entry)
            if known is not entry:
                known |= {count: known[count] + entry[count] for count in ("rows", "with_rest", "not_read")}
        tell("writing", done, len(names), "parts")
    origin = {"source": ", ".join(map(shown_url, options.dumps)), "as": "read", "secrets_shown": False}
    write_schemas(entries.values(), folder, **origin)
    rows = sum(entry["rows"] for entry in entries.values())
    text = f"tables of {counted(len(entries), 'kind')}, {rows:,} rows in {options.tables}"
    LOG.info("tables", text, kinds=len(entries), rows=rows, folder=options.tables)


def _lost(name: str, error: Exception) -> list[dict[str, Any]]:
    raise EngineError("--tables", f"the tables of {name} cannot be written: {error}", "", "give more --memory")


def _part_writer(plan: Plan, report: Path, manifest: dict[str, Any], folder: Path) -> Callable[[str], Any]:
    """Make a worker ready that writes the tables of parts."""
    bound_worker(plan.options.memory, plan.options.jobs)
    with running_as(plan.options.kubernetes):
        writer = PartTables(plan, report, manifest, folder)

    def work(name: str) -> list[dict[str, Any]]:
        with running_as(plan.options.kubernetes):
            return writer.write(name)

    return work


class PartTables:
    """Writes the tables of the parts of a report, each kind of a part into a file of the part's name.

    Args:
        plan: The plan of the audit.
        report: Folder of the report.
        manifest: Its manifest.
        folder: The folder of the tables.
    """

    def __init__(self, plan: Plan, report: Path, manifest: dict[str, Any], folder: Path) -> None:
        self._store = DumpStore(plan, ReadMode(), lambda _: None)  # the report says what cannot be read
        self._report = AuditedReport(report, manifest)
        self._paths = {path.name: path for path in self._report.parts}
        self._folder = folder
        self._folders = folders_of(plan)
        self._kinds: dict[tuple[str, str], KindPart] = {}
        self._by_name: dict[tuple[str, str], Resource] = {}
        for resource in stored_kinds(self._store.discovery):
            for name in (resource.plural, resource.kind):
                self._by_name.setdefault((resource.group, name), resource)

    def write(self, name: str) -> list[dict[str, Any]]:
        """Write the tables of a part; return the entry of each kind in it."""
        path = self._paths[name]
        self._report.parts = [path]
        rows = read_parquet(path, ["group", "plural", "kind"])
        named = {(group or "", plural or kind or "") for group, plural, kind in zip(*_texts(rows), strict=True)}
        found = {resource for each in named if (resource := self._by_name.get(each)) is not None}
        return [
            self._write_kind(resource, name) for resource in sorted(found, key=lambda kind: (kind.group, kind.kind))
        ]

    def _write_kind(self, resource: Resource, name: str) -> dict[str, Any]:
        part = self._kinds.get((resource.group, resource.kind))
        if part is None:
            part = ReportKindPart(self._store, resource, "", self._report)
            self._kinds[resource.group, resource.kind] = part
        columns, written = part.columns, Written()
        below = self._folders.table_folder(columns.name, columns.group, columns.kind)
        write_part(_batches([part], columns, written), columns.schema, self._folder / below / name)
        return described(columns, below, written)


def _texts(rows: pa.Table) -> list[list[str | None]]:
    """Return the distinct rows of a table as columns of text."""
    distinct = rows.group_by(rows.column_names).aggregate([])
    return [distinct[name].to_pylist() for name in rows.column_names]
