"""Embedded resources of an object that no read has coerced, for it is of another kind."""

import pytest

from auditor.crds.definition import parse_definition
from auditor.validation.create import CreateValidator
from tests.documents import definition_of

EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
THINGS = parse_definition(definition_of({"type": "object", "properties": {"e": EMBEDDED}}))
TIME = '{"deletionTimestamp":"2024-1-1T00:00:00Z"}: parsing time "2024-1-1T00:00:00Z" as "2006-01-02T15:04:05Z07:00"'
NESTED = '{"managedFields":[{"time":"\\u0000"}]}: parsing time "\\x00" as "2006-01-02T15:04:05Z07:00"'


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"deletionTimestamp": "2024-1-1T00:00:00Z"}, f'{TIME}: cannot parse "1-1T00:00:00Z" as "01"'),
        ({"managedFields": [{"time": "\0"}]}, f'{NESTED}: cannot parse "\\x00" as "2006"'),
    ],
)
def test_times_of_their_metadata_are_read(metadata, text):
    obj = {
        "apiVersion": "x.example.com/v1",
        "kind": "Y",
        "metadata": {"name": "a", "namespace": "n"},
        "e": {"apiVersion": "v1", "kind": "Pod", "metadata": metadata},
    }
    found = [one.message for one in CreateValidator(THINGS, THINGS.versions["v1"]).run(obj)]
    assert found == ['kind: Invalid value: "Y": must be X', f"e.metadata: Invalid value: {text}"]
