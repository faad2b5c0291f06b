"""What holds for every schema and every object: reshaping twice is reshaping once, and paths say what went."""

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.schema.defaulting import default, drop_nulls, prune_defaults
from auditor.schema.objectmeta import CoerceError, coerce_embedded
from auditor.schema.parse import parse_schema
from auditor.schema.pruning import prune
from tests.schema.coercing import coerce_metadata

KEYS = st.sampled_from(["a", "b", "c", "d.e", "metadata", "kind", "apiVersion"])
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.5, 1.0]) | st.sampled_from(["", "x"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5)


def _schemas(children):
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array", "string"]),
            "nullable": st.booleans(),
            "default": VALUES,
            "x-kubernetes-preserve-unknown-fields": st.just(value=True),
            "x-kubernetes-embedded-resource": st.booleans(),
            "properties": st.dictionaries(KEYS, children, max_size=4),
            "additionalProperties": st.booleans() | children,
            "items": children,
        },
    )


SCHEMAS = st.recursive(_schemas(st.just({})), _schemas, max_leaves=8)
ROOTS = st.dictionaries(KEYS, SCHEMAS, max_size=4).map(lambda properties: {"type": "object", "properties": properties})
FEW = settings(max_examples=150, deadline=None)


@FEW
@given(OBJECTS, ROOTS)
def test_pruning_twice_is_pruning_once(obj, props):
    schema = parse_schema(props)
    prune(obj, schema)
    once = copy.deepcopy(obj)
    assert prune(obj, schema) == []
    assert obj == once


@FEW
@given(OBJECTS, ROOTS)
def test_pruning_lists_a_path_exactly_where_something_went(obj, props):
    before = copy.deepcopy(obj)
    assert bool(prune(obj, parse_schema(props))) == (obj != before)


@FEW
@given(OBJECTS, ROOTS)
def test_defaulting_twice_is_defaulting_once(obj, props):
    schema = parse_schema(props)
    default(obj, schema)
    once = copy.deepcopy(obj)
    default(obj, schema)
    assert obj == once


@FEW
@given(OBJECTS, ROOTS)
def test_dropping_nulls_twice_is_dropping_them_once(obj, props):
    schema = parse_schema(props)
    drop_nulls(obj, schema)
    once = copy.deepcopy(obj)
    drop_nulls(obj, schema)
    assert obj == once


@FEW
@given(ROOTS)
def test_fitted_defaults_need_no_fitting(props):
    fitted = prune_defaults(parse_schema(props))
    assert prune_defaults(fitted) is fitted


@FEW
@given(OBJECTS, ROOTS)
def test_a_fitted_default_brings_nothing_that_pruning_would_remove(obj, props):
    schema = prune_defaults(parse_schema(props))
    prune(obj, schema)
    default(obj, schema)
    assert prune(obj, schema) == []


@FEW
@given(OBJECTS, ROOTS)
def test_coercing_twice_is_coercing_once(obj, props):
    schema = parse_schema(props)
    for _ in range(2):
        try:
            coerce_metadata(obj, drop=True)
        except CoerceError:
            obj["metadata"] = {}
        coerce_embedded(obj, schema, drop=True)
        once = copy.deepcopy(obj)
    coerce_metadata(obj, drop=True)
    assert coerce_embedded(obj, schema, drop=True) == []
    assert obj == once
