"""Each record of the table: the answer before it, and the answer since. Both are those of the libraries."""

from __future__ import annotations

import pytest

from auditor.plan.feature_gates import ratcheting_note
from auditor.releases import RELEASES, changes, running_as
from tests.releases import newer_questions, older_questions
from tests.releases.asking import gates

QUESTIONS = older_questions.QUESTIONS | newer_questions.QUESTIONS


def release(minor):
    return next(one for one in RELEASES if one.minor == minor)


def test_each_record_is_asked_and_names_its_source():
    assert set(QUESTIONS) == set(changes.CHANGES)
    assert len({one.name for one in changes.CHANGES}) == len(changes.CHANGES)
    assert all(one.what and one.before and "/" in one.source for one in changes.CHANGES)
    assert [one.since for one in changes.CHANGES] == sorted(one.since for one in changes.CHANGES)


@pytest.mark.parametrize("change", QUESTIONS, ids=lambda one: one.name)
def test_a_behaviour_is_there_since_its_release_and_not_before(change):
    ask, before, since = QUESTIONS[change]
    with running_as(release(change.since - 1)):
        assert ask() == before
    with running_as(release(change.since)):
        assert ask() == since
    assert before != since


def test_a_gate_is_named_as_the_release_has_it():
    for one in RELEASES:
        with running_as(one):
            is_there = one.minor < 38
            assert (
                gates("CRDValidationRatcheting=true") is True
                if is_there
                else "since Kubernetes 1.38" in gates("CRDValidationRatcheting=true")
            )
            assert gates(" CustomResourceFieldSelectors=true,CRDValidationRatcheting=true") is True or not is_there
            said = "locked to true since Kubernetes 1.32" if is_there else "not a feature gate since Kubernetes 1.38"
            assert said in gates("CustomResourceFieldSelectors=false")
            assert "expected CRDValidationRatcheting=true or =false" in gates("APIServerTracing=true")
            assert ratcheting_note(one, ratcheting=True) == ""


def test_what_differs_between_two_releases_is_the_same_both_ways():
    old, new = release(37), release(38)
    assert changes.between(old, new) == changes.between(new, old)
    assert changes.TOO_FEW in changes.between(old, new)
    assert changes.LISTS_INCLUDE not in changes.between(old, new)
    assert changes.between(new, new) == ()
