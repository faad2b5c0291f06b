"""The time of a run before it checks anything: that of very small runs, relative to an empty Python.

    python tests/benchmarks/startup.py
    python tests/benchmarks/startup.py --repeats 9

Help; a manifest against one definition; an audit of one object with one definition and with all real definitions.
Each from process start to its end, with the modules compiled as an installer (or `make setup`) leaves them.
"""

from __future__ import annotations

import compileall
import json
import sys
import tempfile
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from tests.benchmarks.definitions import synthetic, thing
from tests.benchmarks.harness import ROOT, Results, arguments, in_turns, timed
from tests.benchmarks.yardstick import crds, is_corpus_missing, note_machine

EMPTY = "python -c pass"
REAL = "*cert-manager.io_certificates.yaml"
CERTIFICATE = {
    "apiVersion": "cert-manager.io/v1",
    "kind": "Certificate",
    "metadata": {"name": "web", "namespace": "prod"},
    "spec": {"secretName": "web", "issuerRef": {"name": "letsencrypt"}, "dnsNames": ["web.example.com"]},
}
LIMITS = {
    "validate, one definition": 0.4,
    "audit, one definition": 0.4,
    "audit, all definitions": 0.4,
}
"""Seconds over an empty Python."""


def commands(folder: Path) -> dict[str, list[object]]:
    """Return what is run, by name; the files that it reads are put into a folder."""
    has_real = not is_corpus_missing()
    one, obj = next(iter(sorted(crds().rglob(REAL))), None) if has_real else None, CERTIFICATE
    if one is None:
        one, definition = folder / "crd.json", synthetic(0)
        one.write_text(json.dumps(definition))
        obj = thing(definition, 0)
    manifest, export = folder / "object.json", folder / "export.ndjson"
    manifest.write_text(json.dumps(obj, indent=2))
    export.write_text(json.dumps(obj) + "\n")
    auditor: list[object] = [sys.executable, "-m", "pipelines"]
    audit = [*auditor, "audit", export, "--report", folder / "report", "--force", "--jobs", 1]
    made: dict[str, list[object]] = {
        EMPTY: [sys.executable, "-c", "pass"],
        "help": [*auditor, "--help"],
        "validate, one definition": [*auditor, "validate", "--crds", one, manifest],
        "audit, one definition": [*audit, "--crds", one],
    }
    if has_real:
        made["audit, all definitions"] = [*audit, "--crds", crds()]
    return made


def main() -> int:
    """Run it."""
    options = arguments(__doc__, repeats=5).parse_args()
    for folder in ("auditor", "pipelines"):
        compileall.compile_dir(ROOT / folder, quiet=1)
    results = Results("startup", "What a run takes before it has judged anything")
    results.settings["repeats"] = options.repeats
    factor = note_machine(results, options.cache, 3) if options.repeats > 1 else None
    processors: dict[str, list[float]] = {}

    def seconds(name: str, command: list[object]) -> float:
        run = timed(command)
        processors.setdefault(name, []).append(run.processor)
        return run.wall

    with tempfile.TemporaryDirectory() as folder:
        sides = {name: partial(seconds, name, command) for name, command in commands(Path(folder)).items()}
        in_turns(1, sides)  # reading files for the first time is not what is measured
        processors.clear()
        found = in_turns(options.repeats, sides)
    for name, runs in found.items():
        results.add(name, "s", runs)
        results.add(name, "of processors, s", processors[name])
        over = [run - empty for run, empty in zip(runs, found[EMPTY], strict=True)]
        if name != EMPTY:
            limit = LIMITS[name] * factor if factor and name in LIMITS else None
            results.add(name, "over an empty Python, s", over, at_most=limit)
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
