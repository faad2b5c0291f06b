"""Nothing is proven that the exact path refuses, whatever a definition says; sound definitions still have their code."""

from __future__ import annotations

import json
from itertools import islice
from random import Random

import pytest

from auditor.crdcheck import check_crd
from auditor.crds.definition import parse_definition
from auditor.fastpath.dicts.build import build_version, contradiction
from auditor.program.program import AuditProgram
from auditor.schema.parse import parse_schema
from auditor.sources.crd_files import read_crd_documents
from tests.corpus import real_definitions
from tests.documents import definition_of
from tests.properties.drawing import Drawer
from tests.properties.odd_definitions import KEYWORDS, cases
from tests.properties.test_paths_agree import differences

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "d", "labels": {"a": "b"}}}
VALUES = [None, True, 1, 1.5, "", "a", [], [1], [[]], [{}, {}], ["a", "a"], [{"k": "a"}, {"k": "a"}], {}, {"a": 1}, {"a": {}}, POD]  # fmt: skip
TYPES = [{}, *({"type": name} for name in ("string", "integer", "number", "boolean", "object", "array"))]


def objects_of(document):
    head = {"apiVersion": f"{document['spec']['group']}/v1", "kind": document["spec"]["names"]["kind"]}
    metadata = {"name": "x", "namespace": "d", "uid": "u", "generation": 1, "creationTimestamp": "2024-05-01T10:00:00Z"}
    if document["spec"]["scope"] != "Namespaced":
        del metadata["namespace"]
    return [json.dumps({**head, "metadata": metadata, "spec": {"f": value}}) for value in VALUES]


def with_field(node):
    return definition_of({"type": "object", "properties": {"spec": {"type": "object", "properties": {"f": node}}}})


@pytest.mark.parametrize(
    "node",
    [
        {"type": "boolean", "x-kubernetes-embedded-resource": True},
        {"type": "array", "x-kubernetes-embedded-resource": True, "items": {}},
        {"x-kubernetes-embedded-resource": True, "additionalProperties": {"type": "array"}},
        {"x-kubernetes-embedded-resource": True, "additionalProperties": {"maxProperties": 1}},
        {"type": "object", "x-kubernetes-embedded-resource": True, "additionalProperties": {"type": "string"}},
        {"type": "number", "x-kubernetes-list-type": "map"},
        {"type": "string", "x-kubernetes-list-type": "set"},
        {"x-kubernetes-int-or-string": True, "x-kubernetes-list-type": "map"},
        {"x-kubernetes-list-type": "map"},
        {"x-kubernetes-list-type": "map", "default": [-6]},
        {"type": "String", "properties": {"a": {"default": 5}}},
        {"type": "array", "items": {"type": "string", "x-kubernetes-list-type": "map"}},
    ],
    ids=json.dumps,
)
def test_a_definition_that_contradicts_itself_is_for_the_exact_path(node):
    document = with_field(node)
    assert check_crd(document).findings
    assert differences(document, objects_of(document)) == []
    definition = parse_definition(document)
    assert contradiction(definition.versions["v1"].schema)
    assert build_version(definition, definition.versions["v1"]).run is None


@pytest.mark.sampled(4)
@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_a_keyword_with_an_odd_value_on_a_value_of_any_type(word):
    for value in KEYWORDS[word]:
        for number, above in enumerate(TYPES):
            node = {**above, word: value}
            document = with_field(node)
            objects = objects_of(document)
            assert differences(document, objects[number % 3 :: 3]) == [], node


@pytest.mark.parametrize("count", [40, pytest.param(120, marks=pytest.mark.slow)])
def test_drawn_definitions_that_no_server_takes(count):
    refused = 0
    for document, texts in islice(cases(7, 4), count):
        refused += bool(check_crd(document).findings)
        assert differences(document, texts) == [], json.dumps(document)
    assert refused > count // 2


def test_sound_definitions_keep_their_code():
    for seed in range(150):
        document = Drawer(Random(seed)).definition()
        for version in parse_definition(document).versions.values():
            assert contradiction(version.schema) == "", json.dumps(document)


def test_no_real_definition_contradicts_itself():
    documents = read_crd_documents([str(real_definitions())])
    found = [contradiction(version.schema) for one in documents for version in parse_definition(one).versions.values()]
    assert len(found) > 90
    assert not any(found)


def test_a_schema_that_is_shared_is_looked_at_once():
    """Time grows with the nodes, not with the paths to them."""
    node = parse_schema({"type": "string"})
    for _ in range(60):
        node = type(node)(type="object", properties={"a": node, "b": node})
    assert contradiction(node) == ""


def test_a_part_of_a_validation_does_not_concern_whole_values():
    document = with_field({"type": "object", "properties": {"a": {"type": "string"}},
                           "anyOf": [{"properties": {"a": {"default": "b"}}}]})  # fmt: skip
    definition = parse_definition(document)
    program = AuditProgram(definition, definition.versions["v1"])
    program.audit(objects_of(document)[0].encode())
    assert program.proven == 0
    assert contradiction(definition.versions["v1"].schema)
