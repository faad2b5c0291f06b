"""Equal items are looked for in time that grows as the list: each is hashed, and compared with few others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from auditor.ratcheting import go_equality
from auditor.validation import listtype
from tests.counting import calls_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


class Compared(str):
    """A text whose comparisons are calls of Python, which are counted; those of plain texts are not."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        return str.__hash__(self)


def texts(count: int) -> list[Compared]:
    return [Compared(f"value-{number}") for number in range(count)]


def check_growth(work: Callable[[list[Compared]], object]) -> None:
    few, many = (calls_of(partial(work, texts(count))) for count in (200, 1600))
    assert 1600 <= many < 12 * few


def test_of_a_list_that_is_a_set() -> None:
    check_growth(listtype._repeated)
    assert listtype._repeated([*texts(3), *texts(2), *texts(2)]) == [3, 4]


def test_of_unique_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(go_equality, "_texts", lambda values: values)  # orjson makes others of them
    check_growth(go_equality.has_equal_pair)
    assert go_equality.has_equal_pair([*texts(3), *texts(1)])
