"""Findings that only differ in words between two releases mean the same: in causes, accepted findings and comparisons."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest

from auditor import CrdCatalog, audit_object, check_crd, check_update
from auditor.causes.field_patterns import generic_field
from auditor.causes.keys import CauseKey, form_of
from auditor.causes.model import FindingsModel
from auditor.causes.row_causes import FOLLOWS
from auditor.releases import DEFAULT, RELEASES, changes, running_as
from auditor.releases.changes import Affects
from auditor.releases.meanings import REWORDINGS, Words, coarse, fields_like, meaning
from tests.command import auditor
from tests.documents import definition_of
from tests.reference.release_questions import questions
from tests.releases.asking import METADATA

REPRODUCED = [one for one in RELEASES if one.is_reproduced]
RECORDS = [one for one in changes.CHANGES if one.affects is Affects.MESSAGES]
OWNER = {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u"}
MORE = [
    {"labels": {"a/b/c": "v"}},
    {"labels": {"a": "v" * 64, "b": "v" * 64 + "-"}},
    {"labels": {"n" * 64: "v", "p" * 254 + "/a": "v"}},
    {"annotations": {"a/b/c": "v"}},
    {"finalizers": ["a/b/c"]},
    {"ownerReferences": [OWNER, {**OWNER, "name": ""}, {**OWNER, "uid": ""}]},
]
WORDLESS = {
    "version must not be empty",
    "must be <group>/<version> or <version>",
    'must be "" or ""',
    'supported values: ""',
}
"""Words of before 1.37 for which 1.37 has two, and those of the rarer of the two."""
NO_SCHEMA = definition_of({"type": "object"})
del NO_SCHEMA["spec"]["versions"][0]["schema"]
SELECTED = definition_of({"type": "object", "properties": {"a": {"type": "string"}}})
ALONE = definition_of({"type": "object"})
ALONE["spec"]["versions"][0].update(schema=None, selectableFields=[{"jsonPath": ".a"}])
SELECTED["spec"]["versions"].append(
    {"name": "v2", "served": True, "storage": False, "selectableFields": [{"jsonPath": ".a"}]}
)
ERRORS = [
    "(self.a == 1 ? [1] : [2]).all(i, v, i < v)",
    "timestamp('2024-01-01T00:00:00Z').getHours('a%sb') == 1",
]
RULED = definition_of(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"a": {"type": "integer"}},
                "x-kubernetes-validations": [{"rule": one} for one in ERRORS],
            }
        },
    }
)


@cache
def cases():
    """Return the questions to releases, and more about metadata and definitions."""
    made = questions()
    objects = [(one["name"], one) for one in made["cases"] if "expression" not in one]
    body = {"apiVersion": "releases.example.com/v1", "kind": "Field"}
    for number, one in enumerate(MORE):
        text = json.dumps({**body, "metadata": {**METADATA, **one}})
        objects.append((f"more {number}", {"object": text, "resource": "fields.releases.example.com"}))
    objects += [("no schema", {"definition": NO_SCHEMA}), ("selected", {"definition": SELECTED})]
    objects.append(("selected without a schema", {"definition": ALONE}))
    number = json.dumps({**body, "metadata": METADATA, "spec": {"float": True}})
    objects.append(("no number", {"object": number, "resource": "fields.releases.example.com"}))
    ruled = json.dumps({"apiVersion": "x.example.com/v1", "kind": "X", "metadata": METADATA, "spec": {}})
    objects.append(("errors of rules", {"object": ruled, "resource": "xs.x.example.com"}))
    return [*made["definitions"], RULED], objects


@cache
def found(release):
    """Return the findings of a release in each case, with counts."""
    definitions, objects = cases()
    with running_as(release):
        catalog = CrdCatalog.from_documents(definitions)
        return {name: _found(one, catalog) for name, one in objects}


def _found(case, catalog):
    if "definition" in case:
        return _keys(check_crd(case["definition"]).findings)
    if "old" in case:
        return _keys(check_update(catalog, case["old"].encode(), case["new"].encode()).findings)
    return _keys(audit_object(catalog, case["object"].encode(), resource=case["resource"]).findings)


def _keys(findings):
    return Counter(
        CauseKey(
            check=one.check,
            type=one.type,
            field=generic_field(one.field, None),
            rule=one.rule or "",
            form="" if one.rule else form_of(one.detail, one.field),
        )
        for one in findings
        if not one.detail.startswith(FOLLOWS)
    )


def meant(keys):
    return Counter({key.digest(): count for key, count in keys.items()})


def differing(old, new):
    """Return the cases in which two releases find something else, and those in which they only say it in other words."""
    before, after = found(old), found(new)
    other = [name for name in before if meant(before[name]) != meant(after[name])]
    return set(other), {name for name in before if before[name] != after[name]} - set(other)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("record", RECORDS, ids=lambda one: one.name)
def test_what_a_record_says_in_other_words_is_the_same_cause(record):
    older = next(one for one in REPRODUCED if one.minor == record.since - 1)
    newer = replace(older, also=frozenset({record.name}))
    other, reworded = differing(older, newer)
    for case in other:
        for own, against in ((found(older)[case], found(newer)[case]), (found(newer)[case], found(older)[case])):
            left = {key for key in own if key.digest() not in {one.digest() for one in against}}
            assert {key.form for key in left} <= WORDLESS, case
    if record in {one.record for one in REWORDINGS}:
        assert reworded
    else:  # it changes values in a text or errors of rules, which no cause has, or answers to a write of a generation or definition
        assert reworded == set()


def test_errors_of_a_rule_are_one_cause_in_each_release():
    for release in REPRODUCED:
        assert sorted(key.rule for key in found(release)["errors of rules"]) == sorted(ERRORS)


def test_each_rewording_has_a_case():
    seen = set()
    for old, new in pairwise(REPRODUCED):
        for keys in (*found(old).values(), *found(new).values()):
            words = {Words(key.field, key.type, key.form) for key in keys}
            seen |= {number for number, one in enumerate(REWORDINGS) if any(map(one.applied, words))}
    assert seen == set(range(len(REWORDINGS)))


def test_a_meaning_is_its_own_meaning_and_no_release_has_two_words_for_it():
    for release in REPRODUCED:
        for keys in found(release).values():
            for key in keys:
                assert key.meaning().meaning() == key.meaning()
            assert len(meant(keys)) == len({key.meaning() for key in keys})


def test_words_of_the_default_release_are_their_own_meaning_but_where_others_say_less():
    words = {Words(key.field, key.type, key.form) for keys in found(DEFAULT).values() for key in keys}
    changed = {one.form for one in words if meaning(one) != one}
    assert changed == {
        "in body should have at least N properties",
        "may not be more than N byte",
        "must have at most N item",
        'in body must be of type int6N: ""',
        'in body must be of type float: ""',
    }


@pytest.mark.parametrize(
    ("field", "type_", "expected"),
    [
        ("spec.l", "FieldValueTooFew", ("spec.l", "FieldValueInvalid")),
        ("spec.l", "FieldValueTooMany", ("spec.l", "FieldValueTooMany")),
        (
            "metadata.ownerReferences[12].kind",
            "FieldValueRequired",
            ("metadata.ownerReferences.kind", "FieldValueInvalid"),
        ),
        ("metadata.ownerReferences[0]", "FieldValueInvalid", ("metadata.ownerReferences", "FieldValueInvalid")),
        (
            "spec.t.metadata.managedFields[3].operation",
            "FieldValueNotSupported",
            ("spec.t.metadata.managedFields[3].operation", "FieldValueInvalid"),
        ),
        ("spec.kind", "FieldValueRequired", ("spec.kind", "FieldValueRequired")),
    ],
)
def test_findings_are_compared_without_what_releases_tell_apart(field, type_, expected):
    assert coarse(field, type_) == expected


def test_a_field_of_an_owner_is_known_by_both_of_its_names():
    for field in ("metadata.ownerReferences.kind", "metadata.ownerReferences[*].kind"):
        assert set(fields_like(field)) == {"metadata.ownerReferences.kind", "metadata.ownerReferences[*].kind"}
    assert fields_like("spec.a[*]") == ("spec.a[*]",)


SPEC = {
    "type": "object",
    "properties": {
        "few": {"type": "array", "minItems": 2, "items": {"type": "string"}},
        "keys": {"type": "object", "minProperties": 2, "additionalProperties": {"type": "string"}},
        "many": {"type": "array", "maxItems": 1, "items": {"type": "string"}},
        "text": {"type": "string", "maxLength": 1},
        "whole": {"type": "integer", "format": "int64"},
        "low": {"type": "integer"},
    },
    "x-kubernetes-validations": [{"rule": "!has(self.low) || self.low > 5"}],
}
THINGS = [
    ("few", {}, {"few": ["a"]}),
    ("keys", {}, {"keys": {}}),
    ("many", {}, {"many": ["a", "b"]}),
    ("text", {}, {"text": "ab"}),
    ("whole", {}, {"whole": True}),
    ("rule", {}, {"low": 1}),
    ("owner", {"ownerReferences": [{**OWNER, "kind": "", "uid": ""}, {**OWNER, "name": ""}]}, {}),
    ("ownerless", {"ownerReferences": [{**OWNER, "apiVersion": ""}]}, {}),
    ("event", {"ownerReferences": [{**OWNER, "kind": "Event"}]}, {}),
    ("manager", {"managedFields": [{"manager": "m", "operation": ""}]}, {}),
    ("label", {"labels": {"a/b/c": "v", "k": "v" * 64}}, {}),
    ("both", {"ownerReferences": [{**OWNER, "kind": ""}]}, {"few": []}),
]


def body(name, metadata, spec):
    return {
        "apiVersion": "x.example.com/v1",
        "kind": "X",
        "metadata": {**METADATA, "name": name, "uid": name, **metadata},
        "spec": spec,
    }


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "dump.ndjson"
    documents = [definition_of({"type": "object", "properties": {"spec": SPEC}}), *(body(*one) for one in THINGS)]
    path.write_text("\n".join(map(json.dumps, documents)))
    return path


def audited(dump, release, *words, name=""):
    report = dump.parent / (name or release)
    call = ["audit", dump, "--report", report, "--kubernetes", release, "--fail-on", "never", "-q", *words]
    done = auditor(*call)
    assert done.code == 0, done.output
    return report, FindingsModel.open(report)


@pytest.mark.parametrize(
    ("old", "new"), [("1.36", "1.37"), ("1.37", "1.36"), ("1.32", "1.38"), ("1.38", "1.32"), ("1.36", "1.38")]
)
def test_a_reworded_finding_is_neither_new_nor_fixed_and_stays_accepted(dump, old, new):
    report, before = audited(dump, old)
    accepted = dump.parent / "accept.yaml"
    entries = [{"cause": one.id, "reason": "r", "expires": "2999-01-01"} for one in before.causes]
    accepted.write_text(json.dumps(entries))
    _, after = audited(dump, new, "--diff", report, "--accept", accepted)
    counts = after.manifest["diff"]
    assert counts["findings"]["new"] == counts["findings"]["fixed"] == 0
    assert counts["not_judged"] == 0
    assert f"was made as Kubernetes v{old}." in counts["notes"][0]
    assert {one.digest for one in after.causes} == {one.digest for one in before.causes}
    assert {one.change for one in after.causes} == {"same"}
    assert not any(one.is_open for one in after.causes)
    assert [one["state"] for one in after.manifest["accepted"]["entries"]] == ["active"] * len(entries)
    assert {row["name"] for row in after.findings()} == {name for name, _, _ in THINGS}
    for entry, cause in zip(entries, before.causes, strict=True):
        if cause.field:  # what objects do to a server has none
            del entry["cause"]
            entry["field"] = cause.field
    accepted.write_text(json.dumps(entries))
    _, again = audited(dump, new, "--accept", accepted, name="again")
    assert not any(one.is_open for one in again.causes)


def test_words_that_stand_for_two_are_the_same_finding_of_another_cause(dump):
    things = [
        body("odd", {"ownerReferences": [{**OWNER, "apiVersion": "a/b/c"}]}, {}),
        body("unknown", {"managedFields": [{"manager": "m", "operation": "Other"}]}, {}),
    ]
    definition = definition_of({"type": "object", "properties": {"spec": SPEC}})
    dump.write_text("\n".join(map(json.dumps, [definition, *things])))
    report, before = audited(dump, "1.36")
    _, after = audited(dump, "1.37", "--diff", report)
    assert after.manifest["diff"]["findings"]["new"] == 0
    here = [one for one in after.causes if one.objects]
    assert {one.change for one in here} == {"same"}
    assert not {one.digest for one in here} & {one.digest for one in before.causes}


def test_a_rule_that_is_not_checked_any_more_is_not_fixed(dump):
    required = {**SPEC, "properties": {**SPEC["properties"], "name": {"type": "string"}}, "required": ["name"]}
    definition = definition_of({"type": "object", "properties": {"spec": required}})
    dump.write_text("\n".join(map(json.dumps, [definition, body("a", {}, {"low": 1, "name": "n"})])))
    report, _ = audited(dump, "1.37", name="first")
    dump.write_text("\n".join(map(json.dumps, [definition, body("a", {}, {"low": 1})])))
    os.utime(dump, (2_000_000_000, 2_000_000_000))
    _, after = audited(dump, "1.37", "--diff", report, name="second")
    counts = after.manifest["diff"]
    assert counts["findings"] == {"new": 2, "same": 0, "fixed": 0}
    assert counts["not_rechecked"] == {"not evaluated": 1}
