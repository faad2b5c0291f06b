"""The work for one object grows linearly with its size, its rows included: steps of Python, and bytes at once.

An object eight times as large takes about eight times as many. Work that grows with the square takes up to 64 times.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from auditor.base import tables
from auditor.crds.definition import parse_definition
from auditor.golang.regex.compiled import Pattern
from auditor.program.program import AuditProgram
from auditor.shards.finding_rows import FoundRows
from auditor.shards.updates import UpdateVerdicts
from tests.counting import steps_of

Made = Callable[[int], dict[str, Any]]
_TIMES, _MOST = 8, 10
_MOST_BYTES = 16
"""A table of Python may double its size a moment before the end."""


def _program(spec: dict[str, Any]) -> AuditProgram:
    names = {"plural": "ws", "singular": "w", "kind": "W", "listKind": "WList"}
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = parse_definition(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "ws.ex.com"},
            "spec": {"group": "ex.com", "scope": "Namespaced", "names": names, "versions": [version]},
            "status": {"acceptedNames": names, "storedVersions": ["v1"]},
        }
    )
    return AuditProgram(definition, definition.versions["v1"])


def _value(spec: Any, **metadata: Any) -> bytes:
    own = {"name": "a", "namespace": "d", "uid": "u", "generation": 1, "creationTimestamp": "2024-01-01T00:00:00Z"}
    return orjson.dumps({"apiVersion": "ex.com/v1", "kind": "W", "metadata": own | metadata, "spec": spec})


def _judge(program: AuditProgram, data: bytes) -> FoundRows:
    """Judge an object, its updates too, and make the rows of its findings."""
    rows = FoundRows(tables.FINDINGS, None)  # type: ignore[arg-type]
    audited = program.audit(data)
    outcome = UpdateVerdicts().judge(program, audited, data, ("d", "a"), 1, is_export=False)
    for finding, reported in outcome.rows(audited):
        rows.add(0, finding, reported)
    return rows


def _costs(program: AuditProgram, data: bytes) -> tuple[int, int]:
    """Return the steps that judge an object, and the most bytes that are allocated meanwhile."""
    taken = steps_of(lambda: _judge(program, data))
    tracemalloc.start()
    _judge(program, data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return taken, most


def _list_of(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"l": {"type": "array", "items": items, **more}}}


def _map_of(values: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values, **more}


def _manager(number: int, fields: Any) -> dict[str, Any]:
    named = {"manager": f"m{number}", "operation": "Update", "apiVersion": "ex.com/v1", "fieldsType": "FieldsV1"}
    return {**named, "time": "2024-01-01T00:00:00Z", "fieldsV1": {"f:spec": fields}}


def _owner(number: int) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "name": f"p{number}", "uid": "u", "controller": True}


INTEGER = {"type": "integer"}
ITEM = {"type": "object", "required": ["n"], "properties": {"n": {"type": "string"}, "v": INTEGER}}
BY_NAME = _list_of(ITEM, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"]})
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _by_keys(count: int) -> bytes:
    owned = {f'k:{{"n":"i{at}"}}': {".": {}, "f:v": {}} for at in range(count)}
    return _value(
        {"l": [{"n": f"i{at}", "v": "x"} for at in range(count)]}, managedFields=[_manager(0, {"f:l": owned})]
    )


def _nested(count: int) -> bytes:
    deep = [orjson.loads("[" * 20 + "1" + "]" * 20) for _ in range(count)]  # much deeper ones have too long paths
    return _value({"l": deep})


CASES: dict[str, tuple[dict[str, Any], Callable[[int], bytes], int]] = {
    "controllers": (OPEN, lambda n: _value({}, ownerReferences=[_owner(at) for at in range(n)]), 150),
    "bad finalizers": (OPEN, lambda n: _value({}, finalizers=[f"-{at}" for at in range(n)]), 150),
    "bad labels": (OPEN, lambda n: _value({}, labels={f"-{at}": "v v" for at in range(n)}), 150),
    "items owned by their keys": (BY_NAME, _by_keys, 150),
    "managers of invalid fields": (
        _map_of(INTEGER),
        lambda n: _value({f"k{at}": "x" for at in range(n)}, managedFields=[_manager(at, {}) for at in range(n)]),
        150,
    ),
    "findings in owned items of a map": (
        _map_of({"type": "object", "properties": {"a": INTEGER}}),
        lambda n: _value({f"k{at}": {"a": "x"} for at in range(n)}, managedFields=[_manager(0, {})]),
        150,
    ),
    "a long enum": (
        _list_of({"type": "string", "enum": [f"e{at}" for at in range(2000)]}),
        lambda n: _value({"l": ["z"] * n}),
        150,
    ),
    "unknown fields": (
        {"type": "object", "properties": {"a": INTEGER}},
        lambda n: _value({f"k{at}": 1 for at in range(n)}),
        500,
    ),
    "invalid values of a map": (
        _map_of({"type": "string", "maxLength": 1}),
        lambda n: _value({f"k{at}": "xx" for at in range(n)}),
        150,
    ),
    "unique items": (
        _list_of({"type": "object", "properties": {"a": INTEGER}}, uniqueItems=True),
        lambda n: _value({"l": [{"a": at} for at in range(n)]}),
        150,
    ),
    "a rule that replaces": (
        {
            "type": "object",
            "properties": {"s": {"type": "string"}},
            "x-kubernetes-validations": [{"rule": "self.s.replace('a', 'bc').replace('c', 'd').size() < 0"}],
        },
        lambda n: _value({"s": "a" * n}),
        20_000,
    ),
    "deep values": (_list_of(OPEN | {"type": "array", "items": OPEN}), _nested, 50),
    "wide objects": (OPEN, lambda n: _value({f"k{at}": {"a": [at]} for at in range(n)}), 150),
    "many findings": (_list_of(INTEGER), lambda n: _value({"l": ["x"] * n}), 150),
    "one number that is too large": (
        _list_of({"type": "integer", "maximum": 1}),
        lambda n: _value({"l": [5] * n}),
        150,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_work_for_an_object_grows_linearly_with_its_size(case: str) -> None:
    spec, made, count = CASES[case]
    program = _program(spec)
    for _ in range(3):
        _judge(program, made(2))  # code is made
    small, large = (_costs(program, made(size)) for size in (count, _TIMES * count))
    assert large[0] <= _MOST * small[0], (small, large)
    assert large[1] <= _MOST_BYTES * small[1], (small, large)


def test_every_second_controller_has_its_finding_in_the_words_of_the_server() -> None:
    owners = [_owner(at) for at in range(40)]
    program = _program(OPEN)
    found = [one for one in program.audit(_value({}, ownerReferences=owners)).findings if one.check == "object-meta"]
    assert len(found) == 39
    texts = ",".join(
        f'{{"apiVersion":"v1","kind":"Pod","name":"p{at}","uid":"u","controller":true}}' for at in range(40)
    )
    begin = 'Only one reference can have Controller set to true. Found "true" in references for Pod/p0 and Pod/p'
    details = {f"{begin}{at}" for at in range(1, 40)}
    assert {one.detail for one in found} == details
    assert {one.message for one in found} == {
        f"metadata.ownerReferences: Invalid value: [{texts}]: {detail}" for detail in details
    }
    assert all(one.bad_value == owners for one in found)


@pytest.mark.parametrize("part", ["a", "(?:ab|c)", "a|", "[a-c]x*"])
def test_a_long_pattern_is_compiled_in_work_that_grows_as_it_does(part: str) -> None:
    def compiled(size: int) -> None:
        assert not Pattern(f"^(?:{part * (size // len(part))})$").matches("b")

    compiled(100)
    small, large = (steps_of(lambda size=size: compiled(size)) for size in (500, _TIMES * 500))
    assert large <= _MOST * small
    compiled(100_000)
