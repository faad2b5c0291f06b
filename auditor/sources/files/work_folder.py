"""Temporary folders for copies of dumps: readable only by their owner; a later run removes those of killed runs.

Each has a file with the process that made it and the start time of that process, locked while the process lives. A
later run removes folders beside its own whose lock is free and whose process is dead. It cannot know that of a process
on another node, which shares the volume: there nothing in the folder must have changed for some time.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

try:
    import fcntl
except ImportError:  # pragma: no cover - not on this system
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator


_OWNER: Final = "owner.json"
_RANDOM: Final = 8
"""Number of random characters at the end of a name."""
_LONGEST: Final = 200
"""Largest length of a prefix in bytes; file systems allow 255."""
_TOOL: Final = "auditor"
_QUIET: Final = 1800.0
"""Seconds without a change after which a folder of another node, whose lock is free, counts as left behind."""


@contextmanager
def work_folder(parent: Path, name: str, restored: str = "") -> Iterator[Path]:
    """Yield a new folder that is removed at the end; folders of dead runs beside it are removed first.

    Args:
        parent: The parent folder.
        name: Prefix of its name.
        restored: Name of a sibling that a run moves to ``old`` before it replaces it; if a dead run replaced it by
            nothing, it is moved back.

    Raises:
        OSError: It cannot be created.
    """
    prefix = name.encode("utf-8", "surrogateescape")[:_LONGEST].decode("utf-8", "ignore")
    clear_dead_folders(parent, prefix[:1])
    with private_folder(parent, f"{prefix}.") as folder:
        unfinished = folder / f"{_OWNER}.new"
        with unfinished.open("w") as stream:
            json.dump({"tool": _TOOL, "restored": restored, **this_process()}, stream)
            stream.flush()
            try_lock(stream)
            unfinished.rename(folder / _OWNER)  # appears whole: a run killed while writing it would never be removed
            yield folder


@contextmanager
def private_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield a new folder, readable only by its owner, that is removed at the end.

    Unlike with `tempfile.mkdtemp`, a signal that comes as soon as the folder exists does not leave it behind.

    Args:
        parent: The parent folder.
        prefix: Prefix of its name; random characters follow.

    Raises:
        OSError: It cannot be created.
    """
    folder = parent / f"{prefix}{os.urandom(_RANDOM // 2).hex()}"
    is_new = not os.path.lexists(folder)
    try:
        folder.mkdir(0o700)
        yield folder
    finally:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def temporary_folder(name: str) -> Iterator[Path]:
    """Yield a work folder in the system's folder for temporary files."""
    with work_folder(Path(tempfile.gettempdir()), f"auditor-{name}") as folder:
        yield folder


def clear_dead_folders(parent: Path, start: str) -> None:
    """Remove the work folders of dead runs in a folder.

    Args:
        parent: The folder.
        start: Prefix of their names.
    """
    try:
        with os.scandir(parent) as entries:
            names = [
                entry.name for entry in entries if entry.name.startswith(start) and entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return
    for name in names:
        if name.rpartition(".")[2].isascii() and len(name.rpartition(".")[2]) == _RANDOM:
            _clear(parent / name)


def _clear(folder: Path) -> None:
    """Remove a folder if it is a work folder of the auditor whose process is dead."""
    try:
        seen = os.lstat(folder)
        if hasattr(os, "geteuid") and (seen.st_uid != os.geteuid() or stat.S_IMODE(seen.st_mode) & 0o077):
            return  # of another user, or not created as a work folder
        descriptor = os.open(folder / _OWNER, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
        try:
            owner = json.loads(stream.read(1 << 16))
        except ValueError:
            return
        if type(owner) is not dict or owner.get("tool") != _TOOL:
            return
        is_free = try_lock(stream)
        if is_free is False or not (is_dead_here(owner) or (is_free and _is_left_behind(folder, owner))):
            return
        _restore(folder, owner.get("restored"))
        shutil.rmtree(folder, ignore_errors=True)


def _is_left_behind(folder: Path, owner: dict[str, Any]) -> bool:
    """Return whether a folder whose lock is free, of a process of another container or node, is in use no more."""
    boot = owner.get("boot")
    if type(owner.get("pid")) is not int or not boot:
        return False
    if boot == _boot():
        return owner.get("space") != _space()  # another container of this machine, which has one table of locks
    try:
        newest = max(os.lstat(path).st_mtime for path in _all_in(folder))
    except OSError:  # another run removes it
        return False
    return time.time() - newest > _QUIET


def _all_in(folder: Path) -> Iterator[str]:
    for below, _, names in os.walk(folder):
        yield below
        yield from (os.path.join(below, name) for name in names)  # noqa: PTH118


def try_lock(stream: IO[Any] | int) -> bool | None:
    """Lock an open file or folder; return whether it succeeded, or None if the file system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _restore(folder: Path, name: Any) -> None:
    """Move back a folder that a run moved away before it was killed."""
    if type(name) is not str or Path(name).name != name or name in {"", ".", ".."}:
        return
    target, old = folder.parent / name, folder / "old"
    if old.is_dir() and not os.path.lexists(target):
        try:
            old.rename(target)
        except OSError:
            return


def this_process() -> dict[str, Any]:
    """Return the identity of this process, on this machine and others, for `is_dead_here`."""
    pid = os.getpid()
    return {"pid": pid, "started": _start_of(pid), "boot": _boot(), "space": _space(), "host": _host()}


def is_dead_here(owner: dict[str, Any]) -> bool:
    """Return whether a process of this machine and container has ended; False for others, where it is not known."""
    pid, boot = owner.get("pid"), owner.get("boot")
    if type(pid) is not int or pid <= 0 or owner.get("space") != _space():
        return False
    if boot != _boot():
        return bool(boot) and owner.get("host") == _host()  # this machine was restarted since
    if not boot and owner.get("host") != _host():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    started = _start_of(pid)
    return bool(started) and started != owner.get("started")  # another process has its number


def _start_of(pid: int) -> str:
    """Return the start time of a process, in ticks since the machine's; empty if not known."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    if not fields or fields[0] in {"Z", "X"}:
        return "ended"
    return fields[19] if len(fields) > 19 else ""


def _host() -> str:
    return os.uname().nodename if hasattr(os, "uname") else ""


def _space() -> str:
    """Return the namespace of process numbers: containers have their own."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
