"""Words that depend on a count."""

from __future__ import annotations

import pytest

from auditor.base.wording import are, by_count, counted, first_of


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 objects are lost"), (1, "1 object is lost"), (2, "2 objects are lost")]
)
def test_noun_and_verb_agree_with_the_count(count: int, text: str) -> None:
    assert f"{counted(count, 'object')} {are(count)} lost" == text


@pytest.mark.parametrize(("count", "word"), [(0, "them"), (1, "it"), (2, "them")])
def test_words_are_chosen_by_the_count(count: int, word: str) -> None:
    assert by_count(count, "it", "them") == word


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [(1, "", "a"), (2, "", "a and b"), (3, "", "a, b and 1 more"), (3, "kind", "a, b and 1 more kind"),
     (4, "kind", "a, b and 2 more kinds")],
)  # fmt: skip
def test_texts_beyond_the_most_are_counted(count: int, noun: str, text: str) -> None:
    assert first_of(list("abcd")[:count], 2, noun) == text
