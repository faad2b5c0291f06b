"""The outline of a definition agrees with its full record, in all versions of the document."""

import pytest

from auditor.crds.definition import parse_definition
from auditor.crds.outline import VersionOutline, outline, skeleton, stored_versions
from auditor.golang.jsontext import GoJsonError, encode
from auditor.sources.crd_files import read_crd_documents
from tests.corpus import real_definitions


def reported(definition):
    return [VersionOutline(one.name, one.served, one.storage) for one in definition.versions.values()]


def test_real_definitions_are_outlined_as_they_parse():
    documents = read_crd_documents([str(real_definitions())])
    assert len(documents) > 60
    for document in documents:
        definition = parse_definition(document, stored=True)
        assert outline(document) == reported(definition)
        assert stored_versions(document) == list(definition.stored_versions)


@pytest.mark.parametrize(
    ("version", "spec", "status"),
    [
        ("v1beta1", {"version": "v1"}, {}),
        ("v1beta1", {"version": "v1", "versions": [{"name": "v2", "served": True, "storage": True}]}, {}),
        ("v1", {"versions": [{"name": "v1"}, {"name": "v2", "storage": True}, {"name": "v1", "served": True}]}, {}),
        ("v1", {"versions": [{"name": "v1", "storage": True}]}, {"storedVersions": ["v0", "v1"]}),
        ("v1", {"versions": [{"name": "v1", "storage": True}]}, {"storedVersions": []}),
        ("v1", {"versions": []}, {}),
        ("v1", {}, {}),
    ],
)
def test_every_form_is_outlined_as_it_parses(version, spec, status):
    document = {
        "apiVersion": f"apiextensions.k8s.io/{version}",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "xs.g"},
        "spec": {"group": "g", "names": {"plural": "xs", "kind": "X"}, "scope": "Cluster", **spec},
        "status": status,
    }
    definition = parse_definition(document, stored=True)
    assert outline(document) == reported(definition)
    assert stored_versions(document) == list(definition.stored_versions)


@pytest.mark.parametrize("spec", [5, None, {"versions": {}}, {"versions": [5, {"name": 7}]}, {"version": 3}])
def test_what_does_not_decode_has_no_versions(spec):
    document = {"spec": spec, "status": {"storedVersions": "x"}}
    assert outline(document) == stored_versions(document) == []


def agrees(document):
    made = skeleton(encode(document).encode())
    assert outline(made) == outline(document)
    assert stored_versions(made) == stored_versions(document)
    return made


def test_the_text_of_a_definition_is_outlined_without_its_schemas():
    for document in read_crd_documents([str(real_definitions())]):
        made = agrees(document)
        assert set(made) <= {"spec", "status"}
        assert all(set(version) <= {"name", "served", "storage"} for version in made["spec"]["versions"])


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"spec": None},
        {"spec": {"versions": None, "version": "v1"}},
        {"spec": {"versions": [], "version": "v1"}},
        {"spec": {"versions": [{"name": "v1", "storage": True}, None, 1]}},
        {"spec": {"versions": [{"name": 1, "served": "true"}]}, "status": {"storedVersions": [1, "v0"]}},
        {"spec": {"versions": {"name": "v1"}, "version": 1}, "status": []},
        {"status": {"storedVersions": "v1"}},
        [],
    ],
)
def test_a_text_of_any_form_is_outlined_as_its_document(document):
    if type(document) is dict:
        agrees(document)
    else:
        assert skeleton(encode(document).encode()) == document


def test_no_json_has_no_outline():
    with pytest.raises(GoJsonError):
        skeleton(b"{")
