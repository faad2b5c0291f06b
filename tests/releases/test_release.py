"""Which release a text names, and which one is reproduced at the moment."""

import pickle
import threading
from dataclasses import replace

import pytest

from auditor.base.errors import PlanError
from auditor.releases import DEFAULT, RELEASES, active, find_release, running_as


@pytest.mark.parametrize("text", ["1.38", "v1.38", "v1.38.0-alpha.2", "1.38.4", " 1.38 "])
def test_a_release_is_named_by_its_minor_version(text):
    assert find_release(text).name == "1.38"


def test_without_a_name_it_is_the_newest_final_release():
    assert find_release("") is DEFAULT is active()
    assert DEFAULT.is_final
    assert max(one for one in RELEASES if one.is_final and one.is_reproduced) == DEFAULT


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1.31", "'1.31' is not a release that is known"),
        ("2.37", "'2.37' is not a release that is known"),
        ("new", "'new' is not a release that is known"),
        ("1", "'1' is not a release that is known"),
    ],
)
def test_what_names_none_is_refused_with_those_that_are_reproduced(text, said):
    with pytest.raises(PlanError) as caught:
        find_release(text)
    known = ", ".join(one.name for one in RELEASES if one.is_reproduced)
    assert str(caught.value) == f"--kubernetes: {said}; expected one of {known}; auditor releases lists them"
    assert caught.value.exit_code == 2


def test_a_release_that_is_not_reproduced_is_named_only_where_that_is_allowed(monkeypatch):
    known = tuple(replace(one, is_reproduced=one.minor > 32) for one in RELEASES)
    monkeypatch.setattr("auditor.releases.release.RELEASES", known)
    with pytest.raises(PlanError, match=r"'1\.32' is not reproduced yet; expected one of 1\.33, "):
        find_release("1.32")
    assert find_release("1.32", reproduced=False).version == "v1.32.13"


def test_a_release_is_reproduced_until_its_block_ends_in_its_own_thread_alone():
    new = find_release("1.38")
    seen = []
    with running_as(new):
        assert active() is new
        with running_as(DEFAULT):
            assert active() is DEFAULT
        thread = threading.Thread(target=lambda: seen.append(active()))
        thread.start()
        thread.join()
        assert active() is new
    assert active() is DEFAULT
    assert seen == [DEFAULT]
    with pytest.raises(ZeroDivisionError), running_as(new):
        raise ZeroDivisionError
    assert active() is DEFAULT


def test_a_release_is_the_same_in_another_process():
    assert all(pickle.loads(pickle.dumps(one)) == one for one in RELEASES)
    assert [one.minor for one in RELEASES] == sorted(one.minor for one in RELEASES)
