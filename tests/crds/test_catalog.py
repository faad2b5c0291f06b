"""The catalog: look-ups by name, documents that are not definitions, and its hash."""

import pickle
import sys

import pytest

from auditor.base.errors import PlanError
from auditor.crds.catalog import CrdCatalog


def document(plural="probes", group="probe.example.com", kind="Probe", versions=("v1",), **names):
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, **names},
            "versions": [{"name": name, "served": True, "storage": name == versions[0]} for name in versions],
        },
    }


PROBES = document(shortNames=["pb"], singular="probe", versions=("v1", "v2"))
OTHER = document(group="other.example.com")
APPLES = document("apples", "fruit.example.com", "Apple")


@pytest.mark.parametrize(
    "text",
    [
        "probes.probe.example.com",
        "probes",
        "Probe",
        "probe",
        "PB",
        "pb.probe.example.com",
        "Probe.probe.example.com",
        "probes.v2.probe.example.com",
    ],
)
def test_a_definition_is_found_by_any_of_its_names(text):
    catalog = CrdCatalog.from_documents([APPLES, PROBES])
    assert catalog.find(text).resource == "probes.probe.example.com"


@pytest.mark.parametrize(
    "text", ["", "prob", "probes.v3.probe.example.com", "probes.example.com", "apples.probe.example.com"]
)
def test_what_names_nothing_finds_nothing(text):
    assert CrdCatalog.from_documents([APPLES, PROBES]).find(text) is None


def test_a_name_of_two_kinds_is_refused_and_distinguished():
    catalog = CrdCatalog.from_documents([PROBES, OTHER])
    with pytest.raises(PlanError, match=r"probes\.other\.example\.com, probes\.probe\.example\.com"):
        catalog.find("probe")
    assert catalog.find("probe.other.example.com").group == "other.example.com"
    assert catalog.find("pb").group == "probe.example.com"


def test_kinds_are_found_by_group_and_kind():
    catalog = CrdCatalog.from_documents([PROBES, OTHER])
    assert catalog.by_group_kind("other.example.com", "Probe").group == "other.example.com"
    assert catalog.by_group_kind("other.example.com", "probe") is None


def test_documents_of_other_kinds_are_ignored():
    catalog = CrdCatalog.from_documents([None, 5, [], {"kind": "Pod"}, APPLES])
    assert list(catalog.crds) == ["apples.fruit.example.com"]
    assert catalog.broken == {}


def test_what_no_server_could_decode_is_named_and_stops_nothing():
    bad = {**document("bads"), "spec": {"versions": 5}}
    nameless = {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1alpha1"}
    catalog = CrdCatalog.from_documents([bad, nameless, APPLES])
    assert list(catalog.crds) == ["apples.fruit.example.com"]
    assert catalog.broken["bads.probe.example.com"].startswith("json: cannot unmarshal number into Go struct field")
    assert "v1alpha1" in catalog.broken["document 1"]


def test_a_schema_without_end_is_broken_too():
    props = {"type": "object"}
    for _ in range(5000):
        props = {"properties": {"a": props}}
    deep = document("deeps")
    deep["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": props}
    before = sys.getrecursionlimit()  # a command that another test ran here may have raised it
    sys.setrecursionlimit(1000)
    try:
        assert "nested too deeply" in CrdCatalog.from_documents([deep]).broken["deeps.probe.example.com"]
    finally:
        sys.setrecursionlimit(before)


def test_of_two_definitions_of_one_name_the_later_counts():
    catalog = CrdCatalog.from_documents([PROBES, document(kind="Later")])
    assert catalog.crds["probes.probe.example.com"].kind == "Later"


def test_status_counts_only_where_the_documents_are_stored():
    accepted = {"plural": "probes", "singular": "p", "kind": "Accepted", "listKind": "L"}
    given = {**PROBES, "status": {"acceptedNames": accepted, "conditions": []}}
    assert CrdCatalog.from_documents([given]).find("probes").kind == "Probe"
    stored = CrdCatalog.from_documents([given], stored=True).find("probes")
    assert (stored.kind, stored.established) == ("Accepted", False)


def test_the_hash_goes_by_content_alone():
    one = CrdCatalog.from_documents([PROBES, APPLES]).sha256()
    assert one == CrdCatalog.from_documents([APPLES, dict(reversed(PROBES.items()))]).sha256()
    assert one != CrdCatalog.from_documents([APPLES]).sha256()
    assert one != CrdCatalog.from_documents([APPLES, document()]).sha256()
    assert len(one) == 64


def test_a_catalog_cannot_be_changed_and_survives_pickling():
    catalog = CrdCatalog.from_documents([PROBES, {**document("bads"), "spec": 5}])
    with pytest.raises(TypeError):
        catalog.crds["x"] = catalog.find("probes")
    again = pickle.loads(pickle.dumps(catalog))
    assert again.sha256() == catalog.sha256()
    assert again.broken == catalog.broken


@pytest.mark.parametrize("wrong", ["kind: List", b"{}", 7, ["definitions.yaml"], [b"{}"], None])
def test_what_is_no_decoded_document_is_an_error_that_says_what_is(wrong):
    with pytest.raises(PlanError, match="expected decoded documents"):
        CrdCatalog.from_documents(wrong)


def test_a_list_and_a_single_document_are_documents():
    several = {"apiVersion": "v1", "kind": "List", "items": [APPLES]}
    for given in (APPLES, [APPLES], several, [several], [None, [APPLES]]):
        assert list(CrdCatalog.from_documents(given).crds) == ["apples.fruit.example.com"]
    assert repr(CrdCatalog.from_documents(several)) == "<CrdCatalog of 1 definition: apples.fruit.example.com>"
