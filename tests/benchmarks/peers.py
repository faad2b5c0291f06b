"""Objects a second beside kubeconform and kubectl-validate, on the same objects, in the same run.

    python tests/benchmarks/peers.py                  # needs the oracle, Go, and the Go module proxy once
    python tests/benchmarks/peers.py --objects 100000 --files 20000 --few 400 --repeats 3

The objects are those of bench-2: one NDJSON file for ours, one JSON file each for the peers, which read NDJSON as one
document. All are given the definitions of these objects' kinds and nothing else, and are measured from process start to
end, with two workers each; kubectl-validate has no such option and goes through its files one by one. It is so slow
that it gets only few of the objects (`--few`), evenly chosen; where time is short kubeconform also gets fewer
(`--files`). Rates are compared: that of ours for all objects with theirs for what they got. Beside that is what ours
takes for just the objects that they got, its start included; and the oracle, in memory and warm (see run.py).

kubeconform reads JSON Schema, which is made of the definitions here: unknown fields are allowed, for a stored object is
pruned, and what has a default is not required. Neither peer says what an API server would (the notes beside the oracle
tell where they differ), so their counts of invalid objects are listed beside the oracle's.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from auditor.sources.crd_files import read_crd_documents
from tests.benchmarks.harness import Results, Run, arguments, audit, in_turns, ratios, timed
from tests.benchmarks.yardstick import KINDS, broken_lines, draw, install, is_yardstick_missing, oracle
from tests.corpus import real_definitions

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

LIMITS = {"kubeconform": 8, "kubectl-validate": 50}

_KEPT: Final = frozenset(
    {
        *("enum", "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf", "maxLength", "minLength"),
        *("pattern", "format", "maxItems", "minItems", "uniqueItems", "maxProperties", "minProperties"),
    }
)
"""Keywords that mean the same in JSON Schema."""


def json_schema(schema: dict[str, Any], *, is_nested: bool = False) -> dict[str, Any]:
    """Return a schema of a definition as JSON Schema (draft 4 and later).

    Args:
        schema: The schema of a version, or a part of it.
        is_nested: It is below allOf, anyOf, oneOf or not, where a definition has no types.
    """
    out = {name: value for name, value in schema.items() if name in _KEPT}
    for name, bound in (("exclusiveMaximum", "maximum"), ("exclusiveMinimum", "minimum")):
        is_exclusive = out.get(name)
        if type(is_exclusive) is bool:  # in later drafts this is the bound itself
            del out[name]
            out.update({name: out.pop(bound)} if is_exclusive and bound in out else {})
    if schema.get("x-kubernetes-int-or-string"):
        out["type"] = ["integer", "string"]
    elif schema.get("type"):
        out["type"] = schema["type"]
    if schema.get("nullable"):
        if "type" in out:
            out["type"] = [*([out["type"]] if isinstance(out["type"], str) else out["type"]), "null"]
        if "enum" in out:
            out["enum"] = [*out["enum"], None]
    below = partial(json_schema, is_nested=is_nested)
    properties = schema.get("properties") or {}
    if properties:
        out["properties"] = {name: below(child) for name, child in properties.items()}
    required = [name for name in schema.get("required") or () if is_nested or "default" not in properties.get(name, {})]
    if required:
        out["required"] = required
    for name in ("items", "additionalProperties"):
        child = schema.get(name)
        if isinstance(child, dict):
            out[name] = below(child)
    for name in ("allOf", "anyOf", "oneOf"):
        if schema.get(name):
            out[name] = [json_schema(child, is_nested=True) for child in schema[name]]
    if schema.get("not"):
        out["not"] = json_schema(schema["not"], is_nested=True)
    return out


def write_definitions(folder: Path, kinds: str = KINDS) -> tuple[Path, Path]:
    """Write the definitions of the drawn kinds, as they are and as JSON Schema; return the two folders."""
    wanted = {tuple(one.partition("=")[0].split(".", 2)) for one in kinds.split(",")}  # kind, version, group
    crds, schemas = folder / "crds", folder / "schemas"
    for made in (crds, schemas):
        made.mkdir(parents=True, exist_ok=True)
    for document in read_crd_documents([str(real_definitions())]):
        spec = document["spec"]
        kind, group = spec["names"]["kind"], spec["group"]
        for version in spec["versions"]:
            if (kind, version["name"], group) in wanted:
                (crds / f"{document['metadata']['name']}.yaml").write_text(json.dumps(document))
                schema = json_schema(version["schema"]["openAPIV3Schema"])
                (schemas / f"{group}_{kind.lower()}_{version['name']}.json").write_text(json.dumps(schema))
    return crds, schemas


def write_files(corpus: Path, folder: Path, objects: int, count: int) -> tuple[Path, Path]:
    """Write so many of the objects of a corpus, evenly chosen, each as a file of its own and all as one NDJSON file.

    Returns:
        The folder, and the NDJSON file.
    """
    folder.mkdir(parents=True)
    together = folder.with_suffix(".ndjson")
    with corpus.open("rb") as stream, together.open("wb") as lines:
        for number, line in enumerate(stream):
            if (number + 1) * count // objects > number * count // objects:
                (folder / f"{number:07}.json").write_bytes(line)
                lines.write(line)
    return folder, together


def kubeconform(program: Path, schemas: Path, files: Path) -> Run:
    """Run kubeconform; each file must have been judged by one of the schemas.

    Returns:
        The run, and in its manifest what kubeconform counted.
    """
    location = f"{schemas}/{{{{.Group}}}}_{{{{.ResourceKind}}}}_{{{{.ResourceAPIVersion}}}}.json"
    command = [program, "-n", 2, "-schema-location", location, "-output", "json", "-summary", files]
    run = timed(command, codes=(0, 1), env=os.environ | {"GOMAXPROCS": "2"})
    summary = json.loads(run.output)["summary"]
    if summary["errors"] or summary["skipped"]:
        raise SystemExit(f"kubeconform did not judge all: {summary}")
    return Run(run.wall, run.processor, manifest=summary)


def kubectl_validate(program: Path, crds: Path, files: Path) -> Run:
    """Run kubectl-validate, away from any cluster.

    Returns:
        The run, and in its manifest how many objects were found invalid.
    """
    env = os.environ | {"GOMAXPROCS": "2", "KUBECONFIG": str(crds / "none")}
    run = timed([program, files, "--local-crds", crds, "-o", "json"], codes=(0, 1), env=env)
    found = json.loads(run.output)
    if len(found) != sum(1 for _ in files.iterdir()):
        raise SystemExit(f"kubectl-validate judged {len(found)} files only")
    return Run(run.wall, run.processor, manifest={"invalid": sum(map(_is_failure, found.values()))})


def _is_failure(statuses: list[dict[str, Any]]) -> bool:
    return any(status.get("status") != "Success" for status in statuses)


class Sides:
    """What takes turns; remembers how many objects each found invalid."""

    def __init__(self, options: argparse.Namespace, scratch: Path) -> None:
        self.options = options
        self.invalid: dict[str, int] = {}
        self.corpus = draw("bench-2", options.objects, options.cache)
        self.crds, self.schemas = write_definitions(scratch)
        self.files, self.lines = write_files(self.corpus, scratch / "files", options.objects, options.files)
        self.few_files, self.few = write_files(self.corpus, scratch / "few", options.objects, options.few)

    def ours(self, dump: Path, objects: int, jobs: int) -> float:
        """Return the rate of ours: create verdicts, for that is what the peers give."""
        run = audit(dump, self.crds, "--skip", "updates", jobs=jobs, objects=objects)
        statuses = run.manifest["counts"]["statuses"]
        self.invalid[f"ours of {objects:,}"] = statuses.get("invalid", 0) + statuses.get("unreadable", 0)
        return objects / run.wall

    def theirs(self, name: str, program: Path) -> float:
        """Return the rate of a peer."""
        is_few = name == "kubectl-validate"
        objects: int = self.options.few if is_few else self.options.files
        if is_few:
            run = kubectl_validate(program, self.crds, self.few_files)
        else:
            run = kubeconform(program, self.schemas, self.files)
        self.invalid[f"{name} of {objects:,}"] = run.manifest["invalid"]
        return objects / run.wall

    def oracle(self) -> float:
        """Return the rate of the oracle with two workers."""
        return oracle(self.lines, 2, self.options.cache).rate


def measure(results: Results, sides: Sides, programs: dict[str, Path]) -> None:
    """Run all in turns."""
    options = sides.options
    objects, files, few = options.objects, options.files, options.few
    turns: dict[str, Callable[[], float]] = {
        "ours": partial(sides.ours, sides.corpus, objects, 2),
        "ours, 1 worker": partial(sides.ours, sides.corpus, objects, 1),
        "oracle": sides.oracle,
    }
    if files < objects:
        turns["ours, files"] = partial(sides.ours, sides.lines, files, 2)
    if "kubectl-validate" in programs:
        turns["ours, few"] = partial(sides.ours, sides.few, few, 2)
    turns |= {name: partial(sides.theirs, name, program) for name, program in programs.items()}
    found = in_turns(options.repeats, turns)
    all_row, files_row, few_row = (f"{count:,} objects" for count in (objects, files, few))
    results.add(all_row, "ours, objects/s", found["ours"])
    results.add(all_row, "ours with 1 worker", found["ours, 1 worker"])
    results.add(files_row, "oracle, objects/s", found["oracle"])
    rates = {
        "kubeconform": (files_row, found.get("ours, files")),
        "kubectl-validate": (few_row, found.get("ours, few")),
    }
    for name, (row, same) in rates.items():
        if name in found:
            if same is not None:
                results.add(row, "ours, objects/s", same)
            results.add(row, f"{name}, objects/s", found[name])
            if same is not None:
                results.add(row, f"times {name}", ratios(same, found[name]))
    for name in programs:
        times = ratios(found["ours"], found[name])
        results.add("rate of ours for all over theirs", f"times {name}", times, at_least=LIMITS[name])


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, objects=100_000)
    parser.add_argument(
        "--files", type=int, help="how many of the objects kubeconform and the oracle get; default: all"
    )
    parser.add_argument("--few", type=int, default=1_000, help="how many kubectl-validate gets (default 1,000)")
    options = parser.parse_args()
    options.files = min(options.files or options.objects, options.objects)
    options.few = min(options.few, options.objects)
    if is_yardstick_missing():
        return 0
    programs = {name: program for name in LIMITS if (program := install(name, options.cache)) is not None}
    if not programs:
        return 0
    results = Results("peers", "Audits beside kubeconform and kubectl-validate (bench-2, 2 workers)")
    results.settings |= {"objects": options.objects, "repeats": options.repeats}
    with tempfile.TemporaryDirectory(dir=options.cache) as scratch:
        sides = Sides(options, Path(scratch))
        measure(results, sides, programs)
        truth = {f"the oracle of {options.files:,}": len(broken_lines(sides.lines, options.cache))}
        truth[f"the oracle of {options.few:,}"] = len(broken_lines(sides.few, options.cache))
    reported = ", ".join(f"{name} {count}" for name, count in (truth | sides.invalid).items())
    results.note(f"Objects found invalid or unreadable: {reported}.")
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
