"""Causes: what identifies them, their ids, and paths without indexes and map keys."""

import dataclasses
import re

import pytest

from auditor.causes.field_patterns import generic_field
from auditor.causes.filters import Filters
from auditor.causes.keys import CauseKey, form_of, ids_of, renewed_form
from auditor.causes.model import FindingsModel
from auditor.causes.row_causes import CauseNumbers
from auditor.causes.titles import title_of
from tests.causes.reports import audited, definition, export, widget

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
        (
            (".spec.replicas accessor error: oops is of the type string, expected int64", ".spec.replicas"),
            (".spec.replicas accessor error: a\n7 is of the type string, expected int64", ".spec.replicas"),
        ),
        (
            ('Only one can be true. Found "true" in references for Pod/p and Pod/q', ""),
            ('Only one can be true. Found "true" in references for ReplicaSet/web-7d9f and Job/and and x', ""),
        ),
    ],
)
def test_forms_of_messages_leave_values_out(one, other):
    assert form_of(*one) == form_of(*other)
    assert form_of(*one)


def test_forms_keep_what_is_wrong():
    assert form_of("should be at least 3 chars long") != form_of("should be at most 3 chars long")
    assert "v1beta1" in form_of("version v1beta1 is unknown")


def test_a_title_of_a_scale_names_the_types():
    text = ".spec.replicas accessor error: 845 is of the type float64, expected int64"
    key = CauseKey(type="FieldValueInvalid", field=".spec.replicas", form=form_of(text, ".spec.replicas"))
    assert title_of(key) == ".spec.replicas: Invalid value: accessor error: … is of the type float64, expected int64"


@pytest.mark.parametrize(
    ("text", "message", "title"),
    [
        (
            "should match '^[0-9]+(kn|kmh)$'",
            'spec.q: Invalid value: "9": spec.q in body {}',
            "should match '^[0-9]+(kn|kmh)$'",
        ),
        (
            "should match '^it's [0-9]{2}$'",
            'spec.q: Invalid value: "9": spec.q in body {}',
            "should match '^it's [0-9]{2}$'",
        ),
        ("should match '^[0-9]+$'", "", "should match …"),
        (
            "should be less than or equal to 5",
            "spec.q: Invalid value: 7: {}",
            "should be less than or equal to <n>",
        ),
        (
            "a lowercase RFC 1123 label must consist of",
            'spec.q: Invalid value: "RFC 7": {}',
            "a lowercase RFC 1123 label",
        ),
        ("must have at most 12ms or N items", "", "must have at most <n>ms or <n> items"),
        ("Not None, Nor NaN", "", "Not None, Nor NaN"),
    ],
)
def test_a_title_has_patterns_as_they_are_and_a_placeholder_for_other_numbers(text, message, title):
    key = CauseKey(type="FieldValueInvalid", field="spec.q", form=form_of(f"spec.q in body {text}", "spec.q"))
    assert title_of(key, message.replace("{}", text)).startswith(f"spec.q: Invalid value: {title}")


def test_forms_of_the_most_frequent_messages_are_those_of_earlier_reports():
    key = CauseKey("example.com", "Widget", "v1", "schema", "FieldValueInvalid", "spec.size", "", "")
    form = form_of("spec.size in body should be less than or equal to 5", "spec.size")
    assert dataclasses.replace(key, form=form).digest()[:8] == "300909cd"


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


@pytest.mark.parametrize(
    "text", ["accessor error: oops is of the type string, expected int6N", 'Found "" in references for Pod/p and Pod/q']
)
def test_a_form_of_an_earlier_report_is_renewed(text):
    assert renewed_form(text) != text
    assert renewed_form(renewed_form(text)) == renewed_form(text) == form_of(text)
    assert renewed_form("a valid label is e.g. 'N'") == "a valid label is e.g. 'N'"


def test_causes_of_an_earlier_report_have_the_ids_of_today(tmp_path, monkeypatch):
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True} for name in "pq"]
    body = widget("a", {"size": 1})
    body["metadata"]["ownerReferences"] = owners
    dump = export(tmp_path / "dump.ndjson", definition({"size": {"type": "integer"}}), body)
    with monkeypatch.context() as patch:
        patch.setattr("auditor.causes.keys._OWNERS", re.compile("(?!)"))
        old = audited(tmp_path / "old", dump)
        [before] = FindingsModel.open(old).causes
    new = audited(tmp_path / "new", dump, diff=str(old))
    [cause] = FindingsModel.open(new).causes
    assert before.title.endswith(" in references for P…")
    assert cause.title.endswith(" in references")
    [renewed] = FindingsModel.open(old).causes
    assert renewed.id == cause.id != before.id
    assert (cause.change, cause.first_seen) == ("same", before.first_seen)
    rows = FindingsModel.open(old).findings(Filters(causes=(cause.digest,)), distinct=True)
    assert [row["name"] for row in rows] == ["a"]


@pytest.mark.parametrize("turn", [1, -1])
def test_a_cause_with_two_wordings_keeps_the_same_one_whichever_worker_saw_first(turn):
    known = {"check": "schema", "field": "spec.n", "type": "FieldValueTypeInvalid"}
    forms = ('in body must be of type integer: ""', 'in body must be of type int6N: ""')
    causes = CauseNumbers(None)
    assert {causes.number(CauseKey(**known, form=form)) for form in forms[::turn]} == {0}
    assert [key.form for key in causes.keys] == [forms[1]]
