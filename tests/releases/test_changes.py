"""Each record of the table: the answer before it, and the answer since. Both are those of the libraries."""

from __future__ import annotations

import pytest

from auditor.releases import RELEASES, changes, running_as
from tests.releases import newer_questions, older_questions

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


def test_what_differs_between_two_releases_is_the_same_both_ways():
    old, new = release(37), release(38)
    assert changes.between(old, new) == changes.between(new, old)
    assert changes.TOO_FEW in changes.between(old, new)
    assert changes.LISTS_INCLUDE not in changes.between(old, new)
    assert changes.between(new, new) == ()
