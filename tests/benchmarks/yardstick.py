"""The programs with which ours is compared, and the objects that all of them receive.

The oracle (the API server's own libraries) and the generator are built from `../shared`; the peers are installed by
their released version through `go install`. All is kept in the cache folder. Where `../shared`, Go or the network is
missing, a benchmark says so and does nothing.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.benchmarks.harness import ROOT, say, timed

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "CRDS", "KINDS", "PEERS", "SHARED", "SHARES",
    "OraclePass", "broken_lines", "build", "draw", "install", "is_yardstick_missing", "oracle",
]  # fmt: skip

SHARED = ROOT.parent / "shared"
CRDS = SHARED / "corpus" / "crds"
KINDS = (
    "HTTPRoute.v1.gateway.networking.k8s.io=3,Certificate.v1.cert-manager.io=3,ServiceMonitor.v1.monitoring.coreos.com=3,"
    "ExternalSecret.v1.external-secrets.io=2,MachineDeployment.v1beta2.cluster.x-k8s.io=2,"
    "AppProject.v1alpha1.argoproj.io=2,KafkaTopic.v1.kafka.strimzi.io=2"
)
POOL = 400
"""Bodies of a kind in the corpora of the recipe, which flatter what remembers values."""
SHARES = {"bench-30": "0.4", "bench-2": "0.027", "broken": "1"}
"""Corpora: the share of objects that get defects, some of them harmless."""

PEERS = {
    "kubeconform": "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0",
    "kubectl-validate": "sigs.k8s.io/kubectl-validate@v0.0.4",
}


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
        say(f"building {name} ...")
        cache.mkdir(parents=True, exist_ok=True)
        subprocess.run(["go", "build", "-o", str(target), "."], cwd=SHARED / name, check=True)
    return target


def install(name: str, cache: Path) -> Path | None:
    """Install a peer, once; return None, and say so, if it cannot be installed here."""
    target = cache / "bin" / name
    if not target.exists():
        say(f"installing {name} ...")
        env = os.environ | {"GOBIN": str(target.parent)}
        done = subprocess.run(
            ["go", "install", PEERS[name]], check=False, env=env, capture_output=True, text=True, cwd=ROOT
        )
        if done.returncode:
            print(f"skipped: {name} does not install: {done.stderr.strip().splitlines()[-1]}")
            return None
    return target


def draw(corpus: str, objects: int, cache: Path, *, kinds: str = KINDS, name: str = "", pool: int = POOL) -> Path:
    """Draw a corpus; 100,000 objects are the corpus of the recipe, fewer are its beginning.

    Args:
        corpus: One of `SHARES`.
        objects: How many.
        cache: Folder that the file stays in.
        kinds: What to draw, with weights.
        name: The name of the file, where the kinds are others.
        pool: Bodies that objects of a kind share; as many as objects: each has one of its own.
    """
    own = "" if pool == POOL else "-own" if pool >= objects else f"-pool-{pool}"
    path = cache / f"{name or corpus}{own}-{objects}.ndjson"
    part = path.with_suffix(".part")
    if path.exists():
        return path
    if (more := _larger(path, objects)) is not None:
        with more.open("rb") as source, part.open("wb") as target:
            target.writelines(itertools.islice(source, objects))
    else:
        say(f"drawing {path.stem} ...")
        command = [build("gen", cache), "-crds", CRDS, "-n", objects, "-pool", pool, "-size", 3600,
                   "-invalid", SHARES[corpus], "-seed", 42, "-kinds", kinds, "-out", part]  # fmt: skip
        subprocess.run([str(word) for word in command], check=True)
    part.rename(path)
    return path


def _larger(path: Path, objects: int) -> Path | None:
    """Return a corpus drawn before that begins with this one."""
    name = path.stem.rpartition("-")[0]
    for other in path.parent.glob(f"{name}-*.ndjson"):
        count = other.stem.removeprefix(f"{name}-")
        if count.isdecimal() and int(count) > objects:
            return other
    return None


@dataclass(frozen=True, slots=True)
class OraclePass:
    """One warm pass of the oracle over objects in memory.

    Attributes:
        rate: Objects a second.
        phases: Microseconds an object by phase: decode, read, validate, cel.
        invalid: Objects with findings; those that are unreadable are not among them.
        processor_share: Share of the clock for which the process had a processor, at most 1 for one worker.
    """

    rate: float
    phases: dict[str, float]
    invalid: int
    processor_share: float

    @property
    def rate_without_rules(self) -> float:
        """Objects a second without validation rules: the oracle's own timer of that phase is taken off its time."""
        whole = sum(self.phases.values())
        return self.rate * whole / (whole - self.phases["cel"])


_PHASES = {"decode": "decode", "read": "prune+default", "validate": " validate", "cel": "cel"}


def oracle(corpus: Path, workers: int, cache: Path, *, passes: int = 1) -> OraclePass:
    """Return the last of some passes of the oracle, after one that warms up; GOMAXPROCS is the number of workers."""
    env = {name: value for name, value in os.environ.items() if name != "GOMAXPROCS"}
    run = timed(
        [build("oracle", cache), "bench", "--crds", CRDS, "--in", corpus, "--workers", workers, "--passes", passes],
        env=env,
    )
    line = run.output.splitlines()[-1]
    return OraclePass(
        rate=_after("objects/s", line),
        phases={name: _after(text, line) for name, text in _PHASES.items()},
        invalid=int(_after("invalid", line)),
        processor_share=min(run.processor / run.wall / workers, 1.0),
    )


def _after(name: str, line: str) -> float:
    found = re.search(rf"{re.escape(name)}=([\d.]+)", line)
    if found is None:
        raise SystemExit(f"the oracle prints no {name}: {line}")
    return float(found[1])


def broken_lines(corpus: Path, cache: Path) -> set[int]:
    """Return the numbers of the lines, from 0, that the oracle cannot read or finds something in."""
    run = timed([build("oracle", cache), "audit", "--crds", CRDS, "--in", corpus, "--quiet"])
    return {json.loads(line)["i"] for line in run.output.splitlines()}
