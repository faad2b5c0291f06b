"""Objects a second beside kubeconform and kubectl-validate, on the same objects, in the same run.

    python benchmarks/peers.py                  # needs ../shared, Go, and the Go module proxy once
    python benchmarks/peers.py --objects 5000 --every 20 --repeats 3

The objects are those of bench-2: one NDJSON file for ours, one JSON file each for the peers, which read NDJSON as one
document. All three are given the definitions of these objects' kinds and nothing else, and are measured from process
start to end, with two workers each; kubectl-validate has no such option and goes through its files one by one. It is so
slow that it gets only every so-many-th object (`--every`): rates are compared, and, as the second figure, the time that
ours takes for just these few, its start included. The oracle stands beside them, in memory and warm (see run.py).

kubeconform reads JSON Schema, which is made of the definitions here: unknown fields are allowed, for a stored object is
pruned, and what has a default is not required. Neither peer says what an API server would (`../shared` tells where they
differ), so their counts of invalid objects are told beside the oracle's.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Final

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from auditor.sources.crd_files import read_crd_documents
from benchmarks.harness import Results, Run, arguments, audit, in_turns, ratios, timed
from benchmarks.yardstick import CRDS, KINDS, broken_lines, draw, install, is_yardstick_missing, oracle

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
        schema: Of a version, or a part of it.
        is_nested: It stands below allOf, anyOf, oneOf or not, where a definition has no types.
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
    for document in read_crd_documents([str(CRDS)]):
        spec = document["spec"]
        kind, group = spec["names"]["kind"], spec["group"]
        for version in spec["versions"]:
            if (kind, version["name"], group) in wanted:
                (crds / f"{document['metadata']['name']}.yaml").write_text(json.dumps(document))
                schema = json_schema(version["schema"]["openAPIV3Schema"])
                (schemas / f"{group}_{kind.lower()}_{version['name']}.json").write_text(json.dumps(schema))
    return crds, schemas


def write_files(corpus: Path, folder: Path, every: int = 1) -> tuple[Path, Path, int]:
    """Write every so-many-th object of a corpus as a file of its own, and all of these as one NDJSON file.

    Returns:
        The folder, the NDJSON file and the number of objects.
    """
    folder.mkdir(parents=True)
    count, together = 0, folder.with_suffix(".ndjson")
    with corpus.open("rb") as stream, together.open("wb") as lines:
        for number, line in enumerate(stream):
            if number % every == 0:
                (folder / f"{number:07}.json").write_bytes(line)
                lines.write(line)
                count += 1
    return folder, together, count


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


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, objects=20_000)
    parser.add_argument("--every", type=int, default=20, help="kubectl-validate gets every so-many-th object")
    options = parser.parse_args()
    if is_yardstick_missing():
        return 0
    programs = {name: install(name, options.cache) for name in LIMITS}
    if not any(programs.values()):
        return 0
    corpus = draw("bench-2", options.objects, options.cache)
    results = Results("peers", "Audits beside kubeconform and kubectl-validate (bench-2, 2 workers)")
    results.settings |= {"objects": options.objects, "repeats": options.repeats}
    counts: dict[str, int] = {}

    def rate(name: str, objects: int, run: Run) -> float:
        if run.manifest:
            counts[name] = run.manifest["invalid"] if "invalid" in run.manifest else _invalid(run)
        return objects / run.wall

    with tempfile.TemporaryDirectory(dir=options.cache) as scratch:
        crds, schemas = write_definitions(Path(scratch))
        files, lines, count = write_files(corpus, Path(scratch) / "all")
        few_files, few, few_count = write_files(corpus, Path(scratch) / "few", options.every)
        words = ("--skip", "updates")
        sides = {
            "ours": lambda: rate("ours", count, audit(lines, crds, *words, jobs=2, objects=count)),
            "ours, 1 worker": lambda: rate("ours", count, audit(lines, crds, *words, jobs=1, objects=count)),
            "oracle": lambda: oracle(lines, 2, options.cache).rate,
        }
        if (program := programs["kubeconform"]) is not None:
            sides["kubeconform"] = lambda: rate("kubeconform", count, kubeconform(program, schemas, files))
        if (slow := programs["kubectl-validate"]) is not None:
            sides["few"] = lambda: rate("few", few_count, audit(few, crds, *words, jobs=2, objects=few_count))
            sides["kubectl-validate"] = lambda: rate(
                "kubectl-validate", few_count, kubectl_validate(slow, crds, few_files)
            )
        found = in_turns(options.repeats, sides)
        truth, few_truth = (len(broken_lines(each, options.cache)) for each in (lines, few))
    row, few_row = f"{count:,} objects", f"every {options.every}th of them: {few_count:,}"
    results.add(row, "ours, objects/s", found["ours"])
    results.add(row, "ours with 1 worker", found["ours, 1 worker"])
    results.add(row, "oracle, objects/s", found["oracle"])
    if "kubeconform" in found:
        results.add(row, "kubeconform, objects/s", found["kubeconform"])
        results.add(
            row, "times kubeconform", ratios(found["ours"], found["kubeconform"]), at_least=LIMITS["kubeconform"]
        )
    if "few" in found:
        slow_rates = found["kubectl-validate"]
        results.add(few_row, "ours, objects/s", found["few"])
        results.add(few_row, "kubectl-validate, objects/s", slow_rates)
        results.add(few_row, "times kubectl-validate", ratios(found["few"], slow_rates))
        results.add(
            "rate of ours for all, of kubectl-validate for the few",
            "times kubectl-validate",
            ratios(found["ours"], slow_rates),
            at_least=LIMITS["kubectl-validate"],
        )
    names = {"few": "ours of the few", "kubectl-validate": "kubectl-validate of the few"}
    told = ", ".join(f"{names.get(name, name)} {number}" for name, number in counts.items())
    results.note(f"Invalid or unreadable are, by the oracle, {truth} of all and {few_truth} of the few; found: {told}.")
    return results.finish(options)


def _invalid(run: Run) -> int:
    statuses = run.manifest["counts"]["statuses"]
    return int(statuses.get("invalid", 0) + statuses.get("unreadable", 0))


if __name__ == "__main__":
    sys.exit(main())
