"""Asks the real libraries about `cases`, and prints their answers, one line a case.

The recorded file was made with release v0.37.2 (Kubernetes 1.37) by

    python -m tests.validation.rules.record PATH-OF-THE-ORACLE > tests/validation/rules/recorded.jsonl
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.validation.rules.cases import CASES


def ask(oracle: str) -> list[dict[str, Any]]:
    """Return what the server says to each object of each case."""
    answers = []
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            crd, given = Path(folder) / "crd.json", Path(folder) / "in.ndjson"
            crd.write_text(json.dumps(case.crd))
            lines = [{"old": each[0], "new": each[1]} if case.is_update else each[0] for each in case.objects]
            given.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
            command = [oracle, "update" if case.is_update else "audit", "--crds", str(crd), "--in", str(given)]
            done = subprocess.run(command, check=True, capture_output=True)
        said = [json.loads(line) for line in done.stdout.splitlines()]
        kept = ("errors", "unratcheted") if case.is_update else ("errors",)
        found = [{key: sorted(_cause(error) for error in each.get(key) or []) for key in kept} for each in said]
        answers.append({"name": case.name, "crd": case.crd, "objects": case.objects, "answers": found})
    return answers


def _cause(error: dict[str, Any]) -> list[str]:
    return [error["field"], error["type"], error["message"]]


if __name__ == "__main__":
    sys.stdout.writelines(f"{json.dumps(each)}\n" for each in ask(sys.argv[1]))
