"""One definition from its document, in either form, defaulted and judged servable or not as the server does."""

import pickle

import pytest

from auditor.base.errors import SchemaError
from auditor.crds.definition import Scale, parse_definition
from tests.shared import second_check, shared_lines

NAMES = {"plural": "probes", "kind": "Probe"}
STRING = {"type": "object", "properties": {"a": {"type": "string"}}}


def document(version="v1", /, status=None, metadata=None, **spec):
    made = {
        "apiVersion": f"apiextensions.k8s.io/{version}",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "probes.probe.example.com", **(metadata or {})},
        "spec": {"group": "probe.example.com", "scope": "Namespaced", "names": NAMES, **spec},
    }
    return made if status is None else {**made, "status": status}


def v1(name="v1", schema=None, **more):
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": schema or STRING},
        **more,
    }


def test_names_are_defaulted_from_the_kind():
    definition = parse_definition(document(versions=[v1()]))
    assert (definition.plural, definition.singular, definition.kind, definition.list_kind) == (
        "probes",
        "probe",
        "Probe",
        "ProbeList",
    )
    assert definition.resource == "probes.probe.example.com"
    assert definition.conversion == "None"
    assert definition.namespaced
    assert definition.established
    assert not definition.preserve_unknown_fields
    assert definition.stored_versions == ("v1",)


def test_what_a_version_holds_is_read():
    version = v1(
        subresources={"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}},
        selectableFields=[{"jsonPath": ".spec.color"}],
        additionalPrinterColumns=[{"name": "C", "type": "string", "jsonPath": ".spec.color", "priority": 1}],
    )
    found = parse_definition(document(versions=[version])).versions["v1"]
    assert found.has_status
    assert found.scale == Scale(".spec.n", ".status.n")
    assert found.selectable_fields == (".spec.color",)
    assert found.printer_columns == ({"name": "C", "type": "string", "jsonPath": ".spec.color", "priority": 1},)
    assert found.schema.properties["a"].type == "string"
    assert found.structural is found.schema


@pytest.mark.parametrize(("subresources", "expected"), [({}, False), ({"status": None}, False), ({"status": {}}, True)])
def test_a_null_subresource_is_none(subresources, expected):
    definition = parse_definition(document(versions=[v1(subresources=subresources)]))
    assert definition.versions["v1"].has_status is expected


def test_the_old_form_is_hoisted_back_into_every_version():
    definition = parse_definition(
        document(
            "v1beta1",
            version="v1",
            versions=[
                {"name": "v1", "served": True, "storage": True},
                {"name": "v2", "served": False, "storage": False},
            ],
            validation={"openAPIV3Schema": STRING},
            subresources={"status": {}},
            additionalPrinterColumns=[{"name": "C", "type": "string", "JSONPath": ".spec.c"}],
            selectableFields=[{"jsonPath": ".spec.c"}],
            preserveUnknownFields=False,
        )
    )
    for version in definition.versions.values():
        assert version.schema.properties["a"].type == "string"
        assert version.has_status
        assert version.printer_columns == ({"name": "C", "type": "string", "jsonPath": ".spec.c"},)
        assert version.selectable_fields == (".spec.c",)
    assert [version.name for version in definition.served_versions] == ["v1"]
    assert definition.storage_version.name == "v1"


def test_the_old_form_with_a_version_alone_serves_and_stores_it():
    definition = parse_definition(document("v1beta1", version="v3", scope="", validation={"openAPIV3Schema": STRING}))
    assert definition.versions["v3"].served
    assert definition.storage_version.name == "v3"
    assert definition.namespaced


@pytest.mark.parametrize(
    ("form", "spec", "expected"),
    [
        ("v1", {}, False),
        ("v1", {"preserveUnknownFields": True}, True),
        ("v1beta1", {}, True),
        ("v1beta1", {"preserveUnknownFields": None}, True),
        ("v1beta1", {"preserveUnknownFields": False}, False),
    ],
)
def test_only_the_old_form_keeps_unknown_fields_by_default(form, spec, expected):
    assert parse_definition(document(form, versions=[v1()], **spec)).preserve_unknown_fields is expected


@pytest.mark.parametrize("schema", [None, {}, {"openAPIV3Schema": None}])
def test_a_version_without_schema_has_no_tree_and_is_served(schema):
    version = parse_definition(document(versions=[{**v1(), "schema": schema}])).versions["v1"]
    assert version.schema is None
    assert version.structural is None
    assert version.unserved_reason == ""


def test_of_two_versions_of_one_name_the_first_counts():
    definition = parse_definition(document(versions=[v1(schema={"type": "object"}), v1(schema=STRING)]))
    assert definition.versions["v1"].schema.properties == {}


def test_one_schema_that_does_not_convert_leaves_all_versions_unserved():
    bad = {"type": "object", "properties": {"a": {"items": [{}]}}}
    versions = parse_definition(document(versions=[v1(), v1("v2", schema=bad)])).versions
    for version in versions.values():
        assert version.unserved_reason == (
            "the server could not properly serve the CR schema: version v2: .properties[a]: "
            "OpenAPIV3Schema 'items' must be a schema, but is an array"
        )


def test_a_schema_that_does_not_convert_counts_as_absent_where_unknown_fields_are_kept():
    bad = {"type": "object", "properties": {"a": {"items": [{}]}}}
    version = parse_definition(document(versions=[v1(schema=bad)], preserveUnknownFields=True)).versions["v1"]
    assert version.unserved_reason == ""
    assert version.structural is None
    assert version.schema.properties["a"].legacy.items[0].type == ""


def test_a_default_at_the_root_that_is_no_object_cannot_be_served():
    versions = parse_definition(document(versions=[v1(schema={"type": "object", "default": 5})])).versions
    assert "object root default value must be of object type" in versions["v1"].unserved_reason


def test_an_unknown_conversion_strategy_cannot_be_served():
    versions = parse_definition(document(versions=[v1()], conversion={"strategy": "Magic"})).versions
    assert "unknown conversion strategy 'Magic'" in versions["v1"].unserved_reason


ACCEPTED = {"plural": "probes", "singular": "probe", "kind": "Accepted", "listKind": "AcceptedList"}


def test_a_stored_definition_goes_by_its_status():
    status = {
        "acceptedNames": ACCEPTED,
        "conditions": [{"type": "Established", "status": "True"}],
        "storedVersions": ["v0", "v1"],
    }
    given = document(versions=[v1()], status=status)
    stored = parse_definition(given, stored=True)
    assert (stored.kind, stored.list_kind, stored.established) == ("Accepted", "AcceptedList", True)
    assert stored.stored_versions == ("v0", "v1")
    assert parse_definition(given).kind == "Probe"


@pytest.mark.parametrize(
    ("conditions", "established"),
    [
        (None, False),
        ([{"type": "NamesAccepted", "status": "True"}], True),
        ([{"type": "NamesAccepted", "status": "False"}, {"type": "Established", "status": "True"}], True),
        ([{"type": "NamesAccepted", "status": "Unknown"}, {"type": "Established", "status": "False"}], False),
    ],
)
def test_a_stored_definition_is_established_by_either_condition(conditions, established):
    status = {"acceptedNames": ACCEPTED, "conditions": conditions}
    assert parse_definition(document(versions=[v1()], status=status), stored=True).established is established


def test_a_stored_definition_without_accepted_names_cannot_be_served_but_keeps_its_keys():
    definition = parse_definition(document(versions=[v1()], status={"acceptedNames": {"plural": ""}}), stored=True)
    assert definition.resource == "probes.probe.example.com"
    assert not definition.established
    assert "status.acceptedNames has no plural" in definition.versions["v1"].unserved_reason


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (5, "the document is not an object"),
        ({"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v2"}, "is of kind"),
        (document(versions={}), "Go struct field CustomResourceDefinitionSpec.spec.versions of type"),
        (document(versions=[v1(schema={"type": 5})]), "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.type"),
        (document(versions=[{"name": 1}]), "CustomResourceDefinitionVersion.spec.versions.name of type string"),
        (document(versions=[v1()], metadata={"labels": {"a": 1}}), "ObjectMeta.metadata.labels of type string"),
        (document("v1beta1", versions=[], names={"kind": []}), "CustomResourceDefinitionNames.spec.names.kind"),
    ],
)
def test_a_document_of_the_wrong_types_is_no_definition(given, text):
    with pytest.raises(SchemaError) as caught:
        parse_definition(given)
    assert text in caught.value.found


def test_a_definition_survives_pickling():
    definition = parse_definition(document(versions=[v1(schema={"type": "object", "default": {}})]))
    again = pickle.loads(pickle.dumps(definition))
    assert again.resource == definition.resource
    assert again.versions["v1"].structural.default == {}


@second_check("vectors", by="tests/crds/test_outline.py")
def test_every_definition_of_the_vectors_can_be_decoded():
    seen = 0
    for name in ("conformance-audit.jsonl", "conformance-versions.jsonl"):
        for case in shared_lines(f"vectors/{name}"):
            definition = parse_definition(case["crd"])
            assert definition.versions
            seen += 1
    assert seen > 400


PORT = {"type": "object", "properties": {"number": {"type": "integer"}}}


def test_positions_that_say_the_same_have_one_node():
    described = {**PORT, "description": "text is no part of it"}
    root = {"type": "object", "properties": {"from": PORT, "to": described, "all": {"type": "array", "items": PORT}}}
    other = {"type": "object", "properties": {"one": PORT}}
    found = parse_definition(document(versions=[v1("v1", root), v1("v2", other)])).versions
    tree = found["v1"].schema.properties
    assert tree["from"] is tree["to"] is tree["all"].items is found["v2"].schema.properties["one"]


@pytest.mark.parametrize(
    "other",
    [
        {**PORT, "nullable": True},
        {**PORT, "properties": {"number": {"type": "integer", "minimum": 0}}},
        {**PORT, "properties": {"count": {"type": "integer"}}},
        {**PORT, "default": {"number": 1}},
        {**PORT, "x-kubernetes-validations": [{"rule": "self.number > 0"}]},
    ],
)
def test_positions_that_say_something_else_have_nodes_of_their_own(other):
    root = {"type": "object", "properties": {"a": PORT, "b": other}}
    tree = parse_definition(document(versions=[v1("v1", root)])).versions["v1"].schema.properties
    assert tree["a"] is not tree["b"]


def test_values_that_python_takes_for_equal_are_distinguished():
    root = {"properties": {str(n): {"enum": [value]} for n, value in enumerate([1, True, 1.5, "1", [1], [True]])}}
    tree = parse_definition(document(versions=[v1("v1", root)])).versions["v1"].schema.properties
    assert len({id(node) for node in tree.values()}) == 6
    assert [node.enum for node in tree.values()] == [(1,), (True,), (1.5,), ("1",), ([1],), ([True],)]
