"""One run at a time for a report root.

In a folder it is an advisory lock (flock) on a file: the system frees it when its process ends, however that happens.
In a store it is a file written by a conditional create; one whose process is dead, or that is older than a day, is
taken over. Where neither exists the run refuses, unless the user does without a lock.
"""

from __future__ import annotations

import datetime
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.base.errors import Locked, PlanError
from auditor.base.visible import visible
from auditor.sources.files.work_folder import is_dead, this_process, try_lock
from auditor.sources.stores.locations import shown_url
from auditor.sources.stores.small_files import create_file, joined, read_file, remove_files
from pipelines.run.job.roots import LocalRoot, Root

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LOCK_FILE", "run_lock"]

LOCK_FILE: Final = ".auditor-lock"
_EXPIRES: Final = 86400.0
"""Seconds after which the lock of a process on another machine counts as abandoned."""
_LONGEST: Final = 1 << 16


@contextmanager
def run_lock(root: Root) -> Iterator[None]:
    """Hold the lock of a report root while the block runs.

    Raises:
        Locked: Another run holds it; names the run.
        PlanError: The file system or store has no locks.
    """
    if isinstance(root, LocalRoot):
        with _folder_lock(Path(root.location)):
            yield
        return
    url = joined(root.location, LOCK_FILE)
    _take(url)
    try:
        yield
    finally:
        remove_files([url])


def _holder() -> bytes:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return orjson.dumps({"tool": "auditor", "since": now, "time": time.time(), **this_process()})


def _known(data: bytes | None) -> dict[str, Any]:
    try:
        content = orjson.loads(data or b"{}")
    except orjson.JSONDecodeError:
        return {}
    return content if type(content) is dict else {}


def _locked(where: str, holder: dict[str, Any], advice: str) -> Locked:
    """Return the error that names the run that holds a lock."""
    pid, host, since = (visible(str(holder.get(name, "?"))) for name in ("pid", "host", "since"))
    return Locked(where, f"another run writes reports there: process {pid} on {host}, since {since}", "", advice)


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    path = folder / LOCK_FILE
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with os.fdopen(descriptor, "r+b") as stream:
        held = try_lock(stream)
        if held is None:
            raise _no_locks(str(folder))
        if not held:
            raise _locked(str(folder), _known(stream.read(_LONGEST)), "wait for it to end, or stop it")
        stream.truncate()
        stream.write(_holder())
        stream.flush()
        yield
        stream.seek(0)
        stream.truncate()  # the file remains: after removing it, two runs could lock different files with the same name


def _no_locks(where: str) -> PlanError:
    advice = "give --no-lock if no other run can write there at the same time"
    return PlanError(where, "has no locks that keep two runs apart", "a file system or store with locks", advice)


def _take(url: str) -> None:
    """Create the lock of a store, or take over an abandoned one."""
    where = shown_url(url)
    for _ in range(2):
        created = create_file(url, _holder())
        if created is None:
            raise _no_locks(where)
        if created:
            if create_file(url, _holder()):  # a server that ignores the condition reports success again
                remove_files([url])
                raise _no_locks(where)
            return
        holder = _known(read_file(url))
        if not _is_left_behind(holder):
            raise _locked(where, holder, f"wait for it to end; if it is dead, remove {where}")
        remove_files([url])
    raise _locked(where, {}, "start the run again")


def _is_left_behind(holder: dict[str, Any]) -> bool:
    if not holder:
        return False
    taken = holder.get("time")
    return is_dead(holder) or (isinstance(taken, int | float) and time.time() - taken > _EXPIRES)
