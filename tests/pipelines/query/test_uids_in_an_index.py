"""A report without its dump answers from its index, whichever objects have a uid and however long it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.documents import definition_of

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 400
UID = "5bc8fbbc-bde5-4099-8164-d8399f767c45"


def thing(number: int, uid: str) -> dict[str, Any]:
    metadata = {"namespace": "dock", "name": f"x{number:03}", **({"uid": uid} if uid else {})}
    return {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": metadata, "spec": {}}


@pytest.mark.parametrize("each", [1, 2, 40, 399, 1000], ids="each {}".format)
@pytest.mark.parametrize("length", [1, 36, 3000], ids="length {}".format)
def test_all_objects_are_listed_with_their_uids(tmp_path: Path, each: int, length: int) -> None:
    uids = [f"{number:03}{UID}{'x' * length}"[:length] if number % each == 0 else "" for number in range(COUNT)]
    objects = [definition_of({"type": "object"}), *(thing(number, uid) for number, uid in enumerate(uids))]
    dump = tmp_path / "dump.ndjson"
    dump.write_text("".join(json.dumps(one) + "\n" for one in objects))
    done = auditor("audit", dump, "--report", "r", "--fail-on", "never", "--jobs", "1", cwd=tmp_path)
    assert done.code == 0, done.stderr
    dump.unlink()
    names = auditor("query", "r", "xs", "-A", "-o", "name", cwd=tmp_path)
    assert (names.code, len(names.stdout.splitlines())) == (0, COUNT)
    listed = json.loads(auditor("query", "r", "xs", "-A", "-o", "json", cwd=tmp_path).stdout)["items"]
    assert [one["metadata"].get("uid", "") for one in listed] == uids
