"""A worker that is killed in a real audit: noticed, its shard tried once more, then reported; no key is skipped silently."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.documents import definition_of
from tests.shared import ROOT

OBJECTS = 60_000
CRD = definition_of({"type": "object"})


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    head = '{"apiVersion":"x.example.com/v1","kind":"X","metadata":{"namespace":"d","name":"x'
    (folder / "many.ndjson").write_text("".join(f'{head}{number}"}}}}\n' for number in range(OBJECTS)))
    (folder / "crd.json").write_text(json.dumps(CRD))
    return folder


def workers(parent):
    """Processes two levels below one: the fork server's children, except the tracker of resources."""
    tree = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            tree.setdefault(int(fields[1]), []).append(int(status.parent.name))
    return [grandchild for child in tree.get(parent, []) for grandchild in tree.get(child, [])]


def run(dump, out, kills):
    """Run an audit with two workers, kill that many of them; return (process, its standard error, kills)."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pipelines", "audit", str(dump / "many.ndjson"), "--crds", str(dump / "crd.json"),
         "--report", str(out / "r"), "--jobs", "2", "--fail-on", "never"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    killed = set()
    deadline = time.monotonic() + 120
    while len(killed) < kills and process.poll() is None and time.monotonic() < deadline:
        for pid in workers(process.pid):
            if pid not in killed and len(killed) < kills:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)
        time.sleep(0.002)
    said, error = process.communicate(timeout=120)
    return process.returncode, said, error, len(killed)


def statuses(out):
    manifest = json.loads((out / "r" / "manifest.json").read_text())
    rows = [row for part in sorted((out / "r" / "objects").glob("*")) for row in pq.read_table(part).to_pylist()]
    return manifest, rows


@pytest.mark.slow
def test_one_killed_worker_costs_nothing(dump, tmp_path):
    code, _, error, killed = run(dump, tmp_path, kills=1)
    assert (code, killed) == (0, 1), error
    manifest, rows = statuses(tmp_path)
    assert manifest["lost"] == []
    assert manifest["counts"]["statuses"] == {"valid": OBJECTS}
    assert len(rows) == len({row["name"] for row in rows}) == OBJECTS


@pytest.mark.slow
def test_a_shard_whose_workers_are_killed_twice_is_reported_and_every_key_has_a_row(dump, tmp_path):
    code, said, error, killed = run(dump, tmp_path, kills=40)
    assert code == 3, error
    assert killed >= 2
    manifest, rows = statuses(tmp_path)
    assert manifest["exit_code"] == 3
    assert manifest["lost"]
    more = re.compile(r"shard \d+: \d+ more objects were not audited")
    named = [line for line in manifest["lost"] if not more.fullmatch(line)]
    assert named
    assert [line for line in named if "its worker ended twice, last with exit code -9" not in line] == []
    counted = manifest["counts"]["statuses"]
    assert sum(counted.values()) == len(rows) == OBJECTS
    lost = [row for row in rows if row["status"] == "unreadable"]
    assert len(lost) == counted["unreadable"] > 0
    assert all("worker lost" in row["reason"] and row["offset"] is not None and row["length"] for row in lost)
    assert "worker lost" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r"]
