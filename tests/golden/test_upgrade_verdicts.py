"""Create verdicts over the golden snapshot, key by key, beside what the real server answered.

The harness that asked the server named each object NAME-dr (NAME from the key), in the namespace of the key, dropped
what a server sets (uid, resourceVersion, creationTimestamp, managedFields, generation, ...) and the status where it is
a subresource, and sent that as a create. The same is done here to our read. Keys that still differ are listed in
upgrade-verdicts.json with the reason; a test fails when one of them starts to agree, or a new one appears. Versions
with validation rules are compared where the server's answer shows that no rule had a part in it.
"""

import base64
import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

import auditor
from auditor.golang import jsontext
from auditor.sources.crd_files import definitions_in
from tests.shared import shared, shared_lines

FOLDER = "golden/upgrade"
KNOWN = Path(__file__).parent / "upgrade-verdicts.json"
SERVER_SET = (
    "uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink", "deletionTimestamp",
    "deletionGracePeriodSeconds",
)  # fmt: skip
CRDS = "/registry/apiextensions.k8s.io/customresourcedefinitions/"


@pytest.fixture(scope="module")
def values():
    with gzip.open(shared(f"{FOLDER}/etcdctl-get.json.gz")) as stream:
        content = json.load(stream)
    return {
        base64.b64decode(row["key"]).decode("utf-8", "replace"): base64.b64decode(row.get("value", ""))
        for row in content["kvs"]
    }


@pytest.fixture(scope="module")
def catalog(values):
    documents = [jsontext.decode(data) for key, data in values.items() if key.startswith(CRDS)]
    return auditor.CrdCatalog.from_documents([d for doc in documents for d in definitions_in(doc)], stored=True)


def has_rules(node):
    if isinstance(node, dict):
        return bool(node.get("x-kubernetes-validations")) or any(has_rules(child) for child in node.values())
    return isinstance(node, list) and any(has_rules(child) for child in node)


def prepared(obj, row, *, has_status):
    """Return the object as the harness sent it, and as the server then completed it from the request."""
    out = {**obj, "metadata": {k: v for k, v in obj.get("metadata", {}).items() if k not in SERVER_SET}}
    out["metadata"]["name"] = f"{row['name']}-dr"
    if row.get("namespace") and not out["metadata"].get("namespace"):
        out["metadata"]["namespace"] = row["namespace"]
    if has_status:
        out.pop("status", None)
    return out


def causes(answer):
    """Return the causes of a server's refusal as a multiset of (field, type, text), empty for a success."""
    details = answer.get("body", {}).get("details", {})
    return Counter((c.get("field", ""), c["reason"], c["message"]) for c in details.get("causes", ()))


def compare(catalog, values):
    """Yield (key, version, ours, theirs) for every pair of key and served version that can be compared."""
    for row in shared_lines(f"{FOLDER}/expected.ndjson.gz"):
        definition = catalog.find(row["crd"])
        for version, answer in row.get("create", {}).items():
            read = auditor.audit_object(catalog, values[row["key"]], resource=row["crd"], version=version)
            if read.unreadable is not None or answer["code"] not in (201, 422):
                continue
            has_status = definition.versions[version].has_status
            sent = jsontext.encode(prepared(read.object, row, has_status=has_status)).encode()
            ours = auditor.audit_object(catalog, sent, resource=row["crd"], version=version)
            found = Counter((f.field, f.type, f.message.removeprefix(f"{f.field}: ")) for f in ours.findings)
            yield row["key"], version, found, causes(answer), bool(ours.unevaluated_rules)


def test_create_verdicts_equal_the_servers(catalog, values):
    known = json.loads(KNOWN.read_text()) if KNOWN.exists() else {}
    different, compared = {}, 0
    for key, version, ours, theirs, unevaluated in compare(catalog, values):
        if unevaluated and any(not check_is_ours(cause) for cause in theirs - ours):
            continue
        compared += 1
        if ours != theirs:
            different[f"{key} {version}"] = {"ours": sorted(ours - theirs), "server": sorted(theirs - ours)}
    assert compared > 900
    assert {key: value for key, value in different.items() if key not in known} == {}
    assert sorted(set(known) - set(different)) == [], "these agree now: take them out of the file"


def check_is_ours(cause):
    """Whether a cause can only come from another check than a rule."""
    field, reason, message = cause
    rule = (
        "some validation rules were not checked" in message or "failed rule" in message or "evaluating rule" in message
    )
    return (not rule and " in body " in message) or (reason == "FieldValueDuplicate" and field.endswith("]"))
