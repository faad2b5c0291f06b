"""Server-side applies of stored objects beside a real server (`record_applies`)."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from auditor.base.statuses import Impact
from auditor.crds.catalog import CrdCatalog
from auditor.program.program import AuditProgram
from auditor.shards.updates import UpdateVerdicts
from auditor.updates.apply_answer import APPLY_FAILS, faults_in
from auditor.updates.request import audit_object, try_update
from auditor.updates.server_side_apply import ApplyTypes, apply_fault, may_misfit
from tests.updates.record_applies import ANSWERS, drawn_definitions, drawn_object

RECORDED: dict[str, Any] = json.loads(ANSWERS.read_text())
CASES: list[dict[str, Any]] = RECORDED["cases"]
DEFINITIONS = CrdCatalog.from_documents(RECORDED["definitions"])
GROUP = "kites.example.com"


def _definition(case: dict[str, Any]) -> Any:
    _, _, group, plural, *_ = case["key"].split("/")
    return DEFINITIONS.crds[f"{plural}.{group}"]


def _fault(case: dict[str, Any]) -> str:
    """Return our answer to an apply that asks no manager at another version."""
    definition = _definition(case)
    audited = audit_object(DEFINITIONS, json.dumps(case["stored"]).encode(), definition.name, case["version"])
    return (
        "" if audited.object is None else apply_fault(definition, definition.versions[case["version"]], audited.object)
    )


@pytest.mark.parametrize("position", range(len(CASES)))
def test_an_apply_is_answered_as_a_server_answered_it(position: int) -> None:
    case = CASES[position]
    asked = {name: case[name] for name in ("key", "revision", "version")}
    tried = try_update(DEFINITIONS, json.dumps(case["stored"]).encode(), request="apply", **asked)
    assert tried.code == case["code"]
    # The server has the fields of several faults in any order.
    assert sorted(tried.message.split("\n")) == sorted(case["message"].split("\n"))


def test_the_recorded_answers_have_all_faults() -> None:
    messages = "\n".join(case["message"] for case in CASES)
    for text in (
        "failed to create typed live object",
        "failed to create manager for existing fields",
        "expected numeric (int or float), got string",
        "expected string, got &value.valueUnstructured{Value:map[string]interface {}{",
        "expected map, got &{",
        "expected list, got &{",
        "expected boolean, got &{",
        "expected any scalar, got &{",
        "may not have a null element",
        "may not have non-map elements",
        "omits all key fields",
        "an element that's a map type",
        "associative list with lists as elements",
        "an element that's an explicit null",
        "field not declared in schema",
        "duplicate entries for key",
        "request to convert CR to an invalid group/version",
        "is not suitable for converting to",
        "object not decodable",
        " is invalid: ",
        "errors:\n",
    ):
        assert text in messages, text
    assert {case["code"] for case in CASES} == {200, 422, 500}


def test_a_merge_patch_is_the_way_out_where_a_type_is_wrong() -> None:
    stuck = [case for case in CASES if _fault(case)]
    own = [
        case
        for case in stuck
        if all(entry["apiVersion"] == f"applies.example.com/{case['version']}" for entry in _managers(case))
        and all(code < 300 or code == 404 for code in case["patched"])
    ]
    assert len(own) > 50
    assert {case["after"] for case in own} == {200}


def _managers(case: dict[str, Any]) -> list[dict[str, Any]]:
    return case["stored"]["metadata"].get("managedFields", [])


def test_a_proven_object_fits_its_types() -> None:
    """What generated code proves is not asked, so that nothing proven may fail an apply; drawn anew, not as recorded."""
    draw = random.Random(2)
    documents = drawn_definitions(draw)
    catalog = CrdCatalog.from_documents(documents)
    programs = {}
    for definition in catalog.crds.values():
        for version in definition.served_versions:
            programs[definition.name, version.name] = AuditProgram(definition, version)
    proven = misfits = unproven = 0
    for number in range(1500):
        document = draw.choice(documents)
        stored = json.dumps(drawn_object(draw, document, f"o{number}")).encode()
        definition = catalog.crds[document["metadata"]["name"]]
        version = draw.choice(definition.served_versions)
        program = programs[definition.name, version.name]
        judgement = program.judge(stored)
        if judgement.audited.object is None:
            continue
        fault = apply_fault(definition, version, judgement.audited.object)
        if judgement.proven:
            proven += 1
            misfits += bool(fault)
            assert not fault or may_misfit(version.structural), (stored, fault)
        unproven += bool(fault) and not judgement.proven
        outcome = UpdateVerdicts().judge(
            program, judgement.audited, stored, ("default", f"o{number}"), 7, is_export=False
        )
        assert outcome.apply_refusal == fault
        assert fault == "" or Impact.BLOCKS_APPLY in outcome.verdict.impacts  # type: ignore[union-attr]
    assert (proven > 300, unproven > 300, misfits > 0) == (True, True, True)


def test_what_a_create_notices_is_not_looked_at_again() -> None:
    """An audit looks for misfits only where the create failed or notices none; the whole walk answers the same."""
    draw = random.Random(3)
    documents = drawn_definitions(draw)
    programs = {}
    for definition in CrdCatalog.from_documents(documents).crds.values():
        for version in definition.served_versions:
            program = AuditProgram(definition, version, compiled=False)
            programs[definition.name, version.name] = program, ApplyTypes(definition, version, after_create=True)
    answers = {True: 0, False: 0}
    for number in range(3000):
        document = draw.choice(documents)
        name, version = draw.choice([key for key in programs if key[0] == document["metadata"]["name"]])
        program, types = programs[name, version]
        obj = program.audit(json.dumps(drawn_object(draw, document, f"o{number}")).encode()).object
        if obj is not None:
            failures = program.validator.faults_of(obj)
            fault = apply_fault(program.definition, program.version, obj)
            assert types.fault(obj, failures) == fault, obj
            if failures is not None:
                answers[fault == ""] += 1
    assert min(answers.values()) > 800


def _kites(spec: dict[str, Any]) -> CrdCatalog:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "kites", "singular": "kite", "kind": "Kite", "listKind": "KiteList"}
    return CrdCatalog.from_documents(
        [
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": f"kites.{GROUP}"},
                "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
            }
        ]
    )


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        ({"type": "integer"}, 1.5, ""),
        ({"type": "number"}, "1", ".spec.x: expected numeric (int or float), got string"),
        ({"type": "string"}, None, ""),
        ({"type": "string"}, True, ".spec.x: expected string, got &value.valueUnstructured{Value:true}"),
        ({"type": "string", "format": "date-time"}, 5, ""),
        ({"type": "string", "format": "date-time"}, {"a": 1}, ".spec.x: expected any scalar, got &{map[a:1]}"),
        ({"type": "boolean"}, "yes", ".spec.x: expected boolean, got &{yes}"),
        ({"x-kubernetes-int-or-string": True}, {"a": [1]}, ""),
        ({"type": "array", "items": {"type": "string"}}, ["a", 5],
         ".spec.x[1]: expected string, got &value.valueUnstructured{Value:5}"),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}, ["a", "a"], ""),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}, ["a", None],
         ".spec.x: element 1: associative list without keys has an element that's an explicit null"),
    ],
)  # fmt: skip
def test_values_fit_types(schema: dict[str, Any], value: Any, fault: str) -> None:
    catalog = _kites({"x": schema})
    stored = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Kite",
        "metadata": {"name": "a", "namespace": "default", "uid": "u"},
        "spec": {"x": value},
    }
    definition = catalog.crds[f"kites.{GROUP}"]
    answer = apply_fault(definition, definition.versions["v1"], stored)
    assert faults_in(answer) == fault
    assert answer.startswith(APPLY_FAILS) is bool(fault)


@pytest.mark.parametrize("value", [{"k": 5}, {f"k{number:03}": 5 for number in range(150)}])
def test_an_answer_names_the_first_hundred_faults_in_the_order_of_their_fields(value: dict[str, Any]) -> None:
    items = {"type": "array", "items": {"type": "string"}}
    catalog = _kites({"x": {"type": "object", "additionalProperties": {"type": "string"}}, "w": items})
    metadata = {"name": "a", "namespace": "default", "uid": "u", "finalizers": ["a", None]}
    stored = {"apiVersion": f"{GROUP}/v1", "kind": "Kite", "metadata": metadata, "spec": {"x": value, "w": ["a", 7]}}
    definition = catalog.crds[f"kites.{GROUP}"]
    errors, *faults = faults_in(apply_fault(definition, definition.versions["v1"], stored)).split("\n")
    assert errors == "errors:"
    fields = [".metadata.finalizers", ".spec.w[1]", *(f".spec.x.{key}" for key in sorted(value))][:100]
    assert [fault.split(":")[0].strip() for fault in faults] == fields
