"""What the real libraries answered, recorded, and what we answer; `make reference` has them answer anew."""

import base64
import json
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

import auditor
from auditor.cel.cel_errors import CelError, CompileError
from auditor.cel.cel_types import DYN
from auditor.cel.cel_values import CelMap, Duration, Optional_, Timestamp, TypeValue, UInt, is_list
from auditor.cel.kubernetes import kubernetes_environment, latest
from auditor.cel.operations.conversions import format_timestamp
from auditor.cel.operations.equality import find, type_of
from auditor.golang import jsontext
from auditor.golang.go_text import float_v
from auditor.program.program import AuditProgram
from auditor.schema.parse import parse_schema
from auditor.updates.request import _program as kept_program
from auditor.validation.rules import cel_type, declare
from auditor.validation.rules.adapters import Adapters
from tests.cases import of_each
from tests.reference.make import recorded_release
from tests.vectors.test_audits import causes, plain

VECTORS = Path(__file__).parent / "vectors"
SUITES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(VECTORS.glob("*.json"))}
AT_LEAST = {"bakery": 150, "drawn": 250, "rules": 60, "updates": 40, "expressions": 150, "releases": 550}


def cases(kind):
    return [
        pytest.param(name, case, id=f"{name} {case['name']}")
        for name, suite in SUITES.items()
        for case in suite["cases"]
        if kind in case
    ]


@pytest.fixture(scope="module")
def catalogs():
    return {
        name: auditor.CrdCatalog.from_documents(suite["definitions"])
        for name, suite in SUITES.items()
        if "definitions" in suite
    }


def ours(findings):
    return causes([{"field": each.field, "type": each.type, "message": each.message} for each in findings])


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "interpreted"])
@of_each("suite, case", cases("object"))
def test_an_object_is_read_and_judged_as_by_the_server(suite, case, compiled, catalogs, monkeypatch):
    def program(definition, version):
        if compiled:
            return kept_program(definition, version)
        return AuditProgram(definition, definition.versions[version], compiled=False)

    monkeypatch.setattr("auditor.updates.request._program", program)
    expect = case["expect"]
    got = auditor.audit_object(
        catalogs[suite], case["object"].encode(), resource=case.get("resource"), version=case.get("version")
    )
    assert bool(got.unreadable) == bool(expect.get("unreadable"))
    if got.unreadable:
        return
    assert ours(got.findings) == causes(expect["findings"])
    assert plain(got.object) == plain(expect["object"])
    assert sorted(got.pruned) == sorted(expect.get("pruned", []))
    assert got.selectable == expect.get("selectable", {})
    assert bool(got.select_error) == bool(expect.get("selectError"))
    if got.stored_version == got.audited_version:
        assert sorted(got.defaulted) == sorted(expect.get("defaulted", []))


@of_each("suite, case", cases("old"))
def test_an_update_is_judged_as_by_the_server(suite, case, catalogs):
    expect = case["expect"]
    got = auditor.check_update(
        catalogs[suite],
        case["old"].encode(),
        case["new"].encode(),
        resource=case["resource"],
        version=case.get("version"),
    )
    assert bool(got.unreadable) == bool(expect.get("unreadable"))
    if not got.unreadable:
        assert ours(got.findings) == causes(expect["findings"])
        assert ours(got.unratcheted) == causes(expect["unratcheted"])
        assert ours(got.create) == causes(expect["create"])


def shown(value):
    """Return a value of an expression as the program shows it."""
    if type(value) is float:
        return {"$double": float_v(value)}
    if type(value) is bytes:
        return {"$bytes": base64.b64encode(value).decode()}
    if type(value) is Duration:
        return {"$duration": value.nanos}
    if type(value) is Timestamp:
        return {"$google.protobuf.Timestamp": format_timestamp(value)}
    if type(value) is TypeValue:
        return {"$type": value.name}
    if type(value) is Optional_:
        return {"$optional": [shown(value.value)] if value.has else []}
    if is_list(value):
        return [shown(item) for item in (value if type(value) is list else value.cel_iter())]
    if isinstance(value, CelMap):
        return {str(key): shown(find(value, key)) for key in value.cel_iter()}
    if type(value) is dict:
        return {key: shown(item) for key, item in value.items()}
    return int(value) if type(value) is UInt else value


@of_each("suite, case", cases("expression"))
def test_an_expression_has_the_value_that_it_has_in_the_server(suite, case):
    self_ = jsontext.decode(case["self"].encode())
    declared, objects = DYN, []
    if "schema" in case:
        schema = parse_schema(case["schema"])
        own = declare(schema, is_resource=False)
        declared, objects = cel_type(own, latest())
        self_ = Adapters().of(schema)(self_)
    expect = {key: value for key, value in case["expect"].items() if key != "value"}
    program = None
    with suppress(CompileError):
        program = kubernetes_environment({"self": declared}, objects).compile(case["expression"])
    assert (program is None) == ("compile" in expect)
    if program is None:
        return
    value, cost = program.evaluate({"self": self_})
    if isinstance(value, CelError):
        assert {"error": value.text, "cost": cost} == expect
    else:
        assert {"type": type_of(value).name, "cost": cost} == expect
        assert shown(value) == case["expect"]["value"]


@of_each("suite, case", cases("definition"))
def test_a_definition_is_answered_as_by_the_server(suite, case):
    got, expect = auditor.check_crd(case["definition"]), case["expect"]
    assert bool(got.unreadable) == bool(expect.get("unreadable"))
    assert ours(got.findings) == causes(expect["findings"])
    assert list(got.warnings) == expect.get("warnings", [])


def test_all_were_answered_by_one_release_and_there_are_many():
    assert Counter({name: len(suite["cases"]) for name, suite in SUITES.items()}) >= Counter(AT_LEAST)
    assert all(recorded_release() in suite["release"] for suite in SUITES.values())
    assert recorded_release() == auditor.KUBERNETES_RELEASE.replace("v1.", "v0.")
