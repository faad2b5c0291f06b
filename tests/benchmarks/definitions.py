"""A thousand objects in a dump with 1,000 definitions and in one with 10: programs are built on first use.

    python tests/benchmarks/definitions.py                # objects of ten kinds, then one object of every kind

Where there are real definitions, 1,000 with an object each are measured as well, with one worker and with two: copies
under new groups, each with a unique field, so that no work can be shared between them.

Each dump is what `etcdctl get -w json` prints. Time is from process start to finished report.
"""

from __future__ import annotations

import base64
import copy
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from auditor.sources.crd_files import read_crd_documents
from tests.benchmarks.harness import Results, arguments, audit, in_turns, ratios
from tests.benchmarks.yardstick import crds, is_corpus_missing, note_machine

DEPTH = 3
"""How deep parts of a synthetic schema lie in each other: 3 makes some two hundred fields, 0 makes twelve."""

OBJECTS = 1000
FEW, MANY = 10, 1000
"""Definitions in the dumps that are compared."""
LIMIT = 3
LIMITS = {1: 9, 2: 5}
"""Most seconds for 1,000 real definitions, by number of workers."""


def schema() -> dict[str, Any]:
    """Return a schema with the keywords that definitions have."""

    def part(depth: int) -> dict[str, Any]:
        properties: dict[str, Any] = {
            "name": {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"},
            "replicas": {"type": "integer", "format": "int32", "minimum": 0, "default": 1},
            "policy": {"type": "string", "enum": ["Always", "Never", "OnFailure"], "default": "Always"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            "hosts": {
                "type": "array",
                "items": {"type": "string", "format": "hostname"},
                "x-kubernetes-list-type": "set",
            },
        }
        if depth:
            properties["nested"] = part(depth - 1)
            properties["many"] = {"type": "array", "maxItems": 16, "items": part(depth - 1)}
        return {"type": "object", "properties": properties, "required": ["name"]}

    return {"type": "object", "properties": {"spec": part(DEPTH), "status": part(min(DEPTH, 1))}}


def synthetic(number: int) -> dict[str, Any]:
    """Return one definition of middling size."""
    group, plural = f"g{number:04}.example.com", "things"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema()}}],
        },
    }


def thing(definition: dict[str, Any], number: int) -> dict[str, Any]:
    """Return an object of such a definition."""
    part = {
        "name": "web",
        "replicas": number % 7,
        "policy": "Never",
        "labels": {"a": "b"},
        "port": 80,
        "hosts": ["web.example.com"],
    }
    metadata = {"name": f"x-{number:04}", "namespace": "d", "uid": "u", "generation": 1}
    return {
        "apiVersion": f"{definition['spec']['group']}/v1",
        "kind": "Thing",
        "metadata": metadata | {"creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {**part, **({"nested": {**part, "many": [part, part]}} if DEPTH else {})},
    }


def from_corpus(count: int) -> list[dict[str, Any]]:
    """Return that many copies of the real definitions, each copy in a group of its own."""
    known = read_crd_documents([str(crds())])
    out = []
    for number in range(count):
        document = copy.deepcopy(known[number % len(known)])
        document["spec"]["group"] = f"g{number:04}.{document['spec']['group']}"
        document["metadata"]["name"] = f"{document['spec']['names']['plural']}.{document['spec']['group']}"
        for version in document["spec"].get("versions") or ():
            root = (version.get("schema") or {}).get("openAPIV3Schema") or {}
            if "properties" in root:
                root["properties"][f"copy{number}"] = {"type": "string"}
        out.append(document)
    return out


def plain_object(definition: dict[str, Any], number: int) -> dict[str, Any]:
    """Return an object with nothing but metadata, which any definition can read."""
    spec = definition["spec"]
    storage = next(version for version in spec["versions"] if version["storage"])
    metadata = {"name": f"x-{number:04}", "uid": "u", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    if spec["scope"] == "Namespaced":
        metadata["namespace"] = "d"
    return {"apiVersion": f"{spec['group']}/{storage['name']}", "kind": spec["names"]["kind"], "metadata": metadata}


def write_dump(path: Path, definitions: list[dict[str, Any]], objects: int, kinds: int, *, corpus: bool) -> None:
    """Write definitions and that many objects of the first kinds, as etcdctl prints them."""
    rows = {}
    for definition in definitions:
        names = definition["spec"]["names"]
        stored = definition | {
            "status": {
                "conditions": [
                    {"type": kind, "status": "True", "reason": "x", "message": ""}
                    for kind in ("NamesAccepted", "Established")
                ],
                "acceptedNames": names,
                "storedVersions": [version["name"] for version in definition["spec"]["versions"] if version["storage"]],
            }
        }
        rows[f"/registry/apiextensions.k8s.io/customresourcedefinitions/{definition['metadata']['name']}"] = stored
    for number in range(objects):
        definition = definitions[number % kinds]
        made = plain_object(definition, number) if corpus else thing(definition, number)
        place = [made["metadata"][part] for part in ("namespace", "name") if part in made["metadata"]]
        rows["/".join(["/registry", definition["spec"]["group"], definition["spec"]["names"]["plural"], *place])] = made
    revisions = {"create_revision": 5, "mod_revision": 5, "version": 1}
    kvs = [
        {"key": _base64(key), **revisions, "value": _base64(json.dumps(value) + "\n")}
        for key, value in sorted(rows.items())
    ]
    path.write_text(json.dumps({"header": {"revision": 9}, "kvs": kvs, "count": len(kvs)}))


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def seconds(dump: Path, jobs: int = 1, objects: int = OBJECTS, processor: list[float] | None = None) -> float:
    """Return the time of an audit; every object must have been judged. Note the time of all processors."""
    run = audit(dump, None, jobs=jobs)
    if processor is not None:
        processor.append(run.everywhere)
    statuses = run.manifest["counts"]["statuses"]
    judged = sum(statuses.get(status, 0) for status in ("valid", "invalid", "unreadable", "needs-conversion"))
    if judged < objects:
        raise SystemExit(f"{judged} objects were judged")
    return run.wall


def measure(folder: Path, many: int, *, spread: bool, repeats: int) -> tuple[list[float], list[float]]:
    """Return the seconds for 1,000 objects with ten definitions, and with many.

    Args:
        folder: For dumps.
        many: How many are many.
        spread: The objects are of all kinds; otherwise they are of the same ten.
        repeats: Runs of each, in turns.
    """
    sides = {}
    for count in (FEW, many):
        dump = folder / f"{count}.json"
        known = [synthetic(number) for number in range(count)]
        write_dump(dump, known, OBJECTS, count if spread else FEW, corpus=False)
        sides[str(count)] = partial(seconds, dump)
    found = in_turns(repeats, sides)
    return found[str(FEW)], found[str(many)]


def main() -> int:
    """Run it."""
    parser = arguments(__doc__)
    parser.add_argument("--count", type=int, default=MANY, help="how many definitions are many")
    options = parser.parse_args()
    is_whole = options.count == MANY
    results = Results("definitions", "1,000 objects in dumps with few and with many definitions")
    results.settings |= {"workers": 1, "repeats": options.repeats}
    for spread in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            few, many = measure(Path(folder), options.count, spread=spread, repeats=options.repeats)
        row = "one object of every kind" if spread else "objects of ten kinds"
        results.add(row, f"{FEW} definitions, s", few)
        results.add(row, f"{options.count:,} definitions, s", many)
        limit = LIMIT if is_whole and not spread else None
        results.add(row, "times as long", ratios(many, few), at_most=limit)
    if not is_corpus_missing():
        factor = note_machine(results, options.cache, options.repeats) if is_whole else None
        measure_real(results, options.count, options.repeats, factor)
    return results.finish(options)


def measure_real(results: Results, count: int, repeats: int, factor: float | None) -> None:
    """Measure that many real definitions with an object each, with one worker and with two.

    Args:
        results: Get the figures.
        count: How many definitions.
        repeats: Runs of each.
        factor: What limits in seconds are multiplied by; None if the machine was not measured.
    """
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / "real.json"
        write_dump(dump, from_corpus(count), count, count, corpus=True)
        used: dict[int, list[float]] = {1: [], 2: []}
        found = in_turns(repeats, {str(jobs): partial(seconds, dump, jobs, count, used[jobs]) for jobs in used})
    row = f"{count:,} real definitions with an object each"
    for jobs, limit in LIMITS.items():
        words = f"{jobs} worker{'s' * (jobs > 1)}"
        results.add(f"{row}, {words}", "seconds", found[str(jobs)], at_most=limit * factor if factor else None)
        results.add(f"{row}, {words}", "CPU ms a definition", [1000 * one / count for one in used[jobs]])
    results.add(f"{row}, 2 workers over 1", "seconds", ratios(found["1"], found["2"]))


if __name__ == "__main__":
    sys.exit(main())
