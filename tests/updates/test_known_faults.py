"""The schema of an update that changes nothing is checked only where the create failed, with the same answer."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from auditor import CrdCatalog
from auditor.program.program import AuditProgram
from auditor.updates.noop import NoopUpdates
from auditor.updates.update import RequestName
from tests.counting import calls_of
from tests.documents import definition_of
from tests.reference.make import VECTORS

REACHED = {"bakery": 5, "drawn": 100}


def judge(noop: NoopUpdates, program: AuditProgram, data: bytes, *, knows: bool) -> Any:
    """Return the verdict on an object that the program audits now; None if it finds nothing in the schema."""
    audited = program.audit(data)
    if audited.object is None or not any(finding.check == "schema" for finding in audited.findings):
        return None
    if not knows:
        program.validator._failed = None
    metadata = audited.object.get("metadata") or {}
    place = RequestName(str(metadata.get("namespace", "")), str(metadata.get("name", "")))
    return noop.judge(audited, place, 7, data)


@pytest.mark.parametrize("suite", REACHED)
def test_the_answer_is_that_of_a_whole_walk(suite: str) -> None:
    cases = json.loads((VECTORS / f"{suite}.json").read_text())
    catalog = CrdCatalog.from_documents(cases["definitions"])
    programs: dict[tuple[str, str], tuple[AuditProgram, NoopUpdates]] = {}
    reached = 0
    for case in cases["cases"]:
        if "object" not in case or "version" not in case:
            continue
        place = case["resource"], case["version"]
        if place not in programs:
            definition = catalog.crds[place[0]]
            program = AuditProgram(definition, definition.versions[place[1]], compiled=False)
            programs[place] = program, NoopUpdates(program)
        program, noop = programs[place]
        known, whole = (judge(noop, program, case["object"].encode(), knows=knows) for knows in (True, False))
        assert known == whole, case["name"]
        reached += known is not None
    assert reached >= REACHED[suite]


def test_what_a_create_accepts_is_not_walked_again() -> None:
    fields = {f"k{number}": {"type": "string", "maxLength": 9} for number in range(500)}
    spec = {"type": "object", "properties": {**fields, "bad": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    definition = CrdCatalog.from_documents([definition_of(schema)]).crds["xs.x.example.com"]
    program = AuditProgram(definition, definition.versions["v1"], compiled=False)
    noop, place = NoopUpdates(program), RequestName("a", "x")
    counts = []
    for fields_of in (5, 500):
        values = {f"k{number}": "v" for number in range(fields_of)} | {"bad": 7}
        metadata = {"name": "x", "namespace": "a", "uid": "u"}
        document = {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": metadata, "spec": values}
        audited = program.audit(json.dumps(document).encode())
        noop.judge(audited, place, 7)
        counts.append(calls_of(partial(noop.judge, audited, place, 7), of_c=False))
    assert counts[0] == counts[1]
