"""Drawn updates with rules on them, judged by the Kubernetes libraries: recorded, and live where Go is."""

import gzip
import json

import pytest

import auditor
from auditor.golang.jsontext import decode, encode
from auditor.sources.yaml import yaml_to_json
from tests.ratcheting.drawn_updates import RECORDED, ask
from tests.validation.oracle import live
from tests.vectors.test_updates import ours, theirs


def compare(cases):
    """Hold each case against its answer; return how many there were, and how many findings were tolerated."""
    catalogs, tolerated = {}, 0
    for case in cases:
        key = json.dumps(case["crd"])
        if key not in catalogs:
            # The libraries load definitions as YAML, which spells 1.0 as 1.
            document = decode(encode(yaml_to_json(key.encode())).encode())
            catalogs[key] = auditor.CrdCatalog.from_documents([document])
        got = auditor.check_update(catalogs[key], case["old"].encode(), case["new"].encode())
        expect = case["expect"]
        assert (got.unreadable is not None) == bool(expect.get("readError")), (case["old"], case["new"])
        for findings, name in (
            (got.findings, "errors"),
            (got.unratcheted, "unratcheted"),
            (got.create, "createErrors"),
        ):
            if got.unreadable is None:
                assert ours(findings) == theirs(expect[name]), (name, case["old"], case["new"])
        tolerated += len(got.unratcheted) - len(got.findings)
    return len(cases), tolerated


@pytest.fixture(scope="module")
def recorded():
    with gzip.open(RECORDED, "rb") as stream:
        return [json.loads(line) for line in stream]


def test_recorded_updates_are_judged_as_the_libraries_do(recorded):
    run, tolerated = compare(recorded)
    assert run >= 240
    assert tolerated > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_live_updates_are_judged_as_the_libraries_do(seed):
    assert compare(ask(live(), 500 + seed, 150))[0] == 600
