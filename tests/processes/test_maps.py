"""Files that a process reads by a map, or prints to."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def test_what_this_process_prints_to_is_no_part_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("")
    (tmp_path / "a.json").write_text("{}")
    code = (
        "import sys; from auditor.sources.files.state import states_below as s; print([p.path for p in s(sys.argv[1])])"
    )
    with (tmp_path / "out.txt").open("w") as out:
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], stdout=out, check=True)
    assert (tmp_path / "out.txt").read_text().strip() == str([str(tmp_path / "a.json")])


_CUT = """
import mmap, os, sys, threading, hashlib
from auditor.sources.files.digest import map_file
data = map_file(sys.argv[1])
os.truncate(sys.argv[1], 5000)
found = []
thread = threading.Thread(target=lambda: found.append(hashlib.sha256(memoryview(data)).hexdigest()))
thread.start()
thread.join()
import numpy
print(len(found), data[:3], data[8 << 20 : (8 << 20) + 2], data.find(b"y"), int(numpy.frombuffer(data, "u1").sum()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="maps are guarded on Linux")
def test_a_map_of_a_file_that_is_cut_short_reads_as_zeros(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * (16 << 20))
    ended = subprocess.run([sys.executable, "-c", _CUT, str(path)], capture_output=True, text=True, check=False)
    kept = 5000
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["1", "b'xxx'", r"b'\x00\x00'", "-1", str(kept * ord("x"))]


@pytest.mark.skipif(sys.platform != "linux", reason="maps are guarded on Linux")
def test_another_bus_error_still_ends_the_process() -> None:
    code = (
        "import os, signal; from auditor.sources.files.digest import guard_maps; guard_maps(); os.kill(os.getpid(), 7)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert ended.returncode == -7
