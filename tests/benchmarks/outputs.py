"""An audit with every file format, a history, accepted findings and owners, beside one without any of them.

    python tests/benchmarks/outputs.py
    python tests/benchmarks/outputs.py --objects 20000 --repeats 3

Objects are drawn here: one in a hundred lacks a required field, another hundredth has a value out of its bounds. Both
are timed from process start to finished report, in turns, at one worker. With all of it an audit takes at most 5 % more
processor time.

A report with 100,000 findings, whose objects all lack a field and have a value out of its bounds, is made into a page of
at most 8 MB in 5 s and 300 MB; `auditor findings` lists its causes in 1 s of processor time.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from tests.benchmarks.harness import Results, Run, arguments, audit, in_turns, ratios, timed

LIMIT = 1.05
FINDINGS = 100_000
PAGE_MB, PAGE_SECONDS, PAGE_MEMORY_MB, LIST_SECONDS = 8, 5, 300, 1
FORMATS = ("html", "sarif", "junit", "codequality", "csv", "ndjson", "prometheus", "openreports", "markdown")
_TEXT = {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
SPEC = {
    "type": "object",
    "required": ["tier", "size"],
    "properties": {
        "tier": {"type": "string", "enum": ["gold", "silver"]},
        "size": {"type": "integer", "minimum": 1, "maximum": 100},
        **{f"name{number}": _TEXT for number in range(8)},
        "items": {
            "type": "array",
            "maxItems": 20,
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": _TEXT, "weight": {"type": "number"}, "on": {"type": "boolean", "default": True}},
            },
        },
    },
    "x-kubernetes-validations": [{"rule": "!has(self.items) || self.items.size() <= self.size"}],
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC}}},
            }
        ],
    },
}


_PEAK = """
import atexit, sys
def say():
    (most,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
    print(int(most) * 1024)
atexit.register(say)
from pipelines.cli.main import main
main()
"""
"""A program that is the auditor, and prints the most memory that it held, in bytes, as its last line."""


def draw(objects: int, folder: Path, *, all_invalid: bool = False) -> tuple[Path, Path]:
    """Write objects and their definition; return both files."""
    dump, crd = folder / "objects.ndjson", folder / "crd.json"
    crd.write_text(json.dumps(DEFINITION))
    with dump.open("w") as sink:
        for number in range(objects):
            spec: dict[str, object] = {"tier": "gold", "size": 700 if all_invalid or number % 100 == 50 else 7}
            if all_invalid or number % 100 == 0:
                del spec["tier"]
            spec |= {f"name{at}": f"value-{number}-{at}" for at in range(8)}
            spec["items"] = [{"name": f"item-{at}", "weight": at / 7} for at in range(5)]
            metadata = {
                "name": f"w{number:07}",
                "namespace": f"team-{number % 200}",
                "uid": f"{number:032x}",
                "creationTimestamp": "2026-11-01T00:00:00Z",
                "generation": 1,
            }
            document = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec}
            sink.write(json.dumps(document) + "\n")
    return dump, crd


def measure_many_findings(results: Results, findings: int, repeats: int) -> None:
    """Measure the page and the list of causes of a report with at least that many findings."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        each = _audited(2, folder / "few") / 2
        count = _audited(-(-findings // int(each)), folder / "many")
        report, page = folder / "many" / "report", folder / "page.html"
        program = [sys.executable, "-c", _PEAK]
        memory: dict[str, list[float]] = {"page": [], "list": []}

        def processor(side: str, *words: object) -> float:
            run = timed([*program, *words])
            memory[side].append(int(run.output.split()[-1]) / 1e6)
            return run.processor

        found = in_turns(
            repeats,
            {
                "page": partial(processor, "page", "report", report, "-o", f"html={page}"),
                "list": partial(processor, "list", "findings", report),
            },
        )
        row = f"report of {count:,} findings"
        is_whole = findings >= FINDINGS  # of fewer, the limits mean nothing
        for column, figures, limit in (
            ("HTML, processor, s", found["page"], PAGE_SECONDS),
            ("HTML, memory, MB", memory["page"], PAGE_MEMORY_MB),
            ("HTML, MB", [page.stat().st_size / 1e6], PAGE_MB),
            ("`findings`, processor, s", found["list"], LIST_SECONDS),
        ):
            results.add(row, column, figures, at_most=limit if is_whole else None)


def _audited(objects: int, folder: Path) -> int:
    """Audit so many invalid objects into `folder / "report"`; return the number of findings of creates."""
    folder.mkdir()
    dump, crd = draw(objects, folder, all_invalid=True)
    words = ["audit", dump, "--crds", crd, "--report", folder / "report", "--fail-on", "never"]
    timed([sys.executable, "-m", "pipelines", *words])
    manifest = json.loads((folder / "report" / "manifest.json").read_text())
    return sum(one["count"] for one in manifest["findings"])


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, objects=100_000)
    parser.add_argument("--findings", type=int, default=FINDINGS, help=f"of the large report (default {FINDINGS:,})")
    options = parser.parse_args()
    results = Results("outputs", "An audit with every format, history, accepted findings and owners")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dump, crd = draw(options.objects, folder)
        (folder / "accept.yaml").write_text(
            '- {kind: Widget, namespace: "team-1*", reason: migration, expires: "2999-12-31"}\n'
        )
        (folder / "owners.yaml").write_text('- {team: web, namespace: "team-*"}\n')
        words: list[object] = ["--accept", folder / "accept.yaml", "--owners", folder / "owners.yaml"]
        words += ["--history", folder / "history"]
        words += [word for one in FORMATS for word in ("-o", f"{one}={folder / f'out.{one}'}")]
        runs: dict[str, list[Run]] = {"without": [], "with all": []}

        def processor(side: str, *more: object) -> float:
            runs[side].append(audit(dump, crd, *more, objects=options.objects))
            return runs[side][-1].processor

        found = in_turns(
            options.repeats,
            {"without": partial(processor, "without"), "with all": partial(processor, "with all", *words)},
        )
        for one in FORMATS:
            if not (folder / f"out.{one}").stat().st_size:
                raise SystemExit(f"{one} is empty")
        for side, times in found.items():
            results.add(side, "processor, s", times)
            results.add(side, "wall, s", [run.wall for run in runs[side]])
        results.add("with all", "times the processor", ratios(found["with all"], found["without"]), at_most=LIMIT)
        measure_many_findings(results, options.findings, options.repeats)
        results.settings |= {"findings": options.findings, "objects": options.objects, "repeats": options.repeats}
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
