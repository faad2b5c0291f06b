"""Updates of drawn objects of drawn definitions, with validation rules on them, judged by the Kubernetes libraries.

    python -m tests.ratcheting.drawn_updates PATH-OF-THE-ORACLE SEED DEFINITIONS >
    tests/ratcheting/recorded/updates.jsonl.gz

records them (release v0.37.2, Kubernetes 1.37). A line: ``crd``, ``old``, ``new`` (texts), ``expect`` as in the
vectors.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from tests.validation import draw
from tests.validation.oracle import _run

RECORDED = Path(__file__).parent / "recorded" / "updates.jsonl.gz"

# Objects are not compared: the server walks their fields in random order, and what it meets first is what it reports.
RULES: dict[str, list[str]] = {
    "string": ["size(self) < 2", "self == oldSelf", "self.startsWith('a')", "self != oldSelf || self == 'ab'", "self > 'a'"],
    "integer": ["self > 1", "self >= oldSelf", "self / 0 > 1", "self % 2 == 0", "oldSelf - self < 5"],
    "number": ["self > 1.0", "self >= oldSelf"],
    "boolean": ["self", "self == oldSelf"],
    "array": ["size(self) < 2", "size(self) >= size(oldSelf)", "self.all(x, true)", "oldSelf.exists(x, false) || size(self) > 0"],
    "object": ["has(self.a)", "!has(self.b)", "!has(self.b) || has(self.c)", "has(oldSelf.a) && has(self.a)"],
}  # fmt: skip
EXTRAS: list[dict[str, Any]] = [
    {}, {}, {}, {"message": "own words"}, {"reason": "FieldValueForbidden"}, {"reason": "FieldValueRequired", "message": "must"},
    {"optionalOldSelf": True}, {"messageExpression": "'size ' + string(size(self))"},
]  # fmt: skip


def with_rules(random: Random, schema: Any, depth: int = 0) -> None:
    """Put rules on some nodes of a schema, in place."""
    if type(schema) is not dict:
        return
    choices = RULES.get(schema.get("type", ""))
    if choices and depth and random.random() < 0.4:
        made = []
        for _ in range(random.randint(1, 2)):
            extra = random.choice(EXTRAS)
            text = random.choice(choices)
            if extra.get("optionalOldSelf"):
                text = f"!oldSelf.hasValue() || ({text.replace('oldSelf', 'oldSelf.value()')})"
            if "messageExpression" in extra and schema["type"] not in ("string", "array"):
                extra = {}
            made.append({"rule": text, **extra})
        schema["x-kubernetes-validations"] = made
    for child in schema.get("properties", {}).values():
        with_rules(random, child, depth + 1)
    for below in (schema.get("items"), schema.get("additionalProperties")):
        with_rules(random, below, depth + 1)


def metadata(random: Random, own: dict[str, Any]) -> None:
    """Give an object odd metadata now and then."""
    draws: list[tuple[str, Any]] = [
        ("labels", {"a": "not valid!"}), ("finalizers", ["Bad/Upper_"]), ("generation", random.choice([-1, 2, 1])),
        ("uid", "v"), ("annotations", {"A.b/C": "x", "a b": "y"}), ("deletionTimestamp", "2026-01-01T00:00:00Z"),
        ("ownerReferences", [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]), ("creationTimestamp", "2026-01-01T00:00:00Z"),
    ]  # fmt: skip
    own |= {name: given for name, given in draws if random.random() < 0.06}


def ask(oracle: str, seed: int, definitions: int) -> list[dict[str, Any]]:
    """Draw definitions and updates and have them judged."""
    random = Random(seed)
    made: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "crds").mkdir()
        for number in range(definitions):
            crd = draw.definition(random, number, 6)
            if "validation" not in crd["spec"]:
                with_rules(random, draw.root_of(crd))
            (Path(folder) / f"crds/{number}.json").write_text(json.dumps(crd, ensure_ascii=False), encoding="utf-8")
            for _ in range(4):
                old = draw.object_of(random, crd)
                metadata(random, old["metadata"])
                new = draw.updated(random, old) if random.random() < 0.8 else json.loads(json.dumps(old))
                metadata(random, new["metadata"])
                made.append({"crd": crd, "old": json.dumps(old), "new": json.dumps(new)})
        answers = _run(oracle, folder, "update", [f'{{"old":{case["old"]},"new":{case["new"]}}}' for case in made])
    return [{**case, "expect": answer} for case, answer in zip(made, answers, strict=True)]


if __name__ == "__main__":
    lines = "".join(
        f"{json.dumps(case, separators=(',', ':'))}\n" for case in ask(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    )
    sys.stdout.buffer.write(gzip.compress(lines.encode(), 9, mtime=0))
