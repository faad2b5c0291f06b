"""A thousand objects in a dump with 1,000 definitions and in one with 10: programs are built on first use.

    python benchmarks/definitions.py                # objects of ten kinds, then one object of every kind
    python benchmarks/definitions.py --corpus       # with the real definitions of ../shared, copied under new groups

Each dump is what `etcdctl get -w json` prints. Time is from process start to finished report, the best of --repeats.
"""

from __future__ import annotations

import argparse
import base64
import copy
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
DEPTH = 3
"""How deep parts of a synthetic schema lie in each other: 3 makes some two hundred fields, 0 makes twelve."""

MEASURED = {"few": 10, "many": 1000}


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
    sys.path.insert(0, str(ROOT))
    from auditor.sources.crd_files import read_crd_documents  # noqa: PLC0415

    known = read_crd_documents([str(SHARED / "corpus" / "crds")])
    out = []
    for number in range(count):
        document = copy.deepcopy(known[number % len(known)])
        document["spec"]["group"] = f"g{number:04}.{document['spec']['group']}"
        document["metadata"]["name"] = f"{document['spec']['names']['plural']}.{document['spec']['group']}"
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


def seconds(dump: Path, folder: Path, repeats: int, jobs: int) -> float:
    """Return the time of the best of some audits; every object must have been judged."""
    best = float("inf")
    for number in range(repeats):
        report = folder / f"{dump.stem}-{number}"
        start = time.monotonic()
        command = [sys.executable, "-m", "pipelines", "audit", dump, "--report", report, "--jobs", jobs]
        command += ["--fail-on", "never"]
        subprocess.run([str(word) for word in command], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        best = min(best, time.monotonic() - start)
        statuses = json.loads((report / "manifest.json").read_text())["counts"]["statuses"]
        assert sum(statuses.get(status, 0) for status in ("valid", "invalid", "unreadable", "needs-conversion")) >= 1000
    return best


def measure(
    folder: Path, *, spread: bool, corpus: bool = False, repeats: int = 2, jobs: int = 1
) -> tuple[float, float]:
    """Return the seconds for 1,000 objects with 10 definitions and with 1,000.

    Args:
        folder: For dumps and reports.
        spread: One object of each kind; otherwise all are of the same ten kinds.
        corpus: Real definitions.
        repeats: Runs of each, of which the best counts.
        jobs: Worker processes.
    """
    times = []
    for name, count in MEASURED.items():
        definitions = from_corpus(count) if corpus else [synthetic(number) for number in range(count)]
        dump = folder / f"{name}-{spread}.json"
        write_dump(dump, definitions, 1000, count if spread else 10, corpus=corpus)
        times.append(seconds(dump, folder, repeats, jobs))
    return times[0], times[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", action="store_true", help="the real definitions of ../shared")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if options.corpus and not SHARED.exists():
        print("skipped: ../shared is missing")
        return
    for spread in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            few, many = measure(
                Path(folder), spread=spread, corpus=options.corpus, repeats=options.repeats, jobs=options.jobs
            )
        what = "one of every kind" if spread else "of ten kinds"
        print(
            f"1,000 objects, {what}: {few:.2f} s with 10 definitions, {many:.2f} s with 1,000: {many / few:.2f} times"
        )


if __name__ == "__main__":
    main()
