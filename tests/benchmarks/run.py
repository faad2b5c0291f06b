"""Objects a second beside the real API server libraries, on the same objects, in the same run.

    python tests/benchmarks/run.py                    # needs the oracle, and Go
    python tests/benchmarks/run.py --objects 20000 --repeats 5 --corpus bench-2

Ours is measured from process start to finished report; the oracle by its own clock, in memory, after a warm-up pass
(which is to its advantage), with GOMAXPROCS equal to the number of workers; where time is short it gets only the first
objects of a corpus (`--oracle-objects`), for its rate does not depend on their number.

The headline is the default run, with verdicts on updates. The oracle gives create verdicts only, so these are compared:
with rules, and without them on both sides (`--skip updates --skip rules`; the oracle's own timer of that phase is taken
off its time). Each corpus is measured twice: with the 400 bodies a kind of the recipe, and with a body of its own for
each object. Processor time is that of all processes, beside `orjson.loads` of the same objects in this process.

With `--against FOLDER` another checkout of the project audits the same objects in the same turns, with one worker.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from tests.benchmarks.harness import Results, arguments, audit, in_turns, ratios
from tests.benchmarks.large import decoding
from tests.benchmarks.yardstick import POOL, build, crds, draw, is_yardstick_missing, oracle

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

LIMITS = {("bench-30", "with rules"): 6, ("bench-2", "with rules"): 9, ("bench-30", "without rules"): 6}
SPEEDUP = 1.6
OF_THEN = {
    ("bench-2", "default"): 0.82, ("bench-2", "creates"): 0.78, ("bench-30", "default"): 0.85, ("bench-30", "creates"): 1,
}  # fmt: skip
"""Largest processor time in multiples of that of commit 6f1f44a."""


def measure(results: Results, name: str, options: argparse.Namespace, *, own: bool) -> None:
    """Measure one corpus, with one worker and with two in the same turns; `own`: each object has its own body."""
    objects, cache = options.objects, options.cache
    pool, limits = (objects, {}) if own else (POOL, LIMITS)
    corpus = draw(name, objects, cache, pool=pool)
    known = draw(name, min(options.oracle_objects or objects, objects), cache, pool=pool)
    without: dict[int, list[float]] = {1: [], 2: []}
    processor: dict[int, list[float]] = {1: [], 2: []}
    sides: dict[str, Callable[[], float]] = {"orjson": partial(decoding, corpus)}
    compared = ("default", "creates") if options.against and not own else ()
    for what in compared:
        for side, checkout in (("now", None), ("then", options.against)):
            sides[f"{what} {side}"] = partial(_processor, corpus, objects, what, checkout)
    for workers, rates in without.items():
        ours = partial(_ours, corpus, objects, workers)
        sides[f"default {workers}"] = partial(ours, processor[workers])
        sides[f"create {workers}"] = partial(ours, [], "updates")
        sides[f"no rules {workers}"] = partial(ours, [], "updates", "rules")
        sides[f"oracle {workers}"] = partial(_theirs, known, workers, cache, rates)
    found = in_turns(options.repeats, sides)
    shown = f"{name}, a body for each object" if own else name
    for workers, rates in without.items():
        row = f"{shown}, {workers} worker{'s' * (workers > 1)}"
        default, create, theirs = (found[f"{one} {workers}"] for one in ("default", "create", "oracle"))
        results.add(row, "default run, objects/s", default)
        results.add(row, "CPU us an object", processor[workers])
        results.add(row, "times orjson.loads", ratios(processor[workers], found["orjson"]))
        results.add(row, "creates only, objects/s", create)
        results.add(row, "oracle, objects/s", theirs)
        for what, mine, other in (
            ("with rules", create, theirs),
            ("without rules", found[f"no rules {workers}"], rates),
        ):
            results.add(row, f"creates over the oracle, {what}", ratios(mine, other), at_least=limits.get((name, what)))
        results.add(row, "time of the default run over creates", ratios(create, default))
    for what in compared:
        found_then, found_now = found[f"{what} then"], found[f"{what} now"]
        row = f"{name}, 1 worker, {what}, beside commit {commit_of(options.against)}"
        results.add(row, "CPU us an object", found_now)
        results.add(row, "CPU us an object, that commit", found_then)
        results.add(row, "times that commit", ratios(found_now, found_then), at_most=OF_THEN[name, what])
    row = f"{shown}, 2 workers over 1"
    results.add(row, "default run, objects/s", ratios(found["default 2"], found["default 1"]), at_least=SPEEDUP)
    results.add(row, "creates only, objects/s", ratios(found["create 2"], found["create 1"]), at_least=SPEEDUP)
    results.add(row, "oracle, objects/s", ratios(found["oracle 2"], found["oracle 1"]))


def _processor(corpus: Path, objects: int, what: str, checkout: Path | None) -> float:
    """Return the microseconds of processor time that an object takes in all processes."""
    words = () if what == "default" else ("--skip", "updates")
    return 1e6 * audit(corpus, crds(), *words, objects=objects, checkout=checkout).everywhere / objects


def commit_of(checkout: Path) -> str:
    """Return the commit of a checkout, short."""
    words = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def _ours(corpus: Path, objects: int, workers: int, processor: list[float], *skip: str) -> float:
    """Return objects a second, and note the microseconds of processor time that one takes in all processes."""
    words = [word for name in skip for word in ("--skip", name)]
    run = audit(corpus, crds(), *words, jobs=workers, objects=objects)
    processor.append(1e6 * run.everywhere / objects)
    return objects / run.wall


def _theirs(corpus: Path, workers: int, cache: Path, without_rules: list[float]) -> float:
    found = oracle(corpus, workers, cache)
    without_rules.append(found.rate_without_rules)
    return found.rate


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, objects=100_000)
    parser.add_argument("--corpus", choices=("bench-30", "bench-2"), action="append", help="default: both")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="a checkout to run in the same turns")
    parser.add_argument("--oracle-objects", type=int, help="the oracle gets only so many of them, the first")
    options = parser.parse_args()
    if is_yardstick_missing():
        return 0
    results = Results("run", "Audits beside the API server's own libraries")
    results.settings |= {"objects": options.objects, "repeats": options.repeats}
    build("oracle", options.cache)
    for name in options.corpus or ("bench-30", "bench-2"):
        for own in (False, True):
            measure(results, name, options, own=own)
    results.note(
        "Ours from process start to finished report; the oracle in memory, warm, create verdicts only. Creates: "
        "`--skip updates`; without rules: `--skip updates --skip rules`."
    )
    if options.oracle_objects:
        results.note(f"The oracle was given the first {options.oracle_objects:,} of the objects of each corpus.")
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
