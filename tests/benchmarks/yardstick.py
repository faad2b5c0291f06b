"""The programs with which ours is compared, and the objects that all of them receive.

The oracle (the API server's own libraries) and a generator are Go programs among the reference data beside the project
(`tests/shared.py`). Without them objects are drawn by `drawn.py`, with the definitions of real projects, which are
fetched by version (`tests/corpus.py`), and benchmarks that need the oracle say so and do nothing. The peers are
installed by their released version through `go install`. All is kept in the cache folder.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
import pytest

from auditor.sources.crd_files import read_crd_documents
from tests.benchmarks.drawn import drawn_lines
from tests.benchmarks.harness import ROOT, audit, say, timed
from tests.corpus import real_definitions
from tests.shared import beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tests.benchmarks.harness import Results

__all__ = [
    "KINDS", "PEERS", "REFERENCE_SECONDS", "SHARES",
    "OraclePass", "broken_lines", "build", "crds", "decoded", "draw", "install", "is_corpus_missing", "is_yardstick_missing",
    "note_machine", "oracle", "raw_values",
]  # fmt: skip

REFERENCE_SECONDS = 3.5
"""Seconds of processor time that an audit of bench-2 takes on the machine that limits in seconds are those of."""
KINDS = (
    "HTTPRoute.v1.gateway.networking.k8s.io=3,Certificate.v1.cert-manager.io=3,ServiceMonitor.v1.monitoring.coreos.com=3,"
    "ExternalSecret.v1.external-secrets.io=2,MachineDeployment.v1beta2.cluster.x-k8s.io=2,"
    "AppProject.v1alpha1.argoproj.io=2,KafkaTopic.v1.kafka.strimzi.io=2"
)
POOL = 400
"""Bodies of a kind in the corpora of the recipe, which flatter what remembers values."""
SHARES = {"bench-30": "0.4", "bench-2": "0.027"}
"""Corpora: the share of objects that get defects, some of them harmless."""

PEERS = {
    "kubeconform": "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0",
    "kubectl-validate": "sigs.k8s.io/kubectl-validate@v0.0.4",
}


def crds() -> Path:
    """Return the folder of the definitions, which are fetched where they are not beside the project."""
    return real_definitions()


def is_corpus_missing() -> bool:
    """Say, also aloud, whether there are no definitions to draw objects of."""
    try:
        crds()
    except pytest.skip.Exception as reason:
        print(f"skipped: {reason}")
        return True
    return False


def is_yardstick_missing() -> bool:
    """Say, also aloud, whether the oracle can't be built here."""
    if shutil.which("go") and beside("oracle") and beside("gen"):
        return is_corpus_missing()
    print("skipped: the oracle is built by Go from reference data beside the project (tests/shared.py)")
    return True


def has_generator() -> bool:
    """Return whether objects are drawn by the generator beside the project, those that limits are about."""
    return shutil.which("go") is not None and beside("gen") is not None


def note_machine(results: Results, cache: Path, repeats: int) -> float | None:
    """Measure how fast this machine is now, and note it in results.

    Args:
        results: Get the figure, and a sentence.
        cache: The cache folder.
        repeats: Runs.

    Returns:
        What limits in seconds are multiplied by; None without the generator of the corpus.
    """
    if not has_generator():
        results.note("Limits in seconds are left out: they are those of objects of the generator beside the project.")
        return None
    corpus = draw("bench-2", 100_000, cache)
    runs = [audit(corpus, crds(), objects=100_000).everywhere for _ in range(repeats)]
    factor = results.add("bench-2, 100,000 objects, 1 worker", "CPU s", runs).median / REFERENCE_SECONDS
    results.note(
        f"Limits in time are those of a machine on which an audit of bench-2 takes {REFERENCE_SECONDS} s of processor time; "
        f"here they are multiplied by {factor:.2f}, as it took that much longer in this run."
    )
    return factor


def build(name: str, cache: Path) -> Path:
    """Build one of the Go programs beside the project, once."""
    target = cache / name
    if not target.exists():
        say(f"building {name} ...")
        cache.mkdir(parents=True, exist_ok=True)
        subprocess.run(["go", "build", "-o", str(target), "."], cwd=beside(name), check=True)
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


def draw(corpus: str, objects: int, cache: Path, *, pool: int = POOL) -> Path:
    """Draw a corpus; 100,000 objects are the corpus of the recipe, fewer are its beginning.

    Args:
        corpus: One of `SHARES`.
        objects: How many.
        cache: Folder that the file stays in.
        pool: Bodies that objects of a kind share; as many as objects: each has one of its own.
    """
    own = "" if pool == POOL else "-own" if pool >= objects else f"-pool-{pool}"
    ours = "" if has_generator() else "drawn-"
    path = cache / f"{ours}{corpus}{own}-{objects}.ndjson"
    part = path.with_suffix(".part")
    if path.exists():
        return path
    if (more := _larger(path, objects)) is not None:
        with more.open("rb") as source, part.open("wb") as target:
            target.writelines(itertools.islice(source, objects))
    elif ours:
        say(f"drawing {path.stem} ...")
        documents = read_crd_documents([str(crds())])
        with part.open("wb") as target:
            target.writelines(drawn_lines(documents, KINDS, objects, pool=pool, invalid=float(SHARES[corpus])))
    else:
        say(f"drawing {path.stem} ...")
        command = [build("gen", cache), "-crds", crds(), "-n", objects, "-pool", pool, "-size", 3600,
                   "-invalid", SHARES[corpus], "-seed", 42, "-kinds", KINDS, "-out", part]  # fmt: skip
        subprocess.run([str(word) for word in command], check=True)
    part.rename(path)
    return path


def decoded(lines: Iterable[bytes]) -> Iterator[tuple[bytes, Any]]:
    """Yield each line with its value; leave out lines that orjson refuses, such as a number that is no double."""
    for line in lines:
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        yield line, value


def raw_values(text: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    """Return the values of an object as they are written: a number that Python would change stays what it is."""
    return msgspec.json.decode(text, type=dict[str, msgspec.Raw])


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
    """

    rate: float
    phases: dict[str, float]

    @property
    def rate_without_rules(self) -> float:
        """Objects a second without validation rules: the oracle's own timer of that phase is taken off its time."""
        whole = sum(self.phases.values())
        return self.rate * whole / (whole - self.phases["cel"])


_PHASES = {"decode": "decode", "read": "prune+default", "validate": " validate", "cel": "cel"}


def oracle(corpus: Path, workers: int, cache: Path) -> OraclePass:
    """Return a pass of the oracle, after one that warms up; GOMAXPROCS is the number of workers."""
    env = {name: value for name, value in os.environ.items() if name != "GOMAXPROCS"}
    command = [build("oracle", cache), "bench", "--crds", crds(), "--in", corpus, "--workers", workers, "--passes", 1]
    line = timed(command, env=env).output.splitlines()[-1]
    return OraclePass(_after("objects/s", line), {name: _after(text, line) for name, text in _PHASES.items()})


def _after(name: str, line: str) -> float:
    found = re.search(rf"{re.escape(name)}=([\d.]+)", line)
    if found is None:
        raise SystemExit(f"the oracle prints no {name}: {line}")
    return float(found[1])


def broken_lines(corpus: Path, cache: Path) -> set[int]:
    """Return the numbers of the lines, from 0, that the oracle cannot read or finds something in."""
    run = timed([build("oracle", cache), "audit", "--crds", crds(), "--in", corpus, "--quiet"])
    return {json.loads(line)["i"] for line in run.output.splitlines()}
