"""Draws changes of objects of built-in kinds, asks kubectl and a real server, and writes builtin_updates.json.

    python -m tests.updates.record_builtin_updates KUBECTL KUBECONFIG [SEED [PAIRS [FILE]]]

The server must be one of the release that we reproduce, and have none of the objects of builtin_pairs.yaml, whose
names begin with ``pair``. Half of the objects were made by `kubectl apply`, so that the next one removes what is gone.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

PAIRS = Path(__file__).with_name("builtin_pairs.yaml")
ANSWERS = Path(__file__).with_name("builtin_updates.json")
OTHER_UID = "11111111-2222-3333-4444-555555555555"
WHOLE: list[tuple[str, Any]] = [
    ("metadata.namespace", "nowhere"),
    ("metadata.name", "pair-absent"),
    ("metadata.resourceVersion", "1"),
    ("metadata.uid", OTHER_UID),
    ("apiVersion", "gone.example.com/v1"),
]
"""Changes that any object may have, beside those of its kind."""


def assign(obj: Any, path: str, value: Any) -> None:
    """Set a field; None removes it."""
    *steps, last = path.split(".")
    for step in steps:
        obj = obj[int(step[1:-1])] if step.startswith("[") else obj.setdefault(step, {})
    if last.startswith("["):
        obj[int(last[1:-1])] = value
    elif value is None:
        obj.pop(last, None)
    else:
        obj[last] = value


def run(kubectl: list[str], *words: str, given: Any = None) -> tuple[bool, str, list[str]]:
    """Return whether kubectl succeeds, what it prints, and its errors by line, without warnings."""
    text = None if given is None else json.dumps(given)
    done = subprocess.run([*kubectl, *words], input=text, capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("Warning: ")]
    return done.returncode == 0, done.stdout, lines


def draw_pair(draw: random.Random, number: int, case: dict[str, Any]) -> tuple[Any, Any]:
    """Return an object with a name of its own, and the object changed."""
    old = deepcopy(case["object"])
    if not case.get("named"):
        old["metadata"]["name"] = f"pair{number}"
    new = deepcopy(old)
    for _ in range(draw.choice([1, 1, 1, 2])):
        for path, value in draw.choice(case["changes"]).items():
            assign(new, path, deepcopy(value))
    if draw.random() < 0.12:
        assign(new, *draw.choice(WHOLE))
    return old, new


def record(kubectl: list[str], number: int, old: Any, new: Any, *, how: str, made_by: str) -> dict[str, Any] | None:
    """Create an object and ask for its change; return None if it cannot be created, or the change not be drawn."""
    made, shown, said = run(kubectl, made_by, "-o", "json", "-f", "-", given=old)
    if not made:
        sys.stderr.write(f"pair {number}: {said}\n")
        return None
    accepted, _, said = run(kubectl, how, "--dry-run=server", "-f", "-", given=new)
    stored = json.loads(shown)
    stored["metadata"].pop("managedFields", None)
    return {"old": stored, "new": new, "how": how, "accepted": accepted, "said": said}


def main() -> None:
    """Ask, write, and delete the objects."""
    kubectl = [sys.argv[1], "--kubeconfig", sys.argv[2]]
    draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    wanted = int(sys.argv[4]) if len(sys.argv) > 4 else 90
    target = Path(sys.argv[5]) if len(sys.argv) > 5 else ANSWERS
    cases: list[dict[str, Any]] = yaml.safe_load(PAIRS.read_text())
    out: list[dict[str, Any]] = []
    number = 0
    while len(out) < wanted:
        number += 1
        case = draw.choice(cases)
        if case.get("named"):
            cases.remove(case)
        how, made_by = draw.choice(["apply", "replace"]), draw.choice(["create", "apply"])
        old, new = draw_pair(draw, number, case)
        pair = record(kubectl, number, old, new, how=how, made_by=made_by)
        if pair is not None:
            out.append(pair)
        run(kubectl, "delete", "--wait=false", "-f", "-", given=old)
    lines = ",\n".join(json.dumps(pair, ensure_ascii=False, sort_keys=True) for pair in out)
    target.write_text(f"[\n{lines}\n]\n")
    accepted = sum(pair["accepted"] for pair in out)
    sys.stderr.write(f"{len(out)} pairs, {accepted} accepted\n")


if __name__ == "__main__":
    main()
