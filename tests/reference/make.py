"""Builds the program beside this file, has it answer the vectors anew, and says which answers have changed.

    make reference                                  # what is recorded was answered by the release that go.mod names
    make reference KUBERNETES=v0.38.0               # another release of the libraries, in a copy: nothing here changes
    python -m tests.reference.make --release v0.38.0 --write      # ... and records its answers, and that release

Where Go is missing it says so and stops with 0. Exit code 1: an answer of the release that go.mod names has changed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
VECTORS = HERE / "vectors"
MODULES = ("k8s.io/apiextensions-apiserver", "k8s.io/apimachinery", "k8s.io/apiserver")
MODULE_FILES = ("go.mod", "go.sum")


def is_go_missing() -> bool:
    return shutil.which("go") is None


def recorded_release() -> str:
    """Return the release of the libraries that go.mod names."""
    found = re.search(rf"{MODULES[0]} (\S+)", (HERE / "go.mod").read_text())
    assert found is not None
    return found[1]


def build(release: str = "") -> Path:
    """Build the program, in a copy of its sources where it is another release than the recorded one."""
    source, arguments = HERE, ["-mod=readonly"]
    if release and release != recorded_release():
        source, arguments = Path(tempfile.gettempdir()) / f"auditor-reference-{os.getuid()}-{release}", ["-mod=mod"]
        source.mkdir(exist_ok=True)
        for path in [*HERE.glob("*.go"), *(HERE / name for name in MODULE_FILES)]:
            shutil.copy(path, source)
        _go("get", *(f"{module}@{release}" for module in MODULES), folder=source)
    program = source / "bin" / "reference"
    _go("build", *arguments, "-o", str(program), ".", folder=source)
    return program


def _go(*words: str, folder: Path) -> None:
    subprocess.run(["go", *words], cwd=folder, check=True)


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


def main(words: list[str] | None = None) -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", default="", help="of the k8s.io modules, like v0.38.0")
    parser.add_argument("--write", action="store_true", help="record the answers, also those of another release")
    options = parser.parse_args(words)
    if is_go_missing():
        print("skipped: Go is missing; the recorded vectors stay as they are")
        return 0
    release = options.release or recorded_release()
    is_other = release != recorded_release()
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
        for name in MODULE_FILES:
            shutil.copy(program.parent.parent / name, HERE)
    return 1 if total and not is_other else 0


if __name__ == "__main__":
    sys.exit(main())
