"""`--memory` bounds the processes of an audit; what one of them cannot hold is lost by name, and the rest is judged.

A start needs about 95 MiB, and each object or definition here some 300 MiB and more.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from auditor.plan.limits import SIZE_IN_MEMORY
from tests.fuzz.hostile.bounded import dump

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
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
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
    (threads,) = (int(line.split()[0]) for line in output.splitlines() if line.endswith(" threads"))
    assert threads <= 3, "the stack of each counts for --memory; one allocates for Arrow, one opens files for it"


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_definition_beyond_the_memory_is_named(tmp_path: Path, jobs: str) -> None:
    enum = {"type": "string", "enum": [f"e{number}" for number in range(1_000_000)]}
    path = dump(tmp_path / "dump.ndjson", {"type": "object", "properties": {"a": enum}}, {"a": "b"})
    assert path.stat().st_size * SIZE_IN_MEMORY > 512 << 20
    code, output, manifest = audited(path, "--memory", "256Mi", "--jobs", jobs)
    assert code == manifest["exit_code"] == 3
    assert "definition ws.ex.com: " in output
    assert "it was not read, and no object of it was judged" in output
