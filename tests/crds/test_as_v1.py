"""Definitions in etcd's form, converted to the version that servers accept."""

import json
from pathlib import Path

import pytest

from auditor import check_crd
from auditor.crds.as_v1 import as_manifest, as_v1
from tests.upgrade.server.pairs import PAIRS

ANSWERS = json.loads((Path(__file__).parents[1] / "upgrade" / "server" / "answers.json").read_text())["answers"]


def stored(pair):
    name = f"/registry/apiextensions.k8s.io/customresourcedefinitions/{pair.old_document['metadata']['name']}"
    return json.loads(ANSWERS[pair.name]["stored"][name])


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_what_a_server_stored_comes_back_as_it_was_sent(pair):
    document = stored(pair)
    assert document["apiVersion"].endswith("/v1beta1")
    made = as_manifest(document)
    sent = pair.old_document
    sent["spec"].setdefault("conversion", {"strategy": "None"})
    if pair.flipped:
        for version in sent["spec"]["versions"]:
            version["storage"] = version["name"] == pair.flipped
    assert made == sent
    assert check_crd(made).findings == ()


def test_columns_webhooks_and_unknown_fields_of_v1beta1_are_renamed():
    made = as_v1(
        {
            "apiVersion": "apiextensions.k8s.io/v1beta1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.com"},
            "spec": {
                "group": "example.com",
                "version": "v1",
                "names": {"plural": "things", "kind": "Thing"},
                "additionalPrinterColumns": [{"name": "A", "type": "string", "JSONPath": ".spec.a"}],
                "conversion": {"strategy": "Webhook", "webhookClientConfig": {"url": "https://x"}},
            },
        }
    )
    assert made["spec"] == {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"singular": "thing", "listKind": "ThingList", "plural": "things", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".spec.a"}],
            }
        ],
        "conversion": {
            "strategy": "Webhook",
            "webhook": {"clientConfig": {"url": "https://x"}, "conversionReviewVersions": ["v1beta1"]},
        },
        "preserveUnknownFields": True,
    }


def test_a_definition_in_v1_is_left_alone():
    document = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {"group": "g"}}
    assert as_v1(document) is document
