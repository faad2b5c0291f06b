"""The cost of an upgrade scan, relative to an audit of the same objects: processor time, including the start.

    python tests/benchmarks/upgrade.py --objects 20000 --repeats 5
    python tests/benchmarks/upgrade.py --given bench-2.ndjson          # a corpus drawn before

The corpus is bench-2 (2 % of the objects invalid). The definitions of all kinds that it has objects of are changed in
three ways, those of the other kinds stay:

- same: nothing changes. All objects are reported as unchanged without a second look.
- tightened: every version is another: texts get a longest length, a property is new. At most 2.5 times an audit.
- defaults: beside that the new property has a default, so that each object has a row in changes/. The worst case, reported
  without a limit.

Figures are medians of ratios of runs in turns, so that a slow minute hits both sides. Exit code 1: above the limit.
"""

from __future__ import annotations

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
from tests.benchmarks.harness import Results, arguments, audit, in_turns, ratios, timed
from tests.benchmarks.yardstick import crds, draw, is_corpus_missing

LIMIT = 2.5
KINDS = {
    *("HTTPRoute", "Certificate", "ServiceMonitor", "ExternalSecret"),
    *("MachineDeployment", "AppProject", "KafkaTopic"),
}


def changed(document: dict[str, Any], *, defaults: bool) -> dict[str, Any]:
    """Return a definition whose versions all differ."""
    out = copy.deepcopy(document)
    for version in out["spec"]["versions"]:
        root = version.get("schema", {}).get("openAPIV3Schema")
        if root is None:
            continue
        tighten(root)
        spec = root.get("properties", {}).get("spec", {})
        if "properties" in spec:
            spec["properties"]["addedByTheUpgrade"] = {"type": "string"} | ({"default": "x"} if defaults else {})
    return out


def tighten(schema: dict[str, Any]) -> None:
    """Give every text that may be of any length a longest one."""
    if schema.get("type") == "string" and "enum" not in schema and "maxLength" not in schema and "format" not in schema:
        schema["maxLength"] = 4096
    for below in [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]:
        if isinstance(below, dict):
            tighten(below)


def scan_seconds(corpus: Path, new: Path) -> float:
    """Return the processor seconds of one upgrade scan, its start included."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pipelines", "upgrade", corpus, "--old-crds", crds(), "--new-crds", new]
        command += ["--report", f"{folder}/report", "--jobs", 1, "--fail-on", "never"]
        return timed(command).processor


def main() -> int:
    """Run it."""
    parser = arguments(__doc__, objects=20_000)
    parser.add_argument("--given", type=Path, help="a corpus that was drawn before")
    options = parser.parse_args()
    if is_corpus_missing():
        return 0
    corpus = (options.given or draw("bench-2", options.objects, options.cache)).resolve()
    documents = [one for one in read_crd_documents([str(crds())]) if one["spec"]["names"]["kind"] in KINDS]
    results = Results("upgrade", "An upgrade scan beside an audit (bench-2)")
    results.settings |= {"objects": options.objects, "repeats": options.repeats}
    with tempfile.TemporaryDirectory() as folder:
        sets = {"same": documents}
        sets["tightened"] = [changed(document, defaults=False) for document in documents]
        sets["defaults"] = [changed(document, defaults=True) for document in documents]
        sides = {"audit": lambda: audit(corpus, crds()).processor}
        for name, some in sets.items():
            path = Path(folder, f"{name}.json")
            path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": some}))
            sides[name] = partial(scan_seconds, corpus, path)
        found = in_turns(options.repeats, sides)
    results.add("audit", "s of processor time", found["audit"])
    for name in sets:
        results.add(name, "s of processor time", found[name])
        limit = LIMIT if name == "tightened" else None
        results.add(name, "times an audit", ratios(found[name], found["audit"]), at_most=limit)
    return results.finish(options)


if __name__ == "__main__":
    sys.exit(main())
