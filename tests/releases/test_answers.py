"""What the libraries of other releases answered, recorded, and what we answer as that release.

A recorded answer that differs from that of the default release and that no record of `auditor.releases.changes`
explains fails here: the auditor asks nothing but those records.
"""

import pytest

from auditor.releases import DEFAULT, RELEASES, running_as
from tests.reference.libraries import LIBRARIES
from tests.reference.make import recorded_answers
from tests.releases.comparing import BOTH, wrong_answers
from tests.shared import second_check

OTHERS = [one for one in RELEASES if one.is_reproduced and one != DEFAULT]
# The oldest and the newest have all behaviours of the table, on one side or the other; those between run each night.
MARKED = [one if one in (OTHERS[0], OTHERS[-1]) else pytest.param(one, marks=pytest.mark.nightly) for one in OTHERS]
OWN, BESIDE = BOTH
DEAR = {"conformance-audit.jsonl", "real-audit.jsonl.gz"}


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("release", MARKED, ids=lambda one: one.name)
def test_the_answers_are_those_of_the_release(release, name):
    with running_as(release):
        count, wrong = wrong_answers(release.name, name)
    assert count >= 40
    assert wrong == {}


@second_check("vectors", by="tests/releases/test_answers.py")
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in DEAR)) for name in BESIDE])
@pytest.mark.parametrize("release", MARKED, ids=lambda one: one.name)
def test_the_answers_to_the_vectors_beside_the_project_are_those_of_the_release(release, name):
    with running_as(release):
        count, wrong = wrong_answers(release.name, name)
    assert count >= 30
    assert wrong == {}


@pytest.mark.parametrize("release", OTHERS, ids=lambda one: one.name)
def test_answers_are_recorded_of_each_release_that_is_reproduced(release):
    answers = recorded_answers(release.name)
    assert answers["release"] == LIBRARIES[release.name].version == release.version.replace("v1.", "v0.")
    assert sum(len(answers[name]) for name in OWN) > 0
