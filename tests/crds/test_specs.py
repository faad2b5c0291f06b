"""Definitions whose spec is known are read as any other."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import msgspec
import pytest

from auditor.crds.definitions_file import DefinitionEntry, definition_entry, encode_definition
from auditor.crds.specs import KnownSpecs, split_spec
from auditor.golang import jsontext
from auditor.sources.crd_files import definitions_in, read_crd_documents
from tests.corpus import real_definitions

ODD: list[Any] = [None, True, 5, 1.5, -0.0, 1 << 63, "x", "", [], {}, [5], {"a": 5}, [{}], [{"type": 5}]]


def usual(data: bytes) -> list[tuple[DefinitionEntry, bytes]]:
    """Return what the usual reader makes of a stored definition."""
    try:
        document = jsontext.decode(data)
    except jsontext.GoJsonError:
        return []
    found = definitions_in(document)
    return [(definition_entry(one["metadata"]["name"], one, True), encode_definition(one)) for one in found]


def document(name: str = "a", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name, **metadata},
        "spec": {
            "scope": "Cluster",
            "group": "g",
            "names": {"kind": "A", "plural": "as"},
            "b": 1.50,
            "a": ["x" * 2000, "ä"],
        },
        "status": {
            "conditions": [{"type": "Established", "status": "True", "lastTransitionTime": metadata.get("uid")}]
        },
    }


def test_real_definitions_of_other_clusters_are_read_as_by_the_usual_reader() -> None:
    rng = random.Random(3)
    known = KnownSpecs()
    read = 0
    for found in read_crd_documents([str(real_definitions())]):
        for part in ("metadata", "status", "", "spec"):
            one = copy.deepcopy(found)
            one["metadata"]["uid"] = f"uid of {part}"
            one.setdefault("status", {})["conditions"] = [{"type": "Established", "status": "True"}]
            if part != "metadata":
                inside = one[part] if part else one
                inside[rng.choice(sorted(inside))] = copy.deepcopy(rng.choice(ODD))
            data = json.dumps(one).encode()
            for _ in range(2):
                if (answer := known.read(data)) is not None:
                    read += 1
                    assert [answer] == usual(data)
    assert read > 200


@pytest.mark.parametrize(
    "text",
    [
        '"spec": SPEC, "kind": "List", "items": [{"spec": SPEC}]',
        '"spec": SPEC, "kind": "CustomResourceDefinitionList", "items": [{"spec": 5}]',
        '"spec": SPEC, "apiVersion": "v1"',
        '"spec": {"scope": 5}, "spec": SPEC',
        '"spec": SPEC, "spec": {"scope": 5}',
        '"spec": SPEC, "spec": SPEC',
        '"sp\\u0065c": SPEC',
        '"x": SPEC, "spec": SPEC',
        '"x": "SPEC", "spec": SPEC',
        '"x": 9223372036854775808, "spec": SPEC',
        '"x": 1e999, "spec": SPEC',
        '"x": NaN, "spec": SPEC',
        '"x": "\\ud800", "spec": SPEC',
        '"x": "\udcff", "spec": SPEC',
        '"spec": SPEC, "metadata": {"name": 5}',
        '"spec": SPEC, "metadata": 5',
        '"spec": SPEC, "status": 5',
        '"spec": SPEC, "status": {"conditions": [{"type": 5}, {}]}',
        '"spec": SPECSPEC',
        '"spec": [SPEC]',
        '"spec": SPEC}',
    ],
)
def test_what_is_around_a_known_spec_is_read_as_ever(text: str) -> None:
    start = '{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a"}, '
    spec = json.dumps(document()["spec"])
    known = KnownSpecs()
    assert known.read((start + '"spec": SPEC}').replace("SPEC", spec).encode()) is not None
    data = (start + text + "}").replace("SPEC", spec).encode("utf-8", "surrogateescape")
    for _ in range(2):
        answer = known.read(data)
        assert answer is None or [answer] == usual(data)


def test_a_spec_with_bytes_that_are_not_utf_8_is_read_as_ever() -> None:
    known = KnownSpecs()
    for uid in ("1", "2"):
        data = json.dumps(document(uid=uid)).encode().replace(b"xx", b"x\xff", 1)
        answer = known.read(data)
        assert answer is None or [answer] == usual(data)


def test_a_spec_is_decoded_once_and_too_many_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[bytes] = []
    whole = jsontext.decode
    monkeypatch.setattr(jsontext, "decode", lambda data: decoded.append(data) or whole(data))
    known = KnownSpecs(most=3000)
    for uid in ("1", "2", "3"):
        assert known.read(json.dumps(document(uid=uid)).encode()) is not None
    assert [len(data) > 1000 for data in decoded] == [False, True, False, False]
    other = json.dumps(document()).replace("xx", "xy", 1).encode()
    assert known.read(other) is not None
    decoded.clear()
    assert known.read(json.dumps(document(uid="4")).encode()) is not None
    assert [len(data) > 1000 for data in decoded] == [False, True], "the first spec was forgotten"


def test_a_short_spec_and_a_text_that_is_not_json_are_not_split() -> None:
    assert split_spec(b'{"spec": {}}') is None
    assert split_spec(b'{"kind": "x"}') is None
    with pytest.raises(msgspec.MsgspecError):
        split_spec(b'{"spec": ')
    assert KnownSpecs().read(b'{"spec": ') is None
