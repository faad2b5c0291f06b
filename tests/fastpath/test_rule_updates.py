"""Rules on updates of objects that broke their schema before."""

import pytest

from auditor.crds.definition import parse_definition
from auditor.fastpath.rules.updates import RuleUpdates
from auditor.program.program import AuditProgram
from auditor.ratcheting import CorrelatedObject
from tests.documents import named_definition

ITEM = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "maxLength": 5},
        "size": {"type": "integer"},
        "tags": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 4}},
    },
    "x-kubernetes-validations": [
        {"rule": "!has(self.size) || self.size < 10"},
        {"rule": "self.name != 'bad'", "message": "not that name"},
        {"rule": "!has(self.tags) || self.tags.all(t, t != self.name)"},
    ],
}
SPEC = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "maxItems": 4,
            "items": ITEM,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-validations": [{"rule": "self.all(a, self.exists_one(b, a.name == b.name))"}],
        },
        "more": {"type": "object", "maxProperties": 3, "additionalProperties": ITEM},
        "word": {"type": "string", "x-kubernetes-validations": [{"rule": "self.startsWith('w')"}]},
    },
    "x-kubernetes-validations": [{"rule": "!has(self.word) || self.word != 'wrong'"}],
}
CRD = named_definition("things.example.com", "Thing", {"type": "object", "properties": {"spec": SPEC}})
ITEMS = [
    {"name": "a"}, {"name": "bad"}, {"name": 1}, {}, {"name": "longer"}, {"name": "a", "size": 11}, "a", None, 3, [],
    {"name": "a", "size": "x"}, {"name": "bad", "size": 12, "tags": ["bad"]}, {"name": "a", "tags": [1]},
    {"name": "a", "tags": "a"}, {"name": "bad", "tags": ["a"] * 5}, {"name": "a", "size": 1.5},
]  # fmt: skip
SPECS = [
    *({"items": [one]} for one in ITEMS),
    *({"items": [one, {"name": "bad", "size": 11}, one]} for one in ITEMS),
    *({"more": {"k.x": one, "bad": {"name": "bad"}}} for one in ITEMS),
    {"items": {"name": "bad"}}, {"more": [1]}, {"word": 1}, {"word": "x", "items": 5}, {"word": "wrong", "more": "x"},
    {"items": [{"name": "a"}] * 6, "word": "x"}, [], "spec", None,
]  # fmt: skip


@pytest.fixture(scope="module")
def program():
    definition = parse_definition(CRD)
    return AuditProgram(definition, definition.versions["v1"])


@pytest.mark.parametrize("with_twin", [True, False], ids=["ratcheting", "plain"])
@pytest.mark.parametrize("changes", [True, False], ids=["metadata change", "nothing changes"])
def test_an_update_reports_what_the_interpreter_says_of_all_rules_in_its_order(program, with_twin, changes):
    updates = RuleUpdates(program.prover, patience=0)
    with_findings = 0
    for spec in SPECS:
        old = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}
        new = {**old, "metadata": {"name": "a", "labels": {"a": "b"}}} if changes else {**old}

        def twin(new=new, old=old):
            return CorrelatedObject(new, old, program.version.structural) if with_twin else None

        expected = program.rule_program.run_update(new, old, twin())
        assert updates.update_findings(new, old, twin()) == expected, spec
        with_findings += bool(expected)
    assert with_findings > 10
