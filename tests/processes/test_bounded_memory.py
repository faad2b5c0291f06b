"""`--memory` bounds the processes of an audit; what one of them cannot hold is lost by name, and the rest is judged.

A start needs about 95 MiB, and each object or definition here some 300 MiB and more.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from auditor.plan.limits import SIZE_IN_MEMORY
from tests.command import auditor
from tests.fuzz.hostile.bounded import dump
from tests.processes.program import LOUD
from tests.sources.bolt_writer import bolt_file, etcd_buckets, key_value, revision, snapshot

if TYPE_CHECKING:
    from pathlib import Path

OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_THREADS = """
import atexit, os, sys
from pipelines.cli.main import main
atexit.register(lambda: print(len(os.listdir("/proc/self/task")), "threads", file=sys.stderr))
main()
"""


def audited(path: Path, *options: str, shell: str = "", code: str = "") -> tuple[int, str, dict[str, Any]]:
    """Return the exit code of an audit in a process of its own, its output and its manifest."""
    report = path.parent / "report"
    program = ["-c", code] if code else ["-m", "pipelines"]
    words = [sys.executable, *program, "audit", str(path), "--report", str(report), "--fail-on", "never", *options]
    command = ["sh", "-c", f'{shell}; exec "$@"', "sh", *words] if shell else words
    env = {**os.environ, **LOUD, "COLUMNS": "1000"}  # no line is cut, however long the path of the dump is
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600, env=env)
    assert (report / "manifest.json").exists(), done.stderr
    return done.returncode, done.stdout + done.stderr, json.loads((report / "manifest.json").read_bytes())


@pytest.mark.parametrize("shell", ["", "ulimit -s 524288"], ids=["usual stacks", "large stacks"])
def test_a_run_within_its_memory_is_as_without(tmp_path: Path, shell: str) -> None:
    path = dump(tmp_path / "dump.ndjson", {"type": "object"}, {}, {})
    code, output, manifest = audited(path, "--memory", "256Mi", shell=shell)
    assert (code, "rror" in output) == (0, False), output
    assert manifest["counts"]["statuses"] == {"definition": 1, "valid": 2}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_object_beyond_the_memory_is_lost_by_name_and_its_neighbours_are_judged(tmp_path: Path, jobs: str) -> None:
    path = dump(tmp_path / "dump.ndjson", OPEN, {}, {"l": []}, {"a": 1})
    many = ",".join(['{"a":1}'] * 2_000_000)
    path.write_text(path.read_text().replace('"l": []', f'"l": [{many}]'))
    code, output, manifest = audited(path, "--memory", "192Mi", "--jobs", jobs, code=_THREADS)
    assert code == manifest["exit_code"] == 3
    assert manifest["counts"]["statuses"] == {"definition": 1, "unreadable": 1, "valid": 2}
    (lost,) = manifest["lost"]
    assert lost.startswith("W.ex.com d/a1: not audited: ")
    assert " ".join(f"LOST  {lost}".split()) in " ".join(output.split())
    assert "Traceback" not in output
    assert "nothing to do" not in output
    assert "where it was not audited, give --memory or --time and keep it" in " ".join(output.split())
    asked = auditor("query", tmp_path / "report", "ws", "-A", "-o", "name")
    assert (asked.code, asked.stdout) == (3, "w.ex.com/a0\nw.ex.com/a2\n")
    assert "is not in the index: not audited: " in asked.stderr
    assert "corrupt" not in asked.stderr
    assert "a live server" not in asked.stderr
    (threads,) = (int(line.split()[0]) for line in output.splitlines() if line.endswith(" threads"))
    assert threads <= 3, "the stack of each counts for --memory; one allocates for Arrow, one opens files for it"


@pytest.mark.slow  # it writes 250 MB and more
@pytest.mark.parametrize("form", ["ndjson", "etcdctl", "etcd"])
def test_a_value_that_not_even_fits_the_memory_is_lost_by_name(tmp_path: Path, form: str) -> None:
    path = dump(tmp_path / "dump.ndjson", OPEN, {}, {"l": ""}, {"a": 1})
    values = path.read_text().replace('"l": ""', f'"l": "{"x" * 250_000_000}"').splitlines()
    keys = [b"/registry/apiextensions.k8s.io/customresourcedefinitions/ws.ex.com"]
    keys += [b"/registry/ex.com/ws/d/a%d" % number for number in range(3)]
    if form == "ndjson":
        path.write_text("\n".join(values))
    elif form == "etcdctl":
        rows = [
            {
                "key": base64.b64encode(key).decode(),
                "mod_revision": 5,
                "value": base64.b64encode(value.encode()).decode(),
            }
            for key, value in zip(keys, values, strict=True)
        ]
        path.write_text(json.dumps({"header": {"revision": 9}, "kvs": rows}))
    else:
        stored = {
            revision(number): key_value(key, number, number, 1, value.encode())
            for number, (key, value) in enumerate(zip(keys, values, strict=True), 2)
        }
        path.write_bytes(snapshot(bolt_file(etcd_buckets(stored))))
    code, output, manifest = audited(path, "--memory", "192Mi", "--jobs", "2")
    assert code == manifest["exit_code"] == 3, output
    assert manifest["counts"]["statuses"] == {"definition": 1, "unreadable": 1, "valid": 2}
    (lost,) = manifest["lost"]
    assert lost.startswith(
        "W.ex.com d/a1: not audited: " if form == "ndjson" else "/registry/ex.com/ws/d/a1: not audited: "
    )
    rows = [row for part in (tmp_path / "report/objects").iterdir() for row in pq.read_table(part).to_pylist()]
    (row,) = (row for row in rows if row["name"] == "a1")
    assert (row["size"], row["value_hash"]) == (len(values[2]), hashlib.sha256(values[2].encode()).hexdigest())


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_definition_beyond_the_memory_is_named(tmp_path: Path, jobs: str) -> None:
    enum = {"type": "string", "enum": [f"e{number}" for number in range(1_000_000)]}
    path = dump(tmp_path / "dump.ndjson", {"type": "object", "properties": {"a": enum}}, {"a": "b"})
    assert path.stat().st_size * SIZE_IN_MEMORY > 512 << 20
    code, output, manifest = audited(path, "--memory", "256Mi", "--jobs", jobs)
    assert code == manifest["exit_code"] == 3
    (line,) = (line for line in output.splitlines() if line.startswith(f"DAMAGED  {path}: definition ws.ex.com: "))
    assert line.endswith("it was not read, and no object of it was judged")
