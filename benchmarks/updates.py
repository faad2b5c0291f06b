"""What verdicts on updates cost: an audit with them beside one without, and ratcheting in the check of an update.

    python benchmarks/updates.py --objects 20000 --repeats 5
    python benchmarks/updates.py --given bench-2.ndjson          # a corpus drawn before

Two figures, each a median of ratios of runs in turns, so that a slow minute hits both sides:

- audit: seconds of processor time of an audit of bench-2 (2 % of the objects invalid) over those with --skip updates;
  at most 1.3.
- ratcheting: the check of an unchanged object as an update of itself over the same check without ratcheting; at most
  1.05. Objects are read before the clock starts; all of them, also the invalid ones. Rules are left out: without
  ratcheting a blocking finding keeps them from running at all, so that both sides would not do the same work.

Exit code 1: a figure is above its limit.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import orjson  # noqa: E402
from run import SHARED, draw  # noqa: E402

from auditor.crds.catalog import CrdCatalog  # noqa: E402
from auditor.program.audit_program import AuditProgram  # noqa: E402
from auditor.program.update_program import UpdateProgram  # noqa: E402
from auditor.sources.crd_files import read_crd_documents  # noqa: E402

LIMITS = {"audit": 1.3, "ratcheting": 1.05}


def audit_seconds(corpus: Path, *options: str) -> float:
    """Return the processor seconds of one audit, its start included."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pipelines", "audit", str(corpus), "--crds", str(SHARED / "corpus" / "crds"),
                   "--report", f"{folder}/report", "--jobs", "1", "--fail-on", "never", *options]  # fmt: skip
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def unchanged(corpus: Path) -> list[tuple[UpdateProgram, dict, dict]]:
    """Read all objects of a corpus; return each with its program and a copy of itself."""
    catalog = CrdCatalog.from_documents(read_crd_documents([str(SHARED / "corpus" / "crds")]))
    programs: dict[str, AuditProgram] = {}
    updates: dict[str, UpdateProgram] = {}
    found = []
    for line in corpus.read_bytes().splitlines():
        head = orjson.loads(line)
        api_version, kind = head["apiVersion"], head["kind"]
        key = f"{api_version} {kind}"
        if key not in programs:
            group, _, version = api_version.rpartition("/")
            definition = catalog.by_group_kind(group, kind)
            programs[key] = AuditProgram(definition, definition.versions[version])
            updates[key] = UpdateProgram(programs[key])
        old, new = programs[key].audit(line).object, programs[key].audit(line).object
        for obj in (old, new):
            obj["metadata"]["resourceVersion"] = "1"
        found.append((updates[key], old, new))
    return found


def check_seconds(pairs: list[tuple[UpdateProgram, dict, dict]], *, ratchet: bool) -> float:
    """Return the processor seconds of checking all updates."""
    start = time.process_time()
    for update, old, new in pairs:
        update.validator.run(new, old, ratchet=ratchet)
    return time.process_time() - start


def ratios(name: str, repeats: int, one: object, other: object) -> list[float]:
    found = []
    for _ in range(repeats):
        without = other()
        found.append(one() / without)
    limit = LIMITS[name]
    print(f"{name}: {statistics.median(found):.3f} ({min(found):.3f} to {max(found):.3f}), limit {limit}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--given", type=Path, help="a corpus to use instead of drawing one")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "auditor-bench")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    options = parser.parse_args()
    if not SHARED.exists() or not (options.given or shutil.which("go")):
        print(f"skipped: {'Go' if SHARED.exists() else '../shared'} is missing; the objects are drawn with it")
        return
    options.cache.mkdir(parents=True, exist_ok=True)
    corpus = (options.given or draw("bench-2", options.objects, options.cache)).resolve()
    figures = {
        "audit": ratios(
            "audit", options.repeats, lambda: audit_seconds(corpus), lambda: audit_seconds(corpus, "--skip", "updates")
        )
    }
    pairs = unchanged(corpus)
    figures["ratcheting"] = ratios(
        "ratcheting",
        options.repeats,
        lambda: check_seconds(pairs, ratchet=True),
        lambda: check_seconds(pairs, ratchet=False),
    )
    print(f"{len(pairs)} objects, {os.cpu_count()} processors, {options.repeats} repeats")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    sys.exit(any(statistics.median(found) > LIMITS[name] for name, found in figures.items()))


if __name__ == "__main__":
    main()
