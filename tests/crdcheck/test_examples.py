"""The rules one by one: the examples of the notes, and common mistakes."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import auditor
from auditor.releases import running_as
from tests.counting import calls_of

S = "spec.validation.openAPIV3Schema"
TEXT = {"type": "string"}


def definition(schema: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": {"type": "object"} if schema is None else schema}
    names = {"plural": "loaves", "singular": "loaf", "kind": "Loaf", "listKind": "LoafList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "loaves.bakery.example.com"},
        "spec": {"group": "bakery.example.com", "scope": "Namespaced", "names": names, "versions": [version], **spec},
    }


def stored(document: dict[str, Any]) -> dict[str, Any]:
    out = copy.deepcopy(document)
    out["metadata"] |= {"uid": "u", "resourceVersion": "7", "generation": 1}
    conditions = [{"type": "Established", "status": "True"}]
    out["status"] = {"storedVersions": ["v1"], "acceptedNames": out["spec"]["names"], "conditions": conditions}
    return out


def messages(document: dict[str, Any]) -> list[str]:
    return [one.message for one in auditor.check_crd(document).findings]


def properties(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


KEYED = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": properties(k=TEXT),
}
NEEDS_Z = {"type": "object", "required": ["z"], "properties": {"z": {"type": "string", "default": "q"}}, "default": {}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            {"properties": {"a": {}}},
            [
                f"{S}.properties[a].type: Required value: must not be empty for specified object fields",
                f"{S}.type: Required value: must not be empty at the root",
            ],
        ),
        (
            properties(metadata={"type": "object", "items": "what is no schema", "dependencies": {}}),
            [f"{S}.properties[metadata].dependencies: Forbidden: dependencies is not supported"],
        ),
        (properties(a={"type": "array"}), [f"{S}.properties[a].items: Required value: must be specified"]),
        (
            properties(a={"type": "string", "default": 5}),
            [f'{S}.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer"'],
        ),
        (
            properties(b={**properties(x=TEXT), "default": {"y": 1}}),
            [f'{S}.properties[b].default: Invalid value: {{"y":1}}: must not have unknown fields'],
        ),
        (
            {"type": "object", "default": {"apiVersion": "v1", "kind": "A", "metadata": {"x": 1}, "y": 1}},
            [
                (
                    f'{S}.default: Invalid value: {{"apiVersion":"v1","kind":"A","metadata":{{}},"y":1}}: '
                    "must not have unknown fields"
                )
            ],
        ),
        (properties(h=NEEDS_Z), [f"{S}.properties[h].default.z: Required value"]),
        (
            {"type": "object", "anyOf": [{"properties": {"x": {"minimum": 1}}}]},
            [f"{S}.properties[x]: Required value: because it is defined in {S}.anyOf[0].properties[x]"],
        ),
        (properties(a={"type": "object", "anyOf": [{"properties": {"x": {"minimum": 1}}}]}), []),
        (
            properties(l=KEYED),
            [
                (
                    f"{S}.properties[l].items.properties[k].default: Required value: this property is in "
                    "x-kubernetes-list-map-keys, so it must have a default or be a required property"
                )
            ],
        ),
        (properties(p={"x-kubernetes-int-or-string": True, "default": True}), []),
        (
            properties(p={"type": "array", "items": TEXT, "default": [1]}),
            [f'{S}.properties[p].default.[0]: Invalid value: "integer": [0] in body must be of type string: "integer"'],
        ),
    ],
)
def test_worked_examples(schema: dict[str, Any], expected: list[str]) -> None:
    assert messages(definition(schema)) == expected


def test_an_empty_document_lacks_everything() -> None:
    found = messages({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {}})
    assert found == [
        "metadata.name: Required value: name or generateName is required",
        "spec.group: Required value",
        "spec.names.kind: Required value",
        "spec.names.listKind: Required value",
        "spec.names.plural: Required value",
        "spec.names.singular: Required value",
        "spec.scope: Required value",
        "spec.versions: Invalid value: null: must have exactly one version marked as storage version",
        "status.storedVersions: Invalid value: null: must have at least one stored version",
    ]


def test_a_document_of_v1beta1_is_judged_and_said_not_to_be_served() -> None:
    document = definition()
    version = document["spec"]["versions"].pop()
    document["apiVersion"] = "apiextensions.k8s.io/v1beta1"
    document["spec"] |= {"version": "v1", "validation": version["schema"], "preserveUnknownFields": False}
    got = auditor.check_crd(document)
    assert (got.findings, got.api_version, got.is_served) == ((), "v1beta1", False)
    document["spec"]["names"]["plural"] = "Loaves"
    assert [one.field for one in auditor.check_crd(document).findings] == ["metadata.name", "spec.names.plural"]
    assert auditor.check_crd(definition()).is_served


def test_no_server_could_decode_it() -> None:
    document = definition()
    document["spec"]["versions"][0]["served"] = "yes"
    got = auditor.check_crd(document)
    assert got.findings == ()
    assert got.unreadable is not None
    assert got.unreadable.reason == (
        "json: cannot unmarshal string into Go struct field "
        "CustomResourceDefinitionVersion.spec.versions.served of type bool"
    )
    assert auditor.check_crd([1]).unreadable is not None
    assert auditor.check_crd({"kind": "ConfigMap", "apiVersion": "v1"}).unreadable is not None


def test_fields_that_no_server_knows_are_listed() -> None:
    document = definition(properties(a={"type": "string", "deprecated": True}))
    document["spec"]["customFeatureGates"] = {}
    got = auditor.check_crd(document)
    assert got.findings == ()
    assert got.unknown_fields == (
        "spec.versions[0].schema.openAPIV3Schema.properties.a.deprecated",
        "spec.customFeatureGates",
    )


def test_two_versions_with_one_schema_cannot_select_differently() -> None:
    document = definition(properties(a=TEXT))
    first = document["spec"]["versions"][0]
    second = {**copy.deepcopy(first), "name": "v2", "storage": False, "selectableFields": [{"jsonPath": ".a"}]}
    document["spec"]["versions"].append(second)
    detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
    assert messages(document) == [f'spec.versions[1].selectableFields: Invalid value: "": {detail}']
    first["selectableFields"] = [{"jsonPath": ".a"}]
    assert messages(document) == []


def test_a_rule_is_charged_for_every_item_that_may_have_it() -> None:
    def refused(limit: int) -> bool:
        item = {**TEXT, "maxLength": 100, "x-kubernetes-validations": [{"rule": "self.contains('a')"}]}
        found = auditor.check_crd(definition(properties(l={"type": "array", "maxItems": limit, "items": item})))
        return any("estimated rule cost exceeds budget" in one.message for one in found.findings)

    assert not refused(1000)
    assert refused(1_000_000)


def test_a_function_of_this_release_is_only_for_rules_that_were_there() -> None:
    with_rule = properties(l={"type": "array", "maxItems": 5, "items": {"type": "integer"}})
    with_rule["properties"]["l"]["x-kubernetes-validations"] = [{"rule": "self.includes(1)"}]
    new = definition(with_rule)
    assert [one.field for one in auditor.check_crd(new).findings] == [
        f"{S}.properties[l].x-kubernetes-validations[0].rule"
    ]
    old = stored(new)
    new["metadata"] = old["metadata"]
    assert auditor.check_crd_update(old, new).findings == ()


def test_what_was_wrong_before_may_stay_and_nothing_new_may_come() -> None:
    loose = {"type": "array", "x-kubernetes-list-type": "set", "items": properties(a=TEXT)}
    old = stored(definition(properties(l=loose)))
    new = copy.deepcopy(old)
    new["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["m"] = loose
    assert auditor.check_crd_update(old, new).findings == ()
    strict = stored(definition(properties(l={**loose, "items": TEXT})))
    fields = [one.field for one in auditor.check_crd_update(strict, new).findings]
    assert fields == [f"{S}.properties[{name}].items.x-kubernetes-map-type" for name in ("l", "m")]


def test_the_status_that_is_sent_plays_no_part() -> None:
    old = stored(definition())
    new = copy.deepcopy(old)
    new["status"] = {"storedVersions": ["v9"]}
    got = auditor.check_crd_update(old, new)
    assert (got.findings, got.stored_versions) == ((), ("v1",))


def test_a_storage_version_is_noted_and_the_old_one_must_stay() -> None:
    old = stored(definition())
    new = copy.deepcopy(old)
    only = new["spec"]["versions"][0]
    only["storage"] = False
    new["spec"]["versions"].append({**copy.deepcopy(only), "name": "v2", "storage": True})
    assert auditor.check_crd_update(old, new).stored_versions == ("v1", "v2")
    del new["spec"]["versions"][0]
    got = auditor.check_crd_update(old, new)
    assert [one.field for one in got.findings] == ["status.storedVersions[0]"]
    assert "must remain in spec.versions until a storage migration" in got.findings[0].detail


@pytest.mark.parametrize("depth", [1200, pytest.param(3000, marks=pytest.mark.slow)])
def test_a_schema_that_is_nested_beyond_reason_is_no_crash(depth: int) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    assert auditor.check_crd(definition(schema)).findings == ()


def test_findings_come_sorted_and_soon() -> None:
    few, many = (
        definition(properties(**{f"f{number}": {"type": "array"} for number in range(count)})) for count in (50, 400)
    )
    assert calls_of(lambda: auditor.check_crd(many)) < 12 * calls_of(lambda: auditor.check_crd(few))
    found = auditor.check_crd(many).findings
    assert len(found) == 400
    assert list(found) == sorted(found, key=lambda one: one.sort_key())


def test_every_rule_tells_its_cost() -> None:
    text = {**TEXT, "maxLength": 10, "x-kubernetes-validations": [{"rule": "self == 'a'", "messageExpression": "self"}]}
    got = auditor.check_crd(definition(properties(a=text)))
    path = f"{S}.properties[a].x-kubernetes-validations[0]"
    assert got.costs == ((f"{path}.rule", 2), (f"{path}.messageExpression", 1))
    broken = {**TEXT, "x-kubernetes-validations": [{"rule": "self ="}]}
    assert auditor.check_crd(definition(properties(a=broken))).costs == (((f"{path}.rule", 0)),)


def test_metadata_are_judged_as_on_any_update() -> None:
    old = stored(definition())
    old["metadata"] |= {"creationTimestamp": "2024-01-01T00:00:00Z", "finalizers": ["a/b"]}
    new = copy.deepcopy(old)
    new["metadata"] |= {"deletionTimestamp": "2024-05-01T00:00:00Z", "labels": {"a b": "c"}, "uid": "v"}
    found = {one.field: one.message for one in auditor.check_crd_update(old, new).findings}
    assert found["metadata.deletionTimestamp"] == (
        'metadata.deletionTimestamp: Invalid value: "2024-05-01T00:00:00Z": field is immutable'
    )
    assert sorted(found) == ["metadata.deletionTimestamp", "metadata.labels", "metadata.uid"]


@pytest.mark.parametrize(
    "more", [{"additionalProperties": False}, {"items": []}, {"minLength": 1}, {"additionalProperties": True}]
)
def test_integer_or_string_may_say_what_leaves_no_trace_and_nothing_else(more: dict[str, Any]) -> None:
    loose = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer", **more}, TEXT]}
    found = messages(definition({"type": "object", "properties": {"spec": loose}}))
    accepts_everything = more in ({"additionalProperties": False}, {"items": []})
    assert any(f"{S}.properties[spec].anyOf[0].type: Forbidden" in each for each in found) != accepts_everything


def test_a_default_of_a_request_is_as_it_is_spelled() -> None:
    schema = {"type": "object", "properties": {"spec": {**TEXT, "default": 2.0}, "status": {**TEXT, "default": 2}}}
    found = messages(definition(schema))
    wanted = [("spec", "number"), ("status", "integer")]
    assert found == [
        f'{S}.properties[{name}].default: Invalid value: "{kind}":  in body must be of type string: "{kind}"'
        for name, kind in wanted
    ]


@pytest.mark.parametrize(("letter", "is_fine"), [("\u0cf3", True), ("\u2ffc", False), ("\u00a0", False), ("é", True)])
def test_a_warning_prints_by_the_unicode_of_the_server(letter: str, is_fine: bool) -> None:
    document = definition()
    old = {"name": "v0", "served": True, "storage": False, "deprecated": True, "deprecationWarning": f"gone {letter}"}
    document["spec"]["versions"].append({**old, "schema": {"openAPIV3Schema": {"type": "object"}}})
    found = [message.rpartition("; ")[2] for message in messages(document) if "printable" in message]
    assert found == ([] if is_fine else ["non-printable character found at index 5"])


@pytest.mark.parametrize(
    ("where", "value", "shown"),
    [
        ("group", "<&>", '"<&>"'),
        ("group", "\u00a0", r'"\u00a0"'),
        ("names.kind", "\x7f<", r'"\x7f<"'),
        ("scope", "<&>", r'"\u003c\u0026\u003e"'),
    ],
)
def test_what_may_not_change_is_shown_quoted_and_the_scope_as_json(where: str, value: str, shown: str) -> None:
    new = definition()
    *holders, key = where.split(".")
    (new["spec"][holders[0]] if holders else new["spec"])[key] = value
    found = [one.message for one in auditor.check_crd_update(stored(definition()), new).findings]
    assert f"spec.{where}: Invalid value: {shown}: field is immutable" in found


@pytest.mark.parametrize(("release", "shown"), [("1.32", '[]string{"z", "k\\t"}'), ("1.37", '["z","k\\t"]')])
def test_unknown_keys_of_a_map_are_shown_as_a_list_of_texts(release: str, shown: str) -> None:
    items = {"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"]}
    keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["z", "k\t"]}
    with running_as(release):
        found = messages(definition(properties(a={"type": "array", "items": items, **keys})))
    where = "spec.validation.openAPIV3Schema.properties[a].x-kubernetes-list-map-keys"
    assert found == [f"{where}: Invalid value: {shown}: entries must all be names of item properties"] * 2
