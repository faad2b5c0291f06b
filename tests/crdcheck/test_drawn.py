"""Drawn definitions and updates, with the answers of the server's libraries (v0.37.2).

Recorded in recorded.jsonl.gz, a case a line: ``new``, for an update ``old``; ``errors`` as (field, type, message),
``warnings``, ``readError``, for an update ``storedVersions``. The schemas are drawn at random, half of them with every
sort of mistake, half nearly valid, so that defaults, rules and costs are reached. They were sent as YAML tooling sends
them: 2.0 goes as 2.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import auditor
from auditor.golang.jsontext import decode, encode

_COMPILED = re.compile(r"(compilation failed: ERROR: <input>:\d+:\d+: ).*", re.DOTALL)


def test_drawn_definitions_are_answered_as_the_libraries_did() -> None:
    wrong, accepted, errors = {}, 0, 0
    with gzip.open(Path(__file__).parent / "recorded.jsonl.gz", "rb") as stream:
        cases = [decode(encode(json.loads(line)).encode()) for line in stream]
    for number, case in enumerate(cases):
        is_update = "old" in case
        got = auditor.check_crd_update(case["old"], case["new"]) if is_update else auditor.check_crd(case["new"])
        ours = Counter((one.field, one.type, _COMPILED.sub(r"\1", one.message)) for one in got.findings)
        theirs = Counter((field, type_, _COMPILED.sub(r"\1", text)) for field, type_, text in case["errors"])
        reason = got.unreadable.reason if got.unreadable else ""
        same = (sorted(got.warnings), reason) == (sorted(case["warnings"]), case["readError"])
        if is_update:
            same = same and list(got.stored_versions) == case["storedVersions"]
        if ours != theirs or not same:
            wrong[number] = (ours - theirs, theirs - ours, got.warnings, reason)
        accepted += not case["errors"]
        errors += len(case["errors"])
    assert wrong == {}
    assert len(cases) == 420
    assert accepted >= 20
    assert errors > 2000
