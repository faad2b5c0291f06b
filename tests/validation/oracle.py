"""Asks the Kubernetes libraries for their verdict on drawn objects, or reads what they said before.

The recorded file was made with release v0.37.2 (Kubernetes 1.37) by

    python -m tests.validation.oracle PATH-OF-THE-ORACLE SEED DEFINITIONS > tests/validation/recorded/verdicts.jsonl.gz

(`tests.reference` builds a program that says the same.) A case is a line: ``crd``, ``audits`` (text of an object,
errors), ``updates`` (texts of old and new object, whether the server fails on them, errors with and without
ratcheting).
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.reference import make
from tests.validation import draw

RECORDED = Path(__file__).parent / "recorded/verdicts.jsonl.gz"


def cases(path: Path) -> list[dict[str, Any]]:
    """Return the recorded cases; texts of numbers in schemas keep their spelling through Go's decoder only."""
    with gzip.open(path, "rb") as stream:
        return [json.loads(line) for line in stream]


def live() -> str:
    """Return the program to ask: the one that AUDITOR_ORACLE names, or our own; skip where Go is missing."""
    named = os.environ.get("AUDITOR_ORACLE")
    if named is None and make.is_go_missing():
        pytest.skip("Go is missing: only recorded verdicts are compared")
    return named or str(make.build())


def ask(oracle: str, seed: int, definitions: int, *, properties: int = 12, objects: int = 6) -> list[dict[str, Any]]:
    """Draw cases and have them judged; cases that the libraries cannot read are left out."""
    random = Random(seed)
    made: list[dict[str, Any]] = []
    for number in range(definitions):
        crd = draw.definition(random, number, properties)
        texts = [json.dumps(draw.object_of(random, crd)) for _ in range(objects)]
        pairs = [(text, json.dumps(draw.updated(random, json.loads(text)))) for text in texts[: objects // 2]]
        made.append({"crd": crd, "texts": texts, "pairs": pairs})
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "crds").mkdir()
        for number, case in enumerate(made):
            text = json.dumps(case["crd"], ensure_ascii=False)
            (Path(folder) / f"crds/{number}.json").write_text(text, encoding="utf-8")
        audits = [text for case in made for text in case["texts"]]
        updates = [f'{{"old":{old},"new":{new}}}' for case in made for old, new in case["pairs"]]
        audited = iter(_run(oracle, folder, "audit", audits, "--without-rules"))
        judged = iter(_run(oracle, folder, "update", updates))
    return [
        {
            "crd": case["crd"],
            "audits": [
                {"object": text, "errors": answer["errors"]}
                for text in case["texts"]
                if not (answer := next(audited)).get("readError")
            ],
            "updates": [
                {"old": old, "new": new, "crashes": "panic" in answer.get("readError", "")}
                | {name: answer[name] for name in ("errors", "unratcheted")}
                for old, new in case["pairs"]
                if not (answer := next(judged)).get("readError", "").startswith(("new:", "old:", "unusable"))
            ],
        }
        for case in made
    ]


def _run(oracle: str, folder: str, command: str, lines: list[str], *flags: str) -> list[dict[str, Any]]:
    given = Path(folder) / f"{command}.ndjson"
    given.write_text("\n".join(lines) + "\n", encoding="utf-8")
    call = [oracle, command, "--crds", f"{folder}/crds", "--in", str(given), *flags]
    environment = {**os.environ, "GOMAXPROCS": "1"}
    done = subprocess.run(call, check=True, capture_output=True, env=environment)
    return [_reported(json.loads(line)) for line in done.stdout.splitlines()]


def _reported(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer in the words of the oracle, whichever program gave it."""
    if "findings" in answer:
        answer["errors"] = answer.pop("findings")
        answer["createErrors"] = answer.pop("create", [])
        answer["readError"] = answer.pop("unreadable", "")
    return answer


if __name__ == "__main__":
    answers = ask(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), properties=6, objects=4)
    text = "".join(f"{json.dumps(case, separators=(',', ':'))}\n" for case in answers)
    sys.stdout.buffer.write(gzip.compress(text.encode(), 9, mtime=0))
