"""Definitions with gates, and short ways to ask."""

from __future__ import annotations

import copy
from typing import Any

from auditor.crds.definition import parse_definition
from auditor.gates import ResolvedGates, Written, gate_config, resolve, simulate_write

ITEM = {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer"},
                "rep": {"type": "integer"},
                "foo": {"type": "object", "properties": {"baz": {"type": "integer"}, "qux": {"type": "integer"}}},
                "a.b": {"type": "object", "properties": {"c": {"type": "integer"}}},
                "map": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {**ITEM, "required": ["name"]},
                },
                "list": {"type": "array", "items": ITEM},
                "values": {"type": "object", "additionalProperties": {"type": "integer"}},
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
        "status": {"type": "object", "properties": {"seen": {"type": "integer"}}},
    },
}


def definition(gates: Any, schema: dict[str, Any] = SCHEMA, *, component: Any = None, status: bool = False) -> Any:
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if status:
        version["subresources"] = {"status": {}}
    config = {"featureGates": gates} if component is None else {"component": component, "featureGates": gates}
    spec = {
        "group": "bakery.example.com",
        "scope": "Namespaced",
        "names": {"plural": "loaves", "kind": "Loaf"},
        "versions": [version],
        "customFeatureGates": config,
    }
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return parse_definition(copy.deepcopy({**head, "metadata": {"name": "loaves.bakery.example.com"}, "spec": spec}))


def gate(name: str, *paths: str, stage: str = "alpha", **more: Any) -> dict[str, Any]:
    return {"name": name, "preRelease": stage, "fieldPaths": list(paths), **more}


def resolved(*gates: dict[str, Any], overrides: dict[str, bool] | None = None) -> ResolvedGates:
    config = gate_config(definition(list(gates)))
    assert config.findings == ()
    return resolve(config, overrides)


def loaf(spec: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "bakery.example.com/v1",
        "kind": "Loaf",
        "metadata": {"name": "a", "namespace": "b"},
        **({} if spec is None else {"spec": spec}),
        **more,
    }


def write(gates: ResolvedGates, new: Any, old: Any = None, **more: Any) -> Written:
    storage = definition([]).storage_version
    return simulate_write(gates, new, old, storage.structural, **more)
