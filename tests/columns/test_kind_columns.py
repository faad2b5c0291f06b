"""A row holds its object without loss, whatever the object is; columns depend on the definition alone."""

from __future__ import annotations

import copy
import json
from random import Random

import orjson
import pyarrow as pa
import pytest

from auditor.columns import KindColumns, TableRow
from auditor.columns.column_types import MOST_DEPTH, MOST_LEAVES
from auditor.columns.exact import path_text
from auditor.crds.definition import parse_definition
from auditor.golang.jsontext import GoJsonError, decode
from auditor.storage_read.read import read_object
from tests.columns.restoring import restored, steps_of, unlike
from tests.properties.drawing import Drawer


def definition_of(properties, **root):
    """Return a definition of widgets with these properties."""
    schema = {"type": "object", "properties": properties, **root}
    return parse_definition(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com",
                "names": {"plural": "widgets", "kind": "Widget"},
                "scope": "Namespaced",
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
            },
        }
    )


def widget(**fields):
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a", "namespace": "b"}, **fields}


def row_of(properties, **fields):
    """Return the row of a widget with these fields, with `_rest` decoded."""
    batch = KindColumns.of(definition_of(properties)).batch([TableRow(object=widget(**fields))])
    row = batch.to_pylist()[0]
    return {**row, "_rest": json.loads(row["_rest"]) if row["_rest"] else {}}


def drawn_objects(drawer, count=6):
    """Return a drawn definition and objects of it: as they are read, and as they are stored."""
    definition = parse_definition(document := drawer.definition())
    version = definition.storage_version.name
    objects = []
    for _ in range(count):
        data = drawer.object_text(document).encode()
        read = read_object(definition, version, data).object
        objects += [read] if read is not None else []
        try:
            stored = decode(data)
        except GoJsonError:
            continue
        objects += [stored] if type(stored) is dict else []
    return definition, objects


def test_drawn_objects_come_back_from_their_rows():
    for seed in range(60):
        definition, objects = drawn_objects(Drawer(Random(seed), wild=0.1))
        assert unlike(KindColumns.of(definition), objects) == [], seed


@pytest.mark.slow
def test_many_drawn_objects_come_back_from_their_rows():
    for seed in range(1000, 2000):
        definition, objects = drawn_objects(Drawer(Random(seed), wild=0.3), 12)
        assert unlike(KindColumns.of(definition), objects) == [], seed


def test_most_values_have_a_column():
    """The property above is worth something: most rows need no `_rest`."""
    rows = without = 0
    for seed in range(60):
        definition, objects = drawn_objects(Drawer(Random(seed), wild=0.0))
        rest = KindColumns.of(definition).batch([TableRow(object=obj) for obj in objects], ["_rest"])["_rest"]
        rows, without = rows + len(rest), without + rest.null_count
    assert without > rows * 0.4


SCALARS = {
    "text": {"type": "string"},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "time": {"type": "string", "format": "date-time"},
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("text", value) for value in (1, True, [], {}, None, "\ud800")],
        *[("whole", value) for value in ("1", True, 1.5, 2**63, -(2**63) - 1, -0.0, None)],
        *[("number", value) for value in ("1", False, 2**53 + 1, 10**400, None)],
        *[("flag", value) for value in (0, 1, "true", None)],
        *[("time", value) for value in ("", "2024-01-01", "2024-01-01T00:00:00.0000001Z", "2024-02-30T00:00:00Z")],
        *[("time", value) for value in (5, None, "0000-12-31T00:00:00Z", "2024-01-01t00:00:00z")],
    ],
)
def test_a_value_that_its_column_cannot_hold_is_in_rest(name, value):
    row = row_of(SCALARS, **{name: value})
    assert row[name] is None
    assert row["_rest"] == {name: value}


@pytest.mark.parametrize(
    ("name", "value", "held"),
    [
        ("whole", 2**63 - 1, 2**63 - 1),
        ("whole", 1.0, 1),
        ("number", 2**53, float(2**53)),
        ("number", 10**22, 1e22),
        ("text", "", ""),
        ("text", "é\0😀", "é\0😀"),
    ],
)
def test_a_value_that_its_column_can_hold_is_there(name, value, held):
    row = row_of(SCALARS, **{name: value})
    assert row[name] == held
    assert type(row[name]) is type(held)
    assert row["_rest"] == {}


@pytest.mark.parametrize(
    "text", ["2024-05-01T10:00:00.250001Z", "2024-05-01T12:00:00.2500010+02:00", "2024-05-01T09:30:00.250001-00:30"]
)
def test_a_time_with_another_offset_is_the_same_instant(text):
    row = row_of(SCALARS, time=text)
    assert row["time"].isoformat() == "2024-05-01T10:00:00.250001+00:00"
    assert row["_rest"] == {}


def test_what_does_not_fit_is_the_smallest_part():
    ports = {"type": "array", "items": {"type": "object", "properties": {"port": {"type": "integer"}}}}
    spec = {
        "type": "object",
        "properties": {"ports": ports, "tags": {"type": "object", "additionalProperties": SCALARS["text"]}},
    }
    row = row_of(
        {"spec": spec}, spec={"ports": [{"port": 1}, {"port": "x"}, None, 7], "tags": {"a": "b", "x.y": 1}, "more": [1]}
    )
    assert row["spec"] == {"ports": [{"port": 1}, {"port": None}, None, None], "tags": [("a", "b"), ("x.y", None)]}
    assert row["_rest"] == {
        "spec.ports[1].port": "x",
        "spec.ports[2]": None,
        "spec.ports[3]": 7,
        'spec.tags["x.y"]': 1,
        "spec.more": [1],
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"x-kubernetes-int-or-string": True},
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        {"type": "object"},
        {"type": "object", "additionalProperties": True},
        {"type": "object", "properties": {"a": SCALARS["text"], "A": SCALARS["text"]}},
        {"type": "object", "properties": {"a": SCALARS["text"], "": SCALARS["text"]}},
        {"type": "object", "properties": {"a\0b": SCALARS["text"]}},
    ],
)
def test_what_has_no_type_of_its_own_is_json_text(schema):
    columns = KindColumns.of(definition_of({"spec": schema}))
    field = columns.schema.field("spec")
    assert field.type == pa.string()
    assert field.metadata == {b"auditor.json": b"true"}
    for value in ({"b": [1, "x", None], "a": 1.5}, {}, 7, None, "x", 2**70, "\ud800"):
        row = columns.batch([TableRow(object=widget(spec=value))]).to_pylist()[0]
        assert json.loads(row["spec"]) == value
        assert row["_rest"] is None


def test_types_and_order_depend_on_the_definition_alone():
    shown = {"b": SCALARS["whole"], "a": {"type": "array", "items": SCALARS["time"]}}
    columns = KindColumns.of(
        definition_of({"status": SCALARS["text"], "spec": {"type": "object", "properties": shown}})
    )
    again = dict(reversed(shown.items()))
    other = KindColumns.of(definition_of({"spec": {"type": "object", "properties": again}, "status": SCALARS["text"]}))
    assert columns.schema.equals(other.schema, check_metadata=True)
    assert columns.schema.names == [
        *("cluster", "key", "mod_revision", "audit_status", "impact", "causes", "stored_version"),
        *("metadata", "spec", "status", "stored_object", "_rest"),
    ]
    time = pa.timestamp("us", tz="UTC")
    assert columns.schema.field("spec").type == pa.struct([("a", pa.list_(time)), ("b", pa.int64())])


def test_a_property_of_the_name_of_another_column_is_in_rest():
    row = row_of(
        {"Key": SCALARS["text"], "cluster": SCALARS["text"], "spec": SCALARS["text"]}, Key="k", cluster="c", spec="s"
    )
    assert (row["key"], row["cluster"], row["spec"]) == (None, None, "s")
    assert row["_rest"] == {"Key": "k", "cluster": "c"}


def test_huge_and_deep_schemas_are_bounded():
    wide = {"type": "object", "properties": {f"p{number}": SCALARS["text"] for number in range(100_000)}}
    few = {"type": "object", "properties": {f"p{number}": SCALARS["text"] for number in range(50)}}
    deep = SCALARS["text"]
    for _ in range(60):
        deep = {"type": "object", "properties": {"a": deep}}
    columns = KindColumns.of(definition_of({"wide": wide, "few": few, "deep": deep}))
    assert columns.schema.field("wide").type == pa.string()
    assert columns.schema.field("few").type.num_fields == 50
    depth, kind = 0, columns.schema.field("deep").type
    while pa.types.is_struct(kind):
        depth, kind = depth + 1, kind.field(0).type
    assert depth == MOST_DEPTH
    assert kind == pa.string()
    value = {"deep": orjson.loads(b'{"a":' * 60 + b'"x"' + b"}" * 60), "wide": {"p7": "y"}, "few": {}}
    assert unlike(columns, [widget(**value)]) == []


def test_more_properties_than_columns_are_all_in_rest():
    columns = KindColumns.of(definition_of({f"p{number}": SCALARS["text"] for number in range(MOST_LEAVES + 1)}))
    assert list(columns.fields) == ["metadata"]
    assert unlike(columns, [widget(p0="x")]) == []


def test_another_version_and_kind_and_a_missing_one_come_back():
    columns = KindColumns.of(definition_of({"spec": SCALARS["text"]}))
    objects = [widget(), {**widget(), "apiVersion": "example.com/v0"}, {"kind": "Other"}, {}]
    assert unlike(columns, objects) == []
    rests = columns.batch([TableRow(object=obj) for obj in objects], ["_rest"])["_rest"].to_pylist()
    assert rests == [
        None,
        '{"apiVersion":"example.com/v0"}',
        '{"apiVersion":null,"kind":"Other"}',
        '{"apiVersion":null,"kind":null}',
    ]


def test_an_object_that_was_not_read_is_a_row_without_values():
    columns = KindColumns.of(definition_of({"spec": SCALARS["text"]}))
    row = TableRow("c", "/registry/x", 7, "unreadable", "breaks-list", ("0123abcd",))
    made = columns.batch([row]).to_pylist()[0]
    assert {name for name, value in made.items() if value is not None} == {
        *("cluster", "key", "mod_revision", "audit_status", "impact", "causes"),
    }


def test_only_the_wanted_columns_are_converted():
    columns = KindColumns.of(definition_of({"spec": SCALARS["text"], "status": SCALARS["text"]}))
    batch = columns.batch([TableRow(key="k", object=widget(spec="s", status=object()))], ["spec", "key"])
    assert batch.to_pylist() == [{"spec": "s", "key": "k"}]
    with pytest.raises(KeyError):
        columns.schema_of(["nothing"])


def test_merged_columns_hold_the_objects_of_both():
    one = definition_of({"spec": {"type": "object", "properties": {"a": SCALARS["text"], "b": SCALARS["text"]}}})
    two = definition_of({"spec": {"type": "object", "properties": {"b": SCALARS["whole"], "c": SCALARS["flag"]}}})
    columns = KindColumns.merged([KindColumns.of(one), KindColumns.of(two)])
    assert columns.schema.field("spec").type == pa.struct([("a", pa.string()), ("b", pa.string()), ("c", pa.bool_())])
    assert unlike(columns, [widget(spec={"a": "x", "b": "y"}), widget(spec={"b": 5, "c": True})]) == []


@pytest.mark.parametrize("path", [("a", 0, "b"), ("", "x.y", "[0]", 3), ('"', "\\", "\ud800", "é"), ("$a-b",)])
def test_a_path_reads_back(path):
    assert steps_of(path_text(path)) == list(path)


def test_restoring_notices_a_loss():
    columns = KindColumns.of(definition_of(SCALARS))
    obj = widget(text="a", whole=1)
    row = columns.batch([TableRow(object=obj)]).to_pylist()[0]
    assert restored(columns, row) == obj
    assert restored(columns, copy.deepcopy(row) | {"whole": 2}) != obj
