"""Metadata coerced to its type, in both modes, at the root and in embedded resources."""

import copy

import pytest

from auditor.schema.objectmeta import CoerceError, coerce_embedded
from auditor.schema.parse import parse_schema
from tests.schema.coercing import coerce_metadata

TIME = "2026-01-02T03:04:05Z"

FITS = [
    ("empty", {}, {}),
    ("null", None, {}),
    ("zero-values-go", {"name": "", "generation": 0, "labels": {}, "finalizers": [], "ownerReferences": None}, {}),
    ("nulls-go", {"name": None, "labels": None, "deletionTimestamp": None, "generation": None}, {}),
    ("null-label-is-empty", {"labels": {"a": None, "b": "c"}}, {"labels": {"a": "", "b": "c"}}),
    ("null-finalizer-is-empty", {"finalizers": [None, "a"]}, {"finalizers": ["", "a"]}),
    (
        "integral-float",
        {"generation": 1.0, "deletionGracePeriodSeconds": 1e2},
        {"generation": 1, "deletionGracePeriodSeconds": 100},
    ),
    ("explicit-zero-grace-stays", {"deletionGracePeriodSeconds": 0}, {"deletionGracePeriodSeconds": 0}),
    (
        "time-in-utc",
        {"creationTimestamp": "2026-01-02T03:04:05.9+01:00"},
        {"creationTimestamp": "2026-01-02T02:04:05Z"},
    ),
    ("zero-creation-goes", {"creationTimestamp": "0001-01-01T00:00:00Z"}, {}),
    ("zero-deletion-is-null", {"deletionTimestamp": "0001-01-01T00:00:00Z"}, {"deletionTimestamp": None}),
    (
        "owner-strings-are-always-written",
        {"ownerReferences": [{"name": "x", "controller": False, "blockOwnerDeletion": None}, None]},
        {
            "ownerReferences": [
                {"apiVersion": "", "kind": "", "name": "x", "uid": "", "controller": False},
                {"apiVersion": "", "kind": "", "name": "", "uid": ""},
            ]
        },
    ),
    ("empty-entry-stays", {"managedFields": [{}, None]}, {"managedFields": [{}, {}]}),
    (
        "fields-are-raw",
        {"managedFields": [{"manager": "", "time": TIME, "fieldsV1": {"n": 1.0, "l": [1.5, {"m": 2.0}]}}]},
        {"managedFields": [{"time": TIME, "fieldsV1": {"n": 1, "l": [1.5, {"m": 2}]}}]},
    ),
    (
        "fields-of-any-type",
        {"managedFields": [{"fieldsV1": 5.0}, {"fieldsV1": None}]},
        {"managedFields": [{"fieldsV1": 5}, {}]},
    ),
]


@pytest.mark.parametrize("drop", [True, False])
@pytest.mark.parametrize(("metadata", "expected"), [case[1:] for case in FITS], ids=[case[0] for case in FITS])
def test_what_fits_is_written_back_by_its_type(metadata, expected, drop):
    obj = {"metadata": copy.deepcopy(metadata)}
    assert coerce_metadata(obj, drop=drop) == []
    assert obj == {"metadata": expected}
    assert [type(one) for one in obj["metadata"].values()] == [type(one) for one in expected.values()]


def test_without_metadata_nothing_is_done():
    obj = {"kind": "K"}
    assert coerce_metadata(obj, drop=False) == []
    assert obj == {"kind": "K"}


BAD = [
    (
        "labels",
        {"a": 1, "b": "c"},
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
    ),
    (
        "annotations",
        "x",
        "json: cannot unmarshal string into Go struct field ObjectMeta.annotations of type map[string]string",
    ),
    ("uid", 7, "json: cannot unmarshal number into Go struct field ObjectMeta.uid of type types.UID"),
    ("generation", "5", "json: cannot unmarshal string into Go struct field ObjectMeta.generation of type int64"),
    ("generation", 1.5, "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.generation of type int64"),
    (
        "generation",
        1e21,
        "json: cannot unmarshal number 1e+21 into Go struct field ObjectMeta.generation of type int64",
    ),
    (
        "creationTimestamp",
        5,
        "json: cannot unmarshal number into Go struct field ObjectMeta.creationTimestamp of type string",
    ),
    (
        "creationTimestamp",
        "x",
        'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
    ),
    ("finalizers", [1], "json: cannot unmarshal number into Go struct field ObjectMeta.finalizers of type string"),
    (
        "ownerReferences",
        {},
        "json: cannot unmarshal object into Go struct field ObjectMeta.ownerReferences of type []v1.OwnerReference",
    ),
    (
        "ownerReferences",
        [{"controller": "x"}],
        "json: cannot unmarshal string into Go struct field OwnerReference.ownerReferences.controller of type bool",
    ),
    (
        "managedFields",
        [{"operation": 5}],
        "json: cannot unmarshal number into Go struct field ManagedFieldsEntry.managedFields.operation of type v1.ManagedFieldsOperationType",
    ),
]


@pytest.mark.parametrize(("key", "value", "text"), BAD)
def test_what_does_not_fit_is_dropped_whole_or_fails(key, value, text):
    obj = {"metadata": {"name": "x", key: value}}
    dropped = copy.deepcopy(obj)
    coerce_metadata(dropped, drop=True)
    assert dropped == {"metadata": {"name": "x"}}
    alone = {"metadata": {key: copy.deepcopy(value)}}
    coerce_metadata(alone, drop=True)
    assert alone == {"metadata": {}}
    with pytest.raises(CoerceError) as caught:
        coerce_metadata(obj, drop=False)
    assert str(caught.value) == text


def test_the_first_error_in_order_of_keys_is_reported_but_times_come_before():
    with pytest.raises(CoerceError, match="annotations"):
        coerce_metadata({"metadata": {"uid": 5, "annotations": 5}}, drop=False)
    with pytest.raises(CoerceError, match="parsing time"):
        coerce_metadata({"metadata": {"annotations": 5, "creationTimestamp": "x"}}, drop=False)


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [("x", "string"), ([], "[]interface {}"), (5, "int64"), (1.5, "float64"), (True, "bool")],
)
def test_metadata_that_is_no_object_fails_in_either_mode(metadata, shown):
    with pytest.raises(CoerceError) as caught:
        coerce_metadata({"metadata": metadata}, drop=True)
    assert str(caught.value) == f"invalid metadata: expected object, got {shown}"
    with pytest.raises(CoerceError, match=r"into Go value of type v1\.ObjectMeta$"):
        coerce_metadata({"metadata": metadata}, drop=False)


def test_unknown_fields_vanish_and_are_listed():
    obj = {"metadata": {"Labels": {}, "ownerReferences": [{"x": 1}], "managedFields": [{}, {"y": 1}]}}
    paths = coerce_metadata(obj, drop=False)
    assert sorted(paths) == ["metadata.Labels", "metadata.managedFields[1].y", "metadata.ownerReferences[0].x"]


def test_unknown_fields_are_listed_where_others_are_dropped_too():
    assert coerce_metadata({"metadata": {"x": 1, "labels": 5}}, drop=True) == ["metadata.x"]


EMBEDDED = {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
TREE = parse_schema(
    {
        "properties": {
            "e": EMBEDDED,
            "m": {"additionalProperties": EMBEDDED},
            "l": {"items": {"properties": {"e": EMBEDDED}}},
            "outer": {**EMBEDDED, "properties": {"inner": EMBEDDED}},
            "": EMBEDDED,
        }
    }
)


def test_the_root_is_no_embedded_resource():
    obj = {"kind": 5, "apiVersion": 5, "metadata": {"labels": 5}}
    assert coerce_embedded(obj, TREE, drop=True) == []
    assert obj == {"kind": 5, "apiVersion": 5, "metadata": {"labels": 5}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"kind": 5, "apiVersion": None, "u": 1}, {"u": 1}),
        ({"metadata": None, "kind": None}, {"metadata": {}}),
        ({"kind": "K", "metadata": {"creationTimestamp": None, "labels": {"a": 1}}}, {"kind": "K", "metadata": {}}),
        ({"metadata": "bad"}, {"metadata": "bad"}),
        ({"metadata": []}, {"metadata": []}),
        ("x", "x"),
    ],
)
def test_dropping_leaves_what_cannot_be_saved(value, expected):
    obj = {"e": copy.deepcopy(value), "m": {"k": copy.deepcopy(value)}, "l": [{"e": copy.deepcopy(value)}]}
    assert coerce_embedded(obj, TREE, drop=True) == []
    assert obj == {"e": expected, "m": {"k": expected}, "l": [{"e": expected}]}


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        ({"e": {"apiVersion": 5}}, "e.apiVersion: Invalid value: 5: must be a string"),
        ({"e": {"kind": None}}, "e.kind: Invalid value: null: must be a string"),
        ({"m": {"k.x": {"kind": {"a": 1.0}}}}, 'm[k.x].kind: Invalid value: {"a":1}: must be a string'),
        (
            {"l": [{}, {"e": {"metadata": "bad"}}]},
            'l[1].e.metadata: Invalid value: "bad": json: cannot unmarshal string into Go value of type v1.ObjectMeta',
        ),
        (
            {"outer": {"inner": {"metadata": {"uid": 5}}}},
            'outer.inner.metadata: Invalid value: {"uid":5}: json: cannot unmarshal number into Go struct field ObjectMeta.uid of type types.UID',
        ),
        ({"": {"kind": True}}, "[].kind: Invalid value: true: must be a string"),
    ],
)
def test_after_a_conversion_what_does_not_fit_fails(obj, text):
    with pytest.raises(CoerceError) as caught:
        coerce_embedded(obj, TREE, drop=False)
    assert str(caught.value) == text


def test_unknown_fields_of_embedded_metadata_are_listed_in_structured_spelling():
    obj = {"m": {"k": {"metadata": {"x": 1}}}, "outer": {"metadata": {"y": 1}, "inner": {"metadata": {"z": 1}}}}
    assert sorted(coerce_embedded(obj, TREE, drop=True)) == [
        "m[k].metadata.x",
        "outer.inner.metadata.z",
        "outer.metadata.y",
    ]
