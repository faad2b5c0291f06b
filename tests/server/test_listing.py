"""The order of a LIST, and what a server says of versions that are going away."""

from __future__ import annotations

from typing import Any

from auditor.crds.as_v1 import as_v1
from auditor.crds.definition import parse_definition
from auditor.printing.discovery import Resource
from auditor.server.live_list import in_cache_order, table_order
from auditor.server.printer import deprecation_warning

PODS = Resource("", "v1", "Pod", "pods")


def _object(namespace: str, name: str, uid: str = "") -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": name, "uid": uid}}


def _names(found: Any) -> list[str]:
    return [f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in found]


def test_objects_are_ordered_by_their_own_names_and_not_by_their_keys() -> None:
    found = [(0, _object("shop", "moved")), (0, _object("lab", "a")), (0, _object("shop-a", "b"))]
    assert _names(in_cache_order(found, PODS, one_each=True)) == ["lab/a", "shop-a/b", "shop/moved"]


def test_each_dump_keeps_its_place() -> None:
    found = [(0, _object("z", "z")), (0, _object("y", "y")), (1, _object("a", "a"))]
    assert _names(in_cache_order(found, PODS, one_each=True)) == ["y/y", "z/z", "a/a"]


def test_the_cache_has_the_last_of_two_objects_with_one_name() -> None:
    found = [(0, _object("a", "a", "first")), (0, _object("a", "a", "second"))]
    assert [one["metadata"]["uid"] for one in in_cache_order(found, PODS, one_each=True)] == ["second"]
    assert len(list(in_cache_order(found, PODS, one_each=False))) == 2


def test_rows_of_flow_schemas_are_by_precedence_and_name() -> None:
    kind = Resource("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas")
    schemas = [
        {"metadata": {"name": name}, "spec": {"matchingPrecedence": precedence}}
        for name, precedence in (("b", 700), ("c", 1), ("a", 700))
    ]
    assert [one["metadata"]["name"] for one in table_order(kind, schemas)] == ["c", "a", "b"]
    assert table_order(Resource("", "v1", "Pod", "pods"), schemas) == schemas


def _beta() -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ks.x.org"},
        "spec": {
            "group": "x.org",
            "scope": "Namespaced",
            "version": "v1",
            "preserveUnknownFields": False,
            "names": {"plural": "ks", "singular": "k", "kind": "K", "listKind": "KList"},
            "validation": schema,
            "subresources": {"status": {}},
            "additionalPrinterColumns": [{"name": "A", "type": "string", "JSONPath": ".a"}],
            "conversion": {
                "strategy": "Webhook",
                "webhookClientConfig": {"url": "https://x"},
                "conversionReviewVersions": ["v1"],
            },
            "versions": [
                {"name": "v1", "served": True, "storage": True},
                {"name": "v1beta1", "served": True, "storage": False, "deprecated": True},
            ],
        },
    }


def test_a_definition_prints_as_v1_with_what_its_versions_share_in_each() -> None:
    spec = as_v1(_beta())["spec"]
    assert set(spec) == {"group", "scope", "names", "conversion", "versions"}
    assert spec["conversion"] == {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v1"]},
    }
    for version in spec["versions"]:
        assert version["additionalPrinterColumns"] == [{"name": "A", "type": "string", "jsonPath": ".a"}]
        assert version["subresources"] == {"status": {}}
        assert "openAPIV3Schema" in version["schema"]
    assert as_v1(as_v1(_beta())) == as_v1(_beta())


def test_a_version_that_is_going_away_names_a_better_one() -> None:
    definition = parse_definition(_beta(), stored=False)

    def said(version: str) -> str:
        return deprecation_warning(definition, Resource("x.org", version, "K", "ks"))

    assert said("v1") == ""
    assert said("v1beta1") == "x.org/v1beta1 K is deprecated; use x.org/v1 K"
    assert deprecation_warning(None, Resource("", "v1", "Endpoints", "endpoints")).startswith(
        "v1 Endpoints is deprecated"
    )
