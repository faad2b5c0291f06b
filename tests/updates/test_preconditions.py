"""Preconditions of a PUT, and their order among the other checks, beside a real server (`record_preconditions`)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from auditor.updates.request import try_update
from tests.updates.record_preconditions import ANSWERS, GROUP, catalog, ours

CASES: list[dict[str, Any]] = json.loads(ANSWERS.read_text())
DEFINITIONS = catalog()
KEY = f"/registry/{GROUP}/tops/default/a"
STORED = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "Top",
    "metadata": {"name": "a", "namespace": "default", "uid": "u", "creationTimestamp": "2026-01-02T03:04:05Z"},
}


@pytest.mark.parametrize("position", range(len(CASES)))
def test_an_update_is_answered_as_a_server_answered_it(position: int) -> None:
    case = CASES[position]
    assert ours(DEFINITIONS, case) == (case["code"], case["message"])


def test_the_recorded_answers_have_all_preconditions() -> None:
    messages = "\n".join(case["message"] for case in CASES)
    for text in (
        "the object has been modified",
        "must be specified for an update",
        "strconv.ParseUint",
        "UID in precondition",
        "cannot be handled as a",
        "the object provided is unrecognized",
        " not found",
    ):
        assert text in messages, text


@pytest.mark.parametrize(
    ("metadata", "code", "message"),
    [
        ({"resourceVersion": "7"}, 200, ""),
        ({"resourceVersion": "07"}, 200, ""),
        ({"resourceVersion": "6"}, 409, "the object has been modified"),
        ({}, 422, "metadata.resourceVersion: Invalid value: 0: must be specified for an update"),
        ({"resourceVersion": "0" * 5000}, 422, "must be specified"),
        ({"resourceVersion": "9" * 5000}, 500, "value out of range"),
        ({"resourceVersion": "x", "uid": "other"}, 409, "UID in precondition: other, UID in object meta: u"),
        ({"resourceVersion": "6", "name": "b"}, 400, "does not match the name on the URL"),
    ],
)
def test_a_stale_body_is_refused(metadata: dict[str, str], code: int, message: str) -> None:
    body = {**STORED, "metadata": {"name": "a", **metadata}}
    tried = try_update(DEFINITIONS, json.dumps(STORED).encode(), key=KEY, revision=7, new=body)
    assert tried.code == code
    assert re.search(re.escape(message), tried.message)


def test_a_version_that_is_not_served_is_not_found() -> None:
    key = KEY.replace("tops", "twins")
    stored = json.dumps({**STORED, "kind": "Twin"}).encode()
    assert try_update(DEFINITIONS, stored, key=key, revision=7, version="v0").code == 404
