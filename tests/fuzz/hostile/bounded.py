"""Runs of the command on dumps of one definition and one object, and what they cost."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Cost", "dump", "run_auditor"]


class Cost(NamedTuple):
    """The outcome of a run: exit code, output, seconds of all its processes' CPU time, and the largest process."""

    code: int
    out: str
    seconds: float
    megabytes: int


_MEASURED = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"\\n{used.ru_utime + used.ru_stime} {used.ru_maxrss >> 10}")
sys.exit(code)
"""


def run_auditor(*arguments: str) -> Cost:
    """Run a command in a process of its own and measure it, with the processes that it started."""
    command = [sys.executable, "-c", _MEASURED, sys.executable, "-m", "pipelines.cli.main", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    out, _, measured = done.stdout.rstrip("\n").rpartition("\n")
    seconds, megabytes = measured.split()
    return Cost(done.returncode, out + done.stderr, float(seconds), int(megabytes))


def dump(path: Path, spec_schema: dict[str, Any], *specs: Any) -> Path:
    """Write a dump: a definition whose objects have a spec, and an object for each spec."""
    names = {"plural": "ws", "singular": "w", "kind": "W", "listKind": "WList"}
    schema = {"type": "object", "properties": {"spec": spec_schema}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ws.ex.com"},
        "spec": {"group": "ex.com", "scope": "Namespaced", "names": names, "versions": [version]},
        "status": {
            "conditions": [{"type": "Established", "status": "True"}],
            "acceptedNames": names,
            "storedVersions": ["v1"],
        },
    }
    metadata = {"namespace": "d", "uid": "u", "generation": 1, "creationTimestamp": "2024-01-01T00:00:00Z"}
    lines = [crd] + [
        {"apiVersion": "ex.com/v1", "kind": "W", "metadata": {"name": f"a{number}", **metadata}, "spec": spec}
        for number, spec in enumerate(specs)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
