"""What an audit says of findings at rest: verdict and guard path, codes and impact; who last wrote the field."""

import json

import pytest

from auditor.crds.definition import parse_definition
from auditor.program.program import AuditProgram
from auditor.updates.body import RequestName
from auditor.updates.managed_fields import last_writer, locate
from auditor.updates.noop import NoopUpdates
from tests.validation.support import document

BLOCKS, WHILE, GLOBALLY = "blocks-every-update", "tolerated-while-unchanged", "tolerated-globally"
PLACE = RequestName("d", "x")


def judge(root, fields, *, ratcheting=True, place=PLACE, metadata=None, **spec):
    definition = parse_definition(document(root, **spec))
    program = AuditProgram(definition, definition.versions["v1"])
    own = {"name": "x", "namespace": "d", "uid": "u", "generation": 1, **(metadata or {})}
    data = f'{{"apiVersion":"g.io/v1","kind":"Foo","metadata":{json.dumps(own)},{fields.strip()[1:]}'.replace(",}", "}")
    audited = program.audit(data.encode())
    assert audited.unreadable is None
    noop = NoopUpdates(program, ratcheting=ratcheting)
    assert noop.is_needed(audited, data.encode(), place)
    return audited, noop.judge(audited, place, 5)


def obj(**properties):
    return {"type": "object", "properties": properties}


STRING, ANY = {"type": "string"}, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
K_V = {"type": "object", "properties": {"k": STRING, "v": {"type": "string", "maxLength": 1}}}
MAP_LIST = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": K_V}
SET = {"type": "array", "x-kubernetes-list-type": "set", "items": STRING}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}

TABLE = [
    # what it shows, schema of the root, fields of the object, verdicts with guard paths by field
    ("pattern", obj(a={"type": "string", "pattern": "^x"}), '{"a":"y"}', {"a": (WHILE, "a")}),
    ("required below", obj(spec={**obj(o=STRING), "required": ["r"]}), '{"spec":{"o":"1"}}', {"spec.r": (WHILE, "spec")}),
    ("required at the root", {**obj(), "required": ["spec"]}, "{}", {"spec": (BLOCKS, None)}),
    ("atomic list", obj(l={"type": "array", "items": {"type": "string", "enum": ["a"]}}), '{"l":["b"]}', {"l[0]": (WHILE, "l")}),
    ("map list", obj(l=MAP_LIST), '{"l":[{"k":"a","v":"long"}]}', {"l[0].v": (WHILE, "l[0].v")}),
    ("second of one key", obj(l=MAP_LIST), '{"l":[{"k":"a","v":"b"},{"k":"a","v":"long"}]}', {"l[1].v": (BLOCKS, None), "l[1]": (GLOBALLY, None)}),
    ("composite", obj(s={**obj(x=STRING, y=STRING), "oneOf": [{"required": ["x"]}, {"required": ["y"]}]}), '{"s":{"x":"1","y":"2"}}', {"<nil>": (WHILE, "s")}),
    ("composite over fields without schema", obj(s={**ANY, "oneOf": [{"required": ["x"]}, {"required": ["y"]}]}), '{"s":{"x":"1","y":"2"}}', {"<nil>": (BLOCKS, None)}),
    ("fields without schema", obj(s={**ANY, "minProperties": 3}), '{"s":{"a":1}}', {"s": (BLOCKS, None)}),
    ("an empty map", obj(s={**ANY, "minProperties": 3}), '{"s":{}}', {"s": (WHILE, "s")}),
    ("keys of a map", obj(m={"type": "object", "additionalProperties": {"type": "string", "minLength": 3}}), '{"m":{"a.b":"x"}}', {"m.a.b": (WHILE, "m.a.b")}),
    ("set", obj(l=SET), '{"l":["a","a"]}', {"l[1]": (GLOBALLY, None)}),
    ("embedded kind", obj(e=EMBEDDED), '{"e":{"apiVersion":"v1","kind":"A.b"}}', {"e.kind": (BLOCKS, None)}),
    ("schema of kind", obj(kind={"type": "string", "pattern": "^Z"}), "{}", {"kind": (BLOCKS, None)}),
    ("null", obj(l={"type": "array", "items": STRING}), '{"l":[null]}', {"l[0]": (WHILE, "l")}),
    ("a deep guard", obj(p=obj(q={**obj(r=STRING), "maxProperties": 0})), '{"p":{"q":{"r":"1"}}}', {"p.q": (WHILE, "p.q")}),
]  # fmt: skip


@pytest.mark.parametrize(("root", "fields", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_verdicts_and_guards(root, fields, expected):
    audited, noop = judge(root, fields)
    assert {f.field: v for f, v in zip(audited.findings, noop.verdicts, strict=True)} == expected
    blocked = any(verdict == BLOCKS for verdict, _ in expected.values())
    assert noop.put.code == noop.label.code == (422 if blocked else 200)
    assert {f.field for f in noop.put.findings} == {
        field for field, (verdict, _) in expected.items() if verdict == BLOCKS
    }
    assert (BLOCKS in noop.impacts) == blocked
    assert (WHILE in noop.impacts) == any(verdict != BLOCKS for verdict, _ in expected.values())


@pytest.mark.parametrize(("root", "fields", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_without_ratcheting_only_list_types_are_tolerated(root, fields, expected):
    audited, noop = judge(root, fields, ratcheting=False)
    for finding, (verdict, _) in zip(audited.findings, noop.verdicts, strict=True):
        assert verdict == (GLOBALLY if expected[finding.field][0] == GLOBALLY else BLOCKS)


def test_metadata_are_never_tolerated_but_an_old_name_is():
    bad = {"labels": {"a": "not valid!"}, "name": "A_A"}
    audited, noop = judge(obj(), "{}", metadata=bad, place=RequestName("d", "A_A"))
    verdicts = {f.field: v for f, v in zip(audited.findings, noop.verdicts, strict=True)}
    assert verdicts == {"metadata.labels": (BLOCKS, None), "metadata.name": (WHILE, None)}


def test_status_is_judged_alone():
    root = obj(
        spec={**obj(o=STRING), "required": ["r"]},
        status=obj(e={"type": "string", "x-kubernetes-preserve-unknown-fields": True}),
    )
    root["required"] = ["gone"]
    _, noop = judge(root, '{"spec":{"o":"1"},"status":{"e":"x"}}', status={})
    assert (noop.put.code, noop.label.code, noop.status.code) == (422, 422, 200)
    assert noop.impacts == (BLOCKS, WHILE)


def test_a_status_that_blocks_only_itself():
    status = {"type": "object", "additionalProperties": True, "minProperties": 3}
    _, noop = judge(obj(status=status), '{"status":{"a":"b"}}', status={})
    assert (noop.put.code, noop.status.code) == (422, 422)
    assert noop.impacts == (BLOCKS,)


def test_what_is_being_deleted_and_cannot_lose_its_finalizer_is_stuck():
    gone = {"deletionTimestamp": "2026-11-01T00:00:00Z", "finalizers": ["a.io/b"]}
    root = {**obj(), "required": ["spec"]}
    _, noop = judge(root, "{}", metadata=gone)
    assert noop.end_delete.code == 422
    assert noop.impacts[0] == "blocks-delete"
    _, noop = judge(obj(a={"type": "string", "maxLength": 1}), '{"a":"long"}', metadata=gone)
    assert noop.end_delete.code == 200
    assert noop.impacts == (WHILE,)
    _, noop = judge(root, "{}", metadata={"deletionTimestamp": "2026-11-01T00:00:00Z"})
    assert noop.end_delete is None


def test_a_bad_finalizer_can_still_be_removed():
    gone = {"deletionTimestamp": "2026-11-01T00:00:00Z", "finalizers": ["Bad/Upper_"]}
    _, noop = judge(obj(), "{}", metadata=gone)
    assert (noop.put.code, noop.end_delete.code) == (422, 200)


@pytest.mark.parametrize(
    ("place", "code", "text"),
    [
        (RequestName("d", "y"), 400, "the name of the object (x) does not match the name on the URL (y)"),
        (
            RequestName("e", "x"),
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ],
)
def test_a_key_that_disagrees_with_its_metadata_cannot_be_written(place, code, text):
    audited, noop = judge(obj(), "{}", place=place)
    assert audited.findings == ()
    assert (noop.put.code, noop.put.message, noop.label.code) == (code, text, code)
    assert noop.impacts == (BLOCKS,)


def test_a_number_that_changes_its_spelling_is_a_change():
    root = obj(s={**obj(n={"type": "number"}, o=STRING), "required": ["r"]})
    audited, noop = judge(root, '{"s":{"n":1.0}}')
    assert noop.verdicts == ((BLOCKS, None),)
    assert [f.message for f in noop.put.findings] == [f.message for f in audited.findings]
    _, noop = judge(root, '{"s":{"n":1.5}}')
    assert noop.verdicts == ((WHILE, "s"),)


def test_the_generation_after_the_last_one_is_negative():
    _, noop = judge(obj(n={"type": "number"}), '{"n":1.0}', metadata={"generation": 2**63 - 1})
    assert (noop.put.code, {finding.message for finding in noop.put.findings}) == (
        422,
        {
            "metadata.generation: Invalid value: -9223372036854775808: must be greater than or equal to 0",
            "metadata.generation: Invalid value: -9223372036854775808: must not be decremented",
        },
    )
    _, noop = judge(obj(n={"type": "number"}), '{"n":1.0}', metadata={"generation": 2**63 - 2})
    assert noop.put.code == 200


OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"}


def test_owners_that_are_named_twice_are_distinguished_only_in_a_status():
    owners = [{**OWNER, "controller": True}] * 2
    _, noop = judge(obj(status=ANY), '{"status":{}}', metadata={"ownerReferences": owners}, status={})
    assert (noop.put.code, noop.label.code, noop.status.code) == (200, 200, 422)
    assert {finding.field for finding in noop.status.findings} == {"metadata.ownerReferences"}
    assert noop.impacts == ("blocks-status", WHILE)


ENTRY = {
    "manager": "m\t",
    "operation": "Update",
    "apiVersion": "g.io/v1",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:spec": {}},
}


@pytest.mark.parametrize(
    ("entries", "named"),
    [
        ([ENTRY], {0}),
        ([ENTRY, {**ENTRY, "time": "2026-01-01T00:00:00Z"}], {0}),
        ([ENTRY, {**ENTRY, "subresource": "status"}], {0, 1}),
        ([{**ENTRY, "operation": "Apply", "apiVersion": "g.io/v0"}, {**ENTRY, "operation": "Apply"}], {0}),
        ([{**ENTRY, "operation": "Apply"}, {**ENTRY, "operation": "Apply", "apiVersion": "g.io/v0"}], {0, 1}),
        ([{**ENTRY, "fieldsV1": {}}, {**ENTRY, "apiVersion": "g.io/v0"}], {0, 1}),
        ([{**ENTRY, "fieldsV1": {}}], set()),
        ([{**ENTRY, "fieldsV1": {}}, ENTRY], {0}),
        ([ENTRY, {**ENTRY, "fieldsV1": {}}], set()),
    ],
)
def test_managers_count_once_and_only_with_fields(entries, named):
    _, noop = judge(obj(), "{}", metadata={"managedFields": entries})
    fields = {finding.field for finding in noop.put.findings}
    assert fields == {f"metadata.managedFields[{index}].manager" for index in named}


def test_a_rule_hears_of_each_update_what_that_does_to_metadata():
    root = {**obj(status=ANY), "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    _, noop = judge(root, '{"status":{}}', metadata={"ownerReferences": [OWNER] * 2}, status={})
    assert (noop.put.code, noop.status.code) == (422, 200)
    assert [finding.message for finding in noop.put.findings] == ["<nil>: Invalid value: failed rule: self == oldSelf"]
    _, noop = judge(root, '{"status":{}}', metadata={"ownerReferences": [OWNER]}, status={})
    assert (noop.put.code, noop.label.code, noop.status.code) == (200, 422, 200)
    assert noop.impacts == ("blocks-metadata",)


def test_an_object_without_uid_cannot_be_patched():
    _, noop = judge(obj(), "{}", metadata={"uid": ""})
    assert (noop.put.code, noop.label.code, noop.impacts) == (200, 404, ("blocks-metadata",))


FIELDS = [
    ("spec.m.k.x[1].u", ["spec", "m", "k.x", 1, "u"], ""),
    ("spec.m[k.x][1].u", ["spec", "m", "k.x", 1, "u"], ""),
    ("spec.m.k.x[2]", ["spec", "m", "k.x"], "[2]"),
    ("spec.gone", ["spec"], "gone"),
    ("spec.mm", ["spec"], "mm"),
    ("spec.m[a]b]", ["spec", "m", "a]b"], ""),
    ("<nil>", [], ""),
    ("metadata.labels", [], "metadata.labels"),
]


@pytest.mark.parametrize(("field", "steps", "rest"), FIELDS)
def test_a_field_is_found_in_the_object_it_was_said_of(field, steps, rest):
    value = {"spec": {"m": {"k": {}, "k.x": [0, {"u": 1}], "a]b": 1}}}
    assert locate(value, field) == (steps, rest)


def managed(manager, time, fields):
    return {"manager": manager, "operation": "Update", "time": time, "fieldsType": "FieldsV1", "fieldsV1": fields}


MANAGED = {
    "metadata": {
        "managedFields": [
            managed("kubectl", "2026-01-01T00:00:00Z", {"f:spec": {"f:a": {}, "f:l": {'k:{"name":"x"}': {".": {}, "f:v": {}}}}}),
            managed("operator", "2026-02-01T00:00:00Z", {"f:spec": {"f:a": {}, "f:s": {'v:"two"': {}}}}),
            managed("setter", None, {"f:spec": {"f:whole": {}}}),
            {"manager": "broken", "fieldsV1": {"f:spec": {"f:l": {"k:{": {}}}}},
        ]
    },
    "spec": {"a": 1, "l": [{"name": "y"}, {"name": "x", "v": 1}], "s": ["one", "two"], "whole": {"deep": [1]}, "b": 1},
}  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (["spec", "a"], ("operator", "2026-02-01T00:00:00Z")),
        (["spec", "l", 1, "v"], ("kubectl", "2026-01-01T00:00:00Z")),
        (["spec", "l", 0], ("kubectl", "2026-01-01T00:00:00Z")),
        (["spec", "s", 1], ("operator", "2026-02-01T00:00:00Z")),
        (["spec", "whole", "deep", 0], ("setter", None)),
        (["spec", "b"], ("operator", "2026-02-01T00:00:00Z")),
        ([], None),
    ],
)
def test_the_last_writer_of_a_field(steps, expected):
    assert last_writer(MANAGED, steps) == expected
