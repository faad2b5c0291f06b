"""Words that depend on a count."""

from __future__ import annotations

import pytest

from auditor.base.wording import are, by_count, counted


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 objects are lost"), (1, "1 object is lost"), (2, "2 objects are lost")]
)
def test_noun_and_verb_agree_with_the_count(count: int, text: str) -> None:
    assert f"{counted(count, 'object')} {are(count)} lost" == text


@pytest.mark.parametrize(("count", "word"), [(0, "them"), (1, "it"), (2, "them")])
def test_words_are_chosen_by_the_count(count: int, word: str) -> None:
    assert by_count(count, "it", "them") == word
