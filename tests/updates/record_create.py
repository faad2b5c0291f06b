"""Asks a real server what it says to the manifests of `create_cases`: writes create_answers.json.

    python -m tests.updates.record_create KUBECTL KUBECONFIG

The server must be one of the release that we reproduce, without objects of the definitions' group.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.updates.create_cases import CASES, DEFINITIONS

ANSWERS = Path(__file__).with_name("create_answers.json")


def ask(kubectl: list[str], text: str) -> dict[str, object]:
    """Return whether a manifest is accepted, and what is said, without the name of the file."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        words = [*kubectl, "create", "--dry-run=server", "-f", file.name]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return {"accepted": done.returncode == 0, "said": done.stderr.replace(file.name, "FILE").strip()}


def main() -> None:
    """Install the definitions, ask, remove them."""
    kubectl = [sys.argv[1], "--kubeconfig", sys.argv[2]]
    given = json.dumps({"apiVersion": "v1", "kind": "List", "items": DEFINITIONS})
    subprocess.run([*kubectl, "create", "--validate=false", "-f", "-"], input=given, text=True, check=True)
    time.sleep(5)  # until they are served
    try:
        answers = {name: ask(kubectl, text) for name, text in CASES.items()}
    finally:
        subprocess.run([*kubectl, "delete", "-f", "-"], input=given, text=True, check=True)
    ANSWERS.write_text(json.dumps(answers, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
