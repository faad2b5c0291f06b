"""Values of the wrong type: the generated program proves nothing of them, and the answer is that of the reference."""

import json

import pytest

from auditor.crds.definition import parse_definition
from auditor.program.program import AuditProgram
from tests.documents import named_definition

DEFINITION = named_definition(
    "things.example.com",
    "Thing",
    {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "number": {"type": "integer"},
            "either": {"x-kubernetes-int-or-string": True},
            "pattern": {"type": "string", "pattern": "^a"},
            "rows": {
                "type": "array",
                "items": {"type": "object", "properties": {"flag": {"type": "boolean"}}},
            },
            "free": {"type": "string", "x-kubernetes-preserve-unknown-fields": True},
            "map": {"type": "object", "additionalProperties": {"type": "number"}},
        },
    },
    scope="Cluster",
)
VERSION = parse_definition(DEFINITION)

WRONG = [
    {},
    {"a": "b"},
    {"a": None},
    {"a": {"b": 1}, "c": 2**70},
    [],
    ["x"],
    [None],
    ["x", {}],
    [["x"], [{}]],
    [{"a": 1}],
    [2**70],
    2**70,
    True,
    1.5,
]


@pytest.mark.parametrize("wrong", WRONG, ids=[json.dumps(value)[:30] for value in WRONG])
@pytest.mark.parametrize("place", ["text", "number", "either", "pattern", "rows", "flag", "free", "map", "entry"])
def test_what_is_in_the_place_of_another_type_is_read_alike(place, wrong):
    body = {place: wrong}
    if place == "flag":
        body = {"rows": [{"flag": True}, {"flag": wrong}]}
    elif place == "entry":
        body = {"map": {"one": 1, "two": wrong}}
    metadata = {"name": "a", "uid": "u", "creationTimestamp": "2024-01-01T00:00:00Z", "generation": 1}
    data = json.dumps({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata, **body}).encode()
    version = VERSION.versions["v1"]
    quick = AuditProgram(VERSION, version).audit(data)
    exact = AuditProgram(VERSION, version, compiled=False).audit(data)
    assert quick.object == exact.object
    assert json.dumps(quick.object, sort_keys=True) == json.dumps(exact.object, sort_keys=True)
    assert quick.pruned == exact.pruned
    assert quick.findings == exact.findings


def test_other_keys_of_the_root_also_mean_api_version_and_kind():
    document = json.loads(json.dumps(DEFINITION))
    schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["additionalProperties"] = {"type": "object"}
    definition = parse_definition(document)
    version = definition.versions["v1"]
    made = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
    quick = AuditProgram(definition, version).audit(json.dumps(made).encode())
    exact = AuditProgram(definition, version, compiled=False).audit(json.dumps(made).encode())
    assert quick.findings == exact.findings
    assert quick.unreadable == exact.unreadable
