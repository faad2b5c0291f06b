"""Rows of findings join those of their objects and of what was found."""

import pyarrow as pa
import pytest

from auditor.base import tables
from auditor.base.records import Finding
from auditor.shards.finding_rows import FoundRows
from auditor.shards.table_rows import ObjectRows
from auditor.shards.updates import NO_UPDATES, UpdateColumns

META = {"tool": "t", "release": "r", "crds": "c"}


def finding(field="spec.a", value=1, rule=None, message="no"):
    return Finding(field, "FieldValueInvalid", value, "must be 2", message, "rule" if rule else "schema", rule)


@pytest.fixture
def rows():
    live = pa.table(
        {
            "key": pa.array([b"/r/g/as/n/x", b"/r/g/bs/n/y", b"/r/g/as/m/z"], pa.binary()),
            **{name: pa.array([7, 8, 9], pa.int64()) for name in ObjectRows.LIVE},
        }
    )
    objects = ObjectRows(tables.with_metadata(tables.OBJECTS, **META), live)
    for at, kind, namespace, name in ((0, "A", "n", "x"), (1, "B", "n", "y"), (2, "A", "m", "z")):
        number = objects.class_of(
            ("c", "s", "g", kind.lower() + "s", kind, "v1", "v2", "invalid", None, (), True, False)
        )
        own = dict.fromkeys(ObjectRows.OWN) | {
            "namespace": namespace,
            "name": name,
            "findings": 1,
            "pruned": (),
            "defaulted": (),
        }
        objects.append((at, number, *own.values()))
    return FoundRows(tables.with_metadata(tables.FINDINGS, **META), objects)


def test_the_columns_of_the_object_are_those_of_its_row(rows):
    rows.add(1, finding(), NO_UPDATES)
    rows.add(2, finding(value={"b": [None]}), NO_UPDATES)
    first, second = rows.table(rows.objects.table()).to_pylist()
    assert (first["kind"], first["namespace"], first["name"], first["key"]) == ("B", "n", "y", "/r/g/bs/n/y")
    assert (second["kind"], second["namespace"], second["name"], second["mod_revision"]) == ("A", "m", "z", 9)
    assert second["bad_value"] == '{"b":[null]}'


def test_what_is_reported_is_with_the_finding_that_it_is_about(rows):
    rows.add(0, finding(), UpdateColumns("create", "tolerated", "spec", "helm", "2023-12-15T16:45:45Z"))
    rows.add(0, finding(rule="self > 1"), NO_UPDATES)
    first, second = rows.table(rows.objects.table()).to_pylist()
    assert (first["verdict"], first["guard_path"], first["last_manager"]) == ("tolerated", "spec", "helm")
    assert first["last_write"].isoformat() == "2023-12-15T16:45:45+00:00"
    assert (second["verdict"], second["rule"], second["check"], second["last_manager"]) == (
        None,
        "self > 1",
        "rule",
        None,
    )


def test_dictionaries_hold_what_appears_in_the_order_in_which_it_does(rows):
    rows.add(2, finding(), NO_UPDATES)
    rows.add(1, finding(), NO_UPDATES)
    table = rows.table(rows.objects.table())
    assert table["kind"].chunk(0).dictionary.to_pylist() == ["A", "B"]
    assert table["namespace"].chunk(0).dictionary.to_pylist() == ["m", "n"]


def test_findings_of_a_create_are_counted_by_kind_and_field(rows):
    for row in (0, 1, 2):
        rows.add(row, finding(message=f"no {row}"), NO_UPDATES)
    rows.add(0, finding(), UpdateColumns("put", "blocks", None, None, None))
    counted = dict(rows.counts())
    assert counted == {
        (("g", "A"), "schema", "spec.a", "FieldValueInvalid"): 2,
        (("g", "B"), "schema", "spec.a", "FieldValueInvalid"): 1,
    }


def test_none_at_all_is_an_empty_table(rows):
    assert rows.counts() == []
    assert rows.table(rows.objects.table()).num_rows == 0
