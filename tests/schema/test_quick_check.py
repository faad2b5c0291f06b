"""What is proven to decode, decodes."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditor.schema.parse import schema_type
from auditor.schema.quick_check import is_decodable
from auditor.schema.typed import GoTypeError, decode_typed, struct
from tests.properties.drawing import Drawer

if TYPE_CHECKING:
    from random import Random

FEW = settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
KEYWORDS = sorted(schema_type().fields)
VALUES: tuple[Any, ...] = (
    *(None, True, 0, 1.0, 1.5, -1, 2**63, 2**64, "", "a", [], ["a"], [1], [None], {}, {"a": 1}, {"type": "string"}),
    *({"a": {"type": "string"}}, {"a": ["b"]}, {"a": [1]}, [{"type": "object"}], [{"type": 1}], [{"rule": "a"}]),
    *([{"rule": 1}], {"url": "a"}, {"url": 1}, {"a": None}),
)


def decodes(props: Any) -> bool:
    try:
        decode_typed({"schema": props}, schema_of())
    except GoTypeError:
        return False
    return True


def schema_of() -> Any:
    """Return a type with a schema in a field, as a version of a definition has it."""

    return struct("v1.CustomResourceValidation", {"schema": schema_type()})


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_a_value_of_a_keyword_is_proven_only_if_it_decodes(keyword: str) -> None:
    accepted = 0
    for value in VALUES:
        for props in ({keyword: value}, {"properties": {"a": {"items": {keyword: value}}}}):
            is_proven = is_decodable(props)
            accepted += is_proven
            assert decodes(props) or not is_proven, props
    assert accepted


@FEW
@given(st.randoms(use_true_random=False))
def test_a_changed_schema_is_proven_only_if_it_decodes(random: Random) -> None:
    schema = Drawer(random).schema(0)
    assert decodes(schema) or not is_decodable(schema)
    changed = copy.deepcopy(schema)
    changed[random.choice(KEYWORDS)] = random.choice(VALUES)
    assert decodes(changed) or not is_decodable(changed)


def test_a_deep_schema_is_no_error() -> None:
    props: dict[str, Any] = {}
    for _ in range(5000):
        props = {"items": props}
    assert is_decodable(props) in (True, False)  # it depends on how deep Python may recurse
