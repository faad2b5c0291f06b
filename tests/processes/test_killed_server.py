"""Processes of an audit that are killed at any time: the same report, or exit 70 with a reason; never less, unsaid."""

import gzip
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from tests.documents import definition_of
from tests.process_tree import processes_by_parent
from tests.processes.program import LOUD, without_log
from tests.shared import ROOT

OBJECTS = 14_000
HEAD = '{"apiVersion":"x.example.com/v1","kind":"X","metadata":{"namespace":"d","name":"x'

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    """A dump whose size is known at once, and one that must be unpacked first."""
    folder = tmp_path_factory.mktemp("many")
    lines = "".join(f'{HEAD}{number}"}}}}\n' for number in range(OBJECTS))
    (folder / "many.ndjson").write_text(lines)
    (folder / "many.ndjson.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "crd.json").write_text(json.dumps(definition_of({"type": "object"})))
    return folder


def command(dumps, name, report):
    return [sys.executable, "-P", "-m", "pipelines", "audit", str(dumps / name), "--crds", str(dumps / "crd.json"),
            "--report", str(report), "--jobs", "2", "--fail-on", "never"]  # fmt: skip


def start(arguments, **more):
    env = {**os.environ, **LOUD, "PYTHONPATH": str(ROOT)}
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
    return subprocess.Popen(arguments, env=env, **more)


def children(process):
    """Processes one and two levels below one: the fork server, and its workers."""
    below = processes_by_parent()
    servers = below.get(process, [])
    return servers, [worker for server in servers for worker in below.get(server, [])]


def digest(report):
    """A digest of all rows; parts are the same byte for byte."""
    parts = sorted(path for path in report.rglob("*.parquet"))
    return [(str(path.relative_to(report)), hashlib.sha256(path.read_bytes()).hexdigest()) for path in parts]


@pytest.fixture(scope="module")
def whole(dumps, tmp_path_factory):
    """For each dump the digest of its report, and the seconds that it takes: kills are drawn from them."""
    found = {}
    for name in ("many.ndjson", "many.ndjson.gz"):
        report = tmp_path_factory.mktemp("whole") / "r"
        before = time.monotonic()
        process = start(command(dumps, name, report))
        assert process.wait() == 0, process.stderr.read()
        process.communicate()
        found[name] = digest(report), time.monotonic() - before
    return found


def judge(process, report, expected):
    """Hold the end of an audit against what may be; return its exit code."""
    said, error = process.communicate(timeout=300)
    if process.returncode == 0:
        assert json.loads((report / "manifest.json").read_text())["lost"] == []
        assert digest(report) == expected
        assert "Next: nothing to do." in said
    else:
        assert process.returncode == 70, error
        assert "no process could be started" in error
        assert not report.exists()
    assert "interrupted" not in error
    return process.returncode


def kill_at_random(dumps, whole, report, seed):
    """Kill one process of an audit, drawn, at a drawn time; return its exit code."""
    drawn = random.Random(seed)
    name = drawn.choice(sorted(whole))
    expected, seconds = whole[name]
    process = start(command(dumps, name, report))
    time.sleep(drawn.uniform(0, seconds))
    while process.poll() is None:
        servers, workers = children(process.pid)
        if victims := servers if drawn.random() < 0.6 else workers:
            with suppress(ProcessLookupError):
                os.kill(drawn.choice(victims), signal.SIGKILL)
            break
        time.sleep(0.002)
    return judge(process, report, expected)


def check_kills(seeds, dumps, whole, folder):
    codes = [kill_at_random(dumps, whole, folder / str(seed), seed) for seed in seeds]
    assert codes == [0] * len(seeds)  # one kill is made good each time
    assert all(path.name.isdecimal() for path in folder.iterdir())


def test_some_kills_at_random_times_cost_nothing(dumps, whole, tmp_path):
    check_kills(range(2), dumps, whole, tmp_path)


@pytest.mark.slow
def test_more_kills_cost_nothing_either(dumps, whole, tmp_path):
    check_kills(range(2, 8), dumps, whole, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
def test_a_night_of_kills_costs_nothing(dumps, whole, tmp_path, block):
    check_kills(range(8 + 10 * block, 18 + 10 * block), dumps, whole, tmp_path)


@pytest.mark.parametrize("name", ["many.ndjson", pytest.param("many.ndjson.gz", marks=pytest.mark.slow)])
def test_a_fork_server_that_is_killed_whenever_it_is_seen_is_named_as_the_reason(dumps, whole, tmp_path, name):
    process = start(command(dumps, name, tmp_path / "r"))
    before = None
    while process.poll() is None:
        for server in children(process.pid)[0]:
            with suppress(ProcessLookupError):
                os.kill(server, signal.SIGKILL)
            before = server
        time.sleep(0.001)
    assert before
    judge(process, tmp_path / "r", whole[name][0])
    assert not list(tmp_path.glob(".*"))


def test_a_reader_that_left_does_not_pass_for_the_report(dumps, whole, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    process = start(command(dumps, "many.ndjson", tmp_path / "r"), stdout=writing)
    os.close(writing)
    _, error = process.communicate(timeout=300)
    assert (process.returncode, without_log(error)) == (0, "")
    assert digest(tmp_path / "r") == whole["many.ndjson"][0]
