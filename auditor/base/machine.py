"""How many processors and how much memory this process may use: those of its cgroup and affinity mask, not the host's.

It imports only small modules, as it is used before others are loaded.
"""

from __future__ import annotations

import math
import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


_ROOT: Final = Path("/")


def processors(root: Path = _ROOT) -> int:
    """Return the number of processors that this process may keep busy, at least 1.

    Args:
        root: Folder that holds `proc` and `sys`; tests give their own.

    Source: cgroup v2 cpu.max and v1 cpu.cfs_quota_us, as the Go runtime reads them; fractions count as whole ones.
    """
    allowed = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    for folder in _folders(root, "cpu"):
        allowed = min(allowed, _quota(folder))
    return max(1, math.ceil(allowed))


def memory_limit(root: Path = _ROOT) -> int:
    """Return the bytes of memory that this process may use: the smallest limit of its cgroups, or all of the machine.

    Args:
        root: Folder that holds `proc` and `sys`; tests give their own.

    Returns:
        Bytes; 0 if the system does not say.
    """
    known = []
    for folder in _folders(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            with suppress(OSError, ValueError):  # "max": no limit
                known.append(int((folder / name).read_text(encoding="ascii")))
    with suppress(OSError, ValueError, IndexError):
        known.append(int((root / "proc/meminfo").read_text(encoding="ascii").split()[1]) << 10)
    return min(known, default=0)


def address_space() -> int:
    """Return the bytes of address space that this process may use (`ulimit -v`); 0 if it has no limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return 0 if soft == resource.RLIM_INFINITY else soft


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of this process's cgroups that may hold limits of a controller, each with those above it.

    A container often sees only its own cgroup, mounted as the root, while `/proc/self/cgroup` has the path that the
    host uses: folders that do not exist are left out, and the root is always one of them.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    base = root / "sys/fs/cgroup"
    paths = {base: None, base / controller: None}
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            mounts = [base, base / "unified"]
        elif controller in controllers.split(","):
            mounts = [base / controller, base / controllers]
        else:
            continue
        for mount in mounts:
            below = mount / path.lstrip("/")
            paths |= dict.fromkeys(folder for folder in (below, *below.parents) if folder.is_relative_to(mount))
    return (folder for folder in paths if folder.is_dir())


def _quota(folder: Path) -> float:
    """Return the processors that a cgroup may use; infinity if it has no limit."""
    with suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        return int(quota) / int(period)
    with suppress(OSError, ValueError, ZeroDivisionError):
        allowed = int((folder / "cpu.cfs_quota_us").read_text(encoding="ascii"))
        if allowed > 0:  # -1: no limit
            return allowed / int((folder / "cpu.cfs_period_us").read_text(encoding="ascii"))
    return math.inf
