"""Nodes that say the same are one node; a tree of such nodes equals one in which each position has a node of its own."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from auditor.schema.parse import build_schema, check_structural, schema_type
from auditor.schema.typed import decode_typed
from auditor.sources.crd_files import read_crd_documents
from tests.corpus import real_definitions

VALUES: dict[str, list[Any]] = {
    "type": ["string", "integer"],
    "format": ["date", "byte"],
    "pattern": ["a", "b"],
    "nullable": [True, False],
    **{key: [0, 1, 2] for key in ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")},
    **{key: [True, False] for key in ("uniqueItems", "x-kubernetes-int-or-string", "x-kubernetes-embedded-resource")},
    "x-kubernetes-preserve-unknown-fields": [True],
    "x-kubernetes-list-type": ["set", "atomic"],
    "x-kubernetes-map-type": ["granular", "atomic"],
    **{key: ["x", "y"] for key in ("description", "title", "example")},
    **{key: [1, 1.0, 2.5] for key in ("minimum", "maximum", "multipleOf")},
    **{key: [True, False] for key in ("exclusiveMinimum", "exclusiveMaximum")},
    "default": [1, 1.0, True, "1", None],
    "enum": [[1], [1.0], [True], ["1"]],
    "required": [["a"], ["b"]],
    "x-kubernetes-list-map-keys": [["a"], ["b"]],
    "items": [{"type": "string"}, {"type": "integer"}],
    "additionalProperties": [{"type": "string"}, True, False],
    "x-kubernetes-validations": [[{"rule": "true"}], [{"rule": "false"}]],
}


def both_trees(props: Any) -> tuple[Any, Any]:
    decoded = decode_typed(props, schema_type())
    return build_schema(decoded, known={}), build_schema(decoded)


def test_keywords_with_several_values_are_not_merged() -> None:
    nodes = [{key: value} for key, values in VALUES.items() for value in values]
    nodes += [{**one, **other} for one, other in itertools.combinations(nodes, 2) if one.keys() != other.keys()]
    props = {"type": "object", "properties": {f"p{at}": node for at, node in enumerate(nodes)}}
    merged, apart = both_trees(props)
    for name, node in apart.properties.items():
        assert repr(merged.properties[name]) == repr(node), nodes[int(name[1:])]


def test_nodes_that_say_the_same_are_one() -> None:
    same = [{"type": "string", "description": text, "pattern": "x"} for text in ("a", "b")]
    merged, _ = both_trees({"properties": {"a": same[0], "b": same[1], "c": {"pattern": "x", "type": "string"}}})
    assert merged.properties["a"] is merged.properties["b"] is merged.properties["c"]


@pytest.mark.parametrize("key", ["id", "$schema", "$ref", "patternProperties", "dependencies", "definitions"])
def test_what_is_not_supported_is_refused_at_any_depth(key: str) -> None:
    value: Any = "x" if key in {"id", "$schema", "$ref"} else {"a": {"type": "string"}}
    for props in ({key: value}, {"properties": {"a": {"type": "string", key: value}}}):
        with pytest.raises(Exception, match="is not supported"):
            check_structural(props)


def test_trees_of_real_definitions_are_equal() -> None:
    for document in read_crd_documents([str(real_definitions())]):
        for version in document["spec"]["versions"]:
            props = version.get("schema", {}).get("openAPIV3Schema")
            if props is not None:
                merged, apart = both_trees(props)
                assert repr(merged) == repr(apart), document["metadata"]["name"]
