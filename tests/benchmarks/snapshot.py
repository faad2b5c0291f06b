"""Seconds to find the live keys of a snapshot, beside `etcdutl snapshot status` on the same file.

    python tests/benchmarks/snapshot.py                       # 100,000 keys, about 300 MB; needs etcd, and etcdutl or Go
    python tests/benchmarks/snapshot.py --keys 20000 --repeats 5 --snapshot my.db

The snapshot is saved by a real server. Each run of ours is a process of its own, from start to finished live table, the
digest (SHA-256, which etcdutl does not look at) checked beside it in a second thread; so is each run of etcdutl. Both
read the file from the page cache; runs take turns; the first of each does not count.
"""

from __future__ import annotations

import base64
import json
import random
import sys
import tempfile
from pathlib import Path

import pytest

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from tests.benchmarks.harness import Results, arguments, ratios, say, timed
from tests.sources.etcd.etcd_server import Etcd, etcdutl, server_binary

LIMIT = 1.5
OURS = """
import sys, tempfile
from pathlib import Path
from auditor.sources import open_source
with tempfile.TemporaryDirectory() as folder:
    plan = open_source(sys.argv[1], number=0, workdir=Path(folder))
    print(plan.rows, len(plan.damage), *plan.notes)
"""
PER_TRANSACTION = 100


def draw(path: Path, keys: int, size: int) -> None:
    """Fill a server with keys of a cluster, update a tenth of them, delete some, and save a snapshot.

    Values have a fifth of a size to twice that size.
    """
    say(f"drawing {keys} keys of {size} bytes ...")
    noise = random.Random(42)
    with (
        tempfile.TemporaryDirectory() as folder,
        Etcd(server_binary("3.4"), Path(folder) / "data", "--quota-backend-bytes", str(4 << 30)) as server,
    ):
        numbers = [*range(keys), *noise.sample(range(keys), keys // 10)]
        for start in range(0, len(numbers), PER_TRANSACTION):
            requests = []
            for number in dict.fromkeys(numbers[start : start + PER_TRANSACTION]):
                key = f"/registry/example.com/widgets/namespace-{number % 97}/widget-{number}"
                value = json.dumps(
                    {
                        "kind": "Widget",
                        "metadata": {"name": f"widget-{number}"},
                        "pad": noise.randbytes(noise.randrange(size // 10, size)).hex(),
                    }
                )
                requests.append({"request_put": {"key": _b64(key), "value": _b64(value)}})
            server.call("kv/txn", {"success": requests})
        for number in noise.sample(range(keys), keys // 50):
            server.delete(f"/registry/example.com/widgets/namespace-{number % 97}/widget-{number}".encode())
        server.snapshot(path)


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, repeats=5)
    parser.add_argument("--keys", "--objects", type=int, default=100_000)
    parser.add_argument("--size", type=int, default=1550)
    parser.add_argument("--snapshot", type=Path, help="use this file; drawn and kept there if it does not exist")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = options.snapshot or Path(folder) / "snapshot.db"
            if not path.exists():
                draw(path, options.keys, options.size)
            results = measure(path, [etcdutl(), "snapshot", "status", path, "-w", "json"], options.repeats)
    except pytest.skip.Exception as why:
        print(f"skipped: {why}")
        return 0
    return results.finish(options)


def measure(path: Path, tool: list[object], repeats: int) -> Results:
    """Run both sides on a snapshot; they must agree on the number of keys."""
    runs: dict[str, list[tuple[float, float]]] = {"ours": [], "etcdutl": []}
    rows = 0
    for _ in range(repeats + 1):
        for name, command in (("ours", [sys.executable, "-c", OURS, path]), ("etcdutl", tool)):
            run = timed(command)
            runs[name].append((run.wall, run.processor))
            if name == "ours":
                rows = int(run.output.split()[0])
            elif json.loads(run.output)["totalKey"] != rows:
                raise SystemExit(f"ours finds {rows} keys, etcdutl {json.loads(run.output)['totalKey']}")
    megabytes = path.stat().st_size / 1e6
    results = Results("snapshot", f"The live keys of a snapshot of {megabytes:,.0f} MB")
    results.settings |= {"live keys": rows, "repeats": repeats}
    for at, row in enumerate(("by the clock", "processor time")):
        ours, theirs = ([run[at] for run in runs[name][1:]] for name in ("ours", "etcdutl"))
        results.add(row, "ours, s", ours)
        results.add(row, "etcdutl snapshot status, s", theirs)
        results.add(row, "times etcdutl", ratios(ours, theirs), at_most=None if at else LIMIT)
    return results


if __name__ == "__main__":
    sys.exit(main())
