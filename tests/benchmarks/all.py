"""Run every benchmark, one after another, and make the tables of README.md from what they wrote.

    python tests/benchmarks/all.py                     # medians of 5, the sizes that the limits are about; an hour
    python tests/benchmarks/all.py --quick             # medians of 3, smaller; minutes
    python tests/benchmarks/all.py --only run --only peers
    python tests/benchmarks/all.py --missing           # go on after an interruption
    python tests/benchmarks/all.py --render            # the tables alone

Each writes results/NAME.json, and replaces only that, so that one may be run again alone. A benchmark that cannot run
here (no oracle beside the project, no Go) says so, and its old table is removed. The tables are between two
marks in README.md; no figure there is written by hand.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from tests.benchmarks.harness import CACHE, ROOT, Results

FOLDER = ROOT / "tests" / "benchmarks"
BEGIN, END = "<!-- figures: made by all.py -->", "<!-- end of figures -->"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One benchmark: its file, and its arguments when there is time and when there is little.

    Attributes:
        tiny: Arguments with which it does the least that shows that it works.
    """

    name: str
    whole: str
    quick: str
    tiny: str


BENCHMARKS: Final = (
    Benchmark(
        "run",
        "--repeats 5",
        "--repeats 3 --oracle-objects 12000",
        "--repeats 1 --objects 300 --oracle-objects 100",
    ),
    Benchmark(
        "peers",
        "--repeats 5 --few 2000",
        "--repeats 3 --files 12000 --few 400",
        "--repeats 1 --objects 100 --files 50 --few 5",
    ),
    Benchmark("large", "--repeats 5", "--repeats 3 --objects 100000", "--repeats 1 --objects 300"),
    Benchmark("memory", "", "--objects 500000", "--objects 300"),
    Benchmark("fleets", "--repeats 5", "--repeats 3", "--repeats 1 --scale 0.01 --clusters 2"),
    Benchmark("definitions", "--repeats 5", "--repeats 3", "--repeats 1 --count 30"),
    Benchmark("updates", "--repeats 5 --objects 50000", "--repeats 3 --objects 10000", "--repeats 1 --objects 200"),
    Benchmark("query", "--repeats 5", "--repeats 3", "--repeats 1 --rows 2000 --dump-objects 300"),
    Benchmark("sql", "--repeats 5", "--repeats 3", "--repeats 1 --objects 300"),
    Benchmark("startup", "--repeats 9", "--repeats 5", "--repeats 1"),
)


def measure(benchmark: Benchmark, words: str, folder: Path, cache: Path) -> str:
    """Run one benchmark; return what is wrong with it: "", or that it printed no figures, or that it failed."""
    target = folder / f"{benchmark.name}.json"
    part = target.with_suffix(".part")
    part.unlink(missing_ok=True)
    print(f"\n# {benchmark.name} {words}", flush=True)
    start = time.monotonic()
    command = [sys.executable, FOLDER / f"{benchmark.name}.py", *words.split(), "--cache", cache, "--json", part]
    done = subprocess.run([str(word) for word in command], check=False, cwd=ROOT)
    print(f"{benchmark.name}: {time.monotonic() - start:.0f} s", flush=True)
    target.unlink(missing_ok=True)  # what failed or could not be measured has no figures, not those of another day
    if not part.exists():
        return "failed" if done.returncode else "without figures"
    try:
        Results.from_json(json.loads(part.read_text()))
    except (KeyError, TypeError, ValueError) as error:
        print(f"{benchmark.name}: what it wrote are no results ({type(error).__name__}: {error})")
        return "failed"
    part.replace(target)
    return ""


def load(folder: Path) -> list[Results]:
    """Return all results there are, in the order of the benchmarks."""
    paths = [folder / f"{benchmark.name}.json" for benchmark in BENCHMARKS]
    return [Results.from_json(json.loads(path.read_text())) for path in paths if path.exists()]


def rendered(found: list[Results]) -> str:
    """Return the tables, the machine of most of them first; those made on another one say so."""
    if not found:
        return "Nothing has been measured yet.\n"
    usual, _ = Counter(map(_machine, found)).most_common(1)[0]
    lines = [f"Measured on {usual}.", ""]
    for results in found:
        lines += [
            f"### {results.title}",
            "",
            f"`tests/benchmarks/{results.name}.py`: {_settings(results)}",
            "",
            results.table(),
            "",
        ]
        lines += [f"{note}\n" for note in results.notes]
        if (machine := _machine(results)) != usual:
            lines += [f"Measured on {machine}.", ""]
    missed = [f"{results.name}: {figure.row}, {figure.column}" for results in found for figure in results.missed]
    lines += ["### Limits that are missed", "", *([f"- {one}" for one in missed] or ["None."]), ""]
    return "\n".join(lines)


def _machine(results: Results) -> str:
    reported = results.machine
    packages = ", ".join(f"{name} {version}" for name, version in reported["packages"].items())
    return (
        f"{reported['processor']}, {reported['processors']} processors, {reported['memory_gb']} GB, {reported['system']}; "
        f"{reported['python']}, {packages}; {reported['go']}"
    )


def _settings(results: Results) -> str:
    words = [
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in results.settings.items()
    ]
    reported = results.machine
    return (
        ", ".join([*words, f"{reported['date']}, commit {reported['commit']}, load before {reported['load_before']}"])
        + "."
    )


def render(folder: Path, readme: Path) -> None:
    """Put the tables into the README.

    Raises:
        ValueError: It has no marks.
    """
    text = readme.read_text()
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{readme.name} has no {BEGIN} and {END}")
    readme.write_text(f"{head}{BEGIN}\n\n{rendered(load(folder))}\n{END}{tail}")


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [benchmark.name for benchmark in BENCHMARKS]
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="fewer objects, medians of 3")
    size.add_argument("--tiny", action="store_true", help="only to see that all work; the figures have no meaning")
    parser.add_argument("--only", action="append", choices=names, help="these benchmarks")
    parser.add_argument("--missing", action="store_true", help="those that have no results yet")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    parser.add_argument("--results", type=Path, default=FOLDER / "results", help="folder for the JSON files")
    parser.add_argument("--readme", type=Path, default=FOLDER / "README.md", help="where the tables go")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for drawn objects and built programs")
    parser.add_argument("--against", type=Path, help="a checkout of an earlier commit, for run.py and query.py")
    parser.add_argument("--duckdb", help="a Python that has duckdb, for query.py")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    options.cache.mkdir(parents=True, exist_ok=True)
    reported: dict[str, list[str]] = {"failed": [], "without figures": [], "with limits that are missed": []}
    start = time.monotonic()
    for benchmark in () if options.render else BENCHMARKS:
        if options.only and benchmark.name not in options.only:
            continue
        if options.missing and (options.results / f"{benchmark.name}.json").exists():
            continue
        words = benchmark.quick if options.quick else benchmark.tiny if options.tiny else benchmark.whole
        if options.duckdb and benchmark.name == "query":
            words += f" --duckdb {options.duckdb}"
        if options.against and benchmark.name in ("run", "query"):
            words += f" --against {options.against}"
        if what := measure(benchmark, words, options.results, options.cache):
            reported[what].append(benchmark.name)
        render(options.results, options.readme)
    render(options.results, options.readme)
    print(f"\n{time.monotonic() - start:.0f} s in all")
    reported["with limits that are missed"] = [results.name for results in load(options.results) if results.missed]
    for what, some in reported.items():
        if some:
            print(f"{what}: {', '.join(some)}")
    return int(bool(reported["failed"]))


if __name__ == "__main__":
    sys.exit(main())
