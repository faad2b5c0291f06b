"""Kinds that a server cannot serve, because of their definition, as kubectl 1.37.2 printed them (`record_unserved.py`)."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.command import auditor
from tests.documents import etcdctl_text
from tests.pipelines.query.record_unserved import RECORDED, plain, values

if TYPE_CHECKING:
    from pathlib import Path

ANSWERS = json.loads(gzip.decompress(RECORDED.read_bytes()))
GOOD = "goods"


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("unserved") / "dump.json"
    path.write_text(etcdctl_text(values()))
    return path


def test_as_server_answers_as_kubectl_prints(dump: Path) -> None:
    wrong, counts = {}, Counter[str]()
    for answer in ANSWERS:
        words = answer["words"]
        scope = () if "-A" in words else ("-n", "default")
        done = auditor("query", str(dump), *(word for word in words if word != "-A"), *scope, "--as-server")
        got = (done.code, plain(done.stdout), done.stderr)
        counts[answer["err"].partition(":")[0]] += 1
        if got != (answer["code"], answer["out"], answer["err"]):
            wrong[" ".join(words)] = (got, answer)
    assert wrong == {}
    assert counts["Unable to connect to the server"] > 50
    assert counts["Error from server (InternalError)"] > 50


def test_without_it_the_objects_are_named_as_not_readable(dump: Path) -> None:
    done = auditor("query", str(dump), "panics", "-n", "default")
    assert done.code == 3
    assert "unusable CRD panics.x.example.com: panic: runtime error: index out of range" in done.stderr
