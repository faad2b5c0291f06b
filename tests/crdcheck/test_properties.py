"""Properties of all documents."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import auditor
from auditor.crdcheck.gojson import canonical, plain, render, schema
from auditor.crds.definition import parse_definition
from auditor.schema.parse import schema_type
from auditor.schema.typed import decode_typed

CASES = [
    json.loads(line)["new"]
    for line in gzip.decompress((Path(__file__).parent / "recorded.jsonl.gz").read_bytes()).splitlines()
]
JUNK = st.sampled_from([None, True, 0, -1, 2.5, 2**62, "", "x", "\ud800", [], {}, ["a"], [None], {"a": 1}, {"a": None}])


def spots(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        found.append((value, key))
        spots(value[key], found)
    return found


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_document_raises(data: st.DataObject) -> None:
    document = copy.deepcopy(data.draw(st.sampled_from(CASES), label="case"))
    for _ in range(data.draw(st.integers(1, 3), label="changes")):
        found = spots(document, [])
        if found:
            parent, key = found[data.draw(st.integers(0, len(found) - 1), label="spot")]
            parent[key] = copy.deepcopy(data.draw(JUNK, label="junk"))
    before = copy.deepcopy(document)
    got = auditor.check_crd(document)
    assert document == before
    assert (got.unreadable is None) or not got.findings
    old = CASES[data.draw(st.integers(0, len(CASES) - 1), label="old")]
    update = auditor.check_crd_update(old, document)
    assert update.unreadable is not None or list(update.findings) == sorted(
        update.findings, key=lambda one: one.sort_key()
    )


@given(
    st.recursive(
        JUNK, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    )
)
def test_anything_at_all_gets_an_answer(document: Any) -> None:
    assert auditor.check_crd(document).unreadable is not None


def test_what_is_accepted_can_be_served() -> None:
    accepted = 0
    for document in CASES:
        got = auditor.check_crd(document)
        if not got.findings and got.unreadable is None:
            accepted += 1
            definition = parse_definition(document)
            assert [version.unserved_reason for version in definition.versions.values()] == [""] * len(
                definition.versions
            )
    assert accepted >= 5


def test_the_view_of_go_tells_schemas_apart_as_the_server_does() -> None:
    def seen(given: dict[str, Any]) -> Any:
        return canonical(schema(decode_typed(given, schema_type())))

    same = [({}, {"description": "", "required": [], "nullable": False, "properties": {}})]
    same += [({"default": None}, {}), ({"enum": []}, {}), ({"items": None}, {})]
    different = [({"minLength": 0}, {}), ({"default": 1}, {"default": 1.0}), ({"not": {}}, {})]
    different += [({"additionalProperties": {}}, {"additionalProperties": True}), ({"enum": [1]}, {"enum": [True]})]
    assert all(seen(left) == seen(right) for left, right in same)
    assert all(seen(left) != seen(right) for left, right in different)


def test_structs_print_in_the_order_of_their_fields() -> None:
    struct = schema(decode_typed({"type": "object", "properties": {"b": {}, "a": {"maximum": 5.0}}}, schema_type()))
    text = render(struct)
    assert text.startswith('{"ID":"","Schema":"","Ref":null,"Description":"","Type":"object",')
    assert text.index('"a":{') < text.index('"b":{')
    assert '"Maximum":5,' in text
    assert json.loads(text) == plain(struct)
