"""Nulls that go, defaults that come, and defaults that are made fit beforehand."""

import copy

import pytest

from auditor.base.errors import NotStructural
from auditor.schema.defaulting import default, drop_nulls, prune_defaults
from auditor.schema.parse import parse_schema
from auditor.schema.structural import ABSENT

STRING = {"type": "string"}
NULLABLE = {"type": "string", "nullable": True}
TREE = {
    "properties": {
        "a": {"type": "string", "default": "A"},
        "n": NULLABLE,
        "nd": {**NULLABLE, "default": "X"},
        "s": STRING,
        "arr": {"items": STRING},
        "arrs": {"items": STRING},
        "arrn": {"items": {"type": "string", "default": "D"}},
        "m": {"additionalProperties": STRING},
        "mo": {"additionalProperties": {"default": {"k": "K"}, "properties": {"k": {"default": "K"}}}},
        "mn": {"additionalProperties": {**NULLABLE, "default": "X"}},
        "o": {"default": {"b": "def"}, "properties": {"a": {"default": "abc"}, "b": STRING}},
        "deep": {"properties": {"a": {"default": 1}}},
        "any": {"additionalProperties": True},
    }
}
DEFAULTS = {"a": "A", "nd": "X", "o": {"a": "abc", "b": "def"}}

NULLS = [
    ("no-default-goes", {"s": None}, {}),
    ("default-stays", {"a": None}, {"a": None}),
    ("nullable-stays", {"n": None, "nd": None}, {"n": None, "nd": None}),
    ("map-value-goes", {"m": {"a": None, "b": "c"}}, {"m": {"b": "c"}}),
    ("map-value-with-default-stays", {"mo": {"y": None}}, {"mo": {"y": None}}),
    ("items-stay", {"arrs": [None, "x"]}, {"arrs": [None, "x"]}),
    ("list-itself-goes", {"arr": None}, {}),
    ("unknown-stays", {"u": None, "any": {"x": None}}, {"u": None, "any": {"x": None}}),
    ("below", {"o": {"b": None, "a": None}, "deep": {"a": None}}, {"o": {"a": None}, "deep": {"a": None}}),
]


@pytest.mark.parametrize(("value", "kept"), [case[1:] for case in NULLS], ids=[case[0] for case in NULLS])
def test_nulls(value, kept):
    value = copy.deepcopy(value)
    drop_nulls(value, parse_schema(TREE))
    assert value == kept


def test_each_of_many_nulls_goes():
    value = {**{f"k{number}": None for number in range(50_000)}, "s": "x"}
    drop_nulls(value, parse_schema({"additionalProperties": {"type": "string"}}))
    assert value == {"s": "x"}


FILLED = [
    ("empty", {}, DEFAULTS, ["a", "nd", "o"]),
    ("null-that-may-not-be", {"a": None}, DEFAULTS, ["a", "nd", "o"]),
    ("null-that-may-be-stays", {"nd": None}, {**DEFAULTS, "nd": None}, ["a", "o"]),
    ("null-without-default-stays", {"s": None}, {**DEFAULTS, "s": None}, ["a", "nd", "o"]),
    ("items", {"arrn": [None, "x"]}, {**DEFAULTS, "arrn": ["D", "x"]}, ["a", "arrn[0]", "nd", "o"]),
    ("items-without-default", {"arrs": [None]}, {**DEFAULTS, "arrs": [None]}, ["a", "nd", "o"]),
    (
        "map-values",
        {"mo": {"x": {}, "y": None}},
        {**DEFAULTS, "mo": {"x": {"k": "K"}, "y": {"k": "K"}}},
        ["a", "mo.x.k", "mo.y", "nd", "o"],
    ),
    ("map-value-that-may-be-null", {"mn": {"x": None}}, {**DEFAULTS, "mn": {"x": None}}, ["a", "nd", "o"]),
    ("inside-what-is-there", {"o": {}}, {**DEFAULTS, "o": {"a": "abc"}}, ["a", "nd", "o.a"]),
    ("no-parent-is-made", {"deep": {}}, {**DEFAULTS, "deep": {"a": 1}}, ["a", "deep.a", "nd", "o"]),
    ("wrong-type-stays", {"o": "x", "deep": [{}]}, {**DEFAULTS, "o": "x", "deep": [{}]}, ["a", "nd"]),
    ("falsy-is-there", {"a": "", "nd": 0, "o": False}, {"a": "", "nd": 0, "o": False}, []),
]


@pytest.mark.parametrize(("value", "filled", "paths"), [case[1:] for case in FILLED], ids=[case[0] for case in FILLED])
def test_defaults(value, filled, paths):
    value = copy.deepcopy(value)
    assert default(value, parse_schema(TREE)) == paths
    assert value == filled


def test_a_default_is_copied_each_time():
    schema = parse_schema({"properties": {"o": {"default": {"l": []}}}})
    first, second = {}, {}
    default(first, schema)
    default(second, schema)
    first["o"]["l"].append(1)
    assert second == {"o": {"l": []}}
    assert schema.properties["o"].default == {"l": []}


def test_preserving_does_not_stop_defaults():
    schema = parse_schema({"x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"default": 1}}})
    value = {"u": {}}
    assert default(value, schema) == ["a"]


def spec(schema):
    return parse_schema({"type": "object", "properties": {"spec": schema}})


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"default": {"a": 1, "b": 2}, "properties": {"a": {}}}, {"a": 1}),
        ({"default": {"a": 1}}, {}),
        ({"default": 5}, 5),
        ({"default": {"a": {"b": 1}}, "additionalProperties": True}, {"a": {}}),
        ({"default": {"a": 1}, "x-kubernetes-preserve-unknown-fields": True}, {"a": 1}),
        (
            {
                "default": {"kind": 5, "metadata": {"labels": {"a": 1}, "name": "x", "junk": 1}, "u": 1},
                "x-kubernetes-embedded-resource": True,
            },
            {"metadata": {"name": "x"}},
        ),
    ],
)
def test_a_default_is_fitted_in_its_place(schema, expected):
    assert prune_defaults(spec(schema)).properties["spec"].default == expected


def test_defaults_in_lists_and_maps_are_fitted():
    fitted = prune_defaults(
        spec(
            {
                "items": {"default": {"a": 1, "b": 2}, "properties": {"a": {}}},
                "additionalProperties": {"default": {"c": 1}},
            }
        )
    ).properties["spec"]
    assert fitted.items.default == {"a": 1}
    assert fitted.additional_properties.default == {}


@pytest.mark.parametrize(
    "metadata",
    [
        {"properties": {"junk": {"default": "x"}}},
        {"properties": {"labels": {"additionalProperties": {"default": 5}}}},
        {"properties": {"finalizers": {"items": {"default": 5}}}},
    ],
)
def test_a_default_that_metadata_does_not_hold_is_none(metadata):
    fitted = prune_defaults(parse_schema({"type": "object", "properties": {"metadata": metadata}}))
    [(_, node)] = fitted.properties["metadata"].properties.items()
    node = node.additional_properties or node.items or node
    assert node.default is ABSENT


def test_a_default_of_metadata_that_fits_stays():
    schema = parse_schema({"properties": {"metadata": {"properties": {"name": {"default": "x"}}}}})
    assert prune_defaults(schema) is schema


def test_nodes_that_need_no_change_are_shared():
    schema = parse_schema({"properties": {"a": {"default": {"u": 1}}, "b": {"properties": {"c": {"default": 1}}}}})
    fitted = prune_defaults(schema)
    assert fitted.properties["b"] is schema.properties["b"]
    assert schema.properties["a"].default == {"u": 1}
    assert list(fitted.properties) == ["a", "b"]


@pytest.mark.parametrize("schema", [{"default": 5}, {"default": []}, {"items": {"default": {}}}])
def test_a_root_whose_default_is_no_object_cannot_be_prepared(schema):
    with pytest.raises(NotStructural, match="object root default value must be of object type"):
        prune_defaults(parse_schema(schema))
