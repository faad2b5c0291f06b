"""The folder that a report is written to: checks whether it may be replaced, replaces it, and sets its permissions.

Only files that an audit wrote are removed: the manifest of the old report must list each of them, and its name must be
one that reports use. Any other file in the folder, or an input of the run, makes the run refuse. Permissions are no
wider than those of the dumps, unless `--report-mode` sets them.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.base.errors import AuditorError, PlanError
from auditor.sources.registry_key import printable_name
from auditor.sources.stores.locations import is_remote, local_path
from auditor.sources.stores.patterns import expand, has_wildcards
from auditor.store.manifest import MANIFEST, manifest_bytes, parse_manifest
from pipelines.exit_codes import note_report
from pipelines.log import LOG

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.plan.options import AuditOptions


_TURNS: Final = 20
"""Attempts to put a report in place beside other runs."""
_PART: Final = r"part-\d{5,}\.parquet"
_WRITTEN: Final = re.compile(
    rf"(objects|findings|fixed|changes)/{_PART}|index/group=[^/]*/version=[^/]*/kind=[^/]*/{_PART}"
    r"|manifest\.json|definitions\.ndjson|(versions|causes)\.parquet"
)
"""Names of files of reports: no other file is removed, even if a manifest lists it. Older manifests list none."""
_TABLES: Final = frozenset({"objects", "findings", "fixed", "changes", "index"})
_NAMED: Final = 3
_OWNER: Final = 0o600
_ANYBODY: Final = 0o666


def target_of(given: str) -> Path:
    """Return the folder that a report replaces; for a link its target, as the link itself remains.

    Raises:
        PlanError: It cannot be replaced, even if it is empty.
    """
    report = Path(given)
    if report.name in {"", ".."}:
        raise PlanError(
            given or "--report", "is not a folder that can be replaced", "the name of a folder", "e.g. out/"
        )
    return Path(os.path.realpath(report)) if report.is_symlink() else report


def check_target(report: Path, *, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse a folder that is not a report, or holds other files too, or an input of the run.

    Raises:
        PlanError: Names what was found.
    """
    read = tuple(inputs)
    for _ in range(_TURNS):
        folder = _identity(report)
        try:
            _check_target(report, force=force, inputs=read)
        except (PlanError, OSError):
            if _identity(report) == folder:
                raise
            continue  # another run replaced it during the check
        return
    raise _replaced_again(report)


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the identity of the folder with a name, or None if there is none."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def _replaced_again(report: Path) -> PlanError:
    return PlanError(str(report), "is replaced by other runs again and again", "", "give another --report")


def _check_target(report: Path, *, force: bool, inputs: tuple[Path, ...]) -> None:
    if not report.exists():
        return
    if not report.is_dir():
        raise PlanError(str(report), "is a file", "a folder for the report", "give another --report")
    if not any(report.iterdir()):
        return
    if not (report / MANIFEST).exists():
        reason = "holds files that are not a report"
        raise PlanError(str(report), reason, "a new or empty folder", "give another --report")
    if not force:
        raise PlanError(str(report), "holds a report already", "", "give --force to replace it")
    root = report.resolve()
    for source in inputs:
        if source == root or source.is_relative_to(root):
            raise PlanError(
                str(source),
                f"is read by this run and is in {report}, which --force would remove",
                "",
                "give another --report, or move the input elsewhere",
            )
    check_manifest_of(str(report), manifest_bytes(report), files_of(report))


def check_manifest_of(report: str, manifest: bytes, entries: Iterable[tuple[str, bool]]) -> None:
    """Refuse a folder with files that do not belong to the report that its manifest describes.

    Args:
        report: The folder, for messages.
        manifest: Content of its manifest.
        entries: Path below the folder of each file and each empty folder, and whether it is a regular file.

    Raises:
        PlanError: Names what was found.
    """
    content = parse_manifest(manifest)
    if content is None or not _is_ours(content):
        raise PlanError(
            report,
            f"is not replaced: its {MANIFEST} is not that of a report",
            "a report that an audit wrote, or a new or empty folder",
            "give another --report, or remove the folder yourself",
        )
    listed = content.get("files")
    files = {MANIFEST, *(name for name in listed if type(name) is str)} if type(listed) is list else None
    others = [name for name, is_file in entries if not _is_of_report(name, files, is_file=is_file)]
    if others:
        some = ", ".join(printable_name(name) for name in sorted(others)[:_NAMED])
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        raise PlanError(
            report,
            f"is not replaced: it holds files that are not part of its report: {some}{more}",
            "only the files that its manifest lists",
            "move these elsewhere, or give another --report",
        )


def _is_ours(manifest: dict[str, Any]) -> bool:
    tool = manifest["tool"]
    return type(tool) is dict and tool.get("name") == "auditor"


def _is_of_report(name: str, files: set[str] | None, *, is_file: bool) -> bool:
    if not is_file:
        return name in _TABLES  # an empty folder
    return is_report_file(name) and (files is None or name in files)


def is_report_file(name: str) -> bool:
    """Return whether a path below a report is one that reports use."""
    return _WRITTEN.fullmatch(name) is not None


def files_of(report: Path) -> Iterator[tuple[str, bool]]:
    """Yield the path in a folder of each file and empty folder, and whether it is a regular file; links are not."""
    for folder, names, files in os.walk(report, onerror=_raise):
        below = Path(folder).relative_to(report)
        for name in files:
            yield (below / name).as_posix(), stat.S_ISREG(os.lstat(os.path.join(folder, name)).st_mode)  # noqa: PTH118
        for name in names:
            if os.path.islink(os.path.join(folder, name)):  # noqa: PTH114, PTH118
                yield f"{(below / name).as_posix()}/", False
        if not names and not files and folder != str(report):
            yield below.as_posix(), False


def _raise(error: OSError) -> None:
    raise PlanError(
        str(error.filename),
        f"cannot be read ({error.strerror}), so nothing is removed",
        "",
        "give another --report",
    ) from error


def inputs_of(options: AuditOptions, *others: str) -> list[Path]:
    """Return the local files and folders that a run reads, except earlier reports: the run may replace these.

    Args:
        options: The options of the run.
        others: Further paths.
    """
    given = (*options.dumps, *options.old, *options.crds, *options.gate_sidecars, options.encryption_config, *others)
    return [path.resolve() for path in local_files(given)]


def list_files(parts: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest of a new report, with a list of all its other files, which must exist by now.

    Args:
        parts: Folder of the report.
        manifest: Gets the list as well.
    """
    manifest["files"] = sorted(name for name, is_file in files_of(parts) if is_file and name != MANIFEST)
    (parts / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")


def put_in_place(parts: Path, report: Path, *, force: bool) -> None:
    """Rename the finished folder to its name; an old report is renamed first, so that one is always complete.

    Two runs may do this at once: each renames a complete report, and then renames its own to the free name.

    Args:
        parts: The finished folder.
        report: Its name.
        force: Replace a report that another run puts there meanwhile.
    """
    for turn in range(_TURNS):
        try:
            _move_aside(report, parts.parent / ("old" if turn == 0 else f"old-{turn}"))
            parts.rename(report)
        except FileNotFoundError:
            if not parts.exists():
                raise
            continue  # another run has moved the old report aside
        except OSError as error:
            if error.errno not in {errno.ENOTEMPTY, errno.EEXIST} or turn + 1 == _TURNS:
                raise
            if not force:
                check_target(report, force=False)  # another run has put its report there
        else:
            note_report(str(report))
            return
    raise _replaced_again(report)


def _move_aside(report: Path, old: Path) -> None:
    """Rename an old report, if there is one, and rename it back if it has other files."""
    if not report.exists():
        return
    report.rename(old)
    try:
        if any(old.iterdir()):
            check_target(old, force=True)  # another process may have added files
    except BaseException:
        old.rename(report)
        raise


@contextmanager
def read_of_run(report: str, manifest: dict[str, Any], *, is_needed: bool = False) -> Iterator[None]:
    """Warn if another run replaces a report while the block, of the run that wrote it, reads it by its name.

    Args:
        report: The folder or URL of the report; one in a store is not watched.
        manifest: Its manifest, as the run wrote it.
        is_needed: Raise errors of the block even so: it writes files that the user asked for.
    """
    folder = Path(local_path(report) or report)
    try:
        yield
    except (AuditorError, OSError):
        if is_remote(report) or _is_of(folder, manifest):
            raise
        _warn_replaced(report)
        if is_needed:
            raise
    else:
        if not is_remote(report) and not _is_of(folder, manifest):
            _warn_replaced(report)


def _warn_replaced(report: str) -> None:
    text = f"another run replaced {report} before this one ended: what this one prints or sends may be of that run"
    LOG.warning("replaced", text, report=report)


def _is_of(folder: Path, manifest: dict[str, Any]) -> bool:
    """Return whether a folder holds the report of a manifest."""
    try:
        content = parse_manifest(manifest_bytes(folder))
    except OSError:
        return False
    return content is not None and all(content.get(key) == manifest[key] for key in ("started", "seconds", "counts"))


# ---- permissions


def local_files(paths: Iterable[str]) -> Iterator[Path]:
    """Yield the local files and folders in arguments: patterns expand to several, standard input and stores to none."""
    for given in paths:
        path = local_path(given) if is_remote(given) else given
        if path and path != "-":
            is_pattern = has_wildcards(path) and not Path(path).exists()
            yield from (Path(match.path) for match in expand(path)) if is_pattern else (Path(path),)


def mode_of(options: AuditOptions, report: Path) -> int:
    """Return the permissions of the files of a report: the strictest of its dumps and of the earlier report it uses.

    Args:
        options: The options of the run.
        report: A file or folder of the report; if its group is not that of a dump, the group gets no more rights
            than others.
    """
    if options.report_mode:
        return int(options.report_mode, 8)
    umask = os.umask(0o077)
    os.umask(umask)
    mode, group = _ANYBODY & ~umask, report.stat().st_gid
    for path in local_files((*options.dumps, *options.old)):
        for seen in _seen(path):
            mode &= _read_by(seen, group)
    earlier = Path(options.diff) / MANIFEST
    if options.diff and not is_remote(options.diff) and earlier.exists():
        mode &= _read_by(earlier.stat(), group)
    return mode | _OWNER


def _seen(path: Path) -> Iterator[os.stat_result]:
    """Yield the status of a file, or of a folder and all files in it."""
    try:
        yield path.stat()
        if path.is_dir():
            for folder, _, names in os.walk(path):
                yield os.stat(folder)  # noqa: PTH116
                for name in names:
                    seen = os.lstat(os.path.join(folder, name))  # noqa: PTH118
                    if stat.S_ISREG(seen.st_mode):
                        yield seen
    except FileNotFoundError:
        return


def _read_by(seen: os.stat_result, group: int) -> int:
    mode = stat.S_IMODE(seen.st_mode)
    if seen.st_gid != group:
        mode = (mode & 0o707) | ((mode & 0o007) << 3)
    return mode


def set_modes(parts: Path, mode: int) -> None:
    """Set the permissions of all files of a report, and let the users that can read them enter the folders."""
    enter = mode | (mode & 0o444) >> 2
    for folder, _, names in os.walk(parts):
        Path(folder).chmod(enter)
        for name in names:
            (Path(folder) / name).chmod(mode)
