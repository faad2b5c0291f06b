"""Objects a second by kind, beside the real API server libraries: a warm worker of ours, one of theirs.

    python tests/benchmarks/kinds.py                  # needs the oracle, and Go
    python tests/benchmarks/kinds.py --corpus bench-30 --objects 40000

The objects of a corpus are sorted by kind. Both sides are warm and have one processor: ours is one worker as an audit
makes it, from the bytes of the dump to the written part files, without its start; the oracle works in memory. Create
verdicts, with rules.
"""

from __future__ import annotations

import sys
from pathlib import Path

import orjson

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from tests.benchmarks.harness import Results, arguments, in_turns, ratios
from tests.benchmarks.warm import WarmWorker
from tests.benchmarks.yardstick import build, crds, draw, is_yardstick_missing, oracle


def beside_the_oracle(results: Results, row: str, corpus: Path, repeats: int, cache: Path) -> None:
    """Measure a worker of each side on a corpus; both must find as many objects invalid."""
    invalid: list[int] = []

    def theirs() -> float:
        found = oracle(corpus, 1, cache)
        invalid.append(found.invalid)
        return found.rate

    with WarmWorker(corpus, crds()) as worker:
        found = in_turns(repeats, {"ours": worker.rate, "oracle": theirs})
        if worker.invalid != invalid[0]:
            raise SystemExit(f"{corpus.name}: {worker.invalid} invalid objects here, {invalid[0]} there")
        results.add(row, "objects", [worker.objects])
        results.add(row, "bytes an object", [corpus.stat().st_size / worker.objects])
        results.add(row, "invalid, %", [100 * worker.invalid / worker.objects])
    results.add(row, "ours, objects/s", found["ours"])
    results.add(row, "oracle, objects/s", found["oracle"])
    results.add(row, "times the oracle", ratios(found["ours"], found["oracle"]))


def by_kind(corpus: Path, folder: Path) -> dict[str, Path]:
    """Sort the objects of a corpus by kind into files beside it; return them, the most frequent first."""
    lines: dict[str, list[bytes]] = {}
    for line in corpus.read_bytes().splitlines(keepends=True):
        try:
            kind = orjson.loads(line)["kind"]
        except (orjson.JSONDecodeError, KeyError):  # numbers that only an exact decoder tells from garbage
            continue
        lines.setdefault(kind, []).append(line)
    out = {}
    for kind, some in sorted(lines.items(), key=lambda entry: -len(entry[1])):
        out[kind] = folder / f"{corpus.stem}-{kind}.ndjson"
        out[kind].write_bytes(b"".join(some))
    return out


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, objects=20_000)
    parser.add_argument("--corpus", choices=("bench-30", "bench-2"), default="bench-2")
    options = parser.parse_args()
    if is_yardstick_missing():
        return 0
    build("oracle", options.cache)
    corpus = draw(options.corpus, options.objects, options.cache)
    results = Results("kinds", f"By kind: one warm worker of each side ({options.corpus})")
    results.settings |= {"objects": options.objects, "repeats": options.repeats}
    for kind, path in by_kind(corpus, options.cache).items():
        beside_the_oracle(results, kind, path, options.repeats, options.cache)
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
