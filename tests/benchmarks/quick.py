"""Processor time of audits in multiples of `orjson.loads`, in less than three minutes: for each change of what runs often.

    make bench-quick

It measures bench-2 and bench-30, 20,000 objects, one worker, the default run and creates only, in turns. The last line
is for the message of the commit.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from tests.benchmarks.harness import Results, arguments, audit, in_turns, ratios
from tests.benchmarks.large import decoding
from tests.benchmarks.yardstick import SHARES, crds, draw, is_corpus_missing

if TYPE_CHECKING:
    from collections.abc import Sequence


def _microseconds(corpus: Path, objects: int, words: Sequence[str]) -> float:
    return 1e6 * audit(corpus, crds(), *words, jobs=1, objects=objects).everywhere / objects


def main() -> int:
    """Run it."""
    options = arguments(__doc__, objects=20_000, repeats=5).parse_args()
    if is_corpus_missing():
        return 0
    results = Results("quick", "Processor time of an object, one worker")
    results.settings |= {"objects": options.objects, "repeats": options.repeats}
    shown = []
    for name in SHARES:
        corpus = draw(name, options.objects, options.cache)
        runs = {"default": (), "creates": ("--skip", "updates")}
        sides = {side: partial(_microseconds, corpus, options.objects, words) for side, words in runs.items()}
        measured = in_turns(options.repeats, {"orjson": partial(decoding, corpus), **sides})
        for side in runs:
            results.add(f"{name}, {side}", "CPU us an object", measured[side])
            times = results.add(f"{name}, {side}", "times orjson.loads", ratios(measured[side], measured["orjson"]))
            shown.append(f"{name} {side} {times.median:.2f}")
        results.add(
            f"{name}, default over creates", "CPU us an object", ratios(measured["default"], measured["creates"])
        )
    results.note(f"bench-quick, times orjson.loads: {', '.join(shown)}")
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
