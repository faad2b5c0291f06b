"""Seconds to find the live keys of a snapshot, beside `etcdutl snapshot status` on the same file.

    python benchmarks/snapshot.py                       # 100,000 keys, about 300 MB; needs etcd, and etcdutl or Go
    python benchmarks/snapshot.py --keys 20000 --repeats 5 --snapshot my.db

The snapshot is saved by a real server. Each run of ours is a process of its own, from start to finished live table, the
digest (SHA-256, which etcdutl does not look at) checked beside it in a second thread; so is each run of etcdutl. Both
read the file from the page cache; runs take turns; the first of each does not count.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.sources_etcd.etcd_server import Etcd, etcdutl, server_binary  # noqa: E402

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
    print(f"drawing {keys} keys of {size} bytes ...", file=sys.stderr)
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


def seconds(command: list[str]) -> tuple[float, float, str]:
    """Return (wall clock, processor time, output) of a command."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--size", type=int, default=1550)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--snapshot", type=Path, help="use this file; drawn and kept there if it does not exist")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.snapshot or Path(folder) / "snapshot.db"
        if not path.exists():
            draw(path, options.keys, options.size)
        tool = [str(etcdutl()), "snapshot", "status", str(path), "-w", "json"]
        ours = [sys.executable, "-c", OURS, str(path)]
        walls: dict[str, list[float]] = {"ours": [], "etcdutl": []}
        processor: dict[str, list[float]] = {"ours": [], "etcdutl": []}
        rows = 0
        for _ in range(options.repeats + 1):
            for name, command in (("ours", ours), ("etcdutl", tool)):
                wall, used, out = seconds(command)
                walls[name].append(wall)
                processor[name].append(used)
                if name == "ours":
                    rows = int(out.split()[0])
                elif json.loads(out)["totalKey"] != rows:
                    sys.exit(f"ours finds {rows} keys, etcdutl {json.loads(out)['totalKey']}")
        print(f"{path.stat().st_size / 1e6:.0f} MB, {rows} live keys, {options.repeats} runs each")
        for what, times, pick in (
            ("wall, median", walls, statistics.median),
            ("wall, best", walls, min),
            ("processor", processor, statistics.median),
        ):
            ours_s, tool_s = (pick(times[name][1:]) for name in ("ours", "etcdutl"))
            print(f"{what:13} ours {ours_s:5.2f} s   etcdutl {tool_s:5.2f} s   ratio {ours_s / tool_s:.2f}")


if __name__ == "__main__":
    main()
