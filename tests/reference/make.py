"""Builds the program beside this file, has it answer the vectors anew, and says which answers have changed.

    make reference                                  # what is recorded was answered by the release that go.mod names
    make reference KUBERNETES=v0.34.x               # another release of `libraries.py`: records what it answers
    differently make reference KUBERNETES=v0.38.0               # any version of the libraries: shows what it answers
    differently python -m tests.reference.make --release v0.38.0 --write      # ... and makes it the release that go.mod
    names

Another release is built in a copy, with a go.mod of its own. Where the reference data lies beside the project, the
vectors there are answered as well, by the program there. Where Go is missing it says so and stops with 0. Exit code 1:
a recorded answer has changed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.reference.libraries import LIBRARIES, Library, difference, library
from tests.shared import SHARED

HERE = Path(__file__).resolve().parent
VECTORS = HERE / "vectors"
ANSWERS = HERE / "answers"
MODULES = ("k8s.io/apiextensions-apiserver", "k8s.io/apimachinery", "k8s.io/apiserver")
MODULE_FILES = ("go.mod", "go.sum")
UNSTABLE = re.compile(r"reference: (?P<name>.*?): two answers to one question")
BESIDE = (
    "conformance-audit.jsonl",
    "conformance-crd.jsonl",
    "conformance-crd-update.jsonl",
    "conformance-update.jsonl",
    "conformance-versions.jsonl",
    "real-audit.jsonl.gz",
    "real-update.jsonl.gz",
)
"""Files of vectors beside the project that the program there answers."""


def is_go_missing() -> bool:
    return shutil.which("go") is None


def recorded_release() -> str:
    """Return the release of the libraries that go.mod names."""
    found = re.search(rf"{MODULES[0]} (\S+)", (HERE / "go.mod").read_text())
    assert found is not None
    return found[1]


def build(release: str = "") -> Path:
    """Build the program, in a copy of its sources where it is another release than the recorded one."""
    if not release or release == recorded_release():
        return _compiled(HERE, Library(recorded_release()), "-mod=readonly")
    libraries = library(release)[1]
    folder = _folder(libraries)
    for path in HERE.glob("*.go"):
        shutil.copy(path, folder)
    _write_module(folder, "auditor/reference", libraries)
    return _compiled(folder, libraries, "-mod=mod")


def build_beside(release: str) -> Path | None:
    """Build the program that is beside the project, None if there is none."""
    sources = SHARED / "oracle"
    if not sources.is_dir():
        return None
    libraries = library(release)[1]
    folder = _folder(libraries) / "beside"
    for path in sorted(sources.rglob("*.go")):
        copy = folder / path.relative_to(sources)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    _write_module(folder, "kubeoracle", libraries)
    return _compiled(folder, libraries, "-mod=mod")


def _folder(libraries: Library) -> Path:
    folder = Path(tempfile.gettempdir()) / f"auditor-reference-{os.getuid()}-{libraries.version}"
    folder.mkdir(exist_ok=True)
    return folder


def _write_module(folder: Path, name: str, libraries: Library) -> None:
    """Write a go.mod that asks for these libraries alone: what they need themselves is theirs to say."""
    lines = [f"module {name}", f"go {libraries.toolchain.removeprefix('go') or '1.23.0'}"]
    lines += [f"require {module} {libraries.version}" for module in MODULES]
    lines += [f"replace {module} => {module} {version}" for module, version in libraries.replaced.items()]
    text = "\n".join(lines) + "\n"
    asked = folder / "asked.txt"
    if not asked.exists() or asked.read_text() != text:
        (folder / "go.mod").write_text(text)
        (folder / "go.sum").unlink(missing_ok=True)
        _go("mod", "tidy", folder=folder, toolchain=libraries.toolchain)
        asked.write_text(text)


def _compiled(folder: Path, libraries: Library, flag: str) -> Path:
    program = folder / "bin" / "reference"
    _go("build", flag, "-o", str(program), ".", folder=folder, toolchain=libraries.toolchain)
    return program


def _go(*words: str, folder: Path, toolchain: str = "") -> None:
    environment = {**os.environ, **({"GOTOOLCHAIN": toolchain} if toolchain else {})}
    subprocess.run(["nice", "-n", "19", "go", *words], cwd=folder, check=True, env=environment)


def answered(program: Path, path: Path) -> str:
    """Return a file of vectors with the answers of a program."""
    done = subprocess.run(
        [program, "answer", "-in", path], check=True, capture_output=True, text=True, encoding="utf-8"
    )
    return done.stdout


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return what the cases say now that they did not say before, a line for each."""
    was = {case["name"]: case["expect"] for case in before["cases"]}
    return [
        f"{case['name']}\n    was {json.dumps(was[case['name']])}\n    is  {json.dumps(case['expect'])}"
        for case in after["cases"]
        if was[case["name"]] != case["expect"]
    ]


def vectors_beside(name: str) -> bytes:
    """Return the lines of a file of vectors beside the project, no lines if it does not exist."""
    path = SHARED / "vectors" / name
    if not path.exists():
        return b""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def cases_of(lines: bytes) -> list[dict[str, Any]]:
    """Return the cases of such lines."""
    return [json.loads(line) for line in lines.splitlines()]


def answered_beside(program: Path, lines: bytes) -> bytes:
    """Return such lines with the answers of a program."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(lines)
        file.flush()
        words = [program, "vectors", "-in", file.name, "-crds", SHARED / "corpus/crds"]
        return subprocess.run(words, check=True, capture_output=True).stdout


def recorded_answers(name: str) -> dict[str, Any]:
    """Return what was recorded of a release: for each file of vectors, the differences by the name of the case."""
    path = ANSWERS / f"{name}.json.gz"
    return json.loads(gzip.decompress(path.read_bytes())) if path.exists() else {}


def record(name: str, answers: dict[str, Any]) -> None:
    """Record the differences of a release."""
    ANSWERS.mkdir(exist_ok=True)
    text = json.dumps(answers, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    (ANSWERS / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def answer_as(name: str, release: str) -> int:
    """Have the libraries of another release answer, record the differences; return how many of these are new."""
    before = recorded_answers(name)
    program = build(release)
    print(subprocess.run([program, "version"], check=True, capture_output=True, text=True).stdout, end="")
    made: dict[str, Any] = {"release": library(release)[1].version}
    made["unstable"] = {}
    for path in sorted(VECTORS.glob("*.json")):
        suite = json.loads(path.read_text(encoding="utf-8"))
        now, left_out = answered_stably(program, suite)
        was = [case for case in suite["cases"] if case["name"] not in left_out]
        made[path.name] = _differences(was, now, "expect")
        made["unstable"].update({path.name: left_out} if left_out else {})
        _print_count(path.name, len(was), made[path.name], before.get(path.name, {}))
    beside = build_beside(release)
    for file in BESIDE:
        lines = vectors_beside(file)
        if beside is None or not lines:
            print(f"beside the project: {file} is missing; what was recorded stays")
            made[file] = before.get(file, {})
            continue
        was, now = cases_of(lines), cases_of(answered_beside(beside, lines))
        unstable = [one["name"] for one in now if one.get("unstable")]
        made["unstable"].update({file: unstable} if unstable else {})
        made[file] = _differences(was, now, "expect")
        made[f"{file} without rules"] = _differences(was, now, "expectWithoutRules")
        _print_count(file, len(was), made[file], before.get(file, {}))
    record(name, made)
    return sum(made[key] != before.get(key, made[key]) for key in made)


def answered_stably(program: Path, suite: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the cases of a suite with the answers of a program, and the names of those that it answers in two ways."""
    left_out: list[str] = []
    while True:
        cases = [case for case in suite["cases"] if case["name"] not in left_out]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "asked.json"
            path.write_text(json.dumps({**suite, "cases": cases}), encoding="utf-8")
            try:
                return json.loads(answered(program, path))["cases"], left_out
            except subprocess.CalledProcessError as error:
                unstable = UNSTABLE.match(error.stderr)
                if unstable is None:
                    raise RuntimeError(error.stderr) from error
                left_out.append(unstable["name"])


def _differences(was: list[dict[str, Any]], now: list[dict[str, Any]], key: str) -> dict[str, Any]:
    made = {}
    for old, new in zip(was, now, strict=True):
        assert old["name"] == new["name"]
        change = difference(old.get(key), new.get(key))
        if change is not None and not new.get("unstable"):
            made[new["name"]] = change
    return made


def _print_count(file: str, cases: int, made: dict[str, Any], before: dict[str, Any]) -> None:
    print(f"{file}: {cases} cases, {len(made) or 'none'} answered differently", end="")
    print("" if made == before else f" (recorded so far: {len(before)})")


def main(words: list[str] | None = None) -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", default="", help="of the k8s.io modules: v0.38.0, v0.34.x or 1.34")
    parser.add_argument("--write", action="store_true", help="make it the release that go.mod names")
    options = parser.parse_args(words)
    if is_go_missing():
        print("skipped: Go is missing; the recorded vectors stay as they are")
        return 0
    name, libraries = library(options.release or recorded_release())
    release = libraries.version
    is_other = release != recorded_release()
    if is_other and not options.write and LIBRARIES.get(name) == libraries:
        return 1 if answer_as(name, release) else 0
    program = build(release)
    print(subprocess.run([program, "version"], check=True, capture_output=True, text=True).stdout, end="")
    total = 0
    for path in sorted(VECTORS.glob("*.json")):
        before, text = json.loads(path.read_text(encoding="utf-8")), answered(program, path)
        changed = changes(before, json.loads(text))
        total += len(changed)
        print(f"vectors/{path.name}: {len(before['cases'])} cases, {len(changed) or 'none'} changed")
        print("".join(f"  {line[:1000]}\n" for line in changed), end="")
        if options.write or not is_other:
            path.write_text(text, encoding="utf-8")
    if is_other and options.write:
        for file in MODULE_FILES:
            shutil.copy(program.parent.parent / file, HERE)
    return 1 if total and not is_other else 0


if __name__ == "__main__":
    sys.exit(main())
