"""Every recorded definition, and every recorded update of one, as the server answered them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import auditor
from auditor.sources.crd_files import read_crd_documents
from tests.cases import of_each
from tests.corpus import real_definitions
from tests.shared import SHARED, second_check, shared, shared_lines

MINIMUM = {"conformance-crd.jsonl": 108, "conformance-crd-update.jsonl": 105, "golden/crds-bad/cases.ndjson.gz": 80}


def cases(name: str) -> list[Any]:
    path = f"vectors/{name}"
    found = shared_lines(path) if (SHARED / path).exists() else []
    return [pytest.param(case, id=case["name"]) for case in found] or [pytest.param(None, id="no reference data")]


def ours(findings: Any) -> Counter[Any]:
    return Counter((one.field, one.type, one.message) for one in findings)


def theirs(errors: Any) -> Counter[Any]:
    return Counter((one["field"], one["type"], one["message"]) for one in errors or ())


def reason(checked: auditor.CheckedDefinition) -> str:
    return checked.unreadable.reason if checked.unreadable else ""


@second_check("vectors/conformance-crd.jsonl", by="tests/crdcheck/test_drawn.py")
@of_each("case", cases("conformance-crd.jsonl"))
def test_a_create_is_answered_as_the_server_did(case: Any) -> None:
    shared("vectors/conformance-crd.jsonl")
    got, expect = auditor.check_crd(case["crd"]), case["expect"]
    assert reason(got) == expect["readError"]
    assert ours(got.findings) == theirs(expect["errors"])
    assert (list(got.warnings) or None) == expect["warnings"]
    assert list(got.findings) == sorted(got.findings, key=lambda one: one.sort_key())


@second_check("vectors/conformance-crd.jsonl", by="tests/crdcheck/test_drawn.py")
@of_each("case", cases("conformance-crd-update.jsonl"))
def test_an_update_is_answered_as_the_server_did(case: Any) -> None:
    shared("vectors/conformance-crd-update.jsonl")
    got, expect = auditor.check_crd_update(case["old"], case["new"]), case["expect"]
    assert reason(got) == expect["readError"]
    assert ours(got.findings) == theirs(expect["errors"])
    assert ours(got.create) == theirs(expect["createErrors"])
    assert (list(got.warnings) or None) == expect["warnings"]
    assert (list(got.stored_versions) or None) == expect["storedVersions"]


@second_check("vectors/conformance-crd.jsonl", by="tests/crdcheck/test_drawn.py")
def test_bad_values_are_those_of_the_server_as_data() -> None:
    wrong = {}
    for case in shared_lines("vectors/conformance-crd.jsonl"):
        found = Counter((one.field, one.type, repr(one.bad_value)) for one in auditor.check_crd(case["crd"]).findings)
        wanted = Counter(
            (one["field"], one["type"], repr(one.get("badValue"))) for one in case["expect"]["errors"] or ()
        )
        if found != wanted:
            wrong[case["name"]] = (found - wanted, wanted - found)
    assert wrong == {}


@second_check("golden/crds-bad", by="tests/crdcheck/test_drawn.py")
def test_a_running_server_refused_the_same_definitions_in_the_same_words() -> None:
    wrong, run = {}, 0
    for case in shared_lines("golden/crds-bad/cases.ndjson.gz"):
        run += 1
        got = auditor.check_crd(case["crd"])
        causes = [] if case["code"] == 201 else case["body"]["details"]["causes"]
        found = Counter((one.field, one.type, one.message.removeprefix(f"{one.field}: ")) for one in got.findings)
        wanted = Counter((one["field"], one["reason"], one["message"]) for one in causes)
        unknown = [f"unknown field {path!r}".replace("'", '"') for path in got.unknown_fields]
        warnings = [text.replace('"', '\\"') for text in (*unknown, *got.warnings)]
        if found != wanted or [f'299 - "{text}"' for text in warnings] != case.get("warnings", []):
            wrong[case["case"]] = (found - wanted, wanted - found, warnings)
    assert run >= MINIMUM["golden/crds-bad/cases.ndjson.gz"]
    assert wrong == {}


@second_check("vectors/conformance-crd.jsonl", by="tests/crdcheck/test_drawn.py")
@pytest.mark.parametrize("name", ["conformance-crd.jsonl", "conformance-crd-update.jsonl"])
def test_all_cases_are_there(name: str) -> None:
    assert len(shared_lines(f"vectors/{name}")) >= MINIMUM[name]


def test_what_people_really_use_is_accepted() -> None:
    documents = read_crd_documents([str(real_definitions())])
    refused = {}
    for document in documents:
        got = auditor.check_crd(document)
        if got.findings or got.unreadable:
            refused[document["metadata"]["name"]] = [one.message[:300] for one in got.findings] or got.unreadable
    assert len(documents) >= 70
    assert refused == {}
