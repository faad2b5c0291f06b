"""A snapshot of 1,000,000 keys, plain and as .db.gz; what more workers would gain.

    python tests/benchmarks/large.py                    # 5 GB of disk
    python tests/benchmarks/large.py --objects 100000

It has 100,000 bodies, ten objects with other names for each: 1,000,000 take more than an hour to draw.

The default run: verdicts on updates included, from process start to finished report. Processor time is that of all
processes, beside `orjson.loads` of the same values in one process. Figures of more workers than the machine has
processors for are worked out of processor time, which other jobs of the machine change least: what the main thread of
the command takes stays, that of workers is divided by their number (Amdahl's law). The other threads of the command
work beside them. Before the workers begin one parses revisions and one sorts keys, while the main thread walks the pages:
what the slowest of these takes longer than the walk is left out. One computes the digest. They count whole where they
take longer than the workers do.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import itertools
import json
import shutil
import struct
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import orjson

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from auditor.sources.crd_files import read_crd_documents
from tests.benchmarks.harness import Results, Run, arguments, audit, in_turns, numbers_of_workers, ratios, say
from tests.benchmarks.yardstick import crds, draw, is_corpus_missing, raw_values
from tests.differential.reports import key_of, plurals_of, stored_definition
from tests.sources.bolt_writer import BoltWriter, key_value, revision

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SPEEDUP = 1.85
LIMITS_32 = {".db": 16, ".db.gz": 8}
"""Least gain of 32 workers, worked out, by form."""
LIMIT_FROM = 1_000_000
"""Keys from which on the limits count: of fewer, more of the time is that of the start."""
WORKED_OUT = (8, 16, 32)
BODIES = 100_000
"""Bodies that are drawn; of more objects, some have the same one under another name."""

_TIMED = """
import atexit, json, pathlib, sys, time
from pipelines.cli.main import main
times = pathlib.Path(sys.argv.pop(1))
spent = lambda: {"main": time.thread_time(), "all": time.process_time()}
atexit.register(lambda: times.write_text(json.dumps(spent())))
main()
"""
"""The auditor; it writes the processor time of its main thread and of its process, both without workers, to a file."""


def renamed(line: bytes, copy: int) -> bytes:
    """Return an object under another name, otherwise as it is written; the first copy keeps its name."""
    document = raw_values(line)
    metadata = raw_values(document["metadata"])
    name = bytes(metadata.get("name", b""))
    if not copy or not name.startswith(b'"'):
        return line
    metadata["name"] = msgspec.Raw(name[:-1] + b'-%d"' % copy)
    document["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.json.encode(document)


def copies(corpus: Path, objects: int) -> Iterator[bytes]:
    """Yield that many objects, the corpus first, then copies of it under other names."""
    begun = 0
    for copy in itertools.count():
        with corpus.open("rb") as lines:
            for line in itertools.islice(lines, objects - begun):
                begun += 1
                yield renamed(line, copy)
        if begun >= objects:
            return


def write_snapshot(path: Path, lines: Iterable[bytes], documents: list[Any]) -> int:
    """Write objects, one a line, and definitions as `etcdctl snapshot save` does; return the number of keys."""
    keys: dict[bytes, int] = {}
    plurals = plurals_of(documents)

    def values() -> Iterator[tuple[bytes, bytes]]:
        for document in documents:
            name = document["metadata"]["name"]
            yield (
                f"/registry/apiextensions.k8s.io/customresourcedefinitions/{name}".encode(),
                stored_definition(document),
            )
        for line in lines:
            yield key_of(line, plurals).encode(), line.rstrip()

    def rows() -> Iterator[tuple[int, bytes, bytes]]:
        for main, (key, value) in enumerate(values(), 2):
            version = keys[key] = keys.get(key, 0) + 1
            yield 0, revision(main), key_value(key, main if version == 1 else 2, main, version, value)

    with path.open("wb+") as stream:
        writer = BoltWriter(stream)
        buckets: dict[bytes, bytes] = {b"key": struct.pack("<QQ", writer.put_tree(rows()), 0)}
        meta = {b"consistent_index": struct.pack(">Q", 7), b"term": struct.pack(">Q", 2), b"storageVersion": b"3.6.0"}
        buckets[b"meta"] = writer.bucket_value(meta, inline=False)
        for name in (b"alarm", b"auth", b"cluster", b"lease", b"members"):
            buckets[name] = writer.bucket_value({}, inline=False)
        writer.finish(writer.put_tree([(1, name, buckets[name]) for name in sorted(buckets)]))
        stream.seek(0)
        digest = hashlib.file_digest(stream, "sha256").digest()
        stream.seek(0, 2)
        stream.write(digest)
    return len(keys)


def decoding(corpus: Path) -> float:
    """Return the microseconds that `orjson.loads` takes for an object, in this process; it refuses few of them."""
    spent, count = 0.0, 0
    with corpus.open("rb") as stream:
        for line in stream:
            begun = time.thread_time()
            with contextlib.suppress(orjson.JSONDecodeError):  # a number that is no double
                orjson.loads(line)
            spent += time.thread_time() - begun
            count += 1
    return 1e6 * spent / count


class Timed(NamedTuple):
    """A run.

    Attributes:
        whole: The run.
        main: Processor time of the main thread of the command in seconds.
        beside: That of its other threads.
    """

    whole: Run
    main: float
    beside: float

    @property
    def workers(self) -> float:
        """Processor time of all other processes in seconds."""
        return self.whole.everywhere - self.main - self.beside

    def with_workers(self, number: int) -> float:
        """Return the seconds that the run would take at most with so many workers."""
        return self.main + max(self.workers / number, self.beside)


def run(dump: Path, keys: int, jobs: int, runs: list[Timed]) -> float:
    """Audit the snapshot; return the seconds, and note the run."""
    times = dump.with_suffix(".times.json")
    whole = audit(dump, None, jobs=jobs, program=("-c", _TIMED, times))
    spent = json.loads(times.read_text())
    runs.append(Timed(whole, spent["main"], spent["all"] - spent["main"]))
    counted = whole.manifest["counts"]["keys"]
    if counted != keys:
        raise SystemExit(f"{dump.name}: {counted} keys are in the report, {keys} were in the dump")
    return whole.wall


def measure(results: Results, dump: Path, corpus: Path, keys: int, repeats: int) -> None:
    """Measure one form of the snapshot."""
    workers = numbers_of_workers()
    runs: dict[int, list[Timed]] = {jobs: [] for jobs in workers}
    sides: dict[str, Any] = {f"{dump.name}, {jobs}": partial(run, dump, keys, jobs, runs[jobs]) for jobs in workers}
    found = in_turns(repeats, {**sides, "orjson": partial(decoding, corpus)})
    decoded = found.pop("orjson")
    form = dump.name.removeprefix("large")
    for jobs, seconds in zip(workers, found.values(), strict=True):
        row = f"{form}, {jobs} worker{'s' * (jobs > 1)}"
        micros = [1e6 * one.whole.everywhere / keys for one in runs[jobs]]
        results.add(row, "seconds", seconds)
        results.add(row, "objects/s", [keys / one for one in seconds])
        results.add(row, "CPU us an object", micros)
        results.add(row, "times orjson.loads", ratios(micros, decoded))
    one, two, *_ = found.values()
    is_whole = keys >= LIMIT_FROM
    results.add(f"{form}, 2 workers over 1", "seconds", ratios(one, two), at_least=SPEEDUP if is_whole else None)
    results.add(f"{form}, main thread", "CPU s", [one.main for one in runs[2]])
    for number in (2, *WORKED_OUT):
        gained = [
            single.whole.everywhere / double.with_workers(number)
            for single, double in zip(runs[1], runs[2], strict=True)
        ]
        least = LIMITS_32[form] if is_whole and number == 32 else None
        results.add(f"{form}, {number} workers over 1, worked out", "seconds", gained, at_least=least)


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, objects=1_000_000)
    options = parser.parse_args()
    if is_corpus_missing():
        return 0
    results = Results("large", "A large snapshot, ten objects a body (bench-2), the default run")
    bodies = min(options.objects, BODIES)
    corpus = draw("bench-2", bodies, options.cache, pool=bodies)
    with tempfile.TemporaryDirectory() as scratch:
        dump, packed = Path(scratch) / "large.db", Path(scratch) / "large.db.gz"
        say("writing the snapshot ...")
        keys = write_snapshot(dump, copies(corpus, options.objects), list(read_crd_documents([str(crds())])))
        with dump.open("rb") as source, gzip.open(packed, "wb", 6) as target:
            shutil.copyfileobj(source, target, 1 << 20)
        results.settings |= {"keys": keys, "MB": dump.stat().st_size >> 20, "repeats": options.repeats}
        for one in (dump, packed):
            measure(results, one, corpus, keys, options.repeats)
    results.note(
        "Worked out: the processor time of the command's main thread (the walk of the keys, the manifest, the summary) "
        "stays, that of workers is divided by their number; its other threads (the digest, the revisions and "
        "the order of the keys, for which the workers wait) "
        "count where they take longer than the workers do. No machine with so many processors was measured."
    )
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
