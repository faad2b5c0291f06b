"""What changed in a definition on the way to a field."""

import pytest

from auditor.compare.schema_changes import changes_at

OLD = {
    "properties": {
        "spec": {
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "maximum": 10},
                "mode": {"type": "string", "enum": ["a", "b"]},
                "list": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
                "map": {"additionalProperties": {"type": "string"}},
            },
        }
    }
}
NEW = {
    "properties": {
        "spec": {
            "required": ["size", "tier", "other"],
            "x-kubernetes-validations": [{"rule": "self.size >  1"}],
            "properties": {
                "size": {"type": "integer", "maximum": 5, "description": "new text"},
                "mode": {"type": "string", "enum": ["a"]},
                "tier": {"type": "string"},
                "list": {
                    "type": "array",
                    "maxItems": 3,
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string", "maxLength": 4}},
                    },
                },
                "map": {"additionalProperties": {"type": "string", "pattern": "^a"}},
            },
        }
    }
}
RULE = "rule of spec: + self.size > 1"


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("spec.tier", ["spec.tier is new in the schema", "required: + spec.tier", RULE]),
        ("spec.size", ["maximum of spec.size: 10 -> 5", RULE]),
        ("spec.mode", ['enum of spec.mode: - "b"', RULE]),
        ("spec.list", ["maxItems of spec.list: + 3", RULE]),
        ("spec.list[*].name", ["maxLength of spec.list[*].name: + 4", "required: + spec.list[*].name", RULE]),
        ("spec.map.*", ['pattern of spec.map.*: + "^a"', RULE]),
        ("spec", ["required: + spec.tier", "required: + spec.other", RULE]),
        ("metadata.name", []),
    ],
)
def test_changes_on_the_way_to_a_field(field, changes):
    assert changes_at(OLD, NEW, field) == changes


def test_changed_rules_concern_findings_of_rules_alone():
    assert changes_at(OLD, NEW, "spec.size", "rule") == [RULE]
    assert changes_at(OLD, NEW, "spec.size", "schema") == ["maximum of spec.size: 10 -> 5"]


def test_equal_schemas_have_no_changes():
    assert changes_at(NEW, NEW, "spec.tier") == []


def test_a_new_definition_is_said_to_be_new():
    assert changes_at(None, NEW, "spec.tier") == ["the definition is new"]
    assert changes_at(OLD, None, "spec.tier") == []
