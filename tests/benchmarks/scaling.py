"""Time and memory from few objects to many: a worker must not grow with the dump, the parent only by its keys.

    python tests/benchmarks/scaling.py --objects 100000 1000000
    python tests/benchmarks/scaling.py --objects 1000 10000 --repeats 5

Small objects (some 250 bytes) of one kind, two workers. Memory is RssAnon, looked at every 20 ms while the audit runs:
that of the parent, and that of the largest other process. From `--single` objects on a figure is of one run.
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
PARENT = (80e6, 120)
"""Bytes that the parent may take: as many, and so many more a key."""

GROWTH = 1.2
"""A worker's peak with the most objects over that with a tenth of them."""


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
    out = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            child = int(status.parent.name)
            out += [child, *children(child)]
    return out


def sparse_lines(objects: int) -> Iterator[bytes]:
    """Yield that many objects, each a line, one in a hundred of them invalid."""
    for number in range(objects):
        size = number % 101
        yield (
            f'{{"apiVersion":"x.example.com/v1","kind":"X","metadata":{{"name":"x-{number:08}","namespace":"ns-{number % 50}",'
            f'"uid":"u","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"}},"spec":{{"color":"c{number % 7}","size":{size}}}}}\n'
        ).encode()


def measure(dump: Path, folder: Path, objects: int, definitions: Path | None) -> tuple[int, int, float]:
    """Audit a dump; return the peaks (bytes) of the parent and of the largest other process, and seconds."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        report = Path(place) / "report"
        command = [sys.executable, "-m", "pipelines", "audit", dump, "--report", report]
        command += ["--jobs", "2", "--fail-on", "never", *(["--crds", definitions] if definitions else [])]
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
    parser = arguments(__doc__)
    parser.add_argument("--objects", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--single", type=int, default=1_000_000, help="objects from which on one run will do")
    options = parser.parse_args()
    if not Path("/proc/self/status").exists():
        print("skipped: memory is read from /proc, which is not here")
        return 0
    results = Results("scaling", "From few objects to many (2 workers)")
    results.settings |= {"repeats": options.repeats, "repeats of the largest": 1}
    peaks: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        definitions = folder / "crd.json"
        definitions.write_text(json.dumps(CRD))
        for objects in sorted(options.objects):
            dump = folder / f"{objects}.ndjson"
            with dump.open("wb") as stream:
                stream.writelines(sparse_lines(objects))
            repeats = 1 if objects >= options.single else options.repeats
            runs = [measure(dump, folder, objects, definitions) for _ in range(repeats)]
            dump.unlink()
            parents, workers, seconds = (list(column) for column in zip(*runs, strict=True))
            say(f"{objects} objects: {seconds} s")
            row = f"{objects:,} objects"
            allowed = (PARENT[0] + PARENT[1] * objects) / 1e6
            results.add(row, "seconds", seconds)
            results.add(row, "objects/s", [objects / one for one in seconds])
            results.add(row, "parent, MB", [one / 1e6 for one in parents], at_most=allowed)
            results.add(row, "largest worker, MB", [one / 1e6 for one in workers])
            peaks[objects] = max(workers)
    for objects, peak in peaks.items():
        tenth = peaks.get(objects // 10)
        if tenth:
            row = f"{objects:,} over {objects // 10:,}"
            limit = GROWTH if objects >= 1_000_000 else None
            results.add(row, "largest worker, MB", [peak / tenth], at_most=limit)
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
