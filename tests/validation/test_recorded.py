"""Odd schemas and objects, judged by the Kubernetes libraries: recorded, and live where Go is."""

from __future__ import annotations

import json

import pytest

from auditor.crds.definition import parse_definition
from auditor.golang.jsontext import decode, encode
from auditor.sources.yaml import yaml_to_json
from auditor.storage_read.read import read_object
from auditor.validation.update import UpdateValidator
from tests.validation.oracle import RECORDED, ask, cases, live
from tests.validation.support import compiled, expected, multiset


def judge(case):
    """Compare every object and update of a case; return how many were compared."""
    # The libraries load definitions as YAML, which spells 1.0 as 1.
    document = decode(encode(yaml_to_json(json.dumps(case["crd"]).encode())).encode())
    definition = parse_definition(document)
    validator = compiled(definition)

    def read(text):
        return read_object(definition, "v1", text.encode()).object

    for audit in case["audits"]:
        assert multiset(validator.run(read(audit["object"]))) == expected(audit["errors"]), audit["object"]
    for update in case["updates"]:
        new, old = read(update["new"]), read(update["old"])
        updates = UpdateValidator(validator)
        assert updates.crashes(new, old) == update["crashes"]
        if update["crashes"]:
            continue
        assert multiset(updates.run(new, old)) == expected(update["errors"]), (update["old"], update["new"])
        unratcheted = multiset(updates.run(new, old, ratchet=False))
        assert unratcheted == expected(update["unratcheted"]), (update["old"], update["new"])
    return len(case["audits"]) + len(case["updates"])


@pytest.fixture(scope="module")
def recorded():
    return cases(RECORDED)


@pytest.mark.parametrize("part", range(8))
def test_recorded_verdicts_are_ours(recorded, part):
    assert sum(judge(case) for case in recorded[part::8]) > 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_live_verdicts_are_ours(seed):
    assert sum(judge(case) for case in ask(live(), 1000 + seed, 100)) > 500
