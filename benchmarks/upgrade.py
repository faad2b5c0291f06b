"""What an upgrade scan costs beside an audit of the same objects: processor time, the start included.

    python benchmarks/upgrade.py --objects 20000 --repeats 5
    python benchmarks/upgrade.py --given bench-2.ndjson          # a corpus drawn before

The corpus is bench-2 (2 % of the objects invalid). The definitions of all kinds that it has objects of are changed in
three ways, those of the other kinds stay:

- same: nothing changes. All objects are told to be unchanged without a second look.
- tightened: every version is another: texts get a longest length, a property is new. At most 2.5 times an audit.
- defaults: beside that the new property has a default, so that each object has a row in changes/. The worst case, told
  without a limit.

Figures are medians of ratios of runs in turns, so that a slow minute hits both sides. Exit code 1: above the limit.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from run import SHARED, draw  # noqa: E402

from auditor.sources.crd_files import read_crd_documents  # noqa: E402

LIMIT = 2.5
KINDS = {
    *("HTTPRoute", "Certificate", "ServiceMonitor", "ExternalSecret"),
    *("MachineDeployment", "AppProject", "KafkaTopic"),
}


def changed(document: dict, *, defaults: bool) -> dict:
    """Return a definition of which every version differs."""
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


def tighten(schema: dict) -> None:
    """Give every text that may be of any length a longest one."""
    if schema.get("type") == "string" and "enum" not in schema and "maxLength" not in schema and "format" not in schema:
        schema["maxLength"] = 4096
    for below in [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]:
        if isinstance(below, dict):
            tighten(below)


def seconds(*words: object) -> float:
    """Return the processor seconds of one command of ours."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pipelines", *map(str, words), "--report", f"{folder}/report", "--jobs", "1",
                   "--fail-on", "never"]  # fmt: skip
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--given", type=Path, help="a corpus that was drawn before")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "auditor-bench")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    options = parser.parse_args()
    if not SHARED.exists() or (options.given is None and not shutil.which("go")):
        missing = "Go" if SHARED.exists() else "../shared"
        print(f"skipped: {missing} is missing; the corpus is drawn with it")
        return
    options.cache.mkdir(parents=True, exist_ok=True)
    corpus = options.given or draw("bench-2", options.objects, options.cache)
    old = SHARED / "corpus" / "crds"
    documents = [one for one in read_crd_documents([str(old)]) if one["spec"]["names"]["kind"] in KINDS]
    figures: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        sets = {"same": documents}
        sets["tightened"] = [changed(document, defaults=False) for document in documents]
        sets["defaults"] = [changed(document, defaults=True) for document in documents]
        for name, some in sets.items():
            Path(folder, f"{name}.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": some}))
        for _ in range(options.repeats):
            audit = seconds("audit", corpus, "--crds", old)
            figures.setdefault("audit", []).append(audit)
            for name in sets:
                scan = seconds("upgrade", corpus, "--old-crds", old, "--new-crds", f"{folder}/{name}.json")
                figures.setdefault(name, []).append(scan / audit)
    print(f"audit: {statistics.median(figures['audit']):.1f} s of processor time")
    for name in sets:
        ratios = figures[name]
        limit = f", at most {LIMIT}" if name == "tightened" else ""
        print(f"{name}: {statistics.median(ratios):.2f} times that ({min(ratios):.2f} to {max(ratios):.2f}){limit}")
    print(f"{os.cpu_count()} processors, {options.repeats} runs each")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    sys.exit(int(statistics.median(figures["tightened"]) > LIMIT))


if __name__ == "__main__":
    main()
