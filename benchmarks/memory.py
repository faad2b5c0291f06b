"""Anonymous memory of parent and workers, from few objects to many: it must not grow with the dump.

    python benchmarks/memory.py --objects 100000 1000000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
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


def measure(objects: int, folder: Path) -> tuple[int, int, float]:
    """Audit that many objects; return the peaks (bytes) of the parent and of the largest other process, and seconds."""
    dump = folder / f"{objects}.ndjson"
    with dump.open("w") as stream:
        for number in range(objects):
            size = number % 101
            stream.write(
                f'{{"apiVersion":"x.example.com/v1","kind":"X","metadata":{{"name":"x-{number:08}","namespace":"ns-{number % 50}",'
                f'"uid":"u","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"}},"spec":{{"color":"c{number % 7}","size":{size}}}}}\n'
            )
    (folder / "crd.json").write_text(json.dumps(CRD))
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipelines", "audit", str(dump), "--crds", str(folder / "crd.json"),
         "--report", str(folder / f"r{objects}"), "--jobs", "2", "--fail-on", "never"],
        cwd=ROOT, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    parent = worker = 0
    while process.poll() is None:
        parent = max(parent, anonymous(process.pid))
        worker = max([worker, *(anonymous(child) for child in children(process.pid))])
        time.sleep(0.02)
    return parent, worker, time.monotonic() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, nargs="+", default=[100_000, 1_000_000])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        peaks = []
        for objects in options.objects:
            parent, worker, seconds = measure(objects, Path(folder))
            peaks.append(worker)
            allowed = 80e6 + 120 * objects
            print(
                f"{objects} objects: parent {parent / 1e6:.0f} MB (at most {allowed / 1e6:.0f}), "
                f"largest worker {worker / 1e6:.0f} MB, {objects / seconds:,.0f} objects/s"
            )
        if len(peaks) > 1:
            print(f"worker growth: {peaks[-1] / peaks[0]:.2f}")


if __name__ == "__main__":
    main()
