"""Permissions of a report: no wider than those of its dumps, unless `--report-mode` sets them."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from auditor.report.manifest import MANIFEST
from auditor.sources.stores.locations import is_remote, local_path
from auditor.sources.stores.patterns import expand, has_wildcards

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.plan.options import AuditOptions

__all__ = ["local_files", "mode_of", "set_modes"]

_OWNER: Final = 0o600
_ANYBODY: Final = 0o666


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
