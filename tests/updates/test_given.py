"""What a caller gives in place of a catalog, of bytes or of an object is an error that says what was expected."""

import re

import pytest

import auditor
from auditor.base.errors import PlanError
from tests.documents import named_definition

DEFINITION = named_definition("things.example.com", "Thing", {"type": "object"})
CATALOG = auditor.CrdCatalog.from_documents([DEFINITION])
OBJECT = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "b"}}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: auditor.audit_object([DEFINITION], b"{}"), "catalog: list is given; expected a CrdCatalog"),
        (lambda: auditor.audit_object(CATALOG, "{}"), "value: str is given; expected the stored bytes"),
        (lambda: auditor.audit_object(CATALOG, OBJECT), "value: dict is given; expected the stored bytes"),
        (lambda: auditor.check_update(CATALOG, b"{}", "{}"), "expected the stored bytes, or the decoded object"),
        (lambda: auditor.try_update(CATALOG, OBJECT, key="/registry/a", revision=1), "expected the stored bytes"),
        (lambda: next(auditor.audit_batches([], "definitions.yaml")), "expected decoded documents"),
    ],
)
def test_wrong_input_is_an_error(call, expected):
    with pytest.raises(PlanError, match=re.escape(expected)):
        call()


def test_a_list_of_definitions_is_not_an_empty_catalog():
    import orjson
    import pyarrow as pa

    several = {"apiVersion": "v1", "kind": "List", "items": [DEFINITION]}
    batch = pa.record_batch({"value": [orjson.dumps(OBJECT)]})
    [rows] = auditor.audit_batches([batch], several)
    assert rows["status"].to_pylist() == ["valid"]
