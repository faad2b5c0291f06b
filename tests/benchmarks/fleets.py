"""Fleets: 12 clusters of 2,000 objects, 100 small ones, and one large one among small ones; with 1, 2 and 4 workers.

    python tests/benchmarks/fleets.py
    python tests/benchmarks/fleets.py --scale 0.1     # a tenth of the objects

Each cluster is a dump of its own (what `etcdctl get -w json` prints) with all definitions, which have another uid and
another time in each. Time is from process start to finished report, with verdicts on updates; processor time is that of
all processes. What two workers gain is also worked out from processor time, for machines that others use meanwhile:
what the command's own process takes stays, the rest is divided by two.
"""

from __future__ import annotations

import sys
import tempfile
import uuid
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from auditor.sources.crd_files import read_crd_documents
from tests.benchmarks.harness import Results, Run, arguments, audit, in_turns, numbers_of_workers, ratios
from tests.benchmarks.yardstick import crds, draw, is_corpus_missing, note_machine
from tests.differential.reports import at_keys

FLEETS = {
    "12 clusters of 2,000 objects": [2000] * 12,
    "100 clusters of 200 objects": [200] * 100,
    "one cluster of 20,000, 20 of 200": [20_000, *[200] * 20],
}
SECONDS = {"12 clusters of 2,000 objects": (3, 2), "100 clusters of 200 objects": (12, 2)}
"""Most seconds with so many workers, on a machine on which bench-2 takes 3.5 s of processor time."""
SPEEDUP = {"12 clusters of 2,000 objects": 1.7}


def write_fleet(folder: Path, lines: list[bytes], sizes: list[int], documents: list[Any]) -> int:
    """Write the dumps of a fleet; return how many objects they hold."""
    folder.mkdir()
    at = 0
    for number, size in enumerate(sizes):
        objects = [lines[(at + one) % len(lines)] for one in range(size)]
        at += size
        (folder / f"c{number:03}.json").write_text(at_keys(objects, [_of_cluster(one, number) for one in documents]))
    return at


def _of_cluster(document: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a definition as a cluster of its own has it; equal texts in all clusters would flatter what remembers."""
    name = f"{number}/{document['metadata']['name']}"
    created = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
    own = {"uid": str(uuid.uuid5(uuid.NAMESPACE_URL, name)), "creationTimestamp": f"{created:%Y-%m-%dT%H:%M:%SZ}"}
    return {**document, "metadata": {**document["metadata"], **own}}


def run(folder: Path, clusters: int, jobs: int, runs: list[Run]) -> float:
    """Audit a fleet; return the seconds, and note the run."""
    found = audit(folder / "*.json", None, "--cluster-name", "{name}", jobs=jobs)
    reported = found.manifest
    if len(reported["clusters"]) != clusters or reported["lost"]:
        raise SystemExit(f"{len(reported['clusters'])} of {clusters} clusters were audited; lost: {reported['lost']}")
    runs.append(found)
    return found.wall


def main() -> int:
    """Run it."""
    parser = arguments(__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the objects of each cluster")
    parser.add_argument("--clusters", type=int, help="most clusters of a fleet")
    options = parser.parse_args()
    if is_corpus_missing():
        return 0
    workers = numbers_of_workers()
    results = Results("fleets", "Fleets: one report of many clusters, seconds by number of workers")
    results.settings |= {"repeats": options.repeats, "share of the objects": options.scale}
    documents = list(read_crd_documents([str(crds())]))
    lines = draw("bench-2", max(1, int(24_000 * options.scale)), options.cache).read_bytes().splitlines()
    is_whole = options.scale == 1 and not options.clusters
    factor = note_machine(results, options.cache, options.repeats) if is_whole else None
    with tempfile.TemporaryDirectory() as scratch:
        for at, (name, whole) in enumerate(FLEETS.items()):
            sizes = [max(1, int(size * options.scale)) for size in whole[: options.clusters]]
            folder = Path(scratch) / f"fleet-{at}"
            objects = write_fleet(folder, lines, sizes, documents)
            runs: dict[str, list[Run]] = {str(jobs): [] for jobs in workers}
            sides = {str(jobs): partial(run, folder, len(sizes), jobs, runs[str(jobs)]) for jobs in workers}
            found = in_turns(options.repeats, sides)
            for jobs in workers:
                limit, of = SECONDS.get(name, (None, 0))
                column = f"{jobs} worker{'s' * (jobs > 1)}, s"
                at_most = limit * factor if limit and factor and jobs == of else None
                results.add(name, column, found[str(jobs)], at_most=at_most)
            results.add(name, "2 workers over 1", ratios(found["1"], found["2"]), at_least=SPEEDUP.get(name))
            gained = [
                one.everywhere / (two.processor + (two.everywhere - two.processor) / 2)
                for one, two in zip(runs["1"], runs["2"], strict=True)
            ]
            results.add(name, "2 workers over 1, worked out", gained)
            for jobs in workers:
                micros = [1e6 * one.everywhere / objects for one in runs[str(jobs)]]
                results.add(name, f"{jobs} worker{'s' * (jobs > 1)}, CPU us an object", micros)
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
