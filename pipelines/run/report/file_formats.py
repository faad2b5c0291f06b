"""Writes a report in file formats: each file appears whole, with the permissions of the report, or of its format."""

from __future__ import annotations

import os
import stat
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from auditor.base.errors import AuditorError, PlanError, SourceError
from auditor.output.formats.registry import FORMATS, Format, formats_of, own_forms, why_not
from auditor.sources.files.work_folder import temporary_folder
from auditor.sources.stores.locations import is_remote, is_web, local_path, shown_url
from auditor.sources.stores.store_folder import copy_file, read_file
from auditor.store.manifest import MANIFEST
from pipelines.exit_codes import exit_code_of
from pipelines.run.remote import reports_here
from pipelines.streams import ErrorLines, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TextIO

    from auditor.history.runs import History
    from auditor.output.formats.problems import Content, Problem


_LOCKED: Final = 5
"""Message if another run holds the lock of the report root: that run will write the metrics."""
_MODE: Final = 0o644

_MOST_KEPT: Final = 20_000
"""Up to this many problems of a report are cached while several formats are written."""


@dataclass(frozen=True, slots=True)
class FormatTarget:
    """A format and its target.

    Attributes:
        format: The format.
        target: A file or a URL; empty for standard output.
    """

    format: Format
    target: str


def parse_outputs(texts: Sequence[str], report: str = "") -> list[FormatTarget]:
    """Return the outputs of `-o FORMAT` and `-o FORMAT=FILE` of `audit` and `report`.

    Args:
        texts: The values of the option.
        report: Folder of the report; no file may be written into it.

    Raises:
        PlanError: A format is unknown, two print, or a file lies in the report.
    """
    return split_outputs(texts, "report", report)[1]


def split_outputs(
    texts: Sequence[str], command: str, report: str = ""
) -> tuple[list[tuple[str, str]], list[FormatTarget]]:
    """Return the outputs that are a command's own answer, as (name, file or empty), and those of its report.

    Args:
        texts: The values of the option.
        command: Name of the command.
        report: Folder of the report; no file may be written into it.

    Raises:
        PlanError: A format is unknown, two print, or a file lies in the report.
    """
    own, mine, others = own_forms(command), [], []
    for text in texts:
        name, target = _parsed(text, command, report)
        if name in own:
            mine.append((name, target))
        else:
            others.append(FormatTarget(FORMATS[name], target))
    if sum("=" not in text for text in texts) > 1:
        raise PlanError("-o", "two formats are to be printed", "one at most", "give the others as FORMAT=FILE")
    return mine, others


def _parsed(text: str, command: str, report: str) -> tuple[str, str]:
    """Return the name of a format that the command has, and a file or a URL; empty means it is printed."""
    name, equals, target = text.partition("=")
    known = formats_of(command)
    if name not in known:
        reason = f"{name!r} is no format of this command: {why}" if (why := why_not(name, command)) else ""
        raise PlanError("-o", reason or f"{name!r} is no format", f"one of {', '.join(known)}")
    if equals and not target:
        raise PlanError("-o", f"{text!r} names no file", f"{name}=FILE")
    target = local_path(target) or target
    if is_web(target):
        raise PlanError("-o", f"{shown_url(target)}: a web server takes no files", "a file, or a URL such as s3://")
    if target.endswith("/"):
        raise PlanError("-o", f"{name} is one file", f"{name}=FILE", f"{target} is a folder")
    check_place("-o", target, report)
    return name, target


def prints(outputs: Sequence[FormatTarget]) -> bool:
    """Return whether one of the outputs is standard output: then nothing else is printed there."""
    return any(not output.target for output in outputs)


def check_place(option: str, target: str, report: str) -> None:
    """Refuse a file in the folder of the report, whose manifest lists all files that may be there.

    Args:
        option: The option that names the file.
        target: The file; empty if there is none.
        report: The report; empty if there is none.

    Raises:
        PlanError: The file would be in the report.
    """
    if report and target and is_below(target, local_path(report) or report):
        reason = f"{shown_url(target)} is in the report {shown_url(report)}, which holds nothing but its own files"
        raise PlanError(option, reason, "a file in another folder")


def write_report(
    report: str, outputs: Sequence[FormatTarget], clusters: Sequence[str] = (), history: History | None = None
) -> None:
    """Write a stored report in some formats.

    Args:
        report: Its folder or URL.
        outputs: The formats.
        clusters: Only these clusters of a fleet; empty for all.
        history: Runs before it, whose trend a page shows.

    Raises:
        AuditorError: It is no report, or a file cannot be written.
    """
    if not outputs:
        return
    with opened_content(report, clusters, history) as (folder, content):
        write_outputs(content, outputs, stat.S_IMODE((folder / MANIFEST).stat().st_mode))


@contextmanager
def opened_content(
    report: str, clusters: Sequence[str] = (), history: History | None = None
) -> Iterator[tuple[Path, Content]]:
    """Yield the folder of a stored report, which may be a copy, and its content; arguments as for `write_report`."""
    from auditor.causes.model import FindingsModel  # noqa: PLC0415 - only when asked
    from auditor.output.formats.problems import of_model  # noqa: PLC0415

    with reports_here(report) as (folder,):
        model = FindingsModel.open(folder, shown=shown_url(report), clusters=clusters)
        yield Path(folder), of_model(model, clusters, history)


def _kept(problems: Callable[[], Iterator[Problem]]) -> Callable[[], Iterator[Problem]]:
    """Return a function that yields the same problems each time: of a few they are read from the report only once."""
    kept: list[Problem] | None = None

    def again() -> Iterator[Problem]:
        nonlocal kept
        if kept is not None:
            yield from kept
            return
        problems_, count = [], 0
        for problem in problems():
            count += 1
            if count <= _MOST_KEPT:
                problems_.append(problem)
            yield problem
        if count <= _MOST_KEPT:
            kept = problems_

    return again


def write_outputs(content: Content, outputs: Sequence[FormatTarget], mode: int) -> None:
    """Write content in some formats.

    Args:
        content: What is written.
        outputs: The formats.
        mode: Permissions of files whose format sets none.
    """
    if len(outputs) > 1:
        content = replace(content, problems=_kept(content.problems))
    for output in outputs:
        form, target, mode_here = output.format, output.target, output.format.mode or mode
        if not target:
            form.write(content, sys.stdout if sys.stdout.isatty() else plain(sys.stdout))
            sys.stdout.flush()
        else:
            written = form.after(content, earlier_text(target)) if form.earlier else content
            with new_file(target, mode_here) as stream:
                form.write(written, stream)


@contextmanager
def failed_runs_noted(texts: Sequence[str]) -> Iterator[None]:
    """Let metrics say that a run failed, if the block ends with an error before there is a report.

    Args:
        texts: The values of -o.
    """
    started = time.time()
    try:
        yield
    except SystemExit:  # the run has ended, with a report
        raise
    except BaseException as error:
        if (code := exit_code_of(error)) != _LOCKED:
            _note_failure(texts, started, code)
        raise


def _note_failure(texts: Sequence[str], started: float, code: int) -> None:
    from auditor.output.formats.prometheus import after_no_report  # noqa: PLC0415 - only after a failure

    for text in texts:
        name, _, target = text.partition("=")
        if name != "prometheus" or not target:
            continue
        target = local_path(target) or target
        try:
            write_text(target, after_no_report(earlier_text(target), started, code), _MODE)
        except (AuditorError, OSError) as error:
            ErrorLines()(f"warning: {shown_url(target)} does not say that this run failed: {error}\n")


_MOST_EARLIER: Final = 4 << 20


@contextmanager
def new_file(target: str, mode: int) -> Iterator[TextIO]:
    """Yield a stream whose content replaces a file or object atomically, if the block ends without an error.

    Args:
        target: Path or URL.
        mode: Permissions of a file.

    Raises:
        SourceError: The store refuses it.
    """
    if is_remote(target):
        with temporary_folder("output") as folder:
            with _opened(folder / "content") as stream:
                yield stream
            copy_file(folder / "content", target)
        return
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    with ExitStack() as stack:
        stack.callback(part.unlink, missing_ok=True)
        with _opened(part) as stream:
            yield stream
        part.chmod(mode)
        part.replace(path)


def _opened(path: Path) -> TextIO:
    """Return a stream to a file that only its owner can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    return os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="")


def write_text(target: str, text: str, mode: int) -> None:
    """Write a text to a file or a URL, atomically."""
    with new_file(target, mode) as stream:
        stream.write(text)


def earlier_text(target: str) -> str:
    """Return the beginning of the content of a target; empty if it cannot be read."""
    try:
        if is_remote(target):
            data = (read_file(target) or b"")[:_MOST_EARLIER]
        else:
            with Path(target).open("rb") as stream:
                data = stream.read(_MOST_EARLIER)
    except (OSError, SourceError):
        return ""
    return data.decode("utf-8", "replace")


def is_below(target: str, folder: str) -> bool:
    """Return whether a file or object would be in a folder."""
    if is_remote(target) or is_remote(folder):
        return f"{target.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")
    return Path(os.path.realpath(target)).is_relative_to(os.path.realpath(folder))
