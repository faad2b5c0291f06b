"""`auditor audit --history` and `auditor trend`: a history in a folder or in an object store."""

from __future__ import annotations

import datetime
import operator
import os
import stat
import sys
import tempfile
import time
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from auditor.base.errors import AuditorError, PlanError
from auditor.causes.table import read_rows
from auditor.history.files import RUN_FILE, is_history_file, read_runs, run_file_name, write_month, write_run
from auditor.history.months import by_month, merges, runs_in
from auditor.history.runs import RETRY_SECONDS, TRIES, read_history
from auditor.output.views.layout import painted
from auditor.output.views.trend import trend_lines, trend_rows
from auditor.sources.files.work_folder import temporary_folder
from auditor.sources.stores.locations import is_remote, local_path, shown_url
from auditor.sources.stores.store_folder import StoreFolder
from auditor.store.allclear import clusters_of
from auditor.store.manifest import MANIFEST
from pipelines.console import UNBOUNDED, echo_rows, terminal_width
from pipelines.run.report.findings import has_color
from pipelines.streams import ErrorLines, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from auditor.history.runs import History


def note_history(report: Path, manifest: dict[str, Any], history: str, keep: int) -> None:
    """Add a run to a history, and remove the oldest runs beyond a number; a failure is reported, and changes nothing.

    Its file is no more readable than the report.

    Args:
        report: Folder of the report.
        manifest: Its manifest.
        history: Folder or URL of the history.
        keep: Runs to keep.
    """
    started = datetime.datetime.fromisoformat(manifest["started"]).astimezone(datetime.UTC)
    what = f"the run is not in the history {shown_url(history)}"
    try:
        folder = folder_of(history)
        with temporary_folder("history") as work:
            path = work / run_file_name(manifest, started)
            unread = [cluster for cluster, is_whole in clusters_of(manifest).items() if not is_whole]
            write_run(read_rows(report) or [], started, path, unread)
            path.chmod(_mode_of([report / MANIFEST]))
            folder.add(path)
            what = f"the run is in the history {shown_url(history)}, but its old files were not merged"
            tidy_history(folder, work, started, keep)
    except (AuditorError, OSError) as error:
        ErrorLines()(f"warning: {what}: {error}\n")


def tidy_history(folder: HistoryFolder, work: Path, now: datetime.datetime, keep: int) -> None:
    """Merge the files of past months, and remove the oldest runs beyond a number.

    Another process may do the same: each file is whole before what it replaces is removed.

    Args:
        folder: The history.
        work: Folder for copies.
        now: When the last run began, UTC.
        keep: Runs to keep, at least 1.
    """
    try:
        for merge in merges(folder.names(), now):
            _replace(folder, work, merge.month, merge.names, beyond=0)
        names = folder.names()
        beyond = runs_in(names) - max(1, keep)
        for month, files in by_month(names).items():
            if beyond > 0:
                beyond -= _replace(folder, work, month, files, beyond=beyond)
    except FileNotFoundError:  # another process has just merged it
        return


def _replace(folder: HistoryFolder, work: Path, month: str, names: Sequence[str], *, beyond: int) -> int:
    """Replace files of a month by one without its oldest runs; return how many runs were left out."""
    below = Path(tempfile.mkdtemp(dir=work))
    copies = folder.copies(names, below)
    runs = read_runs(copies)
    gone, remaining = runs.names[:beyond], runs.names[beyond:]
    stay = set(remaining)
    if not all(map(RUN_FILE.fullmatch, names)) or not gone:
        stay = set()
        if remaining:
            made = tempfile.mkdtemp(dir=work)
            path = write_month(runs.only(remaining), month, Path(made))
            path.chmod(_mode_of(copies))
            folder.add(path)
            stay = {path.name}
    folder.remove(name for name in names if name not in stay)
    return len(gone)


def _mode_of(paths: Sequence[Path]) -> int:
    """Return the strictest permissions of some files."""
    return reduce(operator.and_, (stat.S_IMODE(path.stat().st_mode) for path in paths)) | stat.S_IRUSR | stat.S_IWUSR


def run_trend(history: str, *, clusters: Sequence[str], output: str, color: str, lines: int) -> int:
    """Print a history.

    Raises:
        PlanError: There is none.
    """
    runs = history_at(history, clusters)
    if not trend_rows(runs)["runs"]:
        raise PlanError(shown_url(history), "has no run", "a folder that `auditor audit --history` wrote")
    if output in ("table", "wide"):
        width = UNBOUNDED if output == "wide" else terminal_width()
        sys.stdout.flush()
        plain(sys.stdout).write(painted(trend_lines(runs, width, lines), color=has_color(color)))
        return 0
    data = trend_rows(runs)
    echo_rows(data["causes"], (), output, document=lambda: data)
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
        clusters: Only these clusters; empty for all.

    Raises:
        PlanError: There is none.
    """
    here = local_path(history) or history
    if not is_remote(here):
        if not Path(here).is_dir():
            raise PlanError(shown_url(history), "is not a folder", "the folder of `auditor audit --history`")
        return read_history(Path(here), clusters)
    folder = folder_of(here)
    for number in range(1, TRIES + 1):
        with temporary_folder("history") as work:
            names = [name for name in folder.names() if is_history_file(name)]
            if not names:
                raise PlanError(shown_url(history), "has no run", "the folder of `auditor audit --history`")
            (work / "files").mkdir()
            try:
                folder.copies(names, work / "files")
            except FileNotFoundError:  # an audit has just merged it with others
                if number == TRIES:
                    raise
                time.sleep(number * RETRY_SECONDS)
                continue
            return read_history(work / "files", clusters)
    raise AssertionError


# ---- the folder of a history


class HistoryFolder(Protocol):
    """Where the files of a history are."""

    def names(self) -> list[str]:
        """Return the names of all files."""

    def copies(self, names: Sequence[str], folder: Path) -> list[Path]:
        """Return files that can be read; those of a store are copied to a folder first.

        Raises:
            FileNotFoundError: One is gone.
        """

    def add(self, path: Path) -> None:
        """Take a file over by its name and, in a folder, its permissions, in one step; one of that name is replaced."""

    def remove(self, names: Iterable[str]) -> None:
        """Remove files; one that is gone is no error."""


class _LocalHistory:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        return [path.name for path in self._folder.iterdir()] if self._folder.is_dir() else []

    def copies(self, names: Sequence[str], folder: Path) -> list[Path]:  # noqa: ARG002 - as that of a store
        return [self._folder / name for name in names]

    def add(self, path: Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        draft = self._folder / f".{path.name}.{os.getpid()}"
        draft.touch(0o600)
        draft.write_bytes(path.read_bytes())
        draft.chmod(stat.S_IMODE(path.stat().st_mode))
        draft.replace(self._folder / path.name)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            (self._folder / name).unlink(missing_ok=True)


class _Remote(StoreFolder):
    def copies(self, names: Sequence[str], folder: Path) -> list[Path]:
        return self.fetch(names, folder)


def folder_of(history: str) -> HistoryFolder:
    """Return the folder of a history, by its path or URL."""
    here = local_path(history) or history
    return _Remote(here) if is_remote(here) else _LocalHistory(Path(here))
