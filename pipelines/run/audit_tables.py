"""The tables of an audit, and the folder that tables are written to.

Workers write the tables of the shards that they judge (`auditor.server.tables`), beside the parts of the report. When
the report is complete, its causes have their ids, and the tables become those of the run.
"""

from __future__ import annotations

import errno
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.base.errors import PlanError, ReportNotWritable, is_environment
from auditor.base.progress import tell
from auditor.base.visible import visible
from auditor.base.wording import counted
from auditor.causes.table import read_rows
from auditor.columns.dataset import write_schemas
from auditor.plan.options import AuditOptions
from auditor.server.tables.shard_tables import (
    TABLES,
    WRITTEN,
    counted_batches,
    rename_causes,
    renamed_causes,
    written_tables,
)
from auditor.sources.files.work_folder import work_folder
from auditor.sources.stores.locations import is_remote, shown_url
from pipelines.log import LOG
from pipelines.run.report_target import mode_of, set_modes, target_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from auditor.columns import KindColumns
    from auditor.columns.dataset import Written
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
    """Yield the rows of a kind, count them, and tell how many there are."""
    for batch in counted_batches(parts, columns, written):
        tell("writing", written.rows, None, f"{columns.kind} objects")
        yield batch


def take_tables(report: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Move the tables that workers wrote beside the parts of a report to their own folder.

    Args:
        report: Folder of the report, whose causes are written.
        folder: The new folder of the tables.

    Returns:
        The entry of each kind for `schema.json`, by its folder.
    """
    ids = {row["digest"]: row["cause"] for row in read_rows(report) or ()}
    kinds: dict[str, dict[str, Any]] = {}
    for name, part in written_tables(report):
        changed = renamed_causes(part, ids)
        for entry in part.kinds:
            if changed:
                rename_causes(report / TABLES / entry["folder"] / name, changed)
            known = kinds.setdefault(entry["folder"], entry)
            if known is not entry:
                known |= {count: known[count] + entry[count] for count in ("rows", "with_rest", "not_read")}
    tables = report / TABLES
    for path in tables.iterdir() if tables.is_dir() else ():
        if path.name != WRITTEN:
            shutil.move(path, folder / path.name)
    shutil.rmtree(tables, ignore_errors=True)
    return kinds


def note_tables(options: AuditOptions, kinds: Iterable[dict[str, Any]], folder: Path) -> None:
    """Write `schema.json` of the tables of an audit, and log them.

    Args:
        options: The options of the run.
        kinds: The entry of each kind.
        folder: The new folder of the tables.
    """
    entries = list(kinds)
    sources = [visible(shown_url(dump)) for dump in options.dumps]
    write_schemas(entries, folder, sources, shown_as="read", secrets_shown=False)
    rows = sum(entry["rows"] for entry in entries)
    text = f"tables of {counted(len(entries), 'kind')}, {rows:,} rows in {options.tables}"
    LOG.info("tables", text, kinds=len(entries), rows=rows, folder=options.tables)
