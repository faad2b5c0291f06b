"""Upgrade scans of small clusters, end to end: what each change of a definition does to stored objects."""

import json

import pytest

from auditor import audit_object, check_update
from auditor.crds.catalog import CrdCatalog
from auditor.plan.options import RunScope
from tests.command import auditor
from tests.upgrade.support import NAME, crd, managed, scan, spec, string, summary_of, thing, version, write_crds

OLD = crd(version(spec(a=string(), b=string())), stored=["v1"])


def scanned(tmp_path, old_spec, new_spec, *objects, **options):
    return scan(tmp_path, [crd(version(old_spec), stored=["v1"])], [crd(version(new_spec))], objects, **options)


def test_design_example_a_field_that_became_too_short_is_tolerated_and_a_create_is_refused(tmp_path):
    old, new = spec(myField=string(), myOtherField=string()), spec(myField=string(minLength=2), myOtherField=string())
    stored = thing("a", {"myField": "", "myOtherField": "x"})
    done = scanned(tmp_path, old, new, stored)
    assert done.definition["categories"] == {"tolerated": 1}
    assert done.changes() == [
        ("a", "verdict", None, "valid", "tolerated-while-unchanged"),
        ("a", "verdict", "spec.myField", None, "tolerated-while-unchanged"),
    ]
    assert done.definition["sentence"].startswith("attention: 1 object becomes invalid: tolerated")
    message = 'spec.myField: Invalid value: "": spec.myField in body should be at least 2 chars long'
    assert [row["message"] for row in done.rows("findings")] == [message]
    assert [(row["put_code"], row["impact"]) for row in done.rows("objects") if row["name"] == "a"] == [
        (200, "tolerated-while-unchanged")
    ]
    assert done.code == 1
    # As the design words it, with the field at the root; and the other field may be set.
    top = {"type": "object", "properties": {"myField": string(minLength=2), "myOtherField": string()}}
    flat = crd({"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": top}})
    catalog = CrdCatalog.from_documents([flat])
    body = {key: stored[key] for key in ("apiVersion", "kind", "metadata")} | {"myField": "", "myOtherField": "x"}
    [found] = audit_object(catalog, json.dumps(body).encode()).findings
    assert found.message == 'myField: Invalid value: "": myField in body should be at least 2 chars long'
    body["metadata"] = {**body["metadata"], "resourceVersion": "7"}
    update = check_update(catalog, body, {**body, "myOtherField": "y"})
    assert not update.findings


def test_nothing_that_changes_is_unchanged_and_safe(tmp_path):
    done = scan(tmp_path, [OLD], [OLD], [thing("a", {"a": "x"}), thing("b", {"a": 5})])
    assert (done.code, done.section["sentence"]) == (0, "safe")
    assert done.definition["categories"] == {"unchanged": 2}, "what was invalid before is not the upgrade's doing"
    assert done.changes() == []


def test_pruned_paths_carry_the_stored_value(tmp_path):
    item = spec(k=string(), l=string())
    old = spec(a=string(), m={"type": "object", "additionalProperties": item}, l={"type": "array", "items": item})
    new = spec(
        m={"type": "object", "additionalProperties": spec(k=string())}, l={"type": "array", "items": spec(k=string())}
    )
    stored = thing("a", {"a": "gone", "m": {"x.y": {"k": "1", "l": "2"}}, "l": [{}, {"l": "3"}], "unknown": "before"})
    done = scanned(tmp_path, old, new, stored)
    assert done.changes() == [
        ("a", "pruned", "spec.a", "gone", None),
        ("a", "pruned", "spec.l[1].l", "3", None),
        ("a", "pruned", "spec.m.x.y.l", "2", None),
    ]
    assert done.definition["categories"] == {"data-loss": 1}
    assert done.section["decision"] == "blocks"
    assert "1 object loses stored data" in done.section["sentence"]
    assert {(one["field"] if "field" in one else one["path"]) for one in done.definition["changes"]} == {
        "spec.a", "spec.l[*].l", "spec.m.x.y.l",
    }  # fmt: skip


def test_a_part_that_goes_whole_is_reported_once_with_all_that_was_stored(tmp_path):
    stored = thing("a", {"o": {"k": 1, "stray": 2}})
    done = scanned(tmp_path, spec(o=spec(k={"type": "integer"})), spec(a=string()), stored)
    assert done.changes("pruned") == [("a", "pruned", "spec.o", {"k": 1, "stray": 2}, None)]


def test_a_value_that_was_stored_and_hidden_is_shown_again(tmp_path):
    done = scanned(tmp_path, spec(a=string()), spec(a=string(), b=string()), thing("a", {"a": "x", "b": "y"}))
    assert done.changes() == [("a", "pruned", "spec.b", None, "y")]
    assert done.definition["categories"] == {"drift": 1}


@pytest.mark.parametrize(
    ("old", "new", "stored", "expected"),
    [
        (string(), string(default="x"), {}, ("defaulted", None, "x")),
        (string(default="x"), string(default="y"), {}, ("default-changed", "x", "y")),
        (string(default="x"), string(), {}, ("default-changed", "x", None)),
        (string(default="x"), string(default="y"), {"f": "z"}, None),
        ({"type": "integer", "default": 1}, {"type": "number", "default": 1.0}, {}, None),
        ({"type": "number", "default": 1}, {"type": "number", "default": 1.5}, {}, ("default-changed", 1, 1.5)),
        ({"type": "boolean", "default": True}, {"type": "integer", "default": 1}, {}, ("default-changed", True, 1)),
        (
            spec(a=string(default="x")) | {"default": {}},
            spec(a=string(default="x"), b=string(default="y")) | {"default": {}},
            {},
            ("default-changed", {"a": "x"}, {"a": "x", "b": "y"}),
        ),
    ],
)
def test_defaults_that_come_go_or_change(tmp_path, old, new, stored, expected):
    done = scanned(tmp_path, spec(f=old), spec(f=new), thing("a", stored))
    found = [row for row in done.changes() if row[1] != "verdict"]
    assert found == ([] if expected is None else [("a", expected[0], "spec.f", *expected[1:])])
    assert [type(value) for row in found for value in row[3:]] == (
        [] if expected is None else [type(v) for v in expected[1:]]
    )
    assert ("drift" in done.definition["categories"]) == (expected is not None)


@pytest.mark.parametrize(
    ("old", "new", "stored", "expected"),
    [
        (string(nullable=True), string(), None, (None, None)),
        (string(nullable=True), string(default="x"), None, (None, "x")),
        (string(nullable=True, default="w"), string(default="x"), None, (None, "x")),
        (None, string(), None, (None, None)),
        (string(nullable=True), string(nullable=True, default="x"), None, None),
        (string(), string(default="x"), None, None),
        (string(nullable=True, default=None), string(), "absent", None),
    ],
)
def test_a_stored_null_that_is_no_longer_allowed_is_lost(tmp_path, old, new, stored, expected):
    before = spec(f=old) if old else {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    done = scanned(tmp_path, before, spec(f=new), thing("a", {"f": stored} if stored is None else {}))
    [definition] = done.section["definitions"]
    lost = [(path, old, new) for _, change, path, old, new in done.changes() if change == "pruned"]
    assert lost == ([] if expected is None else [("spec.f", *expected)])
    assert ("data-loss" in definition["categories"]) == (expected is not None)
    if expected is not None:
        assert definition["sentence"].startswith("blocks, because 1 object loses stored data (spec.f)")
        assert {change["change"] for change in definition["schema_changes"] if change["objects"]} == {"null no longer allowed" if old else "unknown fields pruned"}  # fmt: skip
        assert definition["samples"]["data-loss"][0]["text"] == "spec.f = null"


def test_selectors_that_see_something_else(tmp_path):
    field = [{"jsonPath": ".spec.color"}]
    old = crd(version(spec(color=string()), selectableFields=[*field, {"jsonPath": ".spec.size"}]), stored=["v1"])
    old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"] = string()
    new = crd(version(spec(color=string(default="red"), size=string()), selectableFields=field))
    done = scan(tmp_path, [old], [new], [thing("a", {}), thing("b", {"color": "blue"})])
    assert done.changes() == [
        ("a", "defaulted", "spec.color", None, "red"),
        ("a", "selector", "spec.color", "", "red"),
    ]
    assert done.definition["selectable_fields_removed"] == [{"version": "v1", "field": "spec.size"}]
    assert done.definition["categories"] == {"drift": 1, "selector": 1, "unchanged": 1}
    assert "1 value of spec.color selects differently" in summary_of(str(done.folder))
    assert 'spec.color: "" -> "red"' in auditor("changes", done.folder).stdout
    assert "1 unchanged, 1 drift, 1 selector" in auditor("changes", done.folder).stdout


def test_root_rules_block_and_fields_are_tolerated(tmp_path):
    old = crd(version(spec(a=string())), stored=["v1"])
    new = crd(version(spec(a=string())))
    new["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [
        {"rule": "self.spec.a == 'good'", "message": "not good"}
    ]
    wrote = managed("kubectl", "2026-03-04T05:06:07Z", {"f:spec": {"f:a": {}}})
    bad = thing("bad", {"a": "bad"}, metadata={"managedFields": [wrote]})
    done = scan(tmp_path, [old], [new], [bad, thing("good", {"a": "good"})])
    assert done.definition["categories"] == {"blocked": 1, "unchanged": 1}
    assert done.section["sentence"] == (f"blocks, because of {NAME} (updates of 1 object that pass today are refused)")
    [sample] = done.definition["samples"]["blocked"]
    assert sample["text"].endswith("not good")
    assert sample["command"].endswith("/registry/example.com/things/default/bad")
    assert done.definition["migration"]["rewrites"] == {"passed": 1, "refused": 1, "unknown": 0}


def test_the_sample_says_who_last_wrote_the_field(tmp_path):
    early = managed("helm", "2026-01-01T00:00:00Z", {"f:spec": {"f:a": {}, "f:b": {}}})
    late = managed("operator", "2026-03-04T05:06:07Z", {"f:spec": {"f:a": {}}})
    stored = thing("a", {"a": "long", "b": "x"}, metadata={"managedFields": [early, late]})
    done = scanned(tmp_path, spec(a=string(), b=string()), spec(a=string(maxLength=2)), stored)
    [invalid] = done.definition["samples"]["tolerated"]
    assert (invalid["last_manager"], invalid["last_write"]) == ("operator", "2026-03-04T05:06:07Z")
    [lost] = done.definition["samples"]["data-loss"]
    assert (lost["text"], lost["last_manager"]) == ('spec.b = "x"', "helm")


def test_what_gets_better_is_repaired_and_what_stays_bad_is_distinguished(tmp_path):
    def definition(rule, **more):
        one = crd(version(spec(a=string(), b=string())), **more)
        one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [{"rule": rule}]
        return one

    old = definition("self.spec.a == 'x' && self.spec.b == 'x'", stored=["v1"])
    objects = [
        thing("bad", {"a": "y", "b": "y"}),
        thing("repaired", {"a": "x", "b": "y"}),
        thing("ok", {"a": "x", "b": "x"}),
    ]
    done = scan(tmp_path, [old], [definition("self.spec.a == 'x'")], objects)
    assert done.definition["categories"] == {"broken-before": 1, "mended": 1, "unchanged": 1}
    assert done.code == 0


def test_where_update_verdicts_are_left_out_no_summary_claims_that_objects_are_tolerated(tmp_path):
    done = scanned(tmp_path, spec(a=string()), spec(a=string(minLength=2)), thing("a", {"a": "x"}), skip=("updates",))
    assert done.definition["categories"] == {"invalid": 1}
    assert "whether updates pass is not known" in done.definition["sentence"]
    assert done.code == 1


def test_what_can_no_longer_be_read_breaks_the_kind(tmp_path):
    preserved = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    new = spec(e={**preserved, "x-kubernetes-embedded-resource": True})
    objects = [thing("bad", {"e": {"metadata": "text"}}), thing("good", {"e": {"apiVersion": "v1", "kind": "A"}})]
    done = scanned(tmp_path, spec(e=preserved), new, *objects, fail_on="unreadable")
    assert done.definition["categories"] == {"unreadable": 1, "unchanged": 1}
    assert done.changes() == [("bad", "verdict", None, "valid", "unreadable")]
    [sample] = done.definition["samples"]["unreadable"]
    assert "cannot unmarshal string into Go value of type v1.ObjectMeta" in sample["text"]
    assert "can no longer be read" in done.section["sentence"]
    assert done.code == 1


# -- versions ----------------------------------------------------------------------------------------------------------


def two(first_storage, **more):
    """Return a definition with v1alpha1 and v1."""
    schema = spec(a=string(), b=string())
    return crd(
        version(schema, "v1alpha1", storage=first_storage), version(schema, "v1", storage=not first_storage), **more
    )


def test_a_version_that_goes_while_objects_are_stored_at_it(tmp_path):
    objects = [thing(f"old-{number}", {"a": "x"}, at="v1alpha1") for number in range(3)] + [thing("new", {"a": "x"})]
    old = two(first_storage=False, stored=["v1alpha1", "v1"])
    done = scan(tmp_path, [old], [crd(version(spec(a=string(), b=string())))], objects)
    found = done.definition
    assert found["categories"] == {"unchanged": 1, "unmigrated": 3}
    assert found["versions_removed"] == ["v1alpha1"]
    assert found["objects_stored"] == {"v1": 1, "v1alpha1": 3}
    assert found["stored_versions_to_migrate"] == ["v1alpha1"]
    assert found["refusals"][0].startswith('status.storedVersions[0]: Invalid value: "v1alpha1": missing from')
    assert found["decision"] == "blocks"
    assert "rewrite 3 objects stored as v1alpha1, take v1alpha1 out of status.storedVersions" in found["sentence"]
    assert [step["do"] for step in found["plan"]["steps"]] == ["rewrite", "stored-versions", "apply", "check"]
    assert {(row[0], row[3], row[4]) for row in done.changes("verdict")} == {
        (f"old-{number}", "valid", "unreadable") for number in range(3)
    }
    statuses = {row["name"]: row["status"] for row in done.rows("objects")}
    assert statuses["old-0"] == "unreadable"
    assert done.code == 1


def test_what_is_lost_once_it_is_migrated_is_reported_before(tmp_path):
    done = scan(
        tmp_path,
        [two(first_storage=False, stored=["v1alpha1", "v1"])],
        [crd(version(spec(a=string(minLength=3))))],
        [thing("old", {"a": "x", "b": "y"}, at="v1alpha1")],
    )
    assert done.definition["categories"] == {"unmigrated": 1, "data-loss": 1, "tolerated": 1}
    assert ("old", "pruned", "spec.b", "y", None) in done.changes()
    assert ("old", "verdict", "spec.a", None, "tolerated-while-unchanged") in done.changes()
    assert done.section["decision"] == "blocks"


def test_migration_that_would_be_refused_blocks(tmp_path):
    old = two(first_storage=False, stored=["v1alpha1", "v1"])
    for one in old["spec"]["versions"]:
        one["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [{"rule": "has(self.spec.a)"}]
    done = scan(tmp_path, [old], [crd(version(spec(a=string(), b=string())))], [thing("old", {}, at="v1alpha1")])
    assert done.definition["migration"]["refused_before"] == 1
    assert "cannot be migrated" in done.definition["sentence"]


def test_a_version_without_objects_only_has_to_leave_the_status(tmp_path):
    old = two(first_storage=False, stored=["v1alpha1", "v1"])
    done = scan(tmp_path, [old], [crd(version(spec(a=string(), b=string())))], [thing("new", {})])
    assert done.definition["decision"] == "blocks"
    assert [step["do"] for step in done.definition["plan"]["steps"]] == ["stored-versions", "apply", "check"]


def test_no_version_in_common_cannot_be_migrated(tmp_path):
    done = scan(tmp_path, [OLD], [crd(version(spec(a=string()), "v2"))], [thing("a", {"a": "x"})])
    assert done.definition["categories"] == {"unreadable": 1}
    assert done.section["decision"] == "blocks"
    [sample] = done.definition["samples"]["unreadable"]
    assert "request to convert CR from an invalid group/version" in sample["text"]


def test_managed_fields_at_a_version_that_goes(tmp_path):
    entry = managed("kubectl", "2026-03-04T05:06:07Z", {"f:spec": {"f:a": {}}}, at="v1alpha1")
    old = two(first_storage=False, stored=["v1"])
    objects = [thing("a", {"a": "x"}, metadata={"managedFields": [entry]}), thing("b", {"a": "x"})]
    done = scan(tmp_path, [old], [crd(version(spec(a=string(), b=string())))], objects)
    assert [(one["version"], one["objects"]) for one in done.definition["managed_fields"]] == [("v1alpha1", 1)]
    assert "v1alpha1 is taken out of the managedFields of 1 object" in done.definition["sentence"]


def test_managed_fields_of_objects_that_are_to_be_migrated_count_too(tmp_path):
    entry = managed("kubectl", "2026-03-04T05:06:07Z", {"f:spec": {"f:a": {}}}, at="v1alpha1")
    old = two(first_storage=False, stored=["v1alpha1", "v1"])
    objects = [thing("a", {"a": "x"}, at="v1alpha1", metadata={"managedFields": [entry]})]
    done = scan(tmp_path, [old], [crd(version(spec(a=string(), b=string())))], objects)
    assert [(one["version"], one["objects"]) for one in done.definition["managed_fields"]] == [("v1alpha1", 1)]
    assert done.definition["migration"]["rewrites"] == {"passed": 1, "refused": 0, "unknown": 0}


@pytest.mark.parametrize(("at", "versions"), [("served", {"v1", "v1alpha1"}), ("v1alpha1", {"v1alpha1"})])
def test_objects_are_compared_at_each_version_that_is_asked_for(tmp_path, at, versions):
    old = two(first_storage=False, stored=["v1"])
    new = crd(version(spec(a=string(maxLength=1)), "v1alpha1", storage=False), version(spec(a=string()), "v1"))
    done = scan(tmp_path, [old], [new], [thing("a", {"a": "xx", "b": "y"})], at=at)
    rows = done.rows("changes")
    assert {row["audited_version"] for row in rows if row["change"] == "pruned"} == versions
    assert {row["audited_version"] for row in rows if row["change"] == "verdict"} == {"v1alpha1"}
    assert {row["stored_version"] for row in rows} == {"v1"}


def test_a_new_storage_version_counts_what_is_to_be_written_again(tmp_path):
    old, new = two(first_storage=True, stored=["v1alpha1"]), two(first_storage=False)
    done = scan(tmp_path, [old], [new], [thing("a", {"a": "x"}, at="v1alpha1"), thing("b", {"a": "x"})])
    assert (done.definition["storage_before"], done.definition["storage_after"]) == ("v1alpha1", "v1")
    assert done.definition["migration"]["to_migrate"] == 1
    assert done.section["decision"] == "safe"
    assert "storage version: v1alpha1 before, v1 after" in summary_of(str(done.folder))
    versions = {row["version"]: row for row in read_versions(done)}
    assert versions["v1"]["in_stored_versions"], "as the server notes it when it takes the new definition"


def read_versions(done):
    import pyarrow.parquet as pq

    return pq.read_table(done.folder / "versions.parquet").to_pylist()


def test_objects_that_only_a_webhook_can_read_from_now_on(tmp_path):
    webhook = {
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://x.example/"}},
    }
    old, new = two(first_storage=True, stored=["v1alpha1"]), two(first_storage=False)
    old["spec"]["conversion"] = new["spec"]["conversion"] = webhook
    done = scan(tmp_path, [old], [new], [thing("a", {"a": "x"}, at="v1alpha1")])
    assert done.definition["categories"] == {"needs-conversion": 1}
    assert "the conversion webhook answers" in done.definition["sentence"]


# -- definitions -------------------------------------------------------------------------------------------------------


def test_what_the_server_refuses_is_in_its_words(tmp_path):
    new = crd(version(spec(a=string(pattern="("))))
    new["spec"]["scope"] = "Cluster"
    done = scan(tmp_path, [OLD], [new], [thing("a", {"a": "x"})], fail_on="blocked")
    assert done.code == 1
    assert any(
        text.startswith("spec.scope: Invalid value:") and "immutable" in text for text in done.definition["refusals"]
    )
    assert done.definition["sentence"].startswith("blocks, because the server refuses the definition: ")


def test_missing_definitions_are_kept_or_deleted_with_their_objects(tmp_path):
    other = crd(version(spec(a=string())), stored=["v1"], plural="others", kind="Other")
    for missing, code, decision in (("keep", 0, "safe"), ("delete", 1, "blocks")):
        folder = tmp_path / missing
        folder.mkdir()
        done = scan(folder, [OLD, other], [crd(version(spec(a=string())), plural="others", kind="Other")],
                    [thing("a", {"a": "x"})], missing=missing, fail_on="data-loss")  # fmt: skip
        assert (done.code, done.section["decision"]) == (code, decision)
        gone = [one for one in done.section["definitions"] if one["action"] == "delete"]
        assert [one["sentence"] for one in gone] == (
            ["blocks, because 1 object is deleted with it"] if missing == "delete" else []
        )


def test_a_new_definition_adopts_keys_without_an_owner(tmp_path):
    done = scan(
        tmp_path, [], [crd(version(spec(a=string(minLength=2))))], [thing("a", {"a": "x"}), thing("b", {"a": "xx"})]
    )
    assert done.definition["action"] == "create"
    assert ("b", "verdict", None, "orphaned", "valid") in done.changes()
    assert done.definition["categories"] == {"tolerated": 1, "unchanged": 1}


def test_what_is_out_of_scope_is_not_called_safe(tmp_path):
    other = crd(version(spec(a=string())), stored=["v1"], plural="others", kind="Other")
    new = [crd(version(spec(a=string()))), crd(version(spec(a=string())), plural="others", kind="Other")]
    objects = [thing("a", {"a": "x", "b": "y"})]
    done = scan(tmp_path, [OLD, other], new, objects, scope=RunScope(include=("Other.example.com",)))
    assert [one["name"] for one in done.section["definitions"]] == ["others.example.com"]
    assert (done.code, done.section["decision"]) == (0, "unknown")
    assert "no object was judged, 3 keys out of scope" in done.section["sentence"]


# -- formats -----------------------------------------------------------------------------------------------------------


def test_unknown_formats_are_listed_and_what_would_fail_is_counted(tmp_path):
    new = spec(a=string(format="k8s-name"), l={"type": "array", "items": string(format="other")})
    objects = [thing("a", {"a": "good.name", "l": ["x", "y"]}), thing("b", {"a": "Bad_Name"})]
    done = scanned(tmp_path, spec(a=string(), l={"type": "array", "items": string()}), new, *objects,
                   assumptions={"k8s-name": "k8s-long-name"})  # fmt: skip
    found = [(one["field"], one["format"], one["values"], one["failing"]) for one in done.definition["formats"]]
    assert found == [("spec.a", "k8s-name", 2, 1), ("spec.l[*]", "other", 2, None)]
    [sample] = done.definition["formats"][0]["samples"]
    assert sample["text"] == '"Bad_Name"'
    assert done.definition["warnings"] == ['unrecognized format "k8s-name"', 'unrecognized format "other"']


# -- gates -------------------------------------------------------------------------------------------------------------


def gated(*gates):
    one = crd(version(spec(replicas={"type": "integer"}, extra=string())))
    one["spec"]["customFeatureGates"] = {"featureGates": list(gates)}
    return one


def gate(name, path, stage="alpha", **more):
    return {"name": name, "preRelease": stage, "fieldPaths": [path], **more}


def test_gates_that_come_go_graduate_and_close_with_the_objects_that_use_their_fields(tmp_path):
    old = gated(gate("Replicas", ".spec.replicas", enabled=True), gate("Extra", ".spec.extra", "beta", default=True))
    new = gated(gate("Replicas", ".spec.replicas", enabled=False), gate("Extra", ".spec.extra", "stable"))
    old_file = write_crds(tmp_path / "old-crds.json", old)
    done = scan(tmp_path, [OLD], [new], [thing("a", {"replicas": 1, "extra": "x"}), thing("b", {"extra": "x"})],
                crds=(str(old_file),))  # fmt: skip
    found = done.definition["gates"]
    assert [(one["gate"], one["change"], one["before"], one["after"]) for one in found["changes"]] == [
        ("Extra", "graduated", "beta, on", "stable, on"),
        ("Replicas", "switched-off", "alpha, on", "alpha, off"),
    ]
    assert found["changes"][0]["fields"] == [{"field": ".spec.extra", "objects": 2}]
    [closed] = found["closed"]
    assert (closed["field"], closed["objects"]) == (".spec.replicas", 1)
    assert closed["samples"][0]["key"].endswith("/things/default/a")
    assert "1 object has .spec.replicas, which is switched off" in done.definition["sentence"]
    assert done.changes() == [], "gates act on writes only"
    said = summary_of(str(done.folder))
    assert "gate Extra graduated (beta, on -> stable, on): .spec.extra in 2 objects" in said
    assert "gate Replicas switched off (alpha, on -> alpha, off): .spec.replicas in 1 object" in said
    assert ".spec.replicas is off now: stored values remain, but can no longer be written" in said


def test_gates_that_a_server_dropped_count_as_added(tmp_path):
    done = scan(tmp_path, [OLD], [gated(gate("Replicas", ".spec.replicas"))], [thing("a", {"a": "x"})])
    assert [one["change"] for one in done.definition["gates"]["changes"]] == ["added"]
    assert scan(tmp_path, [OLD], [OLD], [], force=True).definition["gates"] is None


# -- the run -----------------------------------------------------------------------------------------------------------


def test_any_number_of_workers_gives_the_same_rows(tmp_path):
    objects = [thing(f"t-{number:03}", {"a": "x" * (number % 4), "b": "y"}) for number in range(60)]
    done = []
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        folder.mkdir()
        done.append(scan(folder, [OLD], [crd(version(spec(a=string(minLength=2, default="ab"))))], objects, jobs=jobs,
                         shard_rows=7))  # fmt: skip
    assert done[0].changes() == done[1].changes()
    assert len(done[0].changes("pruned")) == 60
    assert done[0].definition["categories"] == done[1].definition["categories"]
    assert [row["key"] for row in done[0].rows("changes")] == sorted(row["key"] for row in done[0].rows("changes"))


@pytest.mark.parametrize(
    ("new", "code_by_level"),
    [
        (spec(a=string(), b=string()), {"invalid": 0}),
        (spec(a=string(minLength=9), b=string()), {"data-loss": 0, "invalid": 1}),
        (spec(a=string()), {"blocked": 0, "data-loss": 1, "invalid": 1, "never": 0}),
        (spec(a=string(default="x"), b=string()), {"invalid": 0}),
    ],
)
def test_fail_on_goes_by_what_changes(tmp_path, new, code_by_level):
    for level, code in code_by_level.items():
        folder = tmp_path / level
        folder.mkdir()
        assert scan(folder, [OLD], [crd(version(new))], [thing("a", {"a": "x", "b": "y"})], fail_on=level).code == code


def test_the_command_of_a_sample_shows_what_changes(tmp_path):
    done = scanned(tmp_path, spec(a=string(), b=string()), spec(a=string()), thing("a", {"a": "x", "b": "y"}))
    [sample] = done.definition["samples"]["data-loss"]
    name, *words = sample["command"].split()
    assert name == "auditor"
    shown = auditor(*words)
    assert shown.code == 0, shown.output
    assert "Dropped:   spec.b" in shown.output
