"""Defaulting alone costs less than a deep copy of the same object: in generated code less than the cheapest one."""

import json

import pytest

from auditor.crds.definition import parse_definition
from tests.benchmarks import defaulting, definitions


@pytest.fixture(scope="module")
def version():
    definition = parse_definition(definitions.synthetic(1))
    return definition, definition.versions["v1"]


def objects(count):
    made = [definitions.thing(definitions.synthetic(1), number) for number in range(count)]
    for number, one in enumerate(made):
        for part in (one["spec"], one["spec"]["nested"], *one["spec"]["nested"]["many"]):
            for key in ("replicas", "policy")[: number % 3]:  # absent: put in by the read
                part.pop(key, None)
    return [json.dumps(one).encode() for one in made]


def test_the_program_without_defaults_differs_by_nothing_but_the_defaults(version):
    line = objects(3)[2]
    with_defaults, without = json.loads(line), json.loads(line)
    defaulting.program(*version, defaults=True)(with_defaults, len(line))
    defaulting.program(*version, defaults=False)(without, len(line))
    nested = with_defaults["spec"]["nested"]
    assert [part["replicas"] for part in (with_defaults["spec"], nested, *nested["many"])] == [1, 1, 1, 1]
    assert "replicas" not in without["spec"]
    assert without == json.loads(line)


def test_defaulting_alone_costs_less_than_a_deep_copy(version):
    found = defaulting.measure(objects(300), *version, repeats=7)
    least = {name: min(runs) for name, runs in found.items()}  # of processor time: what disturbs only adds
    added = least["whole"] - least["no defaults"]
    assert added < least["round trip"], least
    assert added < least["deepcopy"], least
    assert least["interpreter"] < least["deepcopy"], least
