"""No-op updates in an audit: which objects need one, what it says, and that the shortcuts say what the long way says."""

from collections import Counter

import pytest

from auditor.updates.noop import NoopUpdates
from auditor.updates.update import UpdateProgram
from tests.ratcheting import noop_cases
from tests.shared import at_least, second_check

REVISION = 7
VECTORS = second_check("vectors", by="tests/ratcheting/test_noop_update.py")
FURTHER = (VECTORS, pytest.mark.slow)


@pytest.mark.parametrize(
    ("cases", "least"),
    [
        (noop_cases.golden, at_least("golden", 300, 60)),
        pytest.param(noop_cases.vectors, 500, marks=VECTORS),
        pytest.param(noop_cases.further_vectors, 1000, marks=FURTHER),
    ],
)
def test_what_needs_no_update_of_its_own_passes_every_one(cases, least):
    """The proof of `is_needed`: whatever it leaves out is tried here the long way, and goes through."""
    noops, refused, left_out = {}, {}, 0
    for case in cases():
        key = id(case.program)
        if key not in noops:
            noops[key] = NoopUpdates(case.program, is_export=case.is_export), UpdateProgram(case.program)
        noop, update = noops[key]
        if noop.is_needed(case.audited, case.data, case.place, proven=case.proven):
            continue
        left_out += 1
        obj = case.audited.object
        if case.is_export:
            obj = {**obj, "metadata": {"uid": "u", **obj["metadata"]}}
        for request in ("put", "label", "remove-finalizer", *(("status",) if case.program.version.has_status else ())):
            got = update.attempt(request, obj, case.place, REVISION)
            if got.is_refused and not got.needs_webhook:
                refused[f"{case.name} {request}"] = got
    assert refused == {}
    assert left_out > least


@pytest.mark.parametrize(
    ("cases", "least", "least_status"),
    [
        (noop_cases.golden, 250, 50),
        pytest.param(noop_cases.vectors, 500, 20, marks=VECTORS),
        pytest.param(noop_cases.further_vectors, 700, 20, marks=FURTHER),
    ],
)
def test_shortcuts_answer_as_the_long_way(cases, least, least_status):
    """Shared values and the label that is derived from the PUT give what decoding and patching give."""
    noops, wrong, compared = {}, {}, Counter()
    for case in cases():
        key = id(case.program)
        if key not in noops:
            noops[key] = NoopUpdates(case.program, is_export=case.is_export)
        noop = noops[key]
        if not noop.is_needed(case.audited, case.data, case.place):
            continue
        obj = case.audited.object
        before = repr(obj)
        verdict = noop.judge(case.audited, case.place, REVISION)
        assert repr(obj) == before, case.name
        if case.is_export:
            obj = {**obj, "metadata": {"uid": "left out", **obj.get("metadata", {})}}
        for request, tried in verdict.requests():
            compared[request] += 1
            long_way = noop.update.attempt(request, obj, case.place, REVISION)
            if (tried.code, tried.message, tried.findings) != (long_way.code, long_way.message, long_way.findings):
                wrong[f"{case.name} {request}"] = (tried, long_way)
        assert len(verdict.verdicts) == len(case.audited.findings)
    assert wrong == {}
    assert compared["put"] > least
    assert compared["status"] > least_status
