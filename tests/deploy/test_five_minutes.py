"""The page "Nightly in five minutes", from zero to the second night, by its own commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.papers.blocks import blocks_of
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "guide" / "nightly-in-five-minutes.md"
ETCDCTL = f"""#!{sys.executable}
import gzip, pathlib, sys
assert sys.argv[1:3] == ["snapshot", "save"]
print("Snapshot saved")
print("{{}}", file=sys.stderr)
if pathlib.Path("broken").exists():
    sys.exit("no connection")
pathlib.Path(sys.argv[3]).write_bytes(gzip.open({str(ROOT / "sample-data" / "cluster.db.gz")!r}).read())
"""


def run(command: str, folder: Path, *programs: Path, shell: str = "bash") -> subprocess.CompletedProcess[str]:
    path = ":".join([*map(str, programs), "/usr/local/bin:/usr/bin:/bin"])
    env = {"PATH": path, "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    env |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    call = ["bash", "-euo", "pipefail", "-c", command] if shell == "bash" else [shell, "-c", command]
    return subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, check=False)


def nights(folder: Path, program: Path) -> None:
    """Run what the page says after the installation, and check both nights."""
    tools = folder / "tools"
    tools.mkdir()
    (tools / "etcdctl").write_text(ETCDCTL)
    (tools / "etcdctl").chmod(0o755)
    blocks = blocks_of(PAGE)
    (snapshot,) = [text for _, text in blocks if text.startswith("etcdctl")]
    first, second = [text.strip().splitlines() for language, text in blocks if language == "sh"]
    assert run(snapshot, folder, tools).returncode == 0
    done = run(first[0], folder, program)
    assert done.returncode == 1, done.stderr
    assert "nothing is compared" in done.stderr
    shown = run(first[1], folder, program)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert re.search(r"^critical +Order +north/order-torn ", shown.stdout, re.MULTILINE)
    (one,) = (folder / "out").glob("2*")
    one.rename(one.with_name("2026-01-01T020000Z"))  # a night ago
    assert run(snapshot, folder, tools).returncode == 0
    done = run(second[0], folder, program)
    assert done.returncode == 1, done.stderr  # an order breaks its kind for every client until it is repaired
    shown = run(second[1], folder, program)
    assert (shown.returncode, shown.stderr) == (0, "")
    manifests = [json.loads(path.read_text()) for path in sorted((folder / "out").glob("2*/manifest.json"))]
    assert len(manifests) == 2
    assert manifests[1]["diff"]["report"] == "out/2026-01-01T020000Z"
    assert manifests[1]["diff"]["first_new"] == []
    assert manifests[1]["diff"]["findings"].get("new", 0) == 0
    record = json.loads((folder / "out" / "last-run.json").read_text())
    assert (record["exit_code"], record["since"]) == (1, "out/2026-01-01T020000Z")
    (crontab,) = [text for _, text in blocks if "17 2 " in text]
    setting, line = crontab.splitlines()
    assert setting.startswith("PATH=/")
    scheduled = line.split(maxsplit=5)[5].replace("/var/lib/auditor", str(folder))
    assert scheduled.strip().endswith(f"{second[0]} --quiet")
    done = run(scheduled, folder, tools, program, shell="sh")
    assert (done.returncode, bool(done.stdout), done.stderr) == (1, True, "")
    assert len(list((folder / "out").glob("2*"))) == 3
    done = run(f"{scheduled} --no-fail-on-standing", folder, tools, program, shell="sh")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")  # all is well: cron mails nothing
    (folder / "broken").touch()
    done = run(scheduled, folder, tools, program, shell="sh")
    assert (done.returncode, done.stderr) == (4, "")
    assert done.stdout.endswith("no connection\n")


def test_the_page_is_short() -> None:
    text = PAGE.read_text()
    assert len(text.splitlines()) <= 40
    codes = set(re.findall(r"(?:[Cc]ode |; )([0-9]):? ", text))
    assert {"1", "3", "4", "5"} <= codes


@pytest.mark.slow
def test_two_nights_by_the_page(tmp_path: Path) -> None:
    program = tmp_path / "bin"
    program.mkdir()
    (program / "auditor").write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m pipelines "$@"\n')
    (program / "auditor").chmod(0o755)
    nights(tmp_path, program)


@pytest.mark.nightly
def test_from_zero_to_the_second_night(tmp_path: Path) -> None:
    """As someone does who has just cloned the repository: its own installation line, in a new environment."""
    clone = tmp_path / "clone"
    shutil.copytree(ROOT, clone, ignore=shutil.ignore_patterns(".*", "build", "out", "tests", "__pycache__"))
    (line,) = [text for _, text in blocks_of(PAGE) if "pip install" in text]
    folder = tmp_path / "work"
    folder.mkdir()
    python = tmp_path / "python"
    python.mkdir()
    (python / "python3").symlink_to(os.path.realpath(sys.executable))
    done = run(line, clone, python)
    if "No matching distribution" in done.stderr:
        pytest.skip("no package index")
    assert done.returncode == 0, done.stderr
    nights(folder, clone / "venv" / "bin")
