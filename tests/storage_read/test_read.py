"""The storage read against the reference data: every vector, every key of the golden cluster, every damaged value."""

import base64
import gzip
import json

import pytest

from auditor.base.errors import SelectorError
from auditor.crds.catalog import CrdCatalog
from auditor.crds.definition import parse_definition
from auditor.golang.jsontext import decode
from auditor.selectors.selectable_fields import selectable
from auditor.storage_read.read import NO_METADATA, ReadError, choose_version, decode_value, read_object
from tests.shared import second_check, shared
from tests.sources.yaml.go_streams import documents

# The storage codec reads it, but no server can answer with it (shared/oracle/README.md).
LISTS = "*unstructured.Unstructured is not a list: no Items field in this object"


def same(ours, theirs):
    """Whether two JSON values are equal, numbers by value but never as booleans."""
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(one, theirs[key]) for key, one in ours.items())
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours == theirs


def bytes_of(case):
    text = case.get("objectText")
    if text is None:
        text = json.dumps(case["object"], separators=(",", ":"), ensure_ascii=False)  # keeps 1.0 apart from 1
    return text.encode("utf-8", "surrogatepass")


def go_lines(name):
    """Lines of NDJSON with the numbers that Go reads."""
    path = shared(name)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as stream:
        return [decode(line) for line in stream]


def definitions_of(case, cache={}):  # noqa: B006 - parsed once for all cases
    if "crd" in case:
        return [parse_definition(case["crd"])]
    if case["ref"] not in cache:
        found = documents(shared(f"corpus/crds/{case['ref']}").read_bytes())
        cache[case["ref"]] = [parse_definition(one) for one in found if one]
    return cache[case["ref"]]


def audit(case):
    """Read the object of a case: (result, selectable or None, select error or None)."""
    definitions = definitions_of(case)
    data = bytes_of(case)
    try:
        obj = decode(data)
    except ValueError:
        obj = None
    head = obj if isinstance(obj, dict) else {}
    if "resource" in case:
        definition = next(one for one in definitions if one.resource == case["resource"])
    else:
        catalog = CrdCatalog(definitions)
        group = str(head.get("apiVersion")).partition("/")[0]
        definition = catalog.by_group_kind(group, head.get("kind")) or definitions[0]
    if "resource" in case or "version" in case:
        version = choose_version(definition, obj, case.get("version"))
    elif len(definition.versions) == 1:
        version = next(iter(definition.versions))
    else:
        version = str(head.get("apiVersion")).partition("/")[2]
    read = read_object(definition, version, data)
    if read.object is None:
        return read, None, None
    try:
        return read, selectable(definition.versions[version], read.object, definition.namespaced), None
    except SelectorError as error:
        return read, None, error.found


def differences(case):
    expect = case["expect"]
    read, fields, error = audit(case)
    if "readError" in expect:
        return [] if read.unreadable is not None else ["read, though the server cannot"]
    if read.object is None:
        return [f"unreadable: {read.unreadable}"]
    found = []
    if not same(read.object, expect["object"]):
        found.append(f"object {json.dumps(read.object)} not {json.dumps(expect['object'])}")
    if list(read.pruned) != sorted(expect["pruned"] or []):
        found.append(f"pruned {read.pruned} not {expect['pruned']}")
    if fields != expect.get("selectable"):
        found.append(f"selectable {fields} not {expect.get('selectable')}")
    if error != (expect.get("selectError") or None):
        found.append(f"select error {error!r} not {expect.get('selectError')!r}")
    return found


def audits(name):
    return [case for case in go_lines(f"vectors/{name}") if "object" in case or "objectText" in case]


@second_check("vectors", by="tests/reference/test_vectors.py")
@pytest.mark.parametrize("name", ["conformance-audit.jsonl", "conformance-versions.jsonl", "real-audit.jsonl.gz"])
def test_every_audit_of_the_vectors_reads_as_the_server_reads_it(name):
    cases = audits(name)
    assert cases
    wrong = {case["name"]: found for case in cases if (found := differences(case))}
    assert wrong == {}


@second_check("vectors", by="tests/reference/test_vectors.py")
@pytest.mark.parametrize("name", ["conformance-audit.jsonl", "conformance-versions.jsonl"])
def test_reasons_of_unreadable_objects_are_the_servers(name):
    seen = 0
    for case in audits(name):
        reason = case["expect"].get("readError")
        if reason is None or reason.startswith("unusable CRD"):
            continue
        assert audit(case)[0].unreadable == reason
        seen += 1
    assert seen > 5


def golden_cluster():
    """Keys, values and definitions of the golden cluster, as its dump holds them."""
    with gzip.open(shared("golden/upgrade/etcdctl-get.json.gz")) as stream:
        rows = json.load(stream)["kvs"]
    values = {base64.b64decode(row["key"]).decode(): base64.b64decode(row.get("value", "")) for row in rows}
    prefix = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
    stored = [decode(value) for key, value in values.items() if key.startswith(prefix)]
    assert {one["apiVersion"] for one in stored} == {"apiextensions.k8s.io/v1beta1"}
    return values, CrdCatalog.from_documents(stored, stored=True)


def golden_difference(read, answer, revision):
    if answer["code"] != 200:
        message = answer["body"]["message"]
        if read.object is not None:
            return None if message == LISTS else f"read, but the server answered {answer['code']}: {message}"
        _, found, text = message.partition("object not decodable revision=")
        reason = text.partition(": ")[2]
        others = ("conversion webhook", "cbor:")  # the first is ours, the second the library's of the day
        if found and not reason.startswith(others) and read.unreadable != reason:
            return f"{read.unreadable!r} not {reason!r}"
        return None
    if read.object is None:
        return f"unreadable: {read.unreadable}"
    read.object["metadata"]["resourceVersion"] = str(revision)
    return None if same(read.object, answer["body"]) else f"{read.object} not {answer['body']}"


def test_every_key_of_the_golden_cluster_reads_as_its_server_answered():
    values, catalog = golden_cluster()
    assert not catalog.broken
    compared, wrong = 0, {}
    for line in go_lines("golden/upgrade/expected.ndjson.gz"):
        if "get" not in line:
            assert line["note"] == "key does not fit the scope"
            continue
        definition = catalog.crds[line["crd"]]
        assert definition.established
        assert {version.name for version in definition.served_versions} == set(line["get"])
        for version, answer in line["get"].items():
            read = read_object(definition, version, values[line["key"]])
            difference = golden_difference(read, answer, line["modRevision"])
            compared += 1
            if difference is not None:
                wrong[line["key"], version] = difference
    assert wrong == {}
    assert compared > 1200


def test_damaged_values_read_or_not_as_a_server_with_nothing_else_in_it():
    _, catalog = golden_cluster()
    cases = json.loads(shared("golden/upgrade/unlistable.json").read_text())
    assert cases
    for case in cases:
        _, group, plural, _, _ = case["key"].strip("/").split("/")
        read = read_object(catalog.crds[f"{plural}.{group}"], "v1", case["value"].encode())
        answer = case["noWatchCache"]["get"]
        if answer["code"] == 200:
            read.object["metadata"]["resourceVersion"] = answer["body"]["metadata"]["resourceVersion"]
            assert same(read.object, answer["body"]), case["case"]
        else:
            assert read.unreadable or answer["message"] == LISTS, case["case"]


def test_values_that_crash_the_server_are_unreadable_and_say_so():
    _, catalog = golden_cluster()
    cases = json.loads(shared("golden/upgrade/crash-cases.json").read_text())
    assert cases
    for case in cases:
        _, group, plural, _, _ = case["key"].strip("/").split("/")
        read = read_object(catalog.crds[f"{plural}.{group}"], "v1", base64.b64decode(case["value"]))
        assert read.unreadable == NO_METADATA


EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
TEXT = {"type": "string"}


def foos(conversion="None", **spec):
    """The definition of the worked examples of storage-read.md."""
    one = {"a": {**TEXT, "default": "A"}, "n": {**TEXT, "nullable": True}, "e": EMBEDDED}
    two = {"a": TEXT, "n": {**TEXT, "default": "NN"}, "z": {**TEXT, "default": "Z"}, "e": EMBEDDED}
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"properties": properties}}}},
        }
        for name, properties in (("v1", one), ("v2", two))
    ]
    return parse_definition(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "foos.g.io"},
            "spec": {
                "group": "g.io",
                "scope": "Namespaced",
                "names": {"plural": "foos", "kind": "Foo"},
                "versions": versions,
                "conversion": {"strategy": conversion},
                **spec,
            },
        }
    )


def read(version, stored, definition=None, /, **fields):
    obj = {"apiVersion": stored, "kind": "Foo", "metadata": {"name": "x"}, **fields}
    return read_object(definition or foos(), version, json.dumps(obj).encode())


@pytest.mark.parametrize(
    ("stored", "version", "spec", "expected", "pruned", "defaulted"),
    [
        ("v1", "v1", {}, {"a": "A"}, (), ("spec.a",)),
        ("v1", "v2", {"n": None}, {"a": "A", "n": None}, (), ("spec.a",)),
        ("v2", "v1", {"n": None}, {"n": "NN"}, ("spec.z",), ("spec.n",)),
        ("v2", "v2", {"q": 1}, {"n": "NN", "z": "Z"}, ("spec.q",), ("spec.n", "spec.z")),
        ("v1", "v1", {"e": {"metadata": None, "kind": None}}, {"a": "A", "e": {"metadata": {}}}, (), ("spec.a",)),
    ],
)
def test_the_stored_version_defaults_and_both_prune(stored, version, spec, expected, pruned, defaulted):
    found = read(version, f"g.io/{stored}", spec=spec)
    assert found.object["spec"] == expected
    assert found.object["apiVersion"] == f"g.io/{version}"
    assert found.object["metadata"] == {"generation": 1, "name": "x"}
    assert (found.pruned, found.defaulted, found.stored_version) == (pruned, defaulted, stored)


@pytest.mark.parametrize(
    ("stored", "version", "fields", "reason", "stored_version"),
    [
        ("g.io/v9", "v1", {}, "request to convert CR from an invalid group/version: g.io/v9", "v9"),
        (None, "v1", {}, ".apiVersion accessor error: <nil> is of the type <nil>, expected string", None),
        ("", "v1", {}, '/, Kind=Foo is unstructured and is not suitable for converting to "g.io/v1"', None),
        ("g.io/v1", "v9", {}, 'no version "v9" in CRD foos.g.io', None),
        (
            "g.io/v1",
            "v1",
            {"spec": {"e": {"metadata": []}}},
            "spec.e.metadata: Invalid value: []: json: cannot unmarshal array into Go value of type v1.ObjectMeta",
            "v1",
        ),
        (
            "g.io/v1",
            "v1",
            {"metadata": {"deletionTimestamp": "9999-12-31T23:59:59-01:00"}},
            'parsing time "10000-01-01T00:59:59Z" as "2006-01-02T15:04:05Z07:00": cannot parse "0-01-01T00:59:59Z" as "-"',
            "v1",
        ),
    ],
)
def test_what_cannot_be_read_says_why(stored, version, fields, reason, stored_version):
    found = read(version, stored, **fields)
    assert (found.object, found.unreadable, found.stored_version) == (None, reason, stored_version)
    assert not found.needs_conversion


def test_an_object_of_another_kind_keeps_everything_but_malformed_metadata():
    found = read("v2", "g.io/v1", kind="Bar", q=1, metadata={"name": "x", "labels": 5}, spec={"n": None})
    assert found.object == {
        "apiVersion": "g.io/v2",
        "kind": "Bar",
        "q": 1,
        "metadata": {"name": "x"},
        "spec": {"n": None},
    }
    assert (found.pruned, found.defaulted) == ((), ())


def test_an_object_of_another_kind_without_metadata_crashes_nothing():
    data = b'{"apiVersion":"g.io/v1","kind":"Bar"}'
    assert read_object(foos(), "v1", data).object == {"apiVersion": "g.io/v1", "kind": "Bar"}
    assert read_object(foos(), "v1", data.replace(b"Bar", b"Foo")).unreadable == NO_METADATA


def test_a_webhook_is_needed_only_for_another_version():
    assert read("v1", "g.io/v1", foos("Webhook"), spec={}).object["spec"] == {"a": "A"}
    found = read("v2", "g.io/v1", foos("Webhook"), spec={})
    assert found.unreadable == "conversion webhook needed: from g.io/v1 to g.io/v2"
    assert found.needs_conversion


def test_where_unknown_fields_are_kept_nulls_are_too_but_defaults_and_metadata_go_on():
    found = read(
        "v1", "g.io/v1", foos(preserveUnknownFields=True), spec={"q": None, "e": {"kind": 5}}, metadata={"labels": 5}
    )
    assert found.object["spec"] == {"a": "A", "q": None, "e": {}}
    assert found.object["metadata"] == {"generation": 1}


def test_a_definition_that_cannot_be_served_reads_nothing():
    found = read("v1", "g.io/v1", foos("Magic"))
    assert "unknown conversion strategy 'Magic'" in found.unreadable


def test_metadata_is_written_last():
    fields = {"metadata": {"name": "x", "deletionTimestamp": "0001-01-01T00:00:00Z", "generation": 3}}
    assert read("v1", "g.io/v1", **fields).object["metadata"] == {"name": "x", "generation": 3}


@pytest.mark.parametrize(
    ("obj", "asked", "expected"),
    [
        ({"apiVersion": "g.io/v2"}, None, "v2"),
        ({"apiVersion": "g.io/v2"}, "v9", "v9"),
        ({"apiVersion": "g.io/v9"}, None, "v1"),
        ({"apiVersion": "x.io/v2"}, None, "v1"),
        ({"apiVersion": 5}, None, "v1"),
        ({}, None, "v1"),
        (None, None, "v1"),
    ],
)
def test_the_version_is_the_objects_own_or_the_storage_version(obj, asked, expected):
    assert choose_version(foos(), obj, asked) == expected


def test_the_text_of_a_value_without_a_kind_has_each_broken_byte_replaced():
    with pytest.raises(ReadError) as caught:
        decode_value(b'{"k":"\xf0\x9f\x98"}')
    assert str(caught.value) == "Object 'Kind' is missing in '{\"k\":\"\ufffd\ufffd\ufffd\"}'"


TAKEN_AS = "unable to determine group/version/kind: cbor: cannot unmarshal"
CBOR_ERRORS = {
    "a2646b696e6463466f6f6178a2616101616102": 'cbor: found duplicate map key "a" at map element index 1',
    "a2646b696e64056178f7": f"{TAKEN_AS} positive integer into Go struct field v1.TypeMeta.kind of type string",
    "80": f"{TAKEN_AS} array into Go value of type v1.TypeMeta (cannot decode CBOR array to struct without toarray option)",
    "a26161016161": "unable to determine group/version/kind: unexpected EOF",
}


@pytest.mark.parametrize("text", CBOR_ERRORS)
def test_cbor_that_is_refused_is_so_in_the_words_of_the_server(text):
    with pytest.raises(ReadError) as caught:
        decode_value(bytes.fromhex("d9d9f7" + text))
    assert str(caught.value) == CBOR_ERRORS[text]
