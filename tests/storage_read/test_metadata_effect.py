"""Metadata that a read drops are lost at the next write; what it writes differently only drifts."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.crds.definition import parse_definition
from auditor.program.program import AuditProgram
from auditor.schema.objectmeta import OBJECT_META
from auditor.storage_read.read import rewritten_metadata

FINE = {"name": "x", "namespace": "d", "generation": 1}


def read(metadata, *, compiled=True):
    """Read an object with these metadata: (what the read gave, what the program reports of it)."""
    document = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.g.io"},
        "spec": {
            "group": "g.io",
            "names": {"plural": "foos", "kind": "Foo"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    }
    definition = parse_definition(document)
    program = AuditProgram(definition, definition.storage_version, compiled=compiled)
    made, effect, _ = program.judge(json.dumps({"apiVersion": "g.io/v1", "kind": "Foo", "metadata": metadata}).encode())
    return made.object and made.object["metadata"], effect


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "interpreted"])
@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (FINE, ""),
        ({**FINE, "labels": {"a": "b"}, "finalizers": ["x.y/z"]}, ""),
        ({**FINE, "labels": {}, "annotations": None, "uid": "", "finalizers": []}, ""),
        ({**FINE, "deletionGracePeriodSeconds": 0}, ""),
        ({**FINE, "labels": {"a": 1, "b": "c"}}, "loses-data"),
        ({**FINE, "labels": "x"}, "loses-data"),
        ({**FINE, "ownerReferences": {"a": 1}}, "loses-data"),
        ({**FINE, "creationTimestamp": "yesterday"}, "loses-data"),
        ({**FINE, "unknown": 1}, "loses-data"),
        ({**FINE, "generation": "5"}, "loses-data"),
        ({"name": "x", "namespace": "d"}, "drifts"),
        ({**FINE, "generation": 0}, "drifts"),
        ({**FINE, "labels": {"a": None}}, "drifts"),
        ({**FINE, "creationTimestamp": "2024-05-01T10:00:00.5+01:00"}, "drifts"),
        (None, "drifts"),
    ],
)
def test_what_a_read_does_to_metadata_has_its_impact(metadata, expected, compiled):
    made, effect = read(metadata, compiled=compiled)
    assert rewritten_metadata(metadata, made) == expected
    assert effect == expected


VALUES = st.sampled_from(
    [None, "", "x", 0, 1, -1, 1.0, 2.5, True, 2**63, [], ["a"], ["a", None], ["orphan", 1], {}, {"a": "b"}, {"a": None},
     {"a": 1}, {"a": {"b": 1}}, "2024-05-01T10:00:00Z", "2024-05-01T10:00:00.5+01:00", "0001-01-01T00:00:00Z",
     [{"kind": "A", "name": "b", "apiVersion": "v1", "uid": "u", "other": 1}], [{"manager": "m", "time": None}]]
)  # fmt: skip


@given(metadata=st.dictionaries(st.sampled_from([*sorted(OBJECT_META.fields), "other", "another"]), VALUES))
@settings(max_examples=400, deadline=None)
def test_metadata_that_do_not_fit_are_read_as_by_the_reference(metadata):
    """The program coerces each key by itself; the reference decodes them together."""
    quick, effect = read(metadata, compiled=True)
    slow, _ = read(metadata, compiled=False)
    assert quick == slow
    assert effect is None or effect == rewritten_metadata(metadata, slow)
