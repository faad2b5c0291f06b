"""Processors and memory are those of the process's cgroup, with mounts as hosts and containers have them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from auditor.base.machine import memory_limit, processors

if TYPE_CHECKING:
    from pathlib import Path

OWN = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
MEMINFO = {"proc/meminfo": "MemTotal:        1000 kB\nMemFree: 1 kB\n"}


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, OWN),
        ({"sys/fs/cgroup/cpu.max": "max 100000\n"}, OWN),
        ({"sys/fs/cgroup/cpu.max": "100000 100000\n"}, 1),
        ({"sys/fs/cgroup/cpu.max": "25000 100000\n"}, 1),
        ({"sys/fs/cgroup/cpu.max": "no numbers\n"}, OWN),
        ({"proc/self/cgroup": "0::/pods/a\n", "sys/fs/cgroup/pods/cpu.max": "100000 100000\n",
          "sys/fs/cgroup/pods/a/cpu.max": "max 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/on/the/host\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        ({"proc/self/cgroup": "4:cpu,cpuacct:/pod\n", "sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_quota_us": "100000\n",
          "sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_period_us": "100000\n"}, 1),
        ({"proc/self/cgroup": "1:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
          "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, OWN),
    ],
)  # fmt: skip
def test_processors_are_those_of_the_cgroup(tmp_path: Path, files: dict[str, str], expected: int) -> None:
    assert processors(machine(tmp_path, files)) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 0),
        (MEMINFO, 1000 << 10),
        ({**MEMINFO, "sys/fs/cgroup/memory.max": "max\n"}, 1000 << 10),
        ({**MEMINFO, "sys/fs/cgroup/memory.max": "5000\n"}, 5000),
        ({**MEMINFO, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "700\n",
          "sys/fs/cgroup/a/b/memory.max": "900\n"}, 700),
        ({**MEMINFO, "proc/self/cgroup": "4:memory:/pod\n",
          "sys/fs/cgroup/memory/pod/memory.limit_in_bytes": "6000\n",
          "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 6000),
    ],
)  # fmt: skip
def test_memory_is_the_smallest_limit(tmp_path: Path, files: dict[str, str], expected: int) -> None:
    assert memory_limit(machine(tmp_path, files)) == expected
