"""Where the time of an audit goes: processor time by stage, by function and by line, from the first import on.

    python tests/benchmarks/profile.py                          # bench-30
    python tests/benchmarks/profile.py --dump my.db --top 30    # your own dump, definitions in it or with --crds
    python tests/benchmarks/profile.py --lines 20 --skip updates

The audit runs in this process, with one worker. A timer of processor time interrupts it about every millisecond; the
time since the interruption before is booked on the function that was running, and on its stage: going inwards from the
outermost call, the last one that `STAGES` knows. Time in C (orjson, Arrow) is that of the function which called it.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import signal
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeVar

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from tests.benchmarks.harness import ROOT, Results, arguments, timed
from tests.benchmarks.yardstick import crds, draw, is_corpus_missing

if TYPE_CHECKING:
    from types import CodeType, FrameType

INTERVAL = 0.001
OTHER = "other"

_PARQUET: Final = {"write_parquet"}
_PLANNED: Final = {"make_plan", "cut_shards", "_check_version", "check_plan"}

STAGES: Final[tuple[tuple[str, str, set[str], bool], ...]] = (
    # stage, file (or folder, or how the name of generated code begins), functions (none: all), whether it ends here
    ("start-up: imports", "<frozen importlib", set(), True),
    ("start-up: plan", "auditor/plan/plan.py", _PLANNED, True),
    ("start-up: plan", "pipelines/run/audit.py", {"_check_version"}, True),
    (
        "start-up: programs are written",
        "auditor/fastpath/dicts/build.py",
        {"build_version", "attach_provers", "__call__"},
        True,
    ),
    ("start-up: programs are written", "auditor/codegen/", set(), True),
    ("start-up: programs are written", "auditor/fastpath/rules/prover.py", {"__init__"}, True),
    ("start-up: definitions are parsed", "auditor/crds/", set(), True),
    ("start-up: definitions are parsed", "auditor/shards/judge.py", {"definition"}, True),
    ("start-up: rules are compiled", "auditor/validation/rules", {"of", "unevaluated"}, True),
    ("Parquet", "auditor/shards/columns.py", _PARQUET, True),
    ("index", "auditor/shards/index.py", set(), False),
    ("report", "auditor/report/manifest.py", set(), True),
    ("verdicts on updates", "auditor/shards/updates.py", set(), True),
    ("values are cut out of the dump", "auditor/plan/dumps.py", {"cut_value"}, False),
    ("rows", "auditor/shards/audit.py", set(), False),
    ("rows", "auditor/shards/judge.py", set(), False),
    ("rows", "auditor/shards/shard_keys.py", set(), False),
    ("rows", "auditor/shards/row_writer.py", set(), False),
    ("rows", "auditor/shards/fast_path.py", set(), False),
    ("rows", "auditor/shards/columns.py", set(), False),
    ("exact path", "auditor/storage_read/read.py", set(), False),
    ("rules", "auditor/validation/rules", set(), False),
    ("exact path", "auditor/validation/", set(), False),
    ("exact path", "auditor/schema/", set(), False),
    ("rules", "auditor/fastpath/rules/prover.py", set(), False),
    ("rules", "auditor/cel/", set(), False),
    ("program", "auditor/program/", set(), False),
    ("program", "auditor/fastpath/", set(), False),
    ("program", "auditor/updates/", set(), False),
    ("program", "auditor/storage_read/", set(), False),
    ("program", "<auditor ", set(), False),
)
_DECODING: Final = {"rows", "program"}
"""Stages in which decoding is listed apart, by the lines that do it: what C does is booked on the line that calls it."""


class Sampler:
    """Books processor time on stages, functions and lines while it is entered.

    Attributes:
        stages: Seconds by stage.
        functions: Seconds by function (file, line, name) and stage.
        lines: Seconds by file, line and stage.
    """

    def __init__(self) -> None:
        self.stages: dict[str, float] = defaultdict(float)
        self.functions: dict[tuple[str, str], float] = defaultdict(float)
        self.lines: dict[tuple[str, int, str], float] = defaultdict(float)
        self._rules: dict[tuple[str, str], tuple[str, bool] | None] = {}
        self._last = 0.0
        self._is_busy = False

    def __enter__(self) -> Self:
        self._last = time.process_time()
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
        for (filename, line, stage), spent in self.lines.items():
            if stage in _DECODING and "orjson.loads(" in linecache.getline(filename, line):
                self.stages["decode"] += spent
                self.stages[stage] -= spent

    def _sample(self, _: int, frame: FrameType | None) -> None:
        if self._is_busy:  # the timer does not wait
            return
        self._is_busy = True
        spent = time.process_time() - self._last
        codes: list[CodeType] = []
        line = (frame.f_lineno or 0) if frame else 0  # None means a line that no one wrote
        while frame is not None:
            codes.append(frame.f_code)
            frame = frame.f_back
        if codes:
            stage = self.stage_of(codes)
            self.stages[stage] += spent
            code = codes[0]
            self.functions[f"{code.co_filename}:{code.co_firstlineno} {code.co_qualname}", stage] += spent
            self.lines[code.co_filename, line, stage] += spent
        self._last = time.process_time()  # the time of this belongs to no stage
        self._is_busy = False

    def stage_of(self, codes: list[CodeType]) -> str:
        """Return the stage of a call: of the codes from the innermost outwards."""
        found = OTHER
        for code in reversed(codes):
            key = (code.co_filename, code.co_name)  # not the code: that of two files may be equal
            if key not in self._rules:
                self._rules[key] = rule_of(*key)
            rule = self._rules[key]
            if rule is not None:
                found = rule[0]
                if rule[1]:
                    break
        return found


def rule_of(filename: str, function: str) -> tuple[str, bool] | None:
    """Return the stage that a function says the time is of, and whether those that it calls have no say."""
    name = filename.removeprefix(f"{ROOT}/")
    if name.startswith("<auditor ") and " rules" in name:
        return "rules", False
    for stage, place, functions, is_end in STAGES:
        if name.startswith(place) and (not functions or function in functions):
            return stage, is_end
    return None


def shown(filename: str) -> str:
    """Return a short name of a file."""
    for folder in (ROOT, Path(sys.prefix), Path(sys.base_prefix)):
        filename = filename.removeprefix(f"{folder}/")
    return filename


def profile(dump: Path, crds: Path | None, skip: list[str]) -> tuple[Sampler, float]:
    """Audit a dump in this process; return what was sampled, and the seconds of processor time of all of it."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["audit", str(dump), "--report", f"{folder}/report", "--jobs", "1", "--fail-on", "never"]
        words += ["--crds", str(crds)] if crds else []
        sys.argv = ["auditor", *words, *(word for one in skip for word in ("--skip", one))]
        before = time.process_time()
        with Sampler() as sampler:
            from pipelines.cli.main import main as auditor

            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    auditor()
            except SystemExit as ended:
                if ended.code not in {None, 0}:
                    raise
        return sampler, time.process_time() - before


T = TypeVar("T")


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, objects=20_000, repeats=None)
    parser.add_argument("--corpus", choices=("bench-30", "bench-2"), default="bench-30")
    parser.add_argument("--dump", type=Path, help="audit this, in place of drawn objects")
    parser.add_argument("--crds", type=Path, help="definitions of --dump that are not in it")
    parser.add_argument("--skip", choices=("updates", "rules"), action="append", default=[], help="leave this out")
    parser.add_argument("--top", type=int, default=15, help="functions to name (default 15)")
    parser.add_argument("--lines", type=int, default=0, help="lines to show")
    options = parser.parse_args()
    if options.dump is None and is_corpus_missing():
        return 0
    dump = options.dump or draw(options.corpus, options.objects, options.cache)
    start = timed([sys.executable, "-c", "pass"]).processor
    sampler, seconds = profile(dump, options.crds if options.dump else crds(), options.skip)
    whole = start + sum(sampler.stages.values())
    results = Results("profile", f"Where the time of an audit goes: {dump.name.partition('.')[0]}, one worker")
    results.settings |= {"s of processor time": round(seconds, 2), "left out": ", ".join(options.skip) or "nothing"}
    for stage, spent in [("Python itself", start), *most(sampler.stages)]:
        results.add(stage, "s of processor time", [spent])
        results.add(stage, "%", [100 * spent / whole])
        if options.dump is None and not stage.startswith(("start-up", "Python")):
            results.add(stage, "us an object", [spent / options.objects * 1e6])
    status = results.finish(options)
    show(sampler, options.top, options.lines)
    return status


def most(spent: dict[T, float], count: int | None = None) -> list[tuple[T, float]]:
    """Return the entries on which most time is booked."""
    return sorted(spent.items(), key=lambda entry: -entry[1])[:count]


def show(sampler: Sampler, functions: int, lines: int) -> None:
    """Print the functions and the lines on which most time is booked, generated ones too."""
    whole = sum(sampler.stages.values())
    print()
    for (place, stage), spent in most(sampler.functions, functions):
        print(f"{100 * spent / whole:5.1f} %  {stage:34} {shown(place)}")
    print()
    for (filename, number, stage), spent in most(sampler.lines, lines):
        text = linecache.getline(filename, number).strip()
        print(f"{100 * spent / whole:5.1f} %  {stage:34} {shown(filename)}:{number}  {text}")


if __name__ == "__main__":
    sys.exit(main())
