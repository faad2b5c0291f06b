"""Holds our audits against the real Kubernetes libraries, on as many objects as wanted.

    python -m tests.differential.run                            # 20,000 objects of real definitions, 1,500 drawn
    definitions python -m tests.differential.run --objects 100000 --seed 7 --rules python -m tests.differential.run
    --rules --kubernetes 1.38     # beside the libraries of another release

Two corpora: objects that the generator draws for the definitions in ../shared/corpus/crds (or those of --crds, all of
them such as a server takes), judged at their own version and read at every other one; and objects of definitions that
are drawn themselves (`tests.properties.drawing`), with all keywords in odd combinations. What is compared is what the
vectors compare: readable or not, the object after the read, pruned paths, findings as a multiset of field, type and
message, selectable values.

Needs the oracle and the generator beside the project, and Go to build them (or --oracle and --gen, built elsewhere);
where they are missing it says so and stops with 0. Exit code 1: something differs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import auditor
from auditor.releases import DEFAULT, RELEASES, Release, running_as
from auditor.sources.crd_files import read_crd_documents
from tests.properties.drawing import Drawer
from tests.reference.libraries import library
from tests.reference.make import build_beside
from tests.shared import SHARED
from tests.vectors.test_audits import differences

if TYPE_CHECKING:
    from collections.abc import Iterator

Difference = tuple[str, str, str]

CRDS = SHARED / "corpus" / "crds"


def tool(name: str, given: Path | None, cache: Path) -> Path:
    """Return a program of the reference data, built where it is not given."""
    if given is not None:
        return given
    target = cache / name
    if not target.exists():
        cache.mkdir(parents=True, exist_ok=True)
        print(f"building {name} ...", file=sys.stderr)
        subprocess.run(["go", "build", "-o", str(target), "."], cwd=SHARED / name, check=True)
    return target


def asked_release(text: str) -> Release:
    """Return the release that a text names, as `library` takes it; also one that is not reproduced yet."""
    return next(one for one in RELEASES if one.name == library(text)[0]) if text else DEFAULT


def lines_of(command: list[Any]) -> Iterator[bytes]:
    """Yield the lines that a program prints."""
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield from process.stdout
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def without_rules(value: Any) -> Any:
    """Return a definition with all validation rules taken out; a property of that name is no list, and stays."""
    if isinstance(value, dict):
        rules = "x-kubernetes-validations"
        return {
            key: without_rules(child) for key, child in value.items() if not (key == rules and isinstance(child, list))
        }
    return [without_rules(child) for child in value] if isinstance(value, list) else value


def audit(catalog: Any, text: bytes, **at: Any) -> Any:
    """Audit; an exception is an answer, too."""
    try:
        return auditor.audit_object(catalog, text, **at)
    except Exception as error:  # noqa: BLE001 - it is what the run looks for
        return error


def difference(got: Any, expect: dict[str, Any]) -> str:
    return f"exception: {got!r}" if isinstance(got, Exception) else differences(got, expect, None)


def real(options: argparse.Namespace, folder: Path) -> Iterator[Difference | None]:
    """Compare objects of real definitions: (name, difference, object) or None for each answer."""
    crds, drawn = options.crds, folder / "objects.ndjson"
    shares = ["-invalid", options.invalid, "-seed", options.seed, "-n", options.objects, "-pool", 200, "-size", 2000]
    subprocess.run(
        [str(word) for word in [options.gen, "-crds", crds, *shares, "-out", drawn]], check=True, capture_output=True
    )
    documents = read_crd_documents([str(crds)])
    named = {document["metadata"]["name"]: document for document in documents}
    if not options.rules:
        documents = [without_rules(document) for document in documents]
    catalog = auditor.CrdCatalog.from_documents(documents)
    flags = [] if options.rules else ["--without-rules"]
    texts = drawn.read_bytes().splitlines()
    command = [options.oracle, "audit", "--crds", crds, "--in", drawn, "--workers", 2, *flags]
    for text, answer in zip(texts, lines_of(command), strict=True):
        found = difference(audit(catalog, text), json.loads(answer))
        yield ("own version", found, text.decode()) if found else None
    for definition in catalog.crds.values():
        if len(definition.versions) < 2:
            continue
        apis = {f'"apiVersion":"{definition.group}/{version}"'.encode() for version in definition.versions}
        own = [t for t in texts if any(a in t for a in apis) and f'"kind":"{definition.kind}"'.encode() in t]
        if not own:
            continue
        alone = folder / "alone.json"
        alone.write_text(json.dumps(named[definition.name]))
        part = folder / "part.ndjson"
        part.write_bytes(b"\n".join(own) + b"\n")
        for version in definition.versions:
            at = {"resource": definition.name, "version": version}
            command = [options.oracle, "audit", "--crds", alone, "--in", part, *flags]
            command += ["--resource", definition.name, "--version", version]
            for text, answer in zip(own, lines_of(command), strict=True):
                found = difference(audit(catalog, text, **at), json.loads(answer))
                yield (f"{definition.name} at {version}", found, text.decode()) if found else None


def drawn(options: argparse.Namespace, folder: Path) -> Iterator[Difference | None]:
    """Compare objects of drawn definitions, at every version."""
    cases = []
    for number in range(options.definitions):
        drawer = Drawer(Random(options.seed * 1_000_003 + number), wild=0.3 if number % 4 == 0 else 0.04)
        definition = drawer.definition()
        for index in range(4):
            text = drawer.object_text(definition)
            for version in definition["spec"]["versions"]:
                at = {"version": version["name"], "resource": definition["metadata"]["name"]}
                name = f"{number}/{index}/{version['name']}"
                cases.append({"name": name, "crd": definition, "objectText": text, **at})
    given = folder / "cases.jsonl"
    given.write_text("".join(f"{json.dumps(case)}\n" for case in cases))
    catalogs: dict[str, Any] = {}
    for case, line in zip(cases, lines_of([options.oracle, "vectors", "--in", given]), strict=True):
        expect = json.loads(line)["expect"]
        number = case["name"].partition("/")[0]
        if number not in catalogs:
            catalogs = {number: auditor.CrdCatalog.from_documents([case["crd"]])}
        text = case["objectText"].encode()
        found = difference(audit(catalogs[number], text, resource=case["resource"], version=case["version"]), expect)
        yield (f"drawn {case['name']}", found, json.dumps(case)) if found else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=20_000, help="objects of real definitions")
    parser.add_argument("--definitions", type=int, default=1_500, help="drawn definitions, four objects each")
    parser.add_argument("--invalid", type=float, default=0.5, help="share of real objects with defects")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--crds", type=Path, default=CRDS, help="folder with real definitions")
    parser.add_argument("--rules", action="store_true", help="with validation rules on both sides")
    parser.add_argument(
        "--kubernetes", default="", help="release of the libraries, and the one that the auditor reproduces"
    )
    parser.add_argument("--oracle", type=Path)
    parser.add_argument("--gen", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "auditor-bench")
    parser.add_argument("--show", type=int, default=5, help="differences to print of each kind")
    parser.add_argument("--save", type=Path, help="write every difference here, as JSON lines")
    options = parser.parse_args()
    if not SHARED.exists():
        print("skipped: ../shared (oracle, generator, definitions) is not beside the project")
        return 0
    if not (options.oracle and options.gen) and not shutil.which("go"):
        print("skipped: Go is missing, and no --oracle and --gen are given")
        return 0
    release = asked_release(options.kubernetes)
    if release != DEFAULT and options.oracle is None:
        options.oracle = build_beside(release.name)
    options.oracle = tool("oracle", options.oracle, options.cache)
    options.gen = tool("gen", options.gen, options.cache)
    with running_as(release):
        return compare_all(options)


def compare_all(options: argparse.Namespace) -> int:
    """Compare both corpora, print what differs; return the exit code."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, compare in (("real definitions", real), ("drawn definitions", drawn)):
            count, found = 0, []
            for one in compare(options, Path(folder)):
                count += 1
                if one is not None:
                    found.append(one)
            wrong += len(found)
            print(f"{name}: {count} answers compared, {len(found)} differ")
            kinds = Counter(difference.partition(":")[0] for _, difference, _ in found)
            for kind, number in kinds.most_common():
                print(f"  {number} {kind}")
            for where, text, subject in found[: options.show]:
                print(f"  {where}: {text}\n    {subject[:2000]}")
            if options.save and found:
                with options.save.open("a") as stream:
                    stream.writelines(f"{json.dumps(one)}\n" for one in found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
