"""The coercion after the conversion is left out where it changes nothing: held against doing it always."""

import copy
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.golang.jsontext import encode
from auditor.schema.defaulting import prune_defaults
from auditor.schema.parse import parse_schema
from auditor.storage_read import read
from tests.schema.test_properties import OBJECTS, ROOTS
from tests.schema.test_unchanged_metadata import FIELDS
from tests.storage_read.test_read import foos

FOOS = foos()
VERSION = FOOS.versions["v1"]
METADATA = st.fixed_dictionaries({}, optional=FIELDS)


def answer(obj, schema):
    """Read an object by a schema: all that the result has, numbers with their types."""
    definition = replace(FOOS, versions={"v1": replace(VERSION, structural=schema)})
    obj = {**copy.deepcopy(obj), "apiVersion": "g.io/v1", "kind": "Foo"}
    result = read.finish_read(definition, "v1", obj)
    return result.object and encode(result.object), result.unreadable, result.pruned, result.defaulted, result.effect


def expected_answer(obj, schema):
    with patch.object(read, "keeps_defaults", return_value=False):
        return answer(obj, schema)


@given(OBJECTS, METADATA, ROOTS)
@settings(max_examples=300, deadline=None)
def test_an_object_at_its_own_version_is_read_as_by_coercing_it_twice(obj, metadata, props):
    schema = prune_defaults(parse_schema(props))
    obj = {**obj, "metadata": metadata}
    assert answer(obj, schema) == expected_answer(obj, schema)


NULL_INSIDE = {"a": {"default": {"b": None}, "properties": {"b": {"type": "string"}}}}
LABELS = {"metadata": {"properties": {"labels": {"additionalProperties": {}, "default": {"a": 5}}}}}
EMBEDDED = {"e": {"x-kubernetes-embedded-resource": True, "default": {"kind": "K", "metadata": {"labels": {"a": 5}}}}}


@pytest.mark.parametrize(
    ("properties", "metadata", "is_coerced"),
    [
        ({}, {}, False),
        ({}, {"deletionTimestamp": "0001-01-01T00:00:00Z"}, True),
        ({}, {"managedFields": [{"time": "0001-01-01T00:00:00Z"}]}, True),
        ({"a": {"default": {"b": 1}, "properties": {"b": {"type": "integer"}}}}, {}, False),
        (NULL_INSIDE, {}, True),
        (LABELS, {}, True),
        (EMBEDDED, {}, True),
    ],
)
def test_what_the_second_coercion_changes_is_coerced_twice(properties, metadata, is_coerced):
    schema = parse_schema({"type": "object", "properties": properties})
    obj = {"metadata": {"name": "x", "generation": 1, **metadata}}
    with patch.object(read, "coerce", wraps=read.coerce) as coerce:
        made = answer(obj, schema)
    assert coerce.called == is_coerced
    assert made == expected_answer(obj, schema)
