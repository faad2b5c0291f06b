"""The short way of stored definitions proves only what the exact reader decodes, and it proves usual ones."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from auditor.builtin.judge import is_proven, target_at
from auditor.builtin.stored import UndecodableError, read_stored
from auditor.sources.crd_files import read_crd_documents
from tests.corpus import real_definitions
from tests.documents import definition_of

TARGET = target_at("apiextensions.k8s.io", "customresourcedefinitions")
ODD: list[Any] = [
    None,
    True,
    5,
    -1,
    1.5,
    "x",
    "",
    [],
    {},
    ["x"],
    [5],
    {"a": 5},
    [None],
    [{}],
    {"type": 5},
    "2024-01-01T00:00:00Z",
]
SCHEMA = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "maximum": 5,
            "default": {"a": [1, 2.5]},
            "enum": [{"x": 1}, "a"],
            "items": {"type": "string"},
            "additionalProperties": {"type": "string"},
            "dependencies": {"a": ["b"], "c": {"type": "string"}},
            "anyOf": [{"required": ["a"]}],
            "x-kubernetes-validations": [{"rule": "true", "message": "no"}],
            "x-kubernetes-list-map-keys": ["name"],
            "externalDocs": {"url": "u"},
        }
    },
}


def document() -> dict[str, Any]:
    found = definition_of(SCHEMA)
    found["metadata"] |= {"creationTimestamp": "2024-01-01T00:00:00Z", "generation": 1, "labels": {"a": "b"}}
    found["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": "YWJj"}}}
    return found


def decodes(data: bytes) -> bool:
    try:
        read_stored(TARGET, data)
    except UndecodableError:
        return False
    return True


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return (container, key) of everything in a document."""
    if isinstance(value, dict):
        return [place for key in value for place in ((value, key), *places(value[key]))]
    if isinstance(value, list):
        return [place for at in range(len(value)) for place in ((value, at), *places(value[at]))]
    return []


def test_a_usual_definition_is_proven() -> None:
    assert is_proven(TARGET, json.dumps(document()).encode())


def test_real_definitions_are_proven() -> None:
    for found in read_crd_documents([str(real_definitions())]):
        assert is_proven(TARGET, json.dumps(found).encode()), found["metadata"]["name"]


def test_each_odd_value_in_each_place_is_proven_only_where_it_decodes() -> None:
    proven = refused = 0
    for at in range(len(places(document()))):
        for odd in ODD:
            changed = copy.deepcopy(document())
            container, key = places(changed)[at]
            container[key] = copy.deepcopy(odd)
            data = json.dumps(changed).encode()
            if is_proven(TARGET, data):
                proven += 1
                assert decodes(data), (key, odd)
            elif not decodes(data):
                refused += 1
    assert proven > 200
    assert refused > 200


@pytest.mark.parametrize(
    "text",
    [
        '"spec": {"scope": 5}, "spec"',
        '"Spec": 5, "spec"',
        '"spec": {"versions": [{"name": 5}]}, "spec"',
        '"x": 1e999, "spec"',
        '"x": "\\ud800", "spec"',
        '"x": NaN, "spec"',
    ],
)
def test_names_twice_or_in_another_case_and_odd_numbers_are_left_to_the_exact_reader(text: str) -> None:
    data = json.dumps(document()).replace('"spec"', text, 1).encode()
    assert not is_proven(TARGET, data)


def test_names_in_another_case_inside_schemas_are_left_to_the_exact_reader() -> None:
    rng = random.Random(1)
    for _ in range(200):
        changed = document()
        container, key = rng.choice([place for place in places(changed) if isinstance(place[1], str)])
        container[key.swapcase()] = copy.deepcopy(rng.choice(ODD))
        data = json.dumps(changed).encode()
        assert not is_proven(TARGET, data) or decodes(data), (key, changed)
