"""Fuzzer of what surrounds the readers: names, paths and texts of definitions, keys, earlier reports, surroundings.

    python -m tests.fuzz.hostile.run --cases 100000 --jobs 2       # make hostile
    python -m tests.fuzz.hostile.run --seconds 60                  # as many as a minute allows
    python -m tests.fuzz.hostile.run --seed 7 --only 1234          # one case again; --keep FOLDER to look at it

For each case: the exit code is a documented one, no internal error, no traceback; an audit that ends with 0, 1 or 3 has
a whole report, whose rows are those of its manifest; no file is written outside, none is left behind; output holds no
character that a terminal acts on and no line that content forged; 10 s of the processor and 1 GB of memory suffice.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.hostile.cases import FAMILIES, SOUND, Case, make_sound_report
from tests.fuzz.hostile.texts import faults_of
from tests.fuzz.memory import peak

__all__ = ["Outcome", "run_cases"]

SECONDS = 10
MEMORY = 1 << 30
WAIT = 240
"""Seconds of the clock after which a silent worker is ended: others may have the processor."""
_MACHINE = ("json", "yaml", "ndjson", "parquet", "jsonpath", "custom-columns")
_FAMILY_NAMES = tuple(FAMILIES)
_WEIGHTS = tuple(weight for weight, _ in FAMILIES.values())


TEMPORARY = tempfile.gettempdir()


class Hang(BaseException):
    """A case takes too long."""


@dataclass
class Outcome:
    """The results of the cases so far."""

    cases: int = 0
    commands: int = 0
    families: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str, str]] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, 0)
    memory: int = 0


def _alarm(*_: Any) -> None:
    raise Hang


def run_command(arguments: tuple[str, ...]) -> tuple[int, bytes, bytes]:
    """Run the command line in this process, as `auditor ARGUMENTS` would; return exit code and output."""
    from pipelines.cli import main as cli

    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    out, err = io.BytesIO(), io.BytesIO()
    sys.argv = ["auditor", *arguments]
    sys.stdin = io.TextIOWrapper(io.BytesIO(b""))
    sys.stdout, sys.stderr = (io.TextIOWrapper(into, encoding="utf-8", write_through=True) for into in (out, err))
    code: Any = 0
    streams = sys.stdout, sys.stderr
    try:
        cli.main()
    except SystemExit as stop:
        code = stop.code
    finally:
        for stream in streams:
            stream.flush()
        shown = out.getvalue(), err.getvalue()
        sys.argv, sys.stdin, sys.stdout, sys.stderr = before
    return (code if isinstance(code, int) else 0), *shown


def _faults_of_command(arguments: tuple[str, ...], code: int, out: bytes, err: bytes, case: Case) -> list[str]:
    faults = [f"exit code {code}: {err[-600:]!r}"] if code not in case.codes else []
    if code == 2 and arguments[0] == "audit" and not case.may_refuse:
        faults.append(f"content ends an audit with 2: {err[-600:]!r}")
    if b"Traceback" in err or b"Traceback" in out:
        faults.append(f"traceback: {err[-1200:].decode(errors='replace')}")
    asked = arguments[arguments.index("-o") + 1].partition("=")[0] if "-o" in arguments else ""
    is_machine = asked in _MACHINE or arguments[0] == "show" or "--openapi" in arguments
    faults += [f"stdout: {one}" for one in ([] if is_machine else faults_of(out))]
    faults += [f"stderr: {one}" for one in faults_of(err)]
    if arguments[0] in ("audit", "upgrade") and code in (0, 1, 3):
        faults += _faults_of_report(Path(arguments[arguments.index("--report") + 1]))
    return faults


def _faults_of_report(report: Path) -> list[str]:
    import pyarrow.parquet as pq

    try:
        manifest = json.loads((report / "manifest.json").read_bytes())
    except (OSError, ValueError) as error:
        return [f"the audit ended well without a manifest: {error}"]
    counts = manifest["counts"]
    rows = sum(pq.read_metadata(path).num_rows for path in (report / "objects").glob("*.parquet"))
    faults = [] if rows == counts["rows"] else [f"{rows} rows, {counts['rows']} in the manifest"]
    if rows + counts["out_of_scope"] < counts["keys"]:
        faults.append(f"{rows} rows and {counts['out_of_scope']} out of scope of {counts['keys']} keys")
    return faults


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)  # noqa: PTH118 - names may be no text
            status = os.lstat(path)
            found[path] = (status.st_size, status.st_mtime_ns)
    return found


def run_case(seed: int, number: int, keep: Path | None = None) -> tuple[str, list[str], list[str]]:
    """Run one case; return its family, what is wrong, and the exit codes of its commands."""
    draw = random.Random(f"{seed}:{number}")
    family = draw.choices(_FAMILY_NAMES, _WEIGHTS)[0]
    base = Path(tempfile.mkdtemp(prefix="auditor-hostile-", dir=keep or TEMPORARY))
    folder = base / "case"
    home = Path.cwd()
    faults: list[str] = []
    codes: list[str] = []
    try:
        for name in ("case", "temporary", "victim/objects"):
            (base / name).mkdir(parents=True)
        (base / "victim" / "objects" / "part-00000.parquet").write_bytes(b"mine")
        (base / "victim" / "manifest.json").write_bytes(b"{}")
        os.environ["TMPDIR"] = tempfile.tempdir = str(base / "temporary")
        os.chdir(folder)
        case = FAMILIES[family][1](draw, folder)
        outside = _files(base / "victim") | _files(folder)
        made = {str(folder / name) for name in case.writes}
        for arguments in case.commands:
            code, out, err = (case.run or run_command)(arguments)
            codes.append(f"{arguments[0]} {code}")
            faults += [f"{arguments!r}: {one}" for one in _faults_of_command(arguments, code, out, err, case)]
        after = _files(base / "victim") | _files(folder)
        changed = [path for path in {*outside, *after} if outside.get(path) != after.get(path)]
        changed = [path for path in changed if not any(path.startswith(f"{one}/") for one in made)]
        if case.may_refuse:  # without memory its work folder may stay, which the next run clears
            changed = [path for path in changed if not path.startswith(f"{folder}/.out.")]
        if not case.changes_inputs:
            faults += [f"a file outside of the report changed: {path!r}" for path in changed[:3]]
        faults += [f"left behind: {path!r}" for path in list(_files(base / "temporary"))[:3]]
        faults += [
            f"left behind: {one!r}"
            for one in sorted(path.name for path in base.iterdir())
            if one not in ("case", "temporary", "victim")
        ]
    finally:
        os.chdir(home)
        tempfile.tempdir = None
        os.environ["TMPDIR"] = TEMPORARY
        if keep is None:
            shutil.rmtree(base, ignore_errors=True)
    return family, faults, codes


def _work(seed: int, numbers: range, into: int) -> None:
    """Run cases in a process of their own, and report each on a pipe."""
    at_start = peak()  # what the process it was forked from has is no case's
    with os.fdopen(into, "w") as pipe:
        for number in numbers:
            pipe.write(json.dumps({"begins": number}) + "\n")
            pipe.flush()
            began = time.process_time()
            signal.signal(signal.SIGPROF, _alarm)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            family, faults, codes = "?", [], []
            try:
                family, faults, codes = run_case(seed, number)
            except Hang:
                faults = [
                    f"takes more than {SECONDS} s: {''.join(traceback.format_exc().splitlines(keepends=True)[-12:])}"
                ]
            except Exception:  # noqa: BLE001 - a fault of the fuzzer is one to report as well
                faults = [traceback.format_exc()]
            signal.setitimer(signal.ITIMER_PROF, 0)
            memory = peak() - at_start
            if memory > MEMORY:
                faults.append(f"takes {memory >> 20} MB")
            spent = time.process_time() - began
            pipe.write(json.dumps([number, family, faults, codes, spent, memory]) + "\n")
            pipe.flush()
            if memory > MEMORY:
                break


def run_cases(
    seed: int, cases: int, *, seconds: float = 0, jobs: int = 1, shown: Any = None, first: int = 0
) -> Outcome:
    """Run cases in worker processes, a new one for every few hundred.

    Args:
        seed: With the number of a case it decides what the case is.
        cases: How many.
        seconds: End after so long; 0: when all are done.
        jobs: Workers at a time.
        shown: Takes a line for each failure.
        first: Number of the first case.
    """
    with tempfile.TemporaryDirectory(prefix="auditor-hostile-sound-") as folder:
        os.environ[SOUND] = folder
        _in_child(make_sound_report, Path(folder))
        return _run_all(range(first, first + cases), seed, seconds, jobs, shown)


def _in_child(call: Any, *arguments: Any) -> None:
    """Make a call in a process of its own, which loads and sets what it likes."""
    process = os.fork()
    if process == 0:
        try:
            call(*arguments)
        except BaseException:  # noqa: BLE001 - the process ends here
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(process, 0)[1]:
        raise RuntimeError("no report could be made")


def _run_all(numbers: range, seed: int, seconds: float, jobs: int, shown: Any) -> Outcome:
    outcome = Outcome()
    until = time.monotonic() + seconds if seconds else float("inf")
    todo = [numbers[at : at + 200] for at in range(0, len(numbers), 200)]
    todo.reverse()
    workers: dict[int, _Worker] = {}
    while todo or workers:
        while todo and len(workers) < jobs and time.monotonic() < until:
            worker = _Worker(seed, todo.pop())
            workers[worker.pipe] = worker
        if not workers:
            break
        ready, _, _ = select.select(list(workers), [], [], 1)
        for pipe in ready:
            workers[pipe].read(outcome, shown)
        for pipe, worker in list(workers.items()):
            if worker.ended or time.monotonic() > until or worker.is_stuck:
                rest = worker.end(outcome, shown, in_time=time.monotonic() <= until)
                if rest:
                    todo.append(rest)
                del workers[pipe]
        if time.monotonic() > until:
            todo.clear()
    return outcome


class _Worker:
    """A process that runs a range of cases."""

    def __init__(self, seed: int, numbers: range) -> None:
        self.numbers = numbers
        self.at: int | None = None
        self.done = numbers.start
        self.ended = False
        self.last = time.monotonic()
        self.rest = b""
        self.pipe, into = os.pipe()
        sys.stdout.flush()
        self.process = os.fork()
        if self.process == 0:
            os.close(self.pipe)
            try:
                _work(seed, numbers, into)
            finally:
                os._exit(0)
        os.close(into)

    @property
    def is_stuck(self) -> bool:
        return time.monotonic() - self.last > WAIT

    def read(self, outcome: Outcome, shown: Any) -> None:
        block = os.read(self.pipe, 1 << 20)
        self.ended = not block
        self.last = time.monotonic()
        *lines, self.rest = (self.rest + block).split(b"\n")
        for line in lines:
            got = json.loads(line)
            if isinstance(got, dict):
                self.at = got["begins"]
                continue
            number, family, faults, codes, spent, memory = got
            self.at, self.done = None, number + 1
            outcome.cases += 1
            outcome.commands += len(codes)
            outcome.families[family] += 1
            outcome.codes.update(codes)
            outcome.slowest = max(outcome.slowest, (spent, number))
            outcome.memory = max(outcome.memory, memory)
            for fault in faults:
                self.fail(outcome, shown, number, family, fault)

    def fail(self, outcome: Outcome, shown: Any, number: int, family: str, fault: str) -> None:
        outcome.failures.append((number, family, fault))
        if shown is not None:
            shown(f"case {number} ({family}): {fault}")

    def end(self, outcome: Outcome, shown: Any, *, in_time: bool) -> range | None:
        """End the process; return the cases that it has not run."""
        if not self.ended:
            os.kill(self.process, signal.SIGKILL)
        _, status = os.waitpid(self.process, 0)
        os.close(self.pipe)
        if self.at is not None and in_time:
            why = "the process died" if self.ended else f"it sent nothing for {WAIT} s"
            self.fail(outcome, shown, self.at, "?", f"{why} (status {status})")
            self.done = self.at + 1
        return range(self.done, self.numbers.stop) if in_time and self.done < self.numbers.stop else None


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", type=Path, help="with --only: keep the files of the case below this folder")
    asked = parser.parse_args()
    if asked.only is not None:
        with tempfile.TemporaryDirectory(prefix="auditor-hostile-sound-") as folder:
            os.environ[SOUND] = folder
            make_sound_report(Path(folder))
            family, faults, codes = run_case(asked.seed, asked.only, asked.keep)
        _say("\n".join([family, *codes, *faults]))
        return int(bool(faults))
    found = run_cases(
        asked.seed, asked.cases, seconds=asked.seconds, jobs=asked.jobs, shown=_say,
        first=asked.first,
    )  # fmt: skip
    _say(
        f"{found.cases} cases, {found.commands} commands, {len(found.failures)} failures; slowest {found.slowest[0]:.1f} s "
        f"(case {found.slowest[1]}), most memory {found.memory >> 20} MB\n{dict(found.families)}\n{dict(found.codes)}"
    )
    return int(bool(found.failures))


if __name__ == "__main__":
    sys.exit(main())
