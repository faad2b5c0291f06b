"""The generated program and the reference say the same of any object under any structural definition.

Each drawn object is judged by the reference, by the generated program, by the same program once more (what it remembers
must not change what it says), by one that leaves its first objects to the reference, and decoded beforehand as the
pipeline hands it over; what the typed tier proves of its bytes must be so, and an object that is only read the same.
"""

from __future__ import annotations

import json
from functools import partial
from random import Random

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditor.crds.definition import parse_definition
from auditor.program.program import AuditProgram
from tests.properties.drawing import Drawer
from tests.typed import typed_difference

FEW = settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))


def reported(audited):
    """Everything that an audit says, with 1, 1.0 and true apart."""
    return {
        "unreadable": audited.unreadable.reason if audited.unreadable else None,
        "object": repr(_ordered(audited.object)),
        "pruned": sorted(audited.pruned),
        "defaulted": sorted(audited.defaulted),
        "findings": [
            (f.field, f.type, f.message, f.detail, repr(_ordered(f.bad_value)), f.check) for f in audited.findings
        ],
        "selectable": audited.selectable,
        "select_error": audited.select_error,
        "versions": (audited.stored_version, audited.audited_version),
        "unevaluated": audited.unevaluated_rules,
    }


def _ordered(value):
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def differences(document, texts):
    """Return what the ways say differently: (text, version, part, reference, other)."""
    definition = parse_definition(document)
    found = []
    for version in definition.versions.values():
        reference = AuditProgram(definition, version, compiled=False)
        program = AuditProgram(definition, version)
        warming = AuditProgram(definition, version, warm_up=2)
        reader = AuditProgram(definition, version, rules=False)
        for text in texts:
            data = text.encode()
            exact = reference.audit(data)
            expected = reported(exact)
            read = reader.proven_object(data)
            if read is not None and (repr(_ordered(read[0])), read[1]) != (expected["object"], exact.stored_version):
                found.append((text, version.name, "read", read, expected["object"], exact.stored_version))
            if wrong := typed_difference(program, exact, data):
                found.append((text, version.name, "typed", wrong))
            ways = {"generated": partial(program.audit, data)}
            ways["again"] = ways["generated"]
            ways["warming up"] = partial(warming.audit, data)
            try:
                decoded = orjson.loads(data)
            except ValueError:
                pass
            else:
                if type(decoded) is dict:
                    ways["decoded"] = partial(program.audit, data, decoded)
            for way, run in ways.items():
                got = reported(run())
                found += [
                    (text, version.name, way, part, expected[part], got[part])
                    for part in expected
                    if expected[part] != got[part]
                ]
    return found


def agree(drawer):
    document = drawer.definition()
    texts = [drawer.object_text(document) for _ in range(5)]
    assert differences(document, texts) == [], json.dumps(document)


@FEW
@given(st.randoms(use_true_random=False))
def test_generated_program_and_reference_agree(random):
    agree(Drawer(random))


@FEW
@given(st.randoms(use_true_random=False))
def test_generated_program_and_reference_agree_where_values_are_wild(random):
    agree(Drawer(random, wild=0.35))


@pytest.mark.slow
@MANY
@given(st.randoms(use_true_random=False))
def test_generated_program_and_reference_agree_on_many(random):
    agree(Drawer(random))


@pytest.mark.slow
@MANY
@given(st.randoms(use_true_random=False))
def test_generated_program_and_reference_agree_on_many_where_values_are_wild(random):
    agree(Drawer(random, wild=0.35))


def test_the_generated_program_has_its_say():
    """The properties above are worth something: many objects are proven."""
    total = proven = typed = read = 0
    for seed in range(120):
        drawer = Drawer(Random(seed))
        definition = parse_definition(document := drawer.definition())
        program = AuditProgram(definition, definition.storage_version)
        reader = AuditProgram(definition, definition.storage_version, rules=False)
        for _ in range(8):
            data = drawer.object_text(document).encode()
            read += reader.proven_object(data) is not None
            typed += typed_difference(program, program.audit(data), data) is not None
        total, proven = total + program.total, proven + program.proven
    assert total == 960
    assert proven > 100
    assert read >= proven
    assert typed > 50


def test_a_branch_that_does_not_know_costs_only_the_proof():
    """A default is proven when the code is written, a part when the reference asks; either may meet such a branch."""
    number = {"type": "integer", "oneOf": [{"multipleOf": 0.1}, {"minimum": 1e19}]}
    for default in ({}, {"default": {"n": 1}}):
        part = {"type": "object", "properties": {"n": number}, **default}
        root = {"type": "object", "properties": {"a": part, "b": {"type": "string", "maxLength": 1}}}
        document = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.draw.example.com"},
            "spec": {
                "group": "draw.example.com",
                "names": {"plural": "things", "kind": "Thing"},
                "scope": "Cluster",
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}],
            },
        }
        head = '{"apiVersion":"draw.example.com/v1","kind":"Thing","metadata":{"name":"x","generation":1}'
        assert differences(document, [head + ',"b":"long"}', head + ',"a":{"n":3},"b":"long"}', head + "}"]) == []


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00", "0001-01-01T00:00:00Z"])
@pytest.mark.parametrize("field", ["creationTimestamp", "deletionTimestamp"])
def test_moments_that_leave_the_calendar_are_for_the_reference(field, time):
    document = Drawer(Random(0)).definition()
    spec = document["spec"]
    spec["versions"] = [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    ]
    metadata = {"name": "x", "generation": 0, field: time, "labels": {"a": 1}, "unknown": 1}
    made = {"apiVersion": f"{spec['group']}/v1", "kind": spec["names"]["kind"], "metadata": metadata}
    assert differences(document, [json.dumps(made)]) == []


def test_code_is_generated_only_after_the_warm_up():
    drawer = Drawer(Random(3))
    definition = parse_definition(document := drawer.definition())
    program = AuditProgram(definition, definition.storage_version, warm_up=3)
    for number in range(1, 6):
        program.audit(drawer.object_text(document).encode())
        assert (program._program is not None) == (number > 3)
