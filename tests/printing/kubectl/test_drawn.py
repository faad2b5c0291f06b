"""`auditor query` answers drawn commands over the recorded cluster as kubectl did; the others are listed with reasons."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from tests.printing.kubectl.drawn import ANSWERS
from tests.printing.kubectl.replay import HERE, auditor, without_left_out_formats
from tests.shared import recorded

if TYPE_CHECKING:
    from pathlib import Path

DRAWN = json.loads(gzip.decompress((HERE / ANSWERS).read_bytes()))
OTHERWISE = {
    "po --sort-by .. -A -o json": "the type in the message about values without an order is `map` there",
    "persistentvolumeclaims,limitranges -A -o json --show-kind": "a server defaults status.phase when it reads; built-in "
    "kinds are printed as they are stored",
}
"""Commands that are answered otherwise, and why."""
USAGE = (
    "allowed formats are", "cannot be used", "must have a single resource", "no template given", "across all namespaces",
    "custom columns given", "custom-columns spec", "error parsing jsonpath",
)  # fmt: skip
"""Errors of usage, for which kubectl ends with 1 and the auditor with 2."""
ADVICE = re.compile(r"\n(did you mean|hint: ) ?.*\n")
NAMESPACE = re.compile(r"(?m)^note: .* has no Namespace .*\n")
STAMP = re.compile(r"(?m)^F\d{4} [0-9:.]+ +\d+ ")


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("drawn") / "snapshot.db"
    path.write_bytes(gzip.decompress(recorded("golden/upgrade/snapshot.db.gz").read_bytes()))
    return path


def _asked(dump: Path, answer: Any) -> tuple[int, str, str]:
    args = answer["args"] if {"-n", "-A"} & set(answer["args"]) else [*answer["args"], "-n", "default"]
    code, out, err = auditor("query", str(dump), *args, "--show-secrets", "--as-server", "--now", str(answer["now"]))
    if "allowed formats are" in err:
        for name in ("csv,", "markdown,", "ndjson,parquet,"):  # formats that kubectl does not have
            err = err.replace(name, "", 1)
    if code == 2 and any(text in err for text in USAGE):
        code = 1
    return code, out, STAMP.sub("F ", ADVICE.sub("\n", NAMESPACE.sub("", err)))


def _recorded(answer: Any) -> tuple[int, str, str]:
    err = without_left_out_formats(answer["err"]).replace("\t", "    ")  # as messages have tabs
    return answer["code"], answer["out"], STAMP.sub("F ", err)


@pytest.mark.parametrize("number", range(0, len(DRAWN), 16))
def test_drawn_commands_are_answered_as_kubectl_did(dump: Path, number: int) -> None:
    answers = DRAWN[number : number + 16]
    differ = [shlex.join(answer["args"]) for answer in answers if _asked(dump, answer) != _recorded(answer)]
    assert differ == [text for text in map(shlex.join, (answer["args"] for answer in answers)) if text in OTHERWISE]


def test_158_of_160_commands_are_equal() -> None:
    assert len(DRAWN) == 160
    assert len(OTHERWISE) <= 2
    assert {text for text in OTHERWISE if text not in {shlex.join(answer["args"]) for answer in DRAWN}} == set()
