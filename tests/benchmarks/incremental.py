"""A night with few changes: an audit that reuses the rows of last night's report, compared with a full one.

    python tests/benchmarks/incremental.py --repeats 5
    python tests/benchmarks/incremental.py --given bench-30.ndjson          # objects drawn before

Every twentieth object of bench-30 (30 % invalid) has another label than the night before: 95 % are unchanged. Both are
timed from process start to finished report, in turns, at one worker and at two; with --since at least 5 times as fast.
With --since one worker is a process beside this one, which assembles the reused rows meanwhile: two processors are busy
where a full audit by one worker has one. Beside that: nothing changed at all, and half of the objects. Both reports
must hold the same counts.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path

import msgspec

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from tests.benchmarks.harness import Results, Run, arguments, audit, in_turns, ratios, timed
from tests.benchmarks.yardstick import crds, draw, is_corpus_missing, note_machine, raw_values

LIMIT = 5.0
CPU_LIMIT, CPU_FIXED = 8.0, 0.5
WHOLE = 100_000
"""Microseconds of processor time of an unchanged key, beside so many seconds of a run."""
NIGHTS = {"100 % unchanged": 0, "95 % unchanged": 20, "50 % unchanged": 2}
"""What a night is called; every how many objects one has changed."""

_NONE = msgspec.Raw(b"{}")


def change(corpus: Path, every: int, target: Path) -> int:
    """Write the objects with another label on one of so many; return their number."""
    count = 0
    with corpus.open("rb") as source, target.open("wb") as sink:
        for number, line in enumerate(source):
            count += 1
            if every and number % every == 0:
                document = raw_values(line)
                metadata = raw_values(document["metadata"])
                labels = metadata.get("labels", _NONE)
                labels = raw_values(labels if bytes(labels).startswith(b"{") else _NONE)
                labels["night"] = msgspec.Raw(b'"second"')
                metadata["labels"] = msgspec.Raw(msgspec.json.encode(labels))
                document["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
                sink.write(msgspec.json.encode(document) + b"\n")
            else:
                sink.write(line)
    return count


def last_night(corpus: Path, report: Path) -> None:
    """Make the report of the night before."""
    command = [sys.executable, "-m", "pipelines", "audit", corpus, "--crds", crds(), "--report", report]
    timed([*command, "--fail-on", "never"])


def seconds(dump: Path, jobs: int, objects: int, seen: list[Run], *words: object) -> float:
    """Return the seconds of one audit."""
    run = audit(dump, crds(), *words, jobs=jobs, objects=objects)
    seen.append(run)
    return run.wall


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, objects=100_000)
    parser.add_argument("--given", type=Path, help="objects drawn before, as NDJSON")
    options = parser.parse_args()
    if is_corpus_missing():
        return 0
    corpus = (options.given or draw("bench-30", options.objects, options.cache)).resolve()
    results = Results("incremental", "A night in which little has changed (bench-30)")
    factor = note_machine(results, options.cache, options.repeats) if options.objects >= WHOLE else None
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "last-night"
        last_night(corpus, report)
        for night, every in NIGHTS.items():
            dump = Path(folder) / "tonight.ndjson"
            objects = change(corpus, every, dump)
            for jobs in (1, 2):
                seen: list[Run] = []
                sides = {
                    "full": partial(seconds, dump, jobs, objects, seen),
                    "since": partial(seconds, dump, jobs, objects, seen, "--since", report),
                }
                found = in_turns(options.repeats, sides)
                if len({json.dumps(run.manifest["kinds"]) for run in seen}) > 1:
                    raise SystemExit("the reports do not say the same")
                row = f"{night}, {jobs} worker{'s' if jobs > 1 else ''}"
                limit = LIMIT if every == 20 else None
                results.add(row, "full, s", found["full"])
                results.add(row, "since, s", found["since"])
                results.add(row, "times as fast", ratios(found["full"], found["since"]), at_least=limit)
                spent = [run.everywhere for run in seen if run.manifest.get("since")]
                if not every:
                    micros = [1e6 * (one - CPU_FIXED * (factor or 1)) / objects for one in spent]
                    results.add(
                        row, "CPU us a key beyond 0.5 s", micros, at_most=CPU_LIMIT * factor if factor else None
                    )
                results.add(row, "keys audited", [seen[-1].manifest["since"]["audited"]])
        results.settings |= {"objects": objects, "repeats": options.repeats}
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
