"""An audit with a state before: manifests are applied to what is there, objects of another dump are what it becomes."""

import json

import pyarrow.parquet as pq
import pytest

from auditor.plan.options import AuditOptions
from auditor.updates.apply import LAST_APPLIED, merged, replaced
from pipelines.run.audit import run_audit
from tests.validation.support import document

SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "maximum": 5},
        "name": {"type": "string", "minLength": 2},
        "other": {"type": "string"},
        "ports": {"type": "array", "items": {"type": "integer"}},
    },
}
CRD = document(
    {
        "type": "object",
        "properties": {"spec": SPEC, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
)


def foo(name, spec, **more):
    metadata = {"name": name, "namespace": "d", **more.pop("metadata", {})}
    return {"apiVersion": "g.io/v1", "kind": "Foo", "metadata": metadata, "spec": spec, **more}


def stored(name, spec, **more):
    own = {"uid": f"u-{name}", "resourceVersion": "7", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return foo(name, spec, metadata={**own, **more.pop("metadata", {})}, **more)


@pytest.fixture
def audit(tmp_path):
    def run(before, after, **options):
        paths = []
        for name, documents in (("old", before), ("new", after)):
            path = tmp_path / f"{name}.ndjson"
            path.write_text("".join(f"{json.dumps(one)}\n" for one in documents))
            paths.append(str(path))
        folder = tmp_path / "report"
        _, manifest = run_audit(
            AuditOptions(dumps=(paths[1],), old=(paths[0],), report=str(folder), force=True, **options)
        )
        tables = [
            {
                row["name"]: row
                for part in (folder / "objects").glob("*.parquet")
                for row in pq.read_table(part).to_pylist()
            },
            [row for part in (folder / "findings").glob("*.parquet") for row in pq.read_table(part).to_pylist()],
        ]
        return manifest, *tables

    return run


def test_a_manifest_is_merged_into_what_is_there(audit):
    manifest, objects, findings = audit([CRD, stored("a", {"size": 3, "ports": [1, 2]})], [foo("a", {"ports": [9]})])
    assert (objects["a"]["status"], objects["a"]["put_code"]) == ("valid", 200)
    assert findings == []
    assert manifest["changes"] == {"updated": 1}


def test_what_was_wrong_before_and_stays_is_tolerated(audit):
    _, objects, findings = audit([CRD, stored("a", {"size": 3, "name": ""})], [foo("a", {"other": "new"})])
    assert (objects["a"]["status"], objects["a"]["put_code"]) == ("invalid", 200)
    assert objects["a"]["impact"] == "tolerated-while-unchanged"
    assert [(f["request"], f["field"], f["verdict"], f["guard_path"]) for f in findings] == [
        ("create", "spec.name", "tolerated-while-unchanged", "spec.name")
    ]


def test_what_the_update_makes_wrong_is_refused(audit):
    _, objects, findings = audit([CRD, stored("a", {"size": 3, "name": ""})], [foo("a", {"size": 6})])
    assert objects["a"]["put_code"] == 422
    reported = {(f["request"], f["field"], f["verdict"]) for f in findings}
    assert reported == {
        ("create", "spec.name", "tolerated-while-unchanged"),
        ("create", "spec.size", "blocks-every-update"),
        ("put", "spec.size", "blocks-every-update"),
    }


def test_replace_sends_the_manifest_with_metadata_and_status_from_before(audit):
    before = [CRD, stored("a", {"size": 3}, status={"ready": True})]
    _, objects, findings = audit(before, [foo("a", {"other": "x"})], apply="replace")
    assert objects["a"]["put_code"] == 422
    assert ("put", "spec.size") in {(f["request"], f["field"]) for f in findings}
    assert objects["a"]["uid"] == "u-a"


def test_what_is_new_is_a_create_and_what_is_absent_is_untouched(audit):
    manifest, objects, findings = audit([CRD, stored("a", {})], [foo("b", {"size": 9})])
    assert set(objects) == {"b"}
    assert (objects["b"]["status"], objects["b"]["put_code"]) == ("invalid", None)
    assert [(f["request"], f["verdict"]) for f in findings] == [("create", None)]
    assert manifest["changes"] == {"created": 1}


def test_a_manifest_without_a_namespace_means_the_default_one(audit):
    old = stored("a", {"size": 3})
    old["metadata"]["namespace"] = "default"
    new = foo("a", {"other": "x"})
    del new["metadata"]["namespace"]
    manifest, objects, _ = audit([CRD, old], [new])
    assert manifest["changes"] == {"updated": 1}
    assert (objects["a"]["put_code"], objects["a"]["namespace"]) == (200, "default")


def test_the_last_of_two_old_objects_counts(audit):
    _, objects, _ = audit([CRD, stored("a", {}), stored("a", {"size": 3})], [foo("a", {"other": "x"})])
    assert objects["a"]["put_code"] == 200


def test_without_ratcheting_what_was_wrong_before_is_refused(audit):
    _, objects, _ = audit([CRD, stored("a", {"size": 3, "name": ""})], [foo("a", {"other": "new"})], ratcheting=False)
    assert objects["a"]["put_code"] == 422


LIVE = {
    "metadata": {"name": "a", "uid": "u", "annotations": {"x": "1"}},
    "spec": {"a": 1, "b": {"c": 1, "d": 2}, "l": [1, 2]},
    "status": {"s": 1},
}


def with_last_applied(live, last):
    metadata = {**live["metadata"], "annotations": {**live["metadata"]["annotations"], LAST_APPLIED: json.dumps(last)}}
    return {**live, "metadata": metadata}


def test_merging_keeps_what_the_manifest_does_not_mention():
    out = merged(LIVE, {"metadata": {"name": "a"}, "spec": {"b": {"c": 5}, "l": [9]}})
    assert out == {**LIVE, "spec": {"a": 1, "b": {"c": 5, "d": 2}, "l": [9]}}
    assert LIVE["spec"]["b"]["c"] == 1


def test_null_in_a_manifest_removes():
    assert merged(LIVE, {"spec": {"a": None, "gone": None, "b": {"c": None}}})["spec"] == {"b": {"d": 2}, "l": [1, 2]}


def test_what_the_last_apply_set_and_the_manifest_dropped_is_removed():
    live = with_last_applied(LIVE, {"metadata": {"name": "a"}, "spec": {"a": 1, "b": {"d": 2, "e": 1}}})
    out = merged(live, {"metadata": {"name": "a"}, "spec": {"b": {"c": 1}}})
    assert out["spec"] == {"b": {"c": 1}, "l": [1, 2]}


@pytest.mark.parametrize("text", ["{", "[]", "3"])
def test_an_unreadable_last_apply_is_as_none(text):
    live = {**LIVE, "metadata": {"annotations": {LAST_APPLIED: text}}}
    assert merged(live, {"spec": {"a": 2}})["spec"] == {**LIVE["spec"], "a": 2}


def test_replacing_keeps_only_metadata_and_status():
    out = replaced(LIVE, {"metadata": {"name": "a", "annotations": {}}, "spec": {"z": 1}})
    assert out == {"metadata": {"name": "a", "uid": "u", "annotations": {}}, "spec": {"z": 1}, "status": {"s": 1}}
    assert replaced(LIVE, {"status": {"s": 2}})["status"] == {"s": 2}


@pytest.mark.parametrize(
    ("metadata", "mode", "code"),
    [
        ({"resourceVersion": "7"}, "merge", 200),
        ({"resourceVersion": "6"}, "merge", 409),
        ({"resourceVersion": "6"}, "replace", 409),
        ({"resourceVersion": "x"}, "replace", 500),
        ({"resourceVersion": ""}, "merge", 422),
        ({"resourceVersion": ""}, "replace", 200),
        ({"uid": "other"}, "merge", 422),
        ({"uid": "other"}, "replace", 409),
        ({"uid": "other", "resourceVersion": "6"}, "merge", 409),
    ],
)
def test_preconditions_of_a_manifest_are_those_of_kubectl(audit, metadata, mode, code):
    # answered by kubectl 1.37.2 and a server of that release
    _, objects, _ = audit([CRD, stored("a", {"size": 3})], [foo("a", {"size": 4}, metadata=metadata)], apply=mode)
    assert objects["a"]["put_code"] == code


def test_preconditions_on_a_manifest_without_them_are_unknown(audit):
    _, objects, _ = audit([CRD, foo("a", {"size": 3})], [foo("a", {"size": 4}, metadata={"resourceVersion": "6"})])
    assert objects["a"]["put_code"] is None
