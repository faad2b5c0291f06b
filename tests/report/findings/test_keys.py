"""Causes: what identifies them, their ids, and paths without indexes and map keys."""

import pytest

from auditor.report.findings.fields import generic_field
from auditor.report.findings.keys import CauseKey, form_of, ids_of

SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "env": {"type": "object", "additionalProperties": {"type": "string"}},
                "ports": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
                "teams": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "properties": {"size": {"type": "integer"}, "names": {"type": "array"}},
                    },
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "mixed": {
                    "type": "object",
                    "properties": {"known": {"type": "string"}},
                    "x-kubernetes-preserve-unknown-fields": True,
                },
            },
        }
    },
}


@pytest.mark.parametrize(
    ("field", "generic"),
    [
        ("<nil>", "<nil>"),
        ("spec.ports[3].name", "spec.ports[*].name"),
        ("spec.env.HOME", "spec.env.*"),
        ("spec.env.example.com/home.dir", "spec.env.*"),
        ("spec.teams.blue.size", "spec.teams.*.size"),
        ("spec.teams.a.b.c.size", "spec.teams.*.size"),
        ("spec.teams.blue.names[2]", "spec.teams.*.names[*]"),
        ("spec.free.some.thing", "spec.free.*"),
        ("spec.mixed.known", "spec.mixed.known"),
        ("spec.absent.field", "spec.absent.field"),
        ("metadata.labels[example.com/a.b]", "metadata.labels[*]"),
    ],
)
def test_indexes_and_keys_of_maps_are_left_out_of_paths(field, generic):
    assert generic_field(field, SCHEMA) == generic


def test_without_a_schema_only_indexes_are_left_out():
    assert generic_field("spec.env.HOME[1]", None) == "spec.env.HOME[*]"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("should be less than or equal to 5", ""), ("should be less than or equal to 50.5", "")),
        (
            ("spec.a[1] in body should be at least 3", "spec.a[1]"),
            ("spec.a[7] in body should be at least 3", "spec.a[7]"),
        ),
        (('supported values: "a", "b"', ""), ('supported values: "x", "y", "z"', "")),
        (('must match "x"', ""), ("must match (redacted)", "")),
    ],
)
def test_forms_of_messages_leave_values_out(one, other):
    assert form_of(*one) == form_of(*other)
    assert form_of(*one)


def test_forms_keep_what_is_wrong():
    assert form_of("should be at least 3 chars long") != form_of("should be at most 3 chars long")
    assert "v1beta1" in form_of("version v1beta1 is unknown")


def test_each_part_of_a_key_changes_its_digest():
    whole = dict.fromkeys(CauseKey.__dataclass_fields__, "x")
    digests = {CauseKey(**whole).digest()} | {CauseKey(**{**whole, name: "y"}).digest() for name in whole}
    assert len(digests) == len(whole) + 1


def test_ids_do_not_change_between_releases():
    key = CauseKey(
        group="example.com", kind="Widget", version="v1", check="schema", type="FieldValueRequired", field="spec.a"
    )
    assert key.digest().startswith("1f783759")


def test_ids_are_as_long_as_needed():
    ids = ids_of(["aaaaaaaa1100", "aaaaaaaa1200", "bbbbbbbb0000"])
    assert ids == {"aaaaaaaa1100": "aaaaaaaa11", "aaaaaaaa1200": "aaaaaaaa12", "bbbbbbbb0000": "bbbbbbbb"}
