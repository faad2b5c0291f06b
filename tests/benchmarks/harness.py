"""Shared code of the benchmarks: runs in turns, figures with their spread, the machine, results as JSON, tables.

A benchmark makes one `Results`: figures in rows and columns, each with all its runs. All statistics of a figure are
computed here: median, minimum, maximum, and whether it is within its limit. It prints itself as a table, and `--json
FILE` writes what `all.py` makes the tables of README.md from.

Runs take turns (`in_turns`): one of each side, then the next, so that a slow minute hits all sides. A ratio is made of
the two runs of one turn, and its median is the median of these.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib.metadata
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.process_tree import processes_by_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "CACHE",
    "ROOT",
    "Figure",
    "Results",
    "Run",
    "arguments",
    "audit",
    "in_turns",
    "numbers_of_workers",
    "ratios",
    "say",
    "this_machine",
    "timed",
]

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = Path(tempfile.gettempdir()) / "auditor-bench"
"""Where drawn objects and built programs stay from one run to the next."""

_PACKAGES = ("pyarrow", "orjson", "msgspec", "numpy", "google-re2")


# -- the machine ------------------------------------------------------------------------------------------------------


def this_machine() -> dict[str, Any]:
    """Return what figures depend on: processor, memory, versions; and how busy the machine was."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": _processor(),
        "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(_memory() / 1e9, 1),
        "system": f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": {name: _version(name) for name in _PACKAGES},
        "go": _output("go", "version").removeprefix("go version ").partition(" ")[0],
        "commit": _output("git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"),
        "load_before": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return 0


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _output(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()


# -- figures --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: all runs of it, in the order in which they were measured.

    Attributes:
        row: What was measured.
        column: The subject, or which figure of it; the heading of a table, with the unit.
        runs: One value a run.
        at_least: What the median must reach.
        at_most: What the median may not exceed.
    """

    row: str
    column: str
    runs: tuple[float, ...]
    at_least: float | None = None
    at_most: float | None = None

    @property
    def median(self) -> float:
        """The figure that counts."""
        return statistics.median(self.runs)

    @property
    def holds(self) -> bool | None:
        """Whether the median keeps its limit; None means it has none."""
        if self.at_least is None and self.at_most is None:
            return None
        return (self.at_least is None or self.median >= self.at_least) and (
            self.at_most is None or self.median <= self.at_most
        )

    @property
    def asked(self) -> str:
        """The limit in words; empty means it has none."""
        words = [
            f"{word} {limit:.3g}"
            for word, limit in (("at least", self.at_least), ("at most", self.at_most))
            if limit is not None
        ]
        return " and ".join(words)

    @property
    def cell(self) -> str:
        """The figure with its limit, as a table shows it."""
        if self.holds is None:
            return str(self)
        return f"{self}, {self.asked}" if self.holds else f"{self}, **missed: {self.asked}**"

    def __str__(self) -> str:
        if len(self.runs) == 1:  # a whole number is a count
            return f"{self.median:,.0f}" if self.median.is_integer() else _number(self.median)
        return f"{_number(self.median)} ({_number(min(self.runs))} to {_number(max(self.runs))})"


def _number(value: float) -> str:
    """Return a number with about three figures that count."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.2f}"


@dataclass(slots=True)
class Results:
    """The figures of one benchmark, and what they were measured with.

    Attributes:
        name: The name of the benchmark: its file without .py.
        title: The heading of its table.
        settings: How many objects, repeats and so on.
        notes: Sentences that belong below the table.
    """

    name: str
    title: str
    settings: dict[str, Any] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    machine: dict[str, Any] = field(default_factory=this_machine)

    def add(
        self,
        row: str,
        column: str,
        runs: Sequence[float],
        *,
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> Figure:
        """Keep a figure."""
        figure = Figure(row, column, tuple(map(float, runs)), at_least, at_most)
        self.figures.append(figure)
        return figure

    def note(self, text: str) -> None:
        """Keep a sentence for below the table."""
        self.notes.append(text)

    @property
    def missed(self) -> list[Figure]:
        """The figures that do not keep their limit."""
        return [figure for figure in self.figures if figure.holds is False]

    def table(self) -> str:
        """Return the figures as a Markdown table; a limit is beside its figure."""
        columns = list(dict.fromkeys(figure.column for figure in self.figures))
        rows: dict[str, dict[str, str]] = {}
        for figure in self.figures:
            rows.setdefault(figure.row, {})[figure.column] = figure.cell
        return _aligned(
            [["", *columns], *([row, *(cells.get(one, "") for one in columns)] for row, cells in rows.items())]
        )

    def to_json(self) -> dict[str, Any]:
        """Return what is written; medians and limits are written for readers, `read` takes the runs."""
        figures = []
        for figure in self.figures:
            entry: dict[str, Any] = {"row": figure.row, "column": figure.column, "median": _rounded(figure.median)}
            entry |= {"min": _rounded(min(figure.runs)), "max": _rounded(max(figure.runs))}
            entry["runs"] = [_rounded(run) for run in figure.runs]
            for name in ("at_least", "at_most", "holds"):
                if (value := getattr(figure, name)) is not None:
                    entry[name] = value
            figures.append(entry)
        return {
            "benchmark": self.name,
            "title": self.title,
            "settings": self.settings,
            "machine": self.machine,
            "figures": figures,
            "notes": self.notes,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Results:
        """Return what `to_json` wrote.

        Raises:
            KeyError: It is something else.
        """
        figures = [
            Figure(one["row"], one["column"], tuple(one["runs"]), one.get("at_least"), one.get("at_most"))
            for one in document["figures"]
        ]
        return cls(
            document["benchmark"],
            document["title"],
            document["settings"],
            figures,
            document["notes"],
            document["machine"],
        )

    def finish(self, options: argparse.Namespace) -> int:
        """Print the table, write the JSON that was asked for; return the exit code: a missed limit fails nothing."""
        print(f"\n{self.title}\n\n{self.table()}")
        for note in self.notes:
            print(note)
        print("; ".join(f"{name} {value}" for name, value in self.settings.items()))
        if options.json:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n")
        return 0


def _rounded(value: float) -> float:
    """Leave six figures that count: more is noise in a file that people compare."""
    return float(f"{value:.6g}")


def _aligned(lines: list[list[str]]) -> str:
    """Return a Markdown table whose columns are aligned; numbers to the right."""
    widths = [max(3, *(len(line[at]) for line in lines)) for at in range(len(lines[0]))]

    def shown(cells: list[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    head, *body = lines
    rule = ["-" * widths[0], *("-" * width for width in widths[1:])]
    return "\n".join(shown(cells) for cells in (head, rule, *body))


def ratios(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """Return one over the other, turn by turn."""
    return [a / b for a, b in zip(one, other, strict=True)]


def in_turns(repeats: int, sides: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Run every side once, then again, as often as asked; return what each returned."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(repeats):
        for name, side in sides.items():
            found[name].append(side())
            say(f"turn {turn + 1} of {repeats}, {name}: {_number(found[name][-1])}")
    return found


def numbers_of_workers() -> list[int]:
    """Return with how many workers audits are measured here: 1, 2, and 4 if there are as many processors."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return [number for number in (1, 2, 4) if number <= max(2, processors)]


def say(text: str) -> None:
    """Print progress."""
    print(f"  {text}", file=sys.stderr, flush=True)


# -- runs -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Run:
    """What one process took: seconds by the clock and of processors; what it printed.

    Attributes:
        wall: Seconds by the clock.
        processor: Processor time of the process and of those below it that it waited for; not that of workers.
        everywhere: That of all processes below it as well; where the system cannot tell, the same as `processor`.
    """

    wall: float
    processor: float
    output: str = ""
    manifest: dict[str, Any] = field(default_factory=dict)
    everywhere: float = 0.0


_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER: the processes that a child leaves behind become children of this one."""


def _used() -> float:
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def _adopt_orphans(*, adopt: bool) -> None:
    """Have the processes that a child leaves behind become children of this process, or no longer."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SUBREAPER, int(adopt), 0, 0, 0)


def _children() -> set[int]:
    """Return the children of this process; no child if there is no /proc."""
    return set(processes_by_parent().get(os.getpid(), ()))


def _wait_for_orphans(known: set[int]) -> None:
    """Wait for the processes that a child has left: what workers are forked from, and workers. Others are not ours."""
    while left := _children() - known:
        for process in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, 0)


def timed(
    command: Sequence[object], *, codes: Sequence[int] = (0,), cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> Run:
    """Run a command and wait for it.

    Raises:
        subprocess.CalledProcessError: It ended with another exit code than those named.
    """
    words = [str(word) for word in command]
    known = _children()
    _adopt_orphans(adopt=True)
    try:
        before, start = _used(), time.perf_counter()
        done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=cwd, env=env)
        wall, after = time.perf_counter() - start, _used()
        _wait_for_orphans(known)
    finally:
        _adopt_orphans(adopt=False)
    if done.returncode not in codes:
        say(done.stderr[-2000:])
        raise subprocess.CalledProcessError(done.returncode, words, done.stdout, done.stderr)
    return Run(wall, after - before, done.stdout, everywhere=_used() - before)


def audit(
    dump: Path,
    crds: Path | None,
    *words: object,
    jobs: int = 1,
    objects: int | None = None,
    program: Sequence[object] = ("-m", "pipelines"),
    checkout: Path | None = None,
) -> Run:
    """Audit a dump, from process start to finished report; the report is thrown away.

    Args:
        dump: The dump, or a pattern for those of a fleet.
        crds: File or folder with the definitions; None if they are in the dump.
        words: More of the command line.
        jobs: Workers.
        objects: How many keys the report must have accounted for.
        program: What Python is given to run as the auditor.
        checkout: Folder with the code of another commit to run; None for this one.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        command = [sys.executable, *program, "audit", dump, *(["--crds", crds] if crds else []), "--report", report]
        place = checkout or ROOT
        env = {**os.environ, "PYTHONPATH": str(place)}
        run = timed([*command, "--jobs", jobs, "--fail-on", "never", *words], cwd=place, env=env)
        manifest = json.loads((report / "manifest.json").read_text())
    counted = sum(manifest["counts"]["statuses"].values())
    if objects is not None and counted != objects:
        raise SystemExit(f"{dump.name}: {counted} keys are in the report, {objects} were in the dump")
    return replace(run, manifest=manifest)


# -- arguments --------------------------------------------------------------------------------------------------------


def arguments(doc: str | None, *, objects: int | None = None, repeats: int | None = 3) -> argparse.ArgumentParser:
    """Return a parser with the options that all benchmarks share; the docstring of the file is its help."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if objects is not None:
        parser.add_argument("--objects", type=int, default=objects, help=f"how many (default {objects:,})")
    if repeats is not None:
        parser.add_argument("--repeats", type=int, default=repeats, help=f"runs of each side (default {repeats})")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for drawn objects and built programs")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    return parser
