"""The reports below one folder, or below one prefix of an object store.

A report counts if an audit of ours wrote it and it is complete: its manifest is valid and every file that the manifest
lists exists. Other files are neither used nor removed, except leftovers of killed runs.
"""

from __future__ import annotations

import datetime
import os
import re
import stat
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.base.errors import PlanError, ReportNotWritable, is_environment
from auditor.history.last_whole import Coverage
from auditor.sources.files.work_folder import clear_dead_folders, work_folder
from auditor.sources.stores.folders import remote_files, remote_names
from auditor.sources.stores.locations import is_remote, is_web, local_path, shown_url
from auditor.sources.stores.store_folder import joined, read_file, remove_files, write_file
from auditor.store.manifest import MANIFEST, manifest_bytes, parse_manifest, whole_report
from pipelines.run.report_target import check_manifest_of, files_of, is_report_file

if TYPE_CHECKING:
    from collections.abc import Sequence


DEFAULT_NAME: Final = "{date}T{time}Z"
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+=@-]{0,199}")
_FIELD: Final = re.compile(r"\{(\w*)\}")
_STARTED: Final = ".auditor-started-"
"""Name of the file that a run puts beside its report in a store while it writes it."""


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A complete report.

    Attributes:
        name: Its name below the root.
        location: Its folder or URL.
        started: When the audit started.
        coverage: What it has of each cluster.
    """

    name: str
    location: str
    started: datetime.datetime
    coverage: Coverage


def report_name(template: str, now: datetime.datetime) -> str:
    """Return the name of a report.

    Args:
        template: Text with `{date}` (2026-11-25) and `{time}` (020000) of the start of the run, in UTC.
        now: The start of the run, with zone.

    Raises:
        PlanError: A placeholder is unknown, or the name is not that of one folder.
    """
    utc = now.astimezone(datetime.UTC)
    values = {"date": utc.strftime("%Y-%m-%d"), "time": utc.strftime("%H%M%S")}

    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            raise PlanError("--report-name", f"unknown placeholder {found[0]}", "{date} or {time}")
        return values[found[1]]

    name = _FIELD.sub(value, template)
    if _NAME.fullmatch(name) is None:
        expected = "a name of letters, digits and ._+=@-, at most 200, that begins with a letter, a digit or _"
        raise PlanError("--report-name", f"{name!r} cannot be the name of a report", expected)
    return name


def free_name(template: str, now: datetime.datetime, root: Root) -> str:
    """Return the name of a report; if a run of the same second has the name, a number is added.

    Args:
        template: As for `report_name`.
        now: The start of the run, with zone.
        root: Where the report is written.
    """
    name = free = report_name(template, now)
    number = 1
    while "{time}" in template and root.has(free):
        number += 1
        free = f"{name}-{number}"
    return free


class Root(ABC):
    """A place for the reports of a job."""

    location: str

    @abstractmethod
    def reports(self) -> list[StoredReport]:
        """Return the complete reports of audits, newest first, those of the future last."""

    def coverage(self, name: str) -> Coverage | None:
        """Return what a report has of each cluster; None if it is not complete."""
        return next((report.coverage for report in self.reports() if report.name == name), None)

    @abstractmethod
    def path_of(self, name: str) -> str:
        """Return the folder or URL of a report."""

    @abstractmethod
    def has(self, name: str) -> bool:
        """Return whether anything has this name."""

    @abstractmethod
    def refusal(self, report: StoredReport) -> str:
        """Return why a report must not be removed; empty means it may."""

    @abstractmethod
    def remove(self, report: StoredReport) -> None:
        """Remove a report whole."""

    def leftovers(self) -> list[str]:
        """Return the names of leftovers of killed runs; the caller must hold the lock."""
        return []

    def clear(self, name: str) -> None:  # noqa: ARG002
        """Remove one of the leftovers."""
        return

    def prepare(self) -> None:
        """Create the root, if needed."""
        return

    def begin(self, name: str) -> None:  # noqa: ARG002
        """Record that a run starts to write a report, so that a later run can remove it if this one is killed."""
        return

    def end(self, name: str, *, written: bool) -> None:  # noqa: ARG002
        """Record that no run writes this report any more; remove its files unless it is complete."""
        return

    @abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Write a small file at the root, atomically."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """Return the content of a small file at the root, or None if it does not exist."""


def open_root(given: str) -> Root:
    """Return the root that --report-root names; a folder need not exist.

    Raises:
        PlanError: It is a file or a web server.
    """
    given = local_path(given) or given
    if is_web(given):
        raise PlanError("--report-root", f"{shown_url(given)} takes no reports", "a folder, or a URL such as s3://")
    if is_remote(given):
        return StoreRoot(given)
    if Path(given).exists() and not Path(given).is_dir():
        raise PlanError("--report-root", f"{given} is a file", "a folder")
    return LocalRoot(Path(given))


def _report(name: str, location: str, data: bytes, names: set[str]) -> StoredReport | None:
    """Return a complete report, or None if it is not a report of ours, or incomplete.

    Args:
        name: Its name below the root.
        location: Its folder or URL.
        data: Its manifest.
        names: The files in it.
    """
    manifest = parse_manifest(data)
    if manifest is None or "upgrade" in manifest or not _is_complete(manifest, names):
        return None
    tool = manifest["tool"]
    if type(tool) is not dict or tool.get("name") != "auditor":
        return None
    try:
        started = datetime.datetime.fromisoformat(manifest["started"])
    except (TypeError, ValueError):
        return None
    started = started if started.tzinfo else started.replace(tzinfo=datetime.UTC)
    try:
        with whole_report(location):
            return StoredReport(name, location, started, Coverage.of(manifest))
    except PlanError:
        return None


def _newest_first(reports: list[StoredReport]) -> list[StoredReport]:
    """Return reports in order; those that a wrong clock dated later than now come last."""
    now = datetime.datetime.now(datetime.UTC)
    return sorted(reports, key=lambda one: (one.started <= now, one.started, one.name), reverse=True)


def _is_complete(manifest: dict[str, Any], names: set[str]) -> bool:
    listed = manifest.get("files")
    return type(listed) is list and all(type(name) is str and name in names for name in listed)


class LocalRoot(Root):
    """A folder."""

    def __init__(self, folder: Path) -> None:
        self.location = str(folder)
        self._folder = folder

    def reports(self) -> list[StoredReport]:
        """Return the complete reports, newest first."""
        reports = []
        for name in self._folders():
            folder = self._folder / name
            try:
                data = manifest_bytes(folder)
                names = {name for name, is_file in files_of(folder) if is_file}
            except (OSError, PlanError):
                continue
            if report := _report(name, str(folder), data, names):
                reports.append(report)
        return _newest_first(reports)

    def _folders(self) -> list[str]:
        try:
            with os.scandir(self._folder) as entries:
                return sorted(
                    entry.name
                    for entry in entries
                    if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
                )
        except FileNotFoundError:
            return []

    def path_of(self, name: str) -> str:
        """Return the folder of a report."""
        return str(self._folder / name)

    def has(self, name: str) -> bool:
        """Return whether there is a file or folder of this name."""
        return os.path.lexists(self._folder / name)

    def refusal(self, report: StoredReport) -> str:
        """Return why a report must not be removed."""
        folder = Path(report.location)
        try:
            if stat.S_ISLNK(folder.lstat().st_mode):
                return "is a link"
            check_manifest_of(report.location, manifest_bytes(folder), files_of(folder))
        except (OSError, PlanError) as error:
            return error.found if isinstance(error, PlanError) else str(error.strerror)
        return ""

    def remove(self, report: StoredReport) -> None:
        """Move a report into a work folder and remove it there, so that a killed run leaves no incomplete report."""
        with work_folder(self._folder, f".{report.name}") as folder:
            Path(report.location).rename(folder / "surplus")

    def prepare(self) -> None:
        """Make the folder, and remove what killed runs left."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            kind = ReportNotWritable if is_environment(error) else PlanError
            raise kind(self.location, f"cannot be made: {error.strerror}", "a writable folder") from error
        clear_dead_folders(self._folder, ".")

    def write(self, name: str, data: bytes) -> None:
        """Write a small file by a rename."""
        path = self._folder / name
        part = path.with_name(f".{name}.{os.getpid()}")
        part.write_bytes(data)
        part.replace(path)

    def read(self, name: str) -> bytes | None:
        """Return a small file."""
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None


class StoreRoot(Root):
    """A prefix of an object store."""

    def __init__(self, url: str) -> None:
        self.location = url

    def reports(self) -> list[StoredReport]:
        """Return the complete reports, newest first."""
        reports = []
        for name in remote_names(self.location):
            url = self.path_of(name)
            if name.startswith(".") or (data := read_file(joined(url, MANIFEST))) is None:
                continue
            if report := _report(name, url, data, set(remote_files(url))):
                reports.append(report)
        return _newest_first(reports)

    def path_of(self, name: str) -> str:
        """Return the URL of a report."""
        return joined(self.location, name)

    def has(self, name: str) -> bool:
        """Return whether there is a file below this name."""
        return bool(remote_files(self.path_of(name)))

    def refusal(self, report: StoredReport) -> str:
        """Return why a report must not be removed."""
        data = read_file(joined(report.location, MANIFEST)) or b""
        try:
            check_manifest_of(report.name, data, ((file, True) for file in remote_files(report.location)))
        except PlanError as error:
            return error.found
        return ""

    def remove(self, report: StoredReport) -> None:
        """Remove the manifest of a report, then its other files."""
        self.begin(report.name)
        names = sorted(remote_files(report.location), key=lambda one: (one != MANIFEST, one))
        remove_files(joined(report.location, name) for name in names)
        self.end(report.name, written=True)

    def leftovers(self) -> list[str]:
        """Return the names of reports that killed runs began: without a manifest, and with only their own files."""
        marks = [name for name in remote_names(self.location) if name.startswith(_STARTED)]
        return [mark.removeprefix(_STARTED) for mark in marks]

    def clear(self, name: str) -> None:
        """Remove the files of a report that a killed run began to write, and its mark."""
        names = remote_files(self.path_of(name)) if _NAME.fullmatch(name) else []
        if MANIFEST not in names and all(is_report_file(name) for name in names):
            remove_files(joined(self.path_of(name), file) for file in names)
        remove_files([joined(self.location, _STARTED + name)])

    def begin(self, name: str) -> None:
        """Put a mark beside the report."""
        write_file(joined(self.location, _STARTED + name), orjson.dumps({"tool": "auditor"}))

    def end(self, name: str, *, written: bool) -> None:
        """Remove the mark, and the files if there is no complete report."""
        if written:
            remove_files([joined(self.location, _STARTED + name)])
        else:
            self.clear(name)

    def write(self, name: str, data: bytes) -> None:
        """Write a small file."""
        write_file(joined(self.location, name), data)

    def read(self, name: str) -> bytes | None:
        """Return a small file."""
        return read_file(joined(self.location, name))


_UNITS: Final = {"h": 1 / 24, "d": 1.0, "w": 7.0}


@dataclass(frozen=True, slots=True)
class Keep:
    """Which reports remain: the newest `count`, or those younger than `days`; that of the run always does."""

    count: int = 0
    days: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Keep | None:
        """Parse `30` or `90d` (hours, days, weeks). Returns None if the text has another form."""
        match = re.fullmatch(r"([0-9]{1,6})([hdw]?)", text.strip())
        if match is None or int(match[1]) < 1:
            return None
        return cls(days=int(match[1]) * _UNITS[match[2]]) if match[2] else cls(count=int(match[1]))

    def surplus(self, reports: Sequence[StoredReport], now: datetime.datetime) -> list[StoredReport]:
        """Return the reports that do not remain once a run has written its own.

        Args:
            reports: The others, newest first.
            now: The time, with zone.
        """
        if self.count:
            return list(reports[self.count - 1 :])
        oldest = now - datetime.timedelta(days=self.days)
        return [report for report in reports if report.started < oldest]
