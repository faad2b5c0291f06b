"""The examples that the designs of Kubernetes give themselves: defaulting (KEP-575), validation, ratcheting (KEP-4008)."""

import json

import pytest

import auditor
from tests.validation.support import document


def catalog(root, **spec):
    return auditor.CrdCatalog.from_documents([document(root, **spec)])


def value(**fields):
    own = {"name": "x", "namespace": "d", "uid": "u", "resourceVersion": "1"}
    return json.dumps({"apiVersion": "g.io/v1", "kind": "Foo", "metadata": own, **fields}).encode()


def obj(**properties):
    return {"type": "object", "properties": properties}


STRING = {"type": "string"}

# -- defaulting -------------------------------------------------------------------------------------------------------

DEFAULTED = obj(
    a={"type": "string", "default": "abc"},
    list={"type": "array", "items": STRING, "default": ["x"]},
    top={**obj(a={"type": "string", "default": "abc"}, b=STRING), "default": {"b": "def"}},
)
FULL = {"a": "abc", "list": ["x"], "top": {"a": "abc", "b": "def"}}


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ({}, FULL),
        ({"a": "def"}, {**FULL, "a": "def"}),
        ({"a": ""}, {**FULL, "a": ""}),
        ({"list": []}, {**FULL, "list": []}),
        ({"a": None, "list": None, "top": None}, FULL),
        ({"top": {}}, {**FULL, "top": {"a": "abc"}}),
        ({"top": {"a": "x", "b": None}}, {**FULL, "top": {"a": "x"}}),
    ],
    ids=["empty", "kept", "empty string kept", "empty list kept", "null", "no default of a parent", "null below"],
)
def test_defaults_as_the_design_of_defaulting_has_them(stored, read):
    """A null is defaulted by the server; the proposal would have rejected it. Defaults go from the top down."""
    got = auditor.audit_object(catalog(obj(spec=DEFAULTED)), value(spec=stored))
    assert got.object["spec"] == read
    assert got.findings == ()
    assert got.defaulted == tuple(sorted(f"spec.{p}" for p in _filled(stored, read)))


def _filled(stored, read):
    for key, found in read.items():
        if stored.get(key) is None:
            yield key
        elif type(found) is dict:
            yield from (f"{key}.{path}" for path in _filled(stored[key], found))


# -- validation -------------------------------------------------------------------------------------------------------

TRANSFORM = {
    **obj(type={"type": "string", "enum": ["map", "math"]}, map={"type": "object", "additionalProperties": STRING}),
    "required": ["type"],
}
RESOURCE = {
    **obj(
        name=STRING,
        patches={
            "type": "array",
            "items": obj(fromFieldPath=STRING, toFieldPath=STRING, transforms={"type": "array", "items": TRANSFORM}),
        },
        connectionDetails={"type": "array", "items": obj(name=STRING, fromConnectionSecretKey=STRING)},
    ),
    "required": ["name"],
}
COMPOSITION = obj(spec=obj(resources={"type": "array", "items": RESOURCE}))


def test_a_composition_has_two_errors_with_their_list_indexes():
    resources = [
        {"name": "db", "patches": [
            {"fromFieldPath": "spec.size", "toFieldPath": "spec.class", "transforms": [{"type": "map", "map": {"s": "small"}}]},
            {"fromFieldPath": "spec.region", "toFieldPath": "spec.zone", "transforms": [{"map": {"us": "us-east"}}]},
        ], "connectionDetails": [{"fromConnectionSecretKey": "username"}, {"name": "port", "fromConnectionSecretKey": 5432}]},
    ]  # fmt: skip
    got = auditor.audit_object(catalog(COMPOSITION), value(spec={"resources": resources}))
    number = "spec.resources[0].connectionDetails[1].fromConnectionSecretKey"
    assert [f.message for f in got.findings] == [
        f'{number}: Invalid value: "integer": {number} in body must be of type string: "integer"',
        "spec.resources[0].patches[1].transforms[0].type: Required value",
    ]


# -- ratcheting -------------------------------------------------------------------------------------------------------

TIGHTENED = obj(myField={"type": "string", "minLength": 2}, myOtherField=STRING)


def test_an_old_value_is_kept_while_another_field_is_set():
    got = auditor.check_update(catalog(TIGHTENED), value(myField=""), value(myField="", myOtherField="set"))
    message = 'myField: Invalid value: "": myField in body should be at least 2 chars long'
    assert got.findings == ()
    assert [f.message for f in got.create] == [f.message for f in got.unratcheted] == [message]


K_V = obj(k=STRING, v={"type": "string", "maxLength": 1}, w={"type": "integer"})
MAP = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": K_V}
SET = {"type": "array", "x-kubernetes-list-type": "set", "items": STRING}
ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
EMBEDDED = {**ANY, "x-kubernetes-embedded-resource": True}
ONE = [{"required": ["x"]}, {"required": ["y"]}]
ABOVE = {**obj(a={"type": "integer"}, b={"type": "integer"}), "x-kubernetes-validations": [{"rule": "self.a > 5"}]}
TWO_KEYS = {
    **MAP,
    "x-kubernetes-list-map-keys": ["k", "p"],
    "items": {**K_V, "properties": {**K_V["properties"], "p": STRING}},
}


def rule(text, schema, **more):
    return {**schema, "x-kubernetes-validations": [{"rule": text, **more}]}


A_AND_B = obj(a={"type": "string", "pattern": "^x"}, b={"type": "integer"})
REQUIRED = {**obj(o={"type": "integer"}), "required": ["r"]}
S = obj(a={"type": "integer"}, b={"type": "integer"})

EXAMPLES = [
    # name, schema, old, new, messages of the update
    ("an unchanged value beside a changed one", A_AND_B, {"a": "y", "b": 1}, {"a": "y", "b": 2}, []),
    ("a changed value", A_AND_B, {"a": "y", "b": 1}, {"a": "z", "b": 2}, ['a: Invalid value: "z": a in body should match \'^x\'']),
    ("required of a changed map", obj(spec=REQUIRED), {"spec": {"o": 1}}, {"spec": {"o": 2}}, ["spec.r: Required value"]),
    ("required of an unchanged map", obj(spec=REQUIRED, other={"type": "integer"}), {"spec": {"o": 1}}, {"spec": {"o": 1}, "other": 2}, []),
    ("required at the root", {**obj(status=ANY), "required": ["spec"]}, {"status": {}}, {"status": {}}, ["spec: Required value"]),
    ("an item of a changed atomic list", obj(l={"type": "array", "items": {"type": "string", "enum": ["a", "c"]}}), {"l": ["b", "a"]}, {"l": ["b", "c"]}, ['l[0]: Unsupported value: "b": supported values: "a", "c"']),
    ("an unchanged atomic list", obj(l={"type": "array", "items": {"type": "string", "enum": ["a", "c"]}}), {"l": ["b", "c"]}, {"l": ["b", "c"]}, []),
    ("a moved item of a map list", obj(l=MAP), {"l": [{"k": "a", "v": "long", "w": 1}]}, {"l": [{"k": "n", "v": "1"}, {"k": "a", "v": "long", "w": 2}]}, []),
    ("a changed value in a map list", obj(l=MAP), {"l": [{"k": "a", "v": "long"}]}, {"l": [{"k": "a", "v": "longer"}]}, ["l[0].v: Too long: may not be more than 1 byte"]),
    ("a reordered map list", obj(l={**MAP, "maxItems": 1}), {"l": [{"k": "a"}, {"k": "b"}]}, {"l": [{"k": "b"}, {"k": "a"}]}, []),
    ("a changed item of a map list that is too long", obj(l={**MAP, "maxItems": 1}), {"l": [{"k": "a"}, {"k": "b"}]}, {"l": [{"k": "a", "v": "2"}, {"k": "b"}]}, ["l: Too many: 2: must have at most 1 item"]),
    ("one key of a map", obj(m={"type": "object", "additionalProperties": {"type": "string", "minLength": 3}}), {"m": {"a": "x", "b": "longer"}}, {"m": {"a": "x", "b": "long"}}, []),
    ("a composite of an unchanged map", obj(s={**obj(x=STRING, y=STRING), "oneOf": ONE}, z=STRING), {"s": {"x": "1", "y": "2"}}, {"s": {"x": "1", "y": "2"}, "z": "1"}, []),
    ("a composite over fields without a schema", obj(s={**ANY, "oneOf": ONE}), {"s": {"x": "1", "y": "2"}}, {"s": {"x": "1", "y": "2"}}, ['<nil>: Invalid value: "": "s" must validate one and only one schema (oneOf). Found 2 valid alternatives']),
    ("a size over fields without a schema", obj(s={**ANY, "minProperties": 3}), {"s": {"a": 1}}, {"s": {"a": 1}}, ["s: Invalid value: 1: s in body should have at least 3 properties"]),
    ("an empty map without a schema", obj(s={**ANY, "minProperties": 3}), {"s": {}}, {"s": {}}, []),
    ("an atomic list of objects without a schema", obj(l={"type": "array", "minItems": 3, "items": ANY}), {"l": [{"a": 1}]}, {"l": [{"a": 1}]}, []),
    ("an embedded resource keeps its parent changed", obj(spec={**obj(e=EMBEDDED), "required": ["r"]}), {"spec": {"e": {"apiVersion": "v1", "kind": "A"}}}, {"spec": {"e": {"apiVersion": "v1", "kind": "A"}}}, ["spec.r: Required value"]),
    ("a wrong type", obj(a=STRING), {"a": 5}, {"a": 5}, []),
    ("a number spelled otherwise", obj(a=STRING), {"a": 5.0}, {"a": 5}, ['a: Invalid value: "integer": a in body must be of type string: "integer"']),
    ("more duplicates beside old ones", obj(l=SET), {"l": ["a", "a"]}, {"l": ["a", "a", "b", "b"]}, []),
    ("the first duplicate", obj(l=SET), {"l": ["a"]}, {"l": ["a", "a"]}, ['l[1]: Duplicate value: "a"']),
    ("an item of a reordered set", obj(l={**SET, "items": {"type": "string", "maxLength": 1}}), {"l": ["long", "b"]}, {"l": ["b", "long"]}, ["l[1]: Too long: may not be more than 1 byte"]),
    ("a rule on an unchanged map", obj(s=ABOVE, z=STRING), {"s": {"a": 1}}, {"s": {"a": 1}, "z": "1"}, []),
    ("a rule on a changed map", obj(s=ABOVE), {"s": {"a": 1}}, {"s": {"a": 1, "b": 1}}, ["s: Invalid value: failed rule: self.a > 5"]),
    ("a rule that fails to evaluate", obj(s=rule("self.b > 5", S)), {"s": {"a": 1}}, {"s": {"a": 1}}, ['s: Invalid value: "object": no such key: b evaluating rule: self.b > 5']),
    ("a transition rule", obj(s=rule("self.a > oldSelf.a", S)), {"s": {"a": 1}}, {"s": {"a": 1}}, ["s: Invalid value: failed rule: self.a > oldSelf.a"]),
    ("a rule at the root", rule("has(self.a)", obj(a=STRING)), {}, {}, ["<nil>: Invalid value: failed rule: has(self.a)"]),
    ("a rule on items of a reordered atomic list", obj(l={"type": "array", "items": rule("self != 'b'", STRING)}), {"l": ["a", "b"]}, {"l": ["b", "a"]}, ["l[0]: Invalid value: \"b\": failed rule: self != 'b'"]),
    ("a tolerated type lets rules see bad data", obj(s=ABOVE), {"s": {"a": "x"}}, {"s": {"a": "x"}}, ['s: Invalid value: "object": invalid data, expected int, got string evaluating rule: self.a > 5']),
    ("the second item of one key compares with the first", obj(l=MAP), {"l": [{"k": "a", "v": "1"}, {"k": "a", "v": "long"}]}, {"l": [{"k": "a", "v": "1"}, {"k": "a", "v": "long"}]}, ["l[1].v: Too long: may not be more than 1 byte"]),
    ("an item without all of its keys", obj(l=TWO_KEYS), {"l": [{"k": "a", "v": "long"}]}, {"l": [{"k": "a", "v": "long"}]}, ["l[0].v: Too long: may not be more than 1 byte"]),
    ("the schema of kind at the root", obj(kind={"type": "string", "pattern": "^Z"}, spec=obj(kind={"type": "string", "pattern": "^Z"})), {"spec": {"kind": "a"}}, {"spec": {"kind": "a"}}, ["kind: Invalid value: \"Foo\": kind in body should match '^Z'"]),
    ("the name in metadata", obj(metadata=obj(name={"type": "string", "maxLength": 0})), {}, {}, []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "old", "new", "messages"), [row[1:] for row in EXAMPLES], ids=[row[0] for row in EXAMPLES]
)
def test_ratcheting_as_the_server_does_it(schema, old, new, messages):
    got = auditor.check_update(catalog(schema), value(**old), value(**new))
    assert got.unreadable is None
    assert [f.message for f in got.findings] == messages
