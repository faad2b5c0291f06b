"""The order of ``--sort-by``, and which of two errors comes first."""

from __future__ import annotations

from typing import Any

import pytest

from auditor.printing.jsonpath import JsonPathError
from auditor.printing.sorting import Unsortable, order_by

STEPS = "{.spec.steps[*]}"


def of(*steps: Any) -> list[dict[str, Any]]:
    return [{"spec": {"steps": each}} for each in steps]


def test_a_path_that_fails_on_an_object_matters_when_it_is_compared() -> None:
    objects = of([{"a": 1}], [{"a": 2}], "none")  # recorded of kubectl 1.37.2 with -o name
    with pytest.raises(Unsortable, match=r"unsortable type: map\[string\]interface \{\}"):
        order_by(objects, STEPS)


@pytest.mark.parametrize(
    ("objects", "is_table"), [(of("none", [1]), False), (of([1], [2], "none"), False), (of([{}], [{}], "x"), True)]
)
def test_it_fails_in_a_table_in_the_first_object_and_when_all_others_can_be_compared(
    objects: list[Any], is_table: bool
) -> None:
    with pytest.raises(JsonPathError, match="string is not array or slice"):
        order_by(objects, STEPS, is_table=is_table)


def test_missing_values_come_first() -> None:
    assert order_by(of([2], [], [1]), STEPS) == [1, 2, 0]
