"""The fast check of stored definitions proves only values that the exact reader decodes, and proves common ones."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from auditor.builtin.judge import is_proven, target_at
from auditor.builtin.quick_json import JsonProver, ProvenSpecs
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
    found = definition_of(copy.deepcopy(SCHEMA))
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


# -- specs that were proven before -------------------------------------------------------------------------------------

LABEL = "apiextensions.k8s.io/v1/CustomResourceDefinition"


def long_document(**metadata: Any) -> dict[str, Any]:
    found = document()
    found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "x" * 2000
    found["metadata"] |= metadata
    return found


def test_answers_are_the_same_whatever_was_proven_before() -> None:
    """Real definitions of some clusters, whole and with something odd in one place, inside and outside of the spec."""
    rng = random.Random(2)
    known = JsonProver()
    answers = {True: 0, False: 0}
    for found in read_crd_documents([str(real_definitions())]):
        documents = [found]
        for part in ("metadata", "spec", ""):
            own = {**found, "metadata": {**found["metadata"], "uid": f"uid of {part}"}}
            broken = copy.deepcopy(own)
            inside = broken[part] if part else broken
            inside[rng.choice(sorted(inside))] = copy.deepcopy(rng.choice(ODD))
            documents += [broken, own, broken]
        for one in documents:
            data = json.dumps(one).encode()
            alone = JsonProver().prove(TARGET, data)
            assert known.prove(TARGET, data) == alone
            answers[alone is None] += 1
    assert min(answers.values()) > 50


def test_a_proven_spec_is_left_out_of_definitions_with_other_metadata() -> None:
    specs = ProvenSpecs()
    data, digest = specs.left_out(LABEL, json.dumps(long_document(uid="1")).encode())
    assert digest is not None
    assert specs.left_out(LABEL, data) == (data, digest), "only what was added is known"
    specs.add(digest)
    other = json.dumps(long_document(uid="2")).encode()
    rest, nothing = specs.left_out(LABEL, other)
    assert nothing is None
    assert json.loads(rest) == json.loads(other) | {"spec": {}}
    assert specs.left_out(LABEL.replace("v1", "v1beta1"), other)[0] == other, "another version has other fields"
    changed = other.replace(b"xx", b"xy", 1)
    assert specs.left_out(LABEL, changed)[0] == changed


def test_name_and_namespace_are_those_of_each_definition() -> None:
    prover = JsonProver()
    for name, namespace in (("a", ""), ("", ""), ("", "b"), ("a", "b")):
        data = json.dumps(long_document(name=name, namespace=namespace)).encode()
        assert prover.prove(TARGET, data) == ("v1", bool(namespace), bool(name))


def test_a_full_memory_of_specs_begins_anew() -> None:
    specs = ProvenSpecs(most=2)
    texts = [json.dumps(long_document(uid="1")).replace("xxx", number, 1).encode() for number in ("one", "two", "six")]
    for data in texts:
        _, digest = specs.left_out(LABEL, data)
        assert digest is not None
        specs.add(digest)
    assert [specs.left_out(LABEL, data)[0] == data for data in texts] == [True, True, False]


SPEC = json.dumps(long_document()["spec"])
BORDERED = '{":1}}":{"pad":"' + "y" * 1500 + '","{":1}}'
"""A spec that begins as it ends."""


@pytest.mark.parametrize("spec", [SPEC, BORDERED])
@pytest.mark.parametrize(
    "text",
    [
        '"spec": SPEC',
        '"sp\\u0065c": SPEC',
        '"spec": SPEC, "spec": SPEC',
        '"spec": {"scope": 5}, "spec": SPEC',
        '"spec": SPEC, "spec": {"scope": 5}',
        '"Spec": 5, "spec": SPEC',
        '"status": SPEC, "spec": SPEC',
        '"status": {"conditions": [SPEC]}, "spec": SPEC',
        '"x": SPEC, "spec": SPEC',
        '"x": "SPEC", "spec": SPEC',
        '"x": NaN, "spec": SPEC',
        '"x": "\ud800", "spec": SPEC',
        '"spec": SPEC, "KIND": 5',
        '"spec": SPEC, "status": 5',
        '"spec": SPECSPEC',
        '"spec": [SPEC]',
        '"spec": SPEC}',
        '"x{":1}}":1, "spec": SPEC',
        '"x": {"spec": SPEC}',
    ],
)
def test_what_is_around_a_proven_spec_is_checked_as_ever(spec: str, text: str) -> None:
    start = '{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a"}, '
    known = JsonProver()
    known.prove(TARGET, (start + '"spec": SPEC}').replace("SPEC", spec).encode())
    data = (start + text + "}").replace("SPEC", spec).encode("utf-8", "surrogatepass")
    for _ in range(2):
        proven = known.prove(TARGET, data)
        assert proven == JsonProver().prove(TARGET, data)
        assert proven is None or decodes(data)
