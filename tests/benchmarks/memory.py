"""Memory of a snapshot of 5,000,000 keys with sparse bodies: of the command's own process, and of the largest worker.

    python tests/benchmarks/memory.py                    # 3 GB of disk
    python tests/benchmarks/memory.py --objects 500000

The objects are small (some 250 bytes, one kind, one in a hundred invalid), in a snapshot that needs no generator, so a
clone alone can run it. Memory is RssAnon, looked at every 20 ms while two workers audit; one run, for the
peak of a run hardly differs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from tests.benchmarks.harness import ROOT, Results, arguments, say
from tests.benchmarks.large import write_snapshot
from tests.process_tree import processes_by_parent

if TYPE_CHECKING:
    from collections.abc import Iterator

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "xs.x.example.com"},
    "spec": {
        "group": "x.example.com",
        "scope": "Namespaced",
        "names": {"plural": "xs", "kind": "X"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "color": {"type": "string"},
                                    "size": {"type": "integer", "maximum": 99},
                                    "note": {"type": "string", "default": "none"},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}
PARENT_MB, PARENT_BYTES_A_KEY, WORKER_MB = 80, 60, 150
LIMIT_FROM = 5_000_000
"""Keys from which on the limit of the parent counts: sorting takes as much memory for some 200,000 as for more."""


def anonymous(pid: int) -> int:
    """Return RssAnon of a process in bytes, 0 when it is gone."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def children(pid: int) -> list[int]:
    """Return all processes below one."""
    tree = processes_by_parent()
    below = list(tree.get(pid, ()))
    for process in below:
        below += tree.get(process, ())
    return below


def sparse_lines(objects: int) -> Iterator[bytes]:
    """Yield that many objects, each a line, one in a hundred of them invalid."""
    for number in range(objects):
        size = number % 101
        yield (
            f'{{"apiVersion":"x.example.com/v1","kind":"X","metadata":{{"name":"x-{number:08}","namespace":"ns-{number % 50}",'
            f'"uid":"u","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"}},"spec":{{"color":"c{number % 7}","size":{size}}}}}\n'
        ).encode()


def measure(dump: Path, folder: Path, objects: int) -> tuple[int, int, float]:
    """Audit a dump; return the peaks (bytes) of the parent and of the largest other process, and seconds."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        report = Path(place) / "report"
        command = [sys.executable, "-m", "pipelines", "audit", dump, "--report", report]
        command += ["--jobs", "2", "--fail-on", "never"]
        start = time.monotonic()
        process = subprocess.Popen([str(word) for word in command], cwd=ROOT, stdout=subprocess.DEVNULL)
        parent = worker = 0
        while process.poll() is None:
            parent = max(parent, anonymous(process.pid))
            worker = max([worker, *(anonymous(child) for child in children(process.pid))])
            time.sleep(0.02)
        seconds = time.monotonic() - start
        counts = json.loads((report / "manifest.json").read_text())["counts"]["statuses"]
    if process.returncode or sum(counts.values()) != objects:
        raise SystemExit(f"exit code {process.returncode}, {counts} of {objects} objects")
    return parent, worker, seconds


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, objects=5_000_000, repeats=1)
    options = parser.parse_args()
    if not Path("/proc/self/status").exists():
        print("skipped: memory is read from /proc, which is not here")
        return 0
    results = Results("memory", "Memory of a large snapshot (2 workers, sparse bodies)")
    with tempfile.TemporaryDirectory() as scratch:
        dump = Path(scratch) / "large.db"
        say("writing the snapshot ...")
        keys = write_snapshot(dump, sparse_lines(options.objects), [CRD])
        results.settings |= {"keys": keys, "MB": dump.stat().st_size >> 20, "repeats": options.repeats}
        runs = [measure(dump, Path(scratch), keys) for _ in range(options.repeats)]
    parents, workers, seconds = (list(column) for column in zip(*runs, strict=True))
    row = f"{keys:,} keys"
    allowed = PARENT_MB + PARENT_BYTES_A_KEY * keys / 1e6
    results.add(row, "parent, MB", [one / 1e6 for one in parents], at_most=allowed if keys >= LIMIT_FROM else None)
    results.add(row, "largest worker, MB", [one / 1e6 for one in workers], at_most=WORKER_MB)
    results.add(row, "seconds", seconds)
    results.note(
        f"From {LIMIT_FROM:,} keys on the parent may take {PARENT_MB} MB and {PARENT_BYTES_A_KEY} bytes a key."
    )
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
