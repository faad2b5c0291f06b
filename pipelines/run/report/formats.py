"""Writes a report in file formats: each file appears whole, with the permissions of the report, or of its format."""

from __future__ import annotations

import io
import os
import stat
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.base.errors import PlanError
from auditor.report.formats.registry import FORMATS, Format
from auditor.report.manifest import MANIFEST
from auditor.sources.stores.locations import is_remote, is_web, local_path, shown_url
from auditor.sources.stores.small_files import write_file
from pipelines.run.remote import reports_here
from pipelines.streams import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import TextIO

    from auditor.report.formats.problems import Content
    from auditor.report.trend.history import History

__all__ = [
    "Output",
    "opened_content",
    "parse_outputs",
    "prints",
    "split_outputs",
    "write_outputs",
    "write_report",
    "write_text",
]


@dataclass(frozen=True, slots=True)
class Output:
    """A format and where it goes.

    Attributes:
        format: The format.
        target: A file, a folder that ends in a slash, or a URL; empty: standard output.
    """

    format: Format
    target: str


def parse_outputs(texts: Sequence[str], report: str = "") -> list[Output]:
    """Return the outputs that `-o FORMAT` and `-o FORMAT=FILE` name.

    Args:
        texts: The values of the option.
        report: Folder of the report; no file may be written into it.

    Raises:
        PlanError: A format is unknown, two print, or a file lies in the report.
    """
    found = []
    for text in texts:
        name, equals, target = _parsed(text, FORMATS)
        if equals and not target:
            raise PlanError("-o", f"{text!r} names no file", f"{name}=FILE")
        target = local_path(target) or target
        if is_web(target):
            raise PlanError("-o", f"{shown_url(target)}: a web server takes no files", "a file, or a URL such as s3://")
        if target.endswith("/") and not FORMATS[name].folder:
            raise PlanError("-o", f"{name} is one file", f"{name}=FILE", f"{target} is a folder")
        if report and target and _is_below(target, report):
            raise PlanError("-o", f"{target} lies in the report {report}, whose files are listed", "another folder")
        found.append(Output(FORMATS[name], target))
    _check_printed(texts)
    return found


def split_outputs(texts: Sequence[str], own: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the outputs that are forms of a command itself, as (name, file or empty), and the others.

    Raises:
        PlanError: Several are to be printed, or a form names no file.
    """
    mine, others = [], []
    for text in texts:
        name, equals, target = _parsed(text, dict.fromkeys((*own, *FORMATS)))
        if name not in own:
            others.append(text)
            continue
        if equals and (not target or is_web(target) or target.endswith("/")):
            raise PlanError("-o", f"{text!r} names no file", f"{name}=FILE")
        mine.append((name, local_path(target) or target))
    _check_printed(texts)
    return mine, others


def _parsed(text: str, known: Collection[str]) -> tuple[str, str, str]:
    """Return name, ``=`` and target of a value of -o, whose name must be known."""
    name, equals, target = text.partition("=")
    if name not in known:
        raise PlanError("-o", f"{name!r} is no format", f"one of {', '.join(known)}")
    return name, equals, target


def _check_printed(texts: Sequence[str]) -> None:
    """Refuse several values of -o that print."""
    if sum("=" not in text for text in texts) > 1:
        raise PlanError("-o", "two formats are to be printed", "one at most", "give the others as FORMAT=FILE")


def write_text(target: str, text: str, mode: int) -> None:
    """Write a text to a file or a URL, in one step."""
    if is_remote(target):
        write_file(target, text.encode("utf-8", "backslashreplace"))
        return
    with _new_file(Path(target), mode) as stream:
        stream.write(text)


def prints(outputs: Sequence[Output]) -> bool:
    """Return whether one of the outputs is standard output: then nothing else is printed there."""
    return any(not one.target for one in outputs)


def _is_below(target: str, report: str) -> bool:
    if is_remote(target) or is_remote(report):
        return f"{target.rstrip('/')}/".startswith(f"{report.rstrip('/')}/") and target != report
    return Path(target).absolute().is_relative_to(Path(report).absolute())


def write_report(
    report: str, outputs: Sequence[Output], clusters: Sequence[str] = (), history: History | None = None
) -> None:
    """Write a stored report in some formats.

    Args:
        report: Its folder or URL.
        outputs: The formats.
        clusters: Only these clusters of a fleet; empty: all.
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
    from auditor.report.findings.model import FindingsModel  # noqa: PLC0415 - only when asked
    from auditor.report.formats.problems import of_model  # noqa: PLC0415

    with reports_here(report) as (folder,):
        model = FindingsModel.open(folder, shown=shown_url(report), clusters=clusters)
        yield Path(folder), of_model(model, clusters, history)


def write_outputs(content: Content, outputs: Sequence[Output], mode: int) -> None:
    """Write content in some formats.

    Args:
        content: What is written.
        outputs: The formats.
        mode: Permissions of files whose format sets none.
    """
    for output in outputs:
        if not output.target:
            output.format.write(content, sys.stdout if sys.stdout.isatty() else plain(sys.stdout))
            sys.stdout.flush()
        elif output.target.endswith("/"):
            output.format.write_folder(content, Path(output.target))
            for path in Path(output.target).iterdir():
                if path.suffix in (".html", ".css", ".js"):
                    path.chmod(output.format.mode or mode)
        elif is_remote(output.target):
            buffer = io.StringIO()
            output.format.write(content, buffer)
            write_file(output.target, buffer.getvalue().encode("utf-8", "backslashreplace"))
        else:
            with _new_file(Path(output.target), output.format.mode or mode) as stream:
                output.format.write(content, stream)


@contextmanager
def _new_file(path: Path, mode: int) -> Iterator[TextIO]:
    """Yield a stream whose content takes the place of a file in one step, if the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with ExitStack() as stack:
        stack.callback(part.unlink, missing_ok=True)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            yield stream
        part.chmod(mode)
        part.replace(path)
