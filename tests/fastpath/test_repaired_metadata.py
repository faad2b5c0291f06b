"""Metadata fields of a wrong type or form vanish from the generated read as they do from the reference."""

import json

import pytest

from auditor.program.program import AuditProgram
from tests.fastpath.test_wrong_types import VERSION

VALUES = [
    *(None, True, False, 0, 1, -1, 1.0, 1.5, 2**63, 2**70, "", "three", "1", "2024", [], ["a"], [{}], {}),
    *({"a": "b"}, {"a": 1}, {"a": None}, "2024-01-01T00:00:00Z", "2024-01-01t00:00:00z", " 2024-01-01T00:00:00Z"),
    *("\u0662\u0660\u0662\u0664-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "20240-01-01T00:00:00Z"),
    *("-024-01-01T00:00:00Z", "2024-01-01T00:00:00.123+01:00"),
]
FIELDS = [
    *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "labels", "annotations"),
    *("name", "uid", "finalizers", "ownerReferences", "managedFields", "selfLink", "CreationTimestamp", "Labels"),
]


def reported(audited):
    return audited.unreadable, json.dumps(audited.object, sort_keys=True), audited.pruned, audited.findings


@pytest.mark.parametrize("body", [{}, {"text": 5}, {"extra": 1, "rows": [{"flag": None}]}], ids=str)
@pytest.mark.parametrize("others", [{}, {"labels": ["x"]}, {"generation": "x"}, {"name": "A"}], ids=str)
@pytest.mark.parametrize("field", FIELDS)
def test_both_paths_read_the_same(field, others, body):
    version = VERSION.versions["v1"]
    program, reference = AuditProgram(VERSION, version), AuditProgram(VERSION, version, compiled=False)
    for value in VALUES:
        metadata = {"name": "a", "uid": "u", "creationTimestamp": "2024-01-01T00:00:00Z", "generation": 1}
        made = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {**metadata, **others, field: value}}
        data = json.dumps({**made, **body}).encode()
        assert reported(program.audit(data)) == reported(reference.audit(data)), value
    assert program.total == len(VALUES)


@pytest.mark.parametrize("empty", ["name", "uid"])
@pytest.mark.parametrize("field", ["apiVersion", "kind"])
@pytest.mark.parametrize("value", [1, [], [None], {}, None, True])
def test_both_paths_read_the_same_owner_with_an_empty_field(value, field, empty):
    version = VERSION.versions["v1"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u", empty: "", field: value}
    metadata = {"name": "a", "uid": "u", "generation": 1, "ownerReferences": [owner]}
    data = json.dumps({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata}).encode()
    reference = AuditProgram(VERSION, version, compiled=False).audit(data)
    assert reported(AuditProgram(VERSION, version).audit(data)) == reported(reference)


@pytest.mark.parametrize("written", ["0.0", "-0.0", "1e-400", "0", "-0", "1.0", "false", "null", "[]", "{}"])
def test_both_paths_read_the_same_in_the_fields_of_a_manager(written):
    version = VERSION.versions["v1"]
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "time": "2024-01-01T00:00:00Z"}
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": {"f:a": "?"}}
    metadata = {"name": "a", "generation": 1, "managedFields": [entry]}
    made = json.dumps({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata})
    data = made.replace('"?"', written).encode()
    reference = AuditProgram(VERSION, version, compiled=False).audit(data)
    assert reported(AuditProgram(VERSION, version).audit(data)) == reported(reference)
