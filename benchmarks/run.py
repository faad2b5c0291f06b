"""Objects a second beside the real API server libraries, on the same objects, in the same run.

    make bench                                  # needs ../shared (generator, oracle, definitions) and Go
    python benchmarks/run.py --objects 20000 --repeats 3

Ours is measured from process start to finished report; the oracle by its own clock, in memory, after a warm-up pass
(which is to its advantage), with GOMAXPROCS equal to the number of workers. Create verdicts are compared twice: with
rules, and without them on both sides (`--skip rules`; the oracle's own timer of that phase is taken off its time). What
verdicts on updates cost, which the oracle does not give, is printed beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
KINDS = (
    "HTTPRoute.v1.gateway.networking.k8s.io=3,Certificate.v1.cert-manager.io=3,ServiceMonitor.v1.monitoring.coreos.com=3,"
    "ExternalSecret.v1.external-secrets.io=2,MachineDeployment.v1beta2.cluster.x-k8s.io=2,"
    "AppProject.v1alpha1.argoproj.io=2,KafkaTopic.v1.kafka.strimzi.io=2"
)
SHARES = {"bench-30": "0.4", "bench-2": "0.027"}


def is_yardstick_missing() -> bool:
    """Say, also aloud, whether the yardstick can't be built here."""
    if SHARED.exists() and shutil.which("go"):
        return False
    missing = "Go" if SHARED.exists() else "../shared"
    print(f"skipped: {missing} is missing; the yardstick is built from it")
    return True


def build(name: str, cache: Path) -> Path:
    """Build one of the Go programs beside the project, once."""
    target = cache / name
    if not target.exists():
        print(f"building {name} ...", file=sys.stderr)
        subprocess.run(["go", "build", "-o", str(target), "."], cwd=SHARED / name, check=True)
    return target


def draw(corpus: str, objects: int, cache: Path) -> Path:
    """Draw a corpus; 100,000 objects are the corpus of the recipe, fewer are its beginning."""
    path = cache / f"{corpus}-{objects}.ndjson"
    if not path.exists():
        print(f"drawing {corpus} ...", file=sys.stderr)
        command = [build("gen", cache), "-crds", SHARED / "corpus" / "crds", "-n", objects, "-pool", 400, "-size", 3600,
                   "-invalid", SHARES[corpus], "-seed", 42, "-kinds", KINDS, "-out", path]  # fmt: skip
        subprocess.run([str(word) for word in command], check=True)
    return path


def ours(corpus: Path, jobs: int, *skip: str) -> float:
    """Return the seconds of one audit, from process start to finished report."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pipelines", "audit", str(corpus), "--crds", str(SHARED / "corpus" / "crds"),
                   "--report", f"{folder}/report", "--jobs", str(jobs), "--fail-on", "never",
                   *(word for one in skip for word in ("--skip", one))]  # fmt: skip
        start = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        return time.monotonic() - start


def oracle(corpus: Path, workers: int, cache: Path) -> tuple[float, float]:
    """Return (objects/s with rules, objects/s without) of one warm pass."""
    command = [build("oracle", cache), "bench", "--crds", SHARED / "corpus" / "crds", "--in", corpus,
               "--workers", workers, "--passes", 1]  # fmt: skip
    env = {name: value for name, value in os.environ.items() if name != "GOMAXPROCS"}
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, env=env)
    line = done.stdout.splitlines()[-1]
    rate = float(re.search(r"objects/s=(\d+)", line)[1])
    decode, read, validate, cel = (
        float(re.search(rf"{re.escape(name)}=([\d.]+)", line)[1])
        for name in ("decode", "prune+default", " validate", "cel")
    )
    rest = decode + read + validate
    return rate, rate * (rest + cel) / rest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--corpus", choices=sorted(SHARES), default="bench-30")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "auditor-bench")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    options = parser.parse_args()
    if is_yardstick_missing():
        return
    options.cache.mkdir(parents=True, exist_ok=True)
    corpus = draw(options.corpus, options.objects, options.cache)
    build("oracle", options.cache)
    figures: dict[int, dict[str, list[float]]] = {}
    for workers in (1, 2):
        found: dict[str, list[float]] = {
            name: [] for name in ("all", "create", "no rules", "oracle", "oracle no rules")
        }
        for _ in range(options.repeats):  # in turns, so that a slow minute hits both
            for name, skip in (("create", ("updates",)), ("no rules", ("rules",)), ("all", ())):
                found[name].append(options.objects / ours(corpus, workers, *skip))
            with_rules, without = oracle(corpus, workers, options.cache)
            found["oracle"].append(with_rules)
            found["oracle no rules"].append(without)
        figures[workers] = found
        for mine, theirs, what in (
            ("create", "oracle", "with rules"),
            ("no rules", "oracle no rules", "without rules"),
        ):
            ratios = [a / b for a, b in zip(found[mine], found[theirs], strict=True)]
            print(
                f"{options.corpus}, {options.objects} objects, {workers} workers, {what}: "
                f"{statistics.median(found[mine]):,.0f} objects/s, oracle {statistics.median(found[theirs]):,.0f}, "
                f"ratio {statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})"
            )
        whole, create = statistics.median(found["all"]), statistics.median(found["create"])
        print(f"  with verdicts on updates {whole:,.0f} objects/s: {create / whole:.2f} times the time")
    speedup = statistics.median(figures[2]["create"]) / statistics.median(figures[1]["create"])
    print(f"2 workers over 1: {speedup:.2f}; Python {platform.python_version()}, {os.cpu_count()} processors")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
