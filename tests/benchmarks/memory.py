"""Memory of a snapshot of 5,000,000 keys with sparse bodies: of the command's own process, and of the largest worker.

    python tests/benchmarks/memory.py                    # 3 GB of disk
    python tests/benchmarks/memory.py --objects 500000

The objects are those of `scaling.py` (some 250 bytes, one kind, one in a hundred invalid), in a snapshot that needs no
generator, so a clone alone can run it. Memory is RssAnon, looked at every 20 ms while two workers audit; one run, for the
peak of a run hardly differs.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from tests.benchmarks.harness import Results, arguments, say
from tests.benchmarks.large import write_snapshot
from tests.benchmarks.scaling import CRD, measure, sparse_lines

PARENT_MB, PARENT_BYTES_A_KEY, WORKER_MB = 80, 60, 150
LIMIT_FROM = 5_000_000
"""Keys from which on the limit of the parent counts: sorting takes as much memory for some 200,000 as for more."""


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
        runs = [measure(dump, Path(scratch), keys, definitions=None) for _ in range(options.repeats)]
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
