"""The tables of an audit, and the folder that tables are written to.

The tables of an audit are made from its report when it is complete, part by part, by workers as those of the audit:
statuses, impacts and causes are those of the report, and the audit itself does nothing for them.
"""

from __future__ import annotations

import errno
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.base.arrow import read_parquet
from auditor.base.errors import EngineError, PlanError, ReportNotWritable, is_environment
from auditor.base.progress import tell
from auditor.base.visible import visible
from auditor.base.wording import counted
from auditor.causes.parts import part_files
from auditor.columns.dataset import Written, described, write_part, write_schemas
from auditor.plan.limits import bound_worker
from auditor.plan.options import AuditOptions
from auditor.printing.discovery import stored_kinds
from auditor.releases import running_as
from auditor.selectors.partitions import folders_of
from auditor.server.audited_report import AuditedReport
from auditor.server.dump import DumpStore
from auditor.server.kind_batches import ReportKindPart
from auditor.server.object_reader import ReadMode
from auditor.sources.files.work_folder import work_folder
from auditor.sources.stores.locations import is_remote, shown_url
from pipelines.engines import PRELOAD, run_inline, run_processes
from pipelines.log import LOG
from pipelines.run.report_target import mode_of, set_modes, target_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from auditor.columns import KindColumns
    from auditor.plan.run_plan import Plan
    from auditor.printing.discovery import Resource
    from auditor.server.kind_batches import KindPart


@contextmanager
def new_tables(out: str, *inputs: str) -> Iterator[Path]:
    """Yield a new folder that becomes that of the tables if the block ends without an error.

    Args:
        out: Where the tables are to be.
        inputs: What the run reads: nothing is written into these, and who cannot read these cannot read the tables.

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


def batches_of(parts: Sequence[KindPart], columns: KindColumns, written: Written) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a kind, and count them."""
    for part in parts:
        for rows in part.batches_of_rows(table=columns):
            batch = columns.batch(rows)
            with_rest = batch.num_rows - batch["_rest"].null_count
            written.add(Written(batch.num_rows, with_rest, sum(row.object is None for row in rows)))
            tell("writing", written.rows, None, f"{columns.kind} objects")
            yield batch


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
    sources = [visible(shown_url(dump)) for dump in options.dumps]
    write_schemas(entries.values(), folder, sources, shown_as="read", secrets_shown=False)
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
        write_part(batches_of([part], columns, written), columns.schema, self._folder / below / name)
        return described(columns, below, written)


def _texts(rows: pa.Table) -> list[list[str | None]]:
    """Return the distinct rows of a table as columns of text."""
    distinct = rows.group_by(rows.column_names).aggregate([])
    return [distinct[name].to_pylist() for name in rows.column_names]
