"""Mutation fuzzer of everything that reads dumps.

    python tests/fuzz/sources/run.py --jobs 2                # 200,000 inputs, 20 minutes of one processor
    python tests/fuzz/sources/run.py --seconds 60            # as many as a minute allows
    python tests/fuzz/sources/run.py --seed 7 --only 1234    # one input again; --keep FOLDER to look at it

An input is a sound dump that was broken: bits, lengths, counts, page numbers, cycles, cut ends, names, bombs. At least
60 % have the checksums in front of them made right again. Each must end in rows or in one of our errors, within seconds
and within memory; every row must lie inside the mapped file. What happened is counted by family and stage.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(ROOT))

from auditor.base.errors import AuditorError, DamagedDump, UnknownDump  # noqa: E402
from auditor.golang import jsontext  # noqa: E402
from auditor.sources import Limits, open_source  # noqa: E402
from auditor.sources.encryption import Unsealer, resource_of  # noqa: E402
from auditor.sources.encryption.config import parse_config  # noqa: E402
from auditor.sources.files.digest import map_file  # noqa: E402
from auditor.sources.registry_key import classify, split_key  # noqa: E402
from tests.fuzz.memory import peak  # noqa: E402
from tests.fuzz.sources.families import Case, Families  # noqa: E402
from tests.sources.archives.writing import unpack  # noqa: E402
from tests.sources.dumps import table_rows  # noqa: E402
from tests.sources.encryption.vectors import VECTORS  # noqa: E402

if TYPE_CHECKING:
    from types import FrameType

SHARE = 0.6
"""The least share of the inputs whose checksums are made right again."""

SECONDS_EACH = 20
WAIT_EACH = 300
MEMORY = 1500 << 20
LIMITS = Limits(expanded=64 << 20, ratio=200, ratio_from=1 << 20, members=2000, member=1 << 20)
STAGES = (
    "not recognised",
    "recognised, nothing readable",
    "over a limit",
    "opened, no rows",
    "rows and damage",
    "rows",
)


class Hang(BaseException):
    """An input takes too long."""


@dataclass
class Watch:
    """Ends an input that takes too long: of the processor, or, where it waits for something, of the clock."""

    used: float = 0.0
    began: float = 0.0

    def start(self) -> None:
        self.used, self.began = time.process_time(), time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, SECONDS_EACH)

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def alarm(self, _: int, __: FrameType | None) -> None:
        """Give more time where others have the processor."""
        if time.process_time() - self.used > SECONDS_EACH or time.monotonic() - self.began > WAIT_EACH:
            raise Hang
        signal.setitimer(signal.ITIMER_REAL, 1)


WATCH = Watch()


@dataclass
class Outcome:
    """The results of the inputs so far."""

    inputs: int = 0
    repaired: int = 0
    rows: int = 0
    stages: Counter[tuple[str, str]] = field(default_factory=Counter)
    repaired_stages: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str, str]] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, 0)
    memory: int = 0

    def add(self, other: Outcome) -> None:
        """Add what another process says."""
        self.inputs += other.inputs
        self.repaired += other.repaired
        self.rows += other.rows
        self.stages += other.stages
        self.repaired_stages += other.repaired_stages
        self.errors += other.errors
        self.failures += other.failures
        self.slowest = max(self.slowest, other.slowest)
        self.memory = max(self.memory, other.memory)


def read(case: Case, folder: Path, unsealer: Unsealer) -> tuple[str, int]:
    """Open one input and look at every row; return (stage, rows)."""
    dump, workdir = folder / "in", folder / "work"
    workdir.mkdir()
    unpack(case.files, dump)
    given = str(dump / case.given) if case.given else str(dump)
    before = {path: path.stat().st_mtime_ns for path in dump.rglob("*")}
    stage = ""
    opened: Any = []
    try:
        opened = open_source(given, number=0, workdir=workdir, limits=LIMITS, unsealer=unsealer, **case.options)
    except AuditorError as error:
        stage = STAGES[0 if isinstance(error, UnknownDump) else 1 if isinstance(error, DamagedDump) else 2]
        reported = str(error)
    after = {path: path.stat().st_mtime_ns for path in dump.rglob("*")}
    assert after == before, "the input was written to"
    assert sorted(path.name for path in folder.iterdir()) == ["in", "work"], "something was written elsewhere"
    if stage:
        assert reported.startswith(given), reported
        return stage, 0
    plans = opened if isinstance(opened, list) else [opened]
    count = 0
    for number, plan in enumerate(plans):
        json.dumps([plan.notes, [(one.where, one.reason) for one in plan.damage]]).encode()
        rows = table_rows(plan.live)
        assert plan.rows == len(rows)
        count += len(rows)
        data: Any = map_file(plan.mapped)
        keys = [row["key"] for row in rows]
        assert None in keys or keys == sorted(set(keys)), "keys out of order"
        for row in rows:
            assert row["source"] == number
            assert 0 <= row["offset"] <= row["offset"] + row["length"] <= len(data), "a row outside the file"
            value = data[row["offset"] : row["offset"] + row["length"]]
            if row["key"] is not None and row["encoding"] == 0:
                place = classify(split_key(row["key"], "/registry"), {})
                value = unsealer.open(row["key"], resource_of(place), value).data or b""
            if len(value) < 1 << 16:
                with contextlib.suppress(jsontext.GoJsonError):
                    jsontext.decode(value)
    if not count:
        return STAGES[3], 0
    return STAGES[4] if any(plan.damage for plan in plans) else STAGES[5], count


def run_all(options: argparse.Namespace) -> Outcome:
    """Run the inputs in new processes, whose memory is theirs alone, and add up what they say."""
    shares = [
        argparse.Namespace(**{**vars(options), "first": job, "step": options.jobs}) for job in range(options.jobs)
    ]
    total = Outcome()
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        for outcome in pool.map(run, shares):
            total.add(outcome)
    return total


def run(options: argparse.Namespace) -> Outcome:
    """Run the inputs of one process."""
    signal.signal(signal.SIGALRM, WATCH.alarm)
    families = Families()
    unsealer = Unsealer(parse_config(VECTORS["configs"]["gcm"]))
    outcome = Outcome()
    start = time.monotonic()
    numbers = [options.only] if options.only is not None else range(options.first, options.inputs, options.step)
    base = Path(tempfile.mkdtemp(prefix="auditor-fuzz-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    try:
        for number in numbers:
            if options.seconds and time.monotonic() - start > options.seconds:
                break
            _one(number, options, families, unsealer, base, outcome)
            if outcome.inputs % 5000 == 0 and not options.quiet:
                print(f"{outcome.inputs} inputs, {len(outcome.failures)} failures", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return outcome


def _one(
    number: int, options: argparse.Namespace, families: Families, unsealer: Unsealer, base: Path, outcome: Outcome
) -> None:
    draw = random.Random(f"{options.seed}-{number}")
    family, case = families.draw(draw, options.family)
    folder = base / str(number)
    folder.mkdir()
    outcome.inputs += 1
    outcome.repaired += case.repaired
    clock, before = time.process_time(), peak()
    WATCH.start()
    problem = ""
    try:
        stage, rows = read(case, folder, unsealer)
        outcome.rows += rows
        outcome.stages[(family.name, stage)] += 1
        if case.repaired:
            outcome.repaired_stages[stage] += 1
    except Hang:
        problem = f"no end within {SECONDS_EACH} seconds"
    except (Exception, MemoryError) as error:  # noqa: BLE001 - this is what is looked for
        problem = f"{type(error).__name__}: {error}"
        if options.only is not None:
            traceback.print_exc()
    finally:
        WATCH.stop()
        unsealer.counts.clear()
    outcome.slowest = max(outcome.slowest, (time.process_time() - clock, number))
    outcome.memory = peak()
    if not problem and outcome.memory > max(MEMORY, before):  # a peak of before is another's
        problem = f"more than {MEMORY >> 20} MiB of memory"
    if problem:
        outcome.failures.append((number, family.name, problem[:300]))
        print(f"FAILED input {number} ({family.name}): {problem[:300]}", file=sys.stderr, flush=True)
    if options.keep and (problem or options.only is not None):
        shutil.copytree(folder / "in", Path(options.keep) / str(number), dirs_exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def show(outcome: Outcome, seconds: float) -> None:
    """Print what happened."""
    share = 100 * outcome.repaired / max(1, outcome.inputs)
    print(
        f"{outcome.inputs} inputs in {seconds:.0f} s, {outcome.repaired} ({share:.1f} %) with checksums made right again"
    )
    print(
        f"{outcome.rows} rows read, slowest input {outcome.slowest[0]:.2f} s (--only {outcome.slowest[1]}), at most {outcome.memory >> 20} MiB of memory, "
        f"{len(outcome.failures)} failures\n"
    )
    names = list(dict.fromkeys(name for name, _ in outcome.stages))
    width = max(len(name) for name in [*names, "family"])
    print("family".ljust(width), *(stage.rjust(29) for stage in STAGES))
    for name in sorted(names):
        print(name.ljust(width), *(str(outcome.stages[(name, stage)]).rjust(29) for stage in STAGES))
    print("repaired".ljust(width), *(str(outcome.repaired_stages[stage]).rjust(29) for stage in STAGES))
    for number, name, problem in outcome.failures[:20]:
        print(f"FAILED  --only {number}  ({name})  {problem}")


def parsed(words: list[str] | None = None) -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=0, help="stop after this long")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", type=int, help="run one input again")
    parser.add_argument("--keep", help="folder for inputs that fail")
    parser.add_argument("--first", type=int, default=0, help="first input of this process")
    parser.add_argument("--step", type=int, default=1, help="every so many inputs, for several processes")
    parser.add_argument("--family", default="", help="only inputs of this family, e.g. manifests")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args(words)


def main() -> None:
    options = parsed()
    start = time.monotonic()
    outcome = run(options) if options.only is not None else run_all(options)
    show(outcome, time.monotonic() - start)
    enough = outcome.repaired >= SHARE * outcome.inputs or options.only is not None or options.family
    if not enough:
        print("too few inputs have right checksums")
    sys.exit(bool(outcome.failures) or not enough)


if __name__ == "__main__":
    main()
