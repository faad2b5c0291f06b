"""One run at a time for a report root.

In a folder it is an advisory lock (flock) on a file: the system frees it when its process ends, however that happens.
In a store it is a lease: a file written by a conditional create, and again each minute while the run lives. One that
was not written for some minutes, or whose process is dead, is taken over. Where neither exists the run refuses, unless
the user does without a lock.
"""

from __future__ import annotations

import datetime
import os
import threading
import time
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.base.errors import AuditorError, Locked, PlanError
from auditor.base.visible import visible
from auditor.sources.files.work_folder import is_dead_here, this_process, try_lock
from auditor.sources.stores.locations import shown_url
from auditor.sources.stores.store_folder import create_file, joined, read_file, remove_files, write_file
from pipelines.log import LOG
from pipelines.run.job.roots import LocalRoot, Root

if TYPE_CHECKING:
    from collections.abc import Iterator


LOCK_FILE: Final = ".auditor-lock"
_LEASE: Final = 300.0
"""Seconds after which a lock that was not renewed counts as abandoned."""
_HEARTBEAT: Final = 60.0
"""Seconds between two renewals: several may fail before the lock counts as abandoned."""
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
    holder = _holder()
    _take(url, holder)
    ended = threading.Event()
    heart = threading.Thread(target=_renew, args=(url, holder, ended), daemon=True)
    heart.start()
    try:
        yield
    finally:
        ended.set()
        heart.join()
        if _is_of(url, holder):
            remove_files([url])


def _renew(url: str, holder: dict[str, Any], ended: threading.Event) -> None:
    """Write a lock again from time to time until the run has ended, or another run has taken it over."""
    while not ended.wait(_HEARTBEAT):
        try:
            if not _is_of(url, holder):
                text = f"another run took {shown_url(url)} over: this one did not renew it for {_LEASE:.0f} s"
                LOG.warning("lock", text)
                return
            write_file(url, _written({**holder, "time": time.time()}))
        except AuditorError as error:
            LOG.warning("lock", f"the lock was not renewed: {error}")


def _is_of(url: str, holder: dict[str, Any]) -> bool:
    return bool(_known(read_file(url)).get("id") == holder["id"])


def _holder() -> dict[str, Any]:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"tool": "auditor", "id": uuid.uuid4().hex, "since": now, "time": time.time(), **this_process()}


def _written(holder: dict[str, Any]) -> bytes:
    return orjson.dumps(holder)


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
        stream.write(_written(_holder()))
        stream.flush()
        yield
        stream.seek(0)
        stream.truncate()  # the file remains: after removing it, two runs could lock different files with the same name


def _no_locks(where: str) -> PlanError:
    advice = "give --no-lock if no other run can write there at the same time"
    return PlanError(where, "has no locks that keep two runs apart", "a file system or store with locks", advice)


def _take(url: str, holder: dict[str, Any]) -> None:
    """Create the lock of a store, or take over an abandoned one."""
    where = shown_url(url)
    for _ in range(2):
        created = create_file(url, _written(holder))
        if created is None:
            raise _no_locks(where)
        if created:
            if create_file(url, _written(holder)):  # a server that ignores the condition reports success again
                remove_files([url])
                raise _no_locks(where)
            return
        data = read_file(url)
        other = _known(data)
        if not _is_left_behind(other):
            advice = f"wait for it to end; if it is dead, its lock ends {_LEASE / 60:.0f} minutes after it did"
            raise _locked(where, other, advice)
        if read_file(url) == data:  # else another run has just taken it over
            remove_files([url])
    raise _locked(where, _known(read_file(url)), "wait for it to end")


def _is_left_behind(holder: dict[str, Any]) -> bool:
    """Return whether the process of a lock is dead, or did not renew it: clocks of nodes differ by seconds at most."""
    if not holder:
        return False
    renewed = holder.get("time")
    return is_dead_here(holder) or (isinstance(renewed, int | float) and time.time() - renewed > _LEASE)
