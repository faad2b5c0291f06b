"""Holds the reports of this tree against those of another one, byte for byte: for changes that may change no verdict.

    git worktree add /tmp/base main && make -C /tmp/base setup
    python -m tests.differential.reports /tmp/base                              # sample data
    python -m tests.differential.reports /tmp/base --golden FOLDER              # and every dump below a folder
    python -m tests.differential.reports /tmp/base --corpus bench-30.ndjson --crds FOLDER   # and drawn objects

Each tree runs the same commands with its own Python environment, in a folder of its own, so that all paths in reports
are alike. Compared are exit codes, what is printed, the names of all files, the bytes of all files but manifests, and
the manifests without times. Exit code 1: something differs.
"""

from __future__ import annotations

import argparse
import base64
import copy
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from auditor.sources.crd_files import read_crd_documents
from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TIMES = frozenset({"started", "finished", "seconds", "timings", "checked", "modified", "written"})
"""Keys of manifests whose values are times of the run."""
UNSTABLE = frozenset({"programs", "fallbacks"})
"""With several workers it depends on who takes which shard how many objects are judged before a program is made."""
_SECONDS = re.compile(r"\b\d+(\.\d+)?( ?ms| ?s| seconds?| objects/s)\b|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?\S*")
_CHANGED = 20
"""One of so many objects differs in the dump of the next night."""


class Case(NamedTuple):
    """A command of `auditor` that writes a report to the folder of its name."""

    name: str
    command: tuple[str, ...]
    jobs: int = 1

    @property
    def words(self) -> list[str]:
        """The command with the folder of its report; exit codes do not depend on findings."""
        return [*self.command, "--report", self.name, "--fail-on", "never", "--jobs", str(self.jobs)]


def sample_cases(tree: Path) -> Iterator[Case]:
    """Yield the commands over the sample data of a tree: each way of judging and of reading."""
    dump = str(tree / "sample-data" / "cluster.db.gz")
    for at in ("storage", "served", "stored", "v1"):
        yield Case(f"sample-{at}", ("audit", dump, "--at", at))
    for skip in ("rules", "updates", "builtin"):
        yield Case(f"sample-without-{skip}", ("audit", dump, "--skip", skip))
    yield Case("sample-old", ("audit", dump, "--old", dump))
    yield Case("sample-redacted", ("audit", dump, "--redact"))
    yield Case("sample-scope", ("audit", dump, "--include", "Loaf.bakery.example.com"))
    yield Case("sample-diff", ("audit", dump, "--diff", "sample-storage"))
    new = str(tree / "sample-data" / "next-crds.yaml")
    yield Case("sample-upgrade", ("upgrade", dump, "--new-crds", new))
    yield Case("sample-upgrade-delete", ("upgrade", dump, "--new-crds", new, "--missing", "delete"))


def golden_cases(folder: Path) -> Iterator[Case]:
    """Yield the commands over each dump below a folder, and the upgrade that is recorded there."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".gz" and path.name.endswith((".db.gz", ".json.gz", ".yaml.gz", ".tar.gz")):
            name = "golden-" + re.sub(r"\W+", "-", str(path.relative_to(folder)))
            config = path.parent / "encryption-config.json"
            key = ("--encryption-config", str(config)) if config.exists() else ()
            yield Case(name, ("audit", str(path), *key))
    upgrade = folder / "upgrade"
    for dump in ("snapshot.db.gz", "kubectl-get-all.json.gz"):
        if (upgrade / dump).exists():
            old, new = (str(upgrade / "crds" / name) for name in ("rev1", "rev2"))
            words = ("upgrade", str(upgrade / dump), "--old-crds", old, "--new-crds", new)
            yield Case(f"golden-upgrade-{dump.partition('.')[0]}", words)
            yield Case(f"golden-served-{dump.partition('.')[0]}", ("audit", str(upgrade / dump), "--at", "served"))
            old_new = ("audit", str(upgrade / dump), "--old", str(upgrade / "snapshot-compacted.db.gz"))
            yield Case(f"golden-old-{dump.partition('.')[0]}", old_new)


def corpus_cases(corpus: Path, crds: Path, folder: Path) -> Iterator[Case]:
    """Yield the commands over drawn objects: as an export, at keys, reused the next night, in a fleet, upgraded.

    Args:
        corpus: NDJSON, an object a line.
        crds: Their definitions.
        folder: Takes what is made of both.
    """
    name = corpus.stem
    documents = list(read_crd_documents([str(crds)]))
    keyed, night, fleet = folder / f"{name}.json", folder / f"{name}-night.json", folder / f"{name}-fleet"
    if not keyed.exists():
        lines = corpus.read_bytes().splitlines()
        keyed.write_text(at_keys(lines, documents))
        night.write_text(at_keys(_next_night(lines), documents))
        fleet.mkdir()
        for number in range(2):
            (fleet / f"c{number}.json").write_text(at_keys(lines[number::2][: len(lines) // 4], documents))
        for kind in ("tightened", "defaults"):
            changed = [_changed(one, defaults=kind == "defaults") for one in documents]
            (folder / f"{name}-{kind}.json").write_text(
                json.dumps({"kind": "List", "apiVersion": "v1", "items": changed})
            )
    given = ("--crds", str(crds))
    yield Case(f"{name}-export", ("audit", str(corpus), *given))
    yield Case(f"{name}-export-fast", ("audit", str(corpus), *given, "--skip", "updates"))
    yield Case(f"{name}-keyed", ("audit", str(keyed)))
    yield Case(f"{name}-keyed-fast", ("audit", str(keyed), "--skip", "updates"))
    yield Case(f"{name}-night", ("audit", str(night), "--diff", f"{name}-keyed"))
    yield Case(f"{name}-keyed-workers", ("audit", str(keyed)), jobs=2)
    for jobs in (1, 2):
        words = ("audit", f"{fleet}/*.json", "--cluster-name", "{name}")
        yield Case(f"{name}-fleet" + "-workers" * (jobs > 1), words, jobs)
    for kind in ("tightened", "defaults"):
        new = ("--new-crds", str(folder / f"{name}-{kind}.json"))
        yield Case(f"{name}-upgrade-{kind}", ("upgrade", str(keyed), *new))


def at_keys(lines: Sequence[bytes], documents: Sequence[Any]) -> str:
    """Return objects and definitions as `etcdctl get -w json` prints them, at the keys of a server."""
    plurals = plurals_of(documents)
    values = {key_of(line, plurals): line for line in lines}
    for document in documents:
        name = document["metadata"]["name"]
        values[f"/registry/apiextensions.k8s.io/customresourcedefinitions/{name}"] = stored_definition(document)
    rows = [
        {"key": _b64(key.encode()), "create_revision": 2, "mod_revision": at + 2, "version": 1, "value": _b64(value)}
        for at, (key, value) in enumerate(sorted(values.items()))
    ]
    return json.dumps({"header": {"revision": len(rows) + 2}, "kvs": rows, "count": len(rows)})


def plurals_of(documents: Sequence[Any]) -> dict[tuple[str, str], str]:
    """Return the plural of each group and kind of some definitions."""
    return {(one["spec"]["group"], one["spec"]["names"]["kind"]): one["spec"]["names"]["plural"] for one in documents}


def key_of(line: bytes, plurals: dict[tuple[str, str], str]) -> str:
    """Return the key that a server has for an object."""
    one = json.loads(line)
    group, kind, metadata = one["apiVersion"].partition("/")[0], one["kind"], one["metadata"]
    place = "/".join(filter(None, (metadata.get("namespace"), metadata.get("name") or "none")))
    return f"/registry/{group}/{plurals[group, kind]}/{place}"


def stored_definition(document: Any) -> bytes:
    """Return a definition as a server stores it: established, under the names that it has."""
    conditions = [{"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "True"}]
    status = {"conditions": conditions, "acceptedNames": document["spec"]["names"]}
    return json.dumps(document | {"status": status}).encode()


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _next_night(lines: Sequence[bytes]) -> list[bytes]:
    """Return the objects of the next night: some are gone, some have another label."""
    out = []
    for number, line in enumerate(lines):
        if number % (2 * _CHANGED) == 1:
            continue
        one = json.loads(line)
        if number % _CHANGED == 0:
            labels = one["metadata"].get("labels")
            one["metadata"]["labels"] = {**(labels if isinstance(labels, dict) else {}), "night": "2"}
            out.append(json.dumps(one).encode())
        else:
            out.append(line)
    return out


def _changed(document: Any, *, defaults: bool) -> Any:
    """Return a definition whose versions each have a new field, and bounds on all texts that have none."""
    out = copy.deepcopy(document)
    for version in out["spec"]["versions"]:
        root = version.get("schema", {}).get("openAPIV3Schema") or {}
        _tighten(root)
        spec = root.get("properties", {}).get("spec", {})
        if "properties" in spec:
            spec["properties"]["addedByTheUpgrade"] = {"type": "string"} | ({"default": "x"} if defaults else {})
    return out


def _tighten(schema: Any) -> None:
    if schema.get("type") == "string" and not {"enum", "maxLength", "format"} & schema.keys():
        schema["maxLength"] = 24
    for below in [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]:
        if isinstance(below, dict):
            _tighten(below)


# -- running and comparing --------------------------------------------------------------------------------------------


def run(tree: Path, case: Case, out: Path) -> str:
    """Run a command of a tree in a folder; return its exit code and what it printed, without times."""
    python = tree / ".venv" / "bin" / "python"
    words = [str(python if python.exists() else sys.executable), "-m", "pipelines", *case.words]
    env = os.environ | {"PYTHONPATH": str(tree), "COLUMNS": "100"}
    done = subprocess.run(words, cwd=out, env=env, check=False, capture_output=True, text=True)
    return _SECONDS.sub("TIME", f"{done.returncode}\n{done.stdout}\n{done.stderr}")


def without(value: Any, keys: frozenset[str] = TIMES) -> Any:
    """Return a manifest without some keys."""
    if isinstance(value, dict):
        return {key: without(below, keys) for key, below in value.items() if key not in keys}
    return [without(below, keys) for below in value] if isinstance(value, list) else value


def differences(one: Path, other: Path, *, unstable: frozenset[str] = frozenset()) -> list[str]:
    """Return the names of files that differ between two reports, with what differs in a manifest.

    Args:
        one: A report.
        other: Another one.
        unstable: Keys of manifests that may differ, beside times.
    """
    names = [{str(path.relative_to(side)) for path in side.rglob("*") if path.is_file()} for side in (one, other)]
    found = [f"{name}: only in one of the reports" for name in sorted(names[0] ^ names[1])]
    for name in sorted(names[0] & names[1]):
        texts = (one / name).read_bytes(), (other / name).read_bytes()
        if name.endswith("manifest.json"):
            manifests = [without(json.loads(text), TIMES | unstable) for text in texts]
            found += [f"{name}: {place}" for place in _places(*manifests)]
        elif texts[0] != texts[1]:
            found.append(f"{name}: the bytes differ")
    return found


def _places(one: Any, other: Any, at: str = "") -> Iterator[str]:
    """Yield where two JSON values differ, with both values."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from _places(one.get(key), other.get(key), f"{at}.{key}")
    elif one != other:
        yield f"{at}: {json.dumps(one)[:200]} -> {json.dumps(other)[:200]}"


def compare(base: Path, cases: Sequence[Case], folder: Path) -> int:
    """Run all commands in both trees; return how many differ."""
    sides = ("base", "this")
    shutil.rmtree(folder / "this", ignore_errors=True)
    for name in sides:
        (folder / name).mkdir(parents=True, exist_ok=True)
    different = 0
    for case in cases:
        known = folder / "base" / f"{case.name}.txt"  # the other tree does not change: it is run once
        if not known.exists():
            known.write_text(run(base, case, folder / "base"))
        printed = [known.read_text(), run(ROOT, case, folder / "this")]
        reports = [folder / name / case.name for name in sides]
        unstable = UNSTABLE if case.jobs > 1 else frozenset()
        found = differences(*reports, unstable=unstable) if all(one.is_dir() for one in reports) else []
        if printed[0] != printed[1]:
            found.append(f"printed:\n{printed[0]}\n--- but now:\n{printed[1]}")
        if not any(one.is_dir() for one in reports):
            print(f"no report  {case.name}: {printed[0].splitlines()[0]}")
        print("\n    ".join([f"{'DIFFERS' if found else 'same   '}    {case.name}", *found]), flush=True)
        different += bool(found)
    return different


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("base", type=Path, help="the other tree, with an environment in .venv")
    parser.add_argument("--golden", type=Path, help="a folder of dumps")
    parser.add_argument("--corpus", type=Path, action="append", default=[], help="drawn objects, NDJSON")
    parser.add_argument("--crds", type=Path, help="their definitions")
    parser.add_argument(
        "--keep", type=Path, help="folder for reports and drawn dumps; those of the other tree are made once"
    )
    parser.add_argument("--only", default="", help="only the cases whose name holds this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or Path(temporary)).resolve()
        (folder / "made").mkdir(parents=True, exist_ok=True)
        cases = list(sample_cases(options.base.resolve()))
        if options.golden:
            cases += golden_cases(options.golden.resolve())
        for corpus in options.corpus:
            cases += corpus_cases(corpus.resolve(), options.crds.resolve(), folder / "made")
        cases = [case for case in cases if options.only in case.name]
        different = compare(options.base.resolve(), cases, folder)
    print(f"{len(cases)} commands, {different} of them differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
