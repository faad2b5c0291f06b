"""`auditor audit --history` and `auditor trend`: a history in a folder or in an object store."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from auditor.base.errors import AuditorError, PlanError
from auditor.report.findings.table import read_rows
from auditor.report.trend.history import expired_files, read_history, run_file_name, write_run
from auditor.report.trend.view import trend_lines, trend_rows
from auditor.report.views.layout import painted
from auditor.sources.files.work_folder import temporary_folder
from auditor.sources.stores.folders import remote_names, upload
from auditor.sources.stores.locations import is_remote, local_path, shown_url
from auditor.sources.stores.patterns import fetched
from pipelines.run.report.findings import has_color, terminal_width
from pipelines.streams import ErrorLines, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.report.trend.history import History

__all__ = ["history_at", "known_history", "note_history", "run_trend"]


def note_history(report: Path, manifest: dict[str, Any], history: str, keep: int) -> None:
    """Add a run to a history, and remove the oldest runs beyond a number; a failure is reported, and changes nothing.

    Args:
        report: Folder of the report.
        manifest: Its manifest.
        history: Folder or URL of the history.
        keep: Runs to keep.
    """
    try:
        _note(report, manifest, history, keep)
    except (AuditorError, OSError) as error:
        ErrorLines()(f"warning: the run is not in the history {shown_url(history)}: {error}\n")


def _note(report: Path, manifest: dict[str, Any], history: str, keep: int) -> None:
    started = datetime.datetime.fromisoformat(manifest["started"]).astimezone(datetime.UTC)
    rows, name = read_rows(report) or [], run_file_name(manifest, started)
    here = local_path(history) or history
    if is_remote(here):
        with temporary_folder("history") as folder:
            write_run(rows, started, folder / name)
            gone = expired_files({*remote_names(here), name}, keep)
            upload(folder, here, last=name, replaced=[one for one in gone if one != name])
        return
    folder = Path(here)
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{name}"
    write_run(rows, started, draft)
    draft.replace(folder / name)
    for old in expired_files([path.name for path in folder.iterdir()], keep):
        (folder / old).unlink()


def run_trend(history: str, *, clusters: Sequence[str], output: str, color: str, lines: int) -> int:
    """Print a history.

    Raises:
        PlanError: There is none.
    """
    runs = history_at(history, clusters)
    if output == "json":
        sys.stdout.write(orjson.dumps(trend_rows(runs), option=orjson.OPT_INDENT_2).decode() + "\n")
        return 0
    sys.stdout.flush()
    plain(sys.stdout).write(painted(trend_lines(runs, terminal_width(), lines), color=has_color(color)))
    return 0


def known_history(history: str) -> History | None:
    """Return the runs of a history that a run was added to, or None without one; a failure is a warning."""
    if not history:
        return None
    try:
        return history_at(history)
    except (AuditorError, OSError) as error:
        ErrorLines()(f"warning: the history {shown_url(history)} cannot be read, and no page shows it: {error}\n")
        return None


def history_at(history: str, clusters: Sequence[str] = ()) -> History:
    """Return the runs of a history.

    Args:
        history: Its folder or URL.
        clusters: Only these clusters; empty: all.

    Raises:
        PlanError: There is none.
    """
    here = local_path(history) or history
    if is_remote(here):
        with temporary_folder("history") as folder:
            copies = [path for _, path in fetched(here, folder)]
            return read_history(copies[0], clusters)
    if not Path(here).is_dir():
        raise PlanError(shown_url(history), "is not a folder", "the folder of `auditor audit --history`")
    return read_history(Path(here), clusters)
