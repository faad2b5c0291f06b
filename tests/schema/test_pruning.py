"""What pruning removes, and how it spells where."""

import copy

import pytest

from auditor.schema.parse import parse_schema
from auditor.schema.pruning import prune, prune_below

STRING = {"type": "string"}
PRESERVE = {"x-kubernetes-preserve-unknown-fields": True}

SPEC = {
    "properties": {
        "a": STRING,
        "arr": {"type": "array", "items": {"properties": {"k": STRING}}},
        "any": PRESERVE,
        "anyobj": {**PRESERVE, "properties": {"p": {"properties": {"q": STRING}}}},
        "anyap": {"additionalProperties": True},
        "noap": {"additionalProperties": False},
        "empty": {"type": "object"},
        "m": {"additionalProperties": {"properties": {"k": STRING}}},
        "both": {"properties": {"p": STRING}, "additionalProperties": {"properties": {"k": STRING}}},
        "emb": {"x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "object"}}},
        "lists": {"items": {"items": {"properties": {"k": STRING}}}},
        "anylist": {**PRESERVE, "items": {"properties": {"o": {"properties": {"q": STRING}}}}},
    }
}

CASES = [
    ("unknown", {"zz": 1}, {}, ["zz"]),
    ("type-does-not-matter", {"a": {"x": 1}}, {"a": {}}, ["a.x"]),
    ("items", {"arr": [{"k": "1", "u": 2}, 5, ["x"]]}, {"arr": [{"k": "1"}, 5, ["x"]]}, ["arr[0].u"]),
    ("preserved", {"any": {"a": {"b": 1}}}, {"any": {"a": {"b": 1}}}, []),
    (
        "preserved-not-below",
        {"anyobj": {"u": 1, "p": {"q": "1", "r": 2}}},
        {"anyobj": {"u": 1, "p": {"q": "1"}}},
        ["anyobj.p.r"],
    ),
    ("any-key-true", {"anyap": {"x": {"y": 1}, "s": 2}}, {"anyap": {"x": {}, "s": 2}}, ["anyap.x.y"]),
    ("any-key-false", {"noap": {"x": {"y": 1}, "s": 2}}, {"noap": {"x": {}, "s": 2}}, ["noap.x.y"]),
    ("any-key-lists", {"anyap": {"x": [[{"y": 1}], 5]}}, {"anyap": {"x": [[{}], 5]}}, ["anyap.x[0][0].y"]),
    ("no-properties", {"empty": {"x": 1}}, {"empty": {}}, ["empty.x"]),
    ("map-values", {"m": {"a.b": {"k": "1", "u": 1}}}, {"m": {"a.b": {"k": "1"}}}, ["m.a.b.u"]),
    (
        "properties-before-any-key",
        {"both": {"p": {"k": 1}, "o": {"k": 1}}},
        {"both": {"p": {}, "o": {"k": 1}}},
        ["both.p.k"],
    ),
    (
        "embedded",
        {"emb": {"apiVersion": 1, "kind": {"x": 1}, "metadata": {"x": 1}, "spec": {"x": 1}, "u": 1}},
        {"emb": {"apiVersion": 1, "kind": {"x": 1}, "metadata": {"x": 1}, "spec": {}}},
        ["emb.spec.x", "emb.u"],
    ),
    ("lists-of-lists", {"lists": [[{"k": 1, "u": 1}]]}, {"lists": [[{"k": 1}]]}, ["lists[0][0].u"]),
    (
        "preserved-lists-hand-it-on",
        {"anylist": [{"u": {"v": 1}, "o": {"q": 1, "r": 1}}, [{"x": 1}]]},
        {"anylist": [{"u": {"v": 1}, "o": {"q": 1}}, [{"x": 1}]]},
        ["anylist[0].o.r"],
    ),
    ("scalars-and-nulls-stay", {"a": None, "arr": None, "any": 5}, {"a": None, "arr": None, "any": 5}, []),
    ("empty-key", {"": 1, "m": {"": {"": 1}}}, {"m": {"": {}}}, ["", "m.."]),
]


@pytest.mark.parametrize(("value", "kept", "paths"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_pruning_below_the_root(value, kept, paths):
    value = copy.deepcopy(value)
    assert prune_below(value, parse_schema(SPEC)) == paths
    assert value == kept


def test_the_root_keeps_what_makes_it_a_resource():
    obj = {"apiVersion": "v", "kind": "K", "metadata": {"x": 1}, "spec": {"a": 1, "zz": 1}, "status": {}}
    assert prune(obj, parse_schema({"properties": {"spec": SPEC}})) == ["spec.zz", "status"]
    assert obj == {"apiVersion": "v", "kind": "K", "metadata": {"x": 1}, "spec": {"a": 1}}


def test_without_a_schema_all_but_the_resource_goes():
    obj = {"apiVersion": "v", "kind": "K", "metadata": {"x": 1}, "spec": {"a": 1}}
    assert prune(obj, None) == ["spec"]
    assert obj == {"apiVersion": "v", "kind": "K", "metadata": {"x": 1}}


def test_a_root_that_preserves_keeps_unknown_fields():
    obj = {"kind": "K", "u": {"v": 1}, "spec": {"zz": 1}}
    assert prune(obj, parse_schema({**PRESERVE, "properties": {"spec": SPEC}})) == ["spec.zz"]
    assert obj == {"kind": "K", "u": {"v": 1}, "spec": {}}


def test_no_schema_bounds_the_depth_of_lists():
    nested = {"x": 1}
    for _ in range(5000):
        nested = [nested]
    [path] = prune_below({"l": nested}, parse_schema({"additionalProperties": True}))
    assert path == "l" + "[0]" * 5000 + ".x"
