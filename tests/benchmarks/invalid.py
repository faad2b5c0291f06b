"""Objects a second by the share of invalid objects, from none to all, beside the real API server libraries.

    python tests/benchmarks/invalid.py                # needs the oracle, and Go
    python tests/benchmarks/invalid.py --objects 5000 --shares 0 100

Objects of seven kinds are mixed evenly; the oracle says which are valid. The shares are measured with one warm
worker of each side (see kinds.py). A dump in which every object is invalid is measured as a whole, too: from process
start to finished report; that has the limit, 3 times the oracle's speed.
"""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from tests.benchmarks.harness import Results, arguments, audit, in_turns, ratios
from tests.benchmarks.kinds import beside_the_oracle
from tests.benchmarks.yardstick import broken_lines, crds, draw, is_yardstick_missing, oracle

LIMIT = 3
_DRAWN = 1.6
"""Objects to draw for each that is wanted: some defects are harmless."""


def split(objects: int, cache: Path) -> tuple[list[bytes], list[bytes]]:
    """Return that many valid objects and that many invalid ones, by the oracle."""
    out = []
    for corpus, is_wanted in (("bench-2", False), ("broken", True)):
        path = draw(corpus, int(objects * _DRAWN), cache)
        broken = broken_lines(path, cache)
        lines = path.read_bytes().splitlines(keepends=True)
        some = [line for number, line in enumerate(lines) if (number in broken) is is_wanted]
        if len(some) < objects:
            raise SystemExit(f"{path.name}: only {len(some)} objects of {len(lines)} are of use")
        out.append(some[:objects])
    return out[0], out[1]


def mix(valid: list[bytes], invalid: list[bytes], percent: int) -> bytes:
    """Return as many lines as each list has, so many percent of them invalid, spread evenly."""
    count = len(valid)
    chosen = [(number + 1) * percent // 100 > number * percent // 100 for number in range(count)]
    pairs = zip(valid, invalid, chosen, strict=True)
    return b"".join(bad if is_bad else good for good, bad, is_bad in pairs)


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, objects=20_000)
    parser.add_argument("--part", type=int, default=5_000, help="objects for the shares (default 5,000)")
    parser.add_argument("--shares", type=int, nargs="+", default=[0, 2, 10, 30, 50, 100], metavar="PERCENT")
    options = parser.parse_args()
    if is_yardstick_missing():
        return 0
    cache = options.cache
    results = Results("invalid", "By the share of invalid objects")
    results.settings |= {"objects": options.objects, "for the shares": options.part}
    results.settings["repeats"] = options.repeats
    valid, invalid = split(options.objects, cache)
    for percent in options.shares:
        corpus = cache / f"invalid-{percent}.ndjson"
        corpus.write_bytes(mix(valid[: options.part], invalid[: options.part], percent))
        beside_the_oracle(results, f"{percent} %, warm worker", corpus, options.repeats, cache)
    corpus = cache / "invalid-all.ndjson"
    corpus.write_bytes(b"".join(invalid))
    objects: int = options.objects

    def ours(*words: str) -> float:
        return objects / audit(corpus, crds(), *words, objects=objects).wall

    sides = {
        "ours": lambda: ours("--skip", "updates"),
        "with updates": ours,
        "oracle": lambda: oracle(corpus, 1, cache).rate,
    }
    found = in_turns(options.repeats, sides)
    row = "100 %, process start to report"
    results.add(row, "objects", [objects])
    results.add(row, "bytes an object", [corpus.stat().st_size / objects])
    results.add(row, "ours, objects/s", found["ours"])
    results.add(row, "oracle, objects/s", found["oracle"])
    results.add(row, "times the oracle", ratios(found["ours"], found["oracle"]), at_least=LIMIT)
    row = "the same with verdicts on updates"
    results.add(row, "ours, objects/s", found["with updates"])
    results.add(row, "oracle, objects/s", found["oracle"])
    results.add(row, "times the oracle", ratios(found["with updates"], found["oracle"]))
    results.note("The oracle gives create verdicts only, in the last row too.")
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
