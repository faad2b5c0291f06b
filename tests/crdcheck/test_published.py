"""What discovery publishes, against the OpenAPI documents of a running server."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from auditor.crdcheck.published import published_schemas
from auditor.crds.catalog import CrdCatalog
from auditor.crds.definition import parse_definition
from tests.shared import at_least, shared


@pytest.fixture(scope="module")
def catalog() -> CrdCatalog:
    documents = json.loads(gzip.decompress(shared("golden/upgrade/crds/server-rev2.json.gz").read_bytes()))
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return CrdCatalog.from_documents([{**kind, **document} for document in documents["items"]], stored=True)


@pytest.fixture(scope="module")
def discovery() -> dict[str, Any]:
    documents = json.loads(gzip.decompress(shared("golden/upgrade/discovery/openapi-v3.json.gz").read_bytes()))
    return {
        name: schema
        for document in documents.values()
        for name, schema in document["components"]["schemas"].items()
        if not name.startswith("io.k8s.")
    }


def ours(catalog: CrdCatalog) -> dict[str, Any]:
    return {
        name: schema
        for definition in catalog.crds.values()
        for version in definition.served_versions
        for name, schema in published_schemas(definition, version.name).items()
    }


def test_selectable_fields_are_those_of_discovery(catalog: CrdCatalog, discovery: dict[str, Any]) -> None:
    key = "x-kubernetes-selectable-fields"
    assert {name: one.get(key) for name, one in ours(catalog).items()} == {
        name: one.get(key) for name, one in discovery.items()
    }
    assert sum(key in one for one in discovery.values()) >= at_least("golden", 20, 2)


def test_whole_schemas_are_those_of_discovery(catalog: CrdCatalog, discovery: dict[str, Any]) -> None:
    published = ours(catalog)
    assert set(published) == set(discovery)
    assert [name for name in discovery if published[name] != discovery[name]] == []


def definition(schema: dict[str, Any]) -> Any:
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    names = {"plural": "loaves", "kind": "Loaf"}
    spec = {"group": "bakery.example.com", "scope": "Namespaced", "names": names, "versions": versions}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return parse_definition({**head, "metadata": {"name": "loaves.bakery.example.com"}, "spec": spec})


def test_keywords_that_no_server_knows_are_not_published() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "deprecated": True, "nullable": False}}}
    made = published_schemas(definition(schema), "v1")["com.example.bakery.v1.Loaf"]
    assert made["properties"]["a"] == {"type": "string"}


def test_a_schema_that_is_not_structural_is_published_as_any_object() -> None:
    made = published_schemas(definition({"properties": {"a": {}}}), "v1")["com.example.bakery.v1.Loaf"]
    assert {key for key in made if not key.startswith("x-")} == {"type"}


def test_embedded_resources_get_what_every_resource_has() -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    made = published_schemas(definition({"type": "object", "properties": {"t": embedded}}), "v1")
    template = made["com.example.bakery.v1.Loaf"]["properties"]["t"]
    assert sorted(template["properties"]) == ["apiVersion", "kind", "metadata"]
    assert template["required"] == ["kind", "apiVersion"]


def test_gates_are_published_where_they_are_given() -> None:
    gates = [{"name": "A", "preRelease": "alpha"}]
    made = published_schemas(definition({"type": "object"}), "v1", gates)
    assert made["com.example.bakery.v1.Loaf"]["x-kubernetes-feature-gates"] == gates
    assert "x-kubernetes-feature-gates" not in made["com.example.bakery.v1.LoafList"]


def test_a_snapshot_publishes_the_same(discovery: dict[str, Any]) -> None:
    """Definitions are stored in the form of v1beta1, with the schema that all versions share at the top."""
    from auditor.shards.dump_objects import open_objects

    with open_objects((str(shared("golden/upgrade/snapshot.db.gz")),)) as objects:
        stored = CrdCatalog(objects.definitions.values())
    assert len(stored.crds) >= at_least("golden/upgrade", 11, 4)
    assert ours(stored) == discovery
