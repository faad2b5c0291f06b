"""Upgrade scans judge objects at every version that clients can ask for; what a real server does is in the names."""

import shlex
import sys

import pytest

from tests.command import auditor
from tests.upgrade.support import crd, scan, spec, string, thing, version, write_crds, write_dump

HOOK = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "guild", "name": "hook", "path": "/convert"}}}}  # fmt: skip
WIDE, SHORT = spec(a=string(), note=string()), spec(a=string(maxLength=2))
INCREASING = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > oldSelf"}]}
BELOW = {"x-kubernetes-validations": [{"rule": "size(self.spec.a) < 3"}]}
OBJECTS = [thing("long", {"a": "xxx"}), thing("noted", {"a": "x", "note": "kept"}), thing("plain", {"a": "x"})]


def ruled(one):
    """Return a version with a rule about the whole object, which no update may break."""
    one["schema"]["openAPIV3Schema"] |= BELOW
    return one


def changed(done):
    """Return what changes, without the verdicts of single fields: (name, version, change or verdict, path)."""
    return sorted(
        (row["name"], row["audited_version"], row["new"].strip('"') if row["change"] == "verdict" else row["change"],
         None if row["change"] == "verdict" else row["path"])
        for row in done.rows("changes")
        if row["change"] != "verdict" or row["path"] is None
    )  # fmt: skip


def of_kind(old, new, objects=OBJECTS, conversion=None, stored=("v1",)):
    return [crd(*old, stored=list(stored))], [crd(*new, conversion=conversion)], objects


BLOCKED, TOLERATED = "blocks-every-update", "tolerated-while-unchanged"


@pytest.mark.parametrize(
    ("old", "new", "expected", "sentence"),
    [
        pytest.param(
            [version(WIDE)], [version(WIDE, served=False), version(SHORT, "v2", storage=False)],
            [("long", "v2", TOLERATED, None), ("noted", "v2", "pruned", "spec.note")],
            "1 object loses stored data with a write at v2 (spec.note)", id="the storage version is no longer served",
        ),
        pytest.param(
            [version(WIDE), version(WIDE, "v2", storage=False)],
            [version(WIDE), ruled(version(WIDE, "v2", storage=False))],
            [("long", "v2", BLOCKED, None)], "updates of 1 object that pass today are refused at v2",
            id="a rule at a second version",
        ),
        pytest.param(
            [version(WIDE)], [version(WIDE), ruled(version(SHORT, "v2", storage=False))],
            [("long", "v2", BLOCKED, None), ("noted", "v2", "pruned", "spec.note")],
            "updates of 1 object that pass today are refused at v2; 1 object loses stored data with a write at v2 (spec.note)",
            id="a new version has a rule and lacks a field",
        ),
        pytest.param(
            [version(WIDE), version(WIDE, "v2", storage=False)],
            [version(spec(a=string(maxLength=1), note=string()), served=False), version(WIDE, "v2", storage=False)],
            [], "attention: ", id="a bound at a storage version that no client can use",
        ),
        pytest.param(
            [version(WIDE), version(WIDE, "v2", storage=False)],
            [version(SHORT, served=False), version(WIDE, "v2", storage=False)],
            [("noted", "v2", "pruned", "spec.note")], "1 object loses stored data with a write at v2 (spec.note)",
            id="what the storage version drops is lost at each",
        ),
        pytest.param(
            [version(WIDE), version(SHORT, "v2", storage=False)],
            [version(WIDE), version(spec(a=string(maxLength=2), more=string()), "v2", storage=False)],
            [], "safe", id="what a version refused and lacked before",
        ),
        pytest.param(
            [version(WIDE), ruled(version(WIDE, "v2", storage=False))],
            [version(WIDE, served=False), ruled(version(WIDE, "v2", storage=False))],
            [("long", "v2", BLOCKED, None)], "updates of 1 object that pass today are refused at v2",
            id="only the stricter version remains",
        ),
        pytest.param(
            [version(WIDE, served=False), ruled(version(WIDE, "v2", storage=False))],
            [version(WIDE, served=False), ruled(version(WIDE, "v2", storage=False))],
            [], "safe", id="nothing changes where the storage version is not served",
        ),
        pytest.param(
            [version(WIDE)], [version(WIDE), version(WIDE, "v2", storage=False)],
            [], "safe", id="a second version like the first",
        ),
        pytest.param(
            [version(WIDE)], [version(WIDE, storage=False), version(SHORT, "v2", served=False)],
            [("noted", "v1", "pruned", "spec.note")], "1 object loses stored data with a write at v1 (spec.note)",
            id="the new storage version drops a field, and is not served",
        ),
    ],
)  # fmt: skip
def test_an_object_is_as_bad_as_at_the_worst_version(tmp_path, old, new, expected, sentence):
    done = scan(tmp_path, *of_kind(old, new))
    assert changed(done) == expected
    assert sentence in done.section["sentence"]
    assert done.definition["objects"] == 3, "an object counts once"
    assert (done.code == 0) == (done.section["decision"] == "safe") == (sentence == "safe")
    counts = done.definition["categories"]
    assert counts.get("unchanged", 0) + counts.get("broken-before", 0) == 3 - len({name for name, *_ in expected})


def test_an_object_has_one_verdict_the_worst_and_the_versions_are_named(tmp_path):
    new = [version(SHORT | {"properties": {**SHORT["properties"], "note": string()}}),
           ruled(version(WIDE, "v2", storage=False))]  # fmt: skip
    done = scan(tmp_path, *of_kind([version(WIDE)], new))
    assert done.definition["categories"] == {"blocked": 1, "unchanged": 2}
    assert changed(done) == [("long", "v1", TOLERATED, None), ("long", "v2", BLOCKED, None)]
    assert done.definition["samples"]["blocked"][0]["text"].startswith("at v2: ")


def test_versions_that_differ_in_nothing_are_not_judged_again(tmp_path, monkeypatch):
    from auditor.shards.judge import ObjectJudge

    judged = []
    own = ObjectJudge.at_version
    monkeypatch.setattr(ObjectJudge, "at_version", lambda *words: judged.append(words[2]) or own(*words))
    narrow, wide = version(SHORT), version(SHORT, "v2", storage=False)
    scan(tmp_path, *of_kind([version(WIDE), version(WIDE, "v2", storage=False)], [narrow, wide]))
    assert set(judged) == {"v1"}, "what differs, differs at both alike"


def test_a_version_that_the_user_asked_for_is_the_only_one(tmp_path):
    new = [version(WIDE), ruled(version(WIDE, "v2", storage=False))]
    assert changed(scan(tmp_path, *of_kind([version(WIDE)], new), at="v1")) == []


def test_an_export_is_judged_at_each_version_too(tmp_path):
    new = write_crds(tmp_path / "new.json", crd(version(WIDE), ruled(version(WIDE, "v2", storage=False))))
    old = write_crds(tmp_path / "old.json", crd(version(WIDE)))
    write_crds(tmp_path / "export.json", *OBJECTS)
    words = ("--old-crds", old, "--new-crds", new, "--report", tmp_path / "r", "--jobs", 1)
    done = auditor("upgrade", tmp_path / "export.json", *words)
    assert done.code == 1
    assert "updates of 1 object that pass today are refused at v2" in done.output


@pytest.mark.parametrize("served", [True, False])
def test_an_export_loses_what_the_new_storage_version_drops(tmp_path, served):
    both = version(WIDE), version(SHORT, "v2", storage=False)
    old = write_crds(tmp_path / "old.json", crd(*both))
    moved = version(WIDE, storage=False), version(SHORT, "v2", served=served)
    new = write_crds(tmp_path / "new.json", crd(*moved))
    write_crds(tmp_path / "export.json", *OBJECTS)
    words = ("--old-crds", old, "--new-crds", new, "--report", tmp_path / "r", "--jobs", 1)
    done = auditor("upgrade", tmp_path / "export.json", *words)
    assert done.code == 1
    assert "1 object loses stored data with a write at v1 (spec.note)" in done.output


EXTRA = spec(rig=string(), extra=string())
PLAIN = spec(rig=string())


def both(alpha, stable, *, moves=False):
    """Return a definition with v1alpha1, the storage version unless it moves, and v1."""
    return crd(version(alpha, "v1alpha1", storage=not moves), version(stable, storage=moves))


@pytest.mark.parametrize(
    ("old", "new", "hidden"),
    [
        (both(EXTRA, PLAIN), both(EXTRA, PLAIN, moves=True), "spec.extra"),
        (both(EXTRA, PLAIN), both(spec(rig=string(), extra=string(pattern="^a")), PLAIN), "spec.extra"),
        (both(EXTRA, PLAIN), both(PLAIN, PLAIN), "spec.extra"),
        (both(spec(rig=string(nullable=True)), PLAIN), both(spec(rig=string(nullable=True)), PLAIN, moves=True), "spec.rig"),
        (both(EXTRA, PLAIN), both(EXTRA, EXTRA, moves=True), ""),
        (both(EXTRA, PLAIN), both(spec(rig=string(), extra=string(), more=string()), PLAIN), ""),
        (both(EXTRA, EXTRA), both(EXTRA, spec(rig=string(maxLength=9), extra=string()), moves=True), ""),
        (both(EXTRA, PLAIN, moves=True), both(PLAIN, PLAIN, moves=True), ""),  # a write drops it already
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_export", [True, False])
def test_an_export_is_not_safe_where_it_cannot_show_what_goes(tmp_path, old, new, hidden, is_export):
    value = thing("gull", {"rig": "a"})
    old_crds = write_crds(tmp_path / "old.json", old)
    if is_export:
        dump = write_crds(tmp_path / "export.json", value)
    else:
        dump = write_dump(tmp_path / "dump.json", [crd(*old["spec"]["versions"], stored=["v1alpha1", "v1"])], [value])
    words = ("--new-crds", write_crds(tmp_path / "new.json", new), "--report", tmp_path / "r", "--jobs", 1)
    done = auditor("upgrade", dump, *(("--old-crds", old_crds) if is_export else ()), *words)
    text = f"an export at v1 cannot show {hidden} of v1alpha1, which the new definition drops or restricts"
    if hidden and is_export:
        assert done.output.startswith("attention")
        assert text in " ".join(auditor("changes", tmp_path / "r").output.split())
    else:
        assert done.output.startswith("safe")


def test_writes_are_judged_at_what_is_served_where_the_storage_version_is_not(tmp_path):
    old = [version(spec(rig=string(), note=string(), crew={"type": "integer"}), "v1beta1")]
    new = [{**old[0], "served": False}, version(spec(rig=string(maxLength=2), crew=INCREASING), storage=False)]
    stored = {"crew": {"rig": "ab", "crew": 3}, "long": {"rig": "gaff"}, "plain": {"rig": "ab"},
              "noted": {"rig": "ab", "note": "kept", "crew": 3}}  # fmt: skip
    objects = [thing(name, given, at="v1beta1") for name, given in stored.items()]
    done = scan(tmp_path, *of_kind(old, new, objects, stored=("v1beta1",)))
    assert done.definition["categories"] == {"blocked": 2, "data-loss": 1, "tolerated": 1, "unchanged": 1}
    for text in ("updates of 2 objects that pass today are refused at v1", "with a write at v1 (spec.note)",
                 "1 object becomes invalid at v1"):  # fmt: skip
        assert text in done.definition["sentence"]
    rows = {row["name"]: (row["audited_version"], row["put_code"]) for row in done.rows("objects") if row["put_code"]}
    assert rows == {"crew": ("v1", 422), "long": ("v1", 200), "noted": ("v1", 422), "plain": ("v1", 200)}


# -- conversion --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "fails"),
    [
        pytest.param(
            [version(WIDE, storage=False), version(WIDE, "v2")],
            "every LIST at v2 fails, and every write to an object at every version", id="the storage version moves",
        ),
        pytest.param(
            [version(WIDE), version(WIDE, "v2", storage=False)],
            "every LIST at v2 fails, and every write at v2", id="it stays",
        ),
        pytest.param(
            [version(WIDE, storage=False, served=False), version(WIDE, "v2")],
            "every LIST at v2 fails, and every write to an object at every version", id="the old one is not served",
        ),
        pytest.param([version(WIDE)], "", id="there is only one version"),
    ],
)  # fmt: skip
def test_without_the_new_webhook_lists_fail_at_versions_that_objects_are_not_stored_at(tmp_path, new, fails):
    done = scan(tmp_path, *of_kind([version(WIDE)], new, conversion=HOOK))
    assert (f"the conversion webhook answers (without it {fails})" in done.definition["sentence"]) == bool(fails)
    assert ("the conversion webhook" in done.definition["sentence"]) == bool(fails)


@pytest.mark.parametrize("moves", [True, False])
def test_an_export_is_not_safe_where_a_known_webhook_is_asked_for_what_is_stored(tmp_path, moves):
    """On a server without the webhook a PUT at v1 is 500 once the storage version is v2, and 200 before."""
    old = write_crds(tmp_path / "old.json", crd(version(WIDE), conversion=HOOK))
    versions = [version(WIDE, storage=not moves), version(WIDE, "v2", storage=moves)]
    new = write_crds(tmp_path / "new.json", crd(*versions, conversion=HOOK))
    write_crds(tmp_path / "export.json", *OBJECTS)
    words = ("--old-crds", old, "--new-crds", new, "--report", tmp_path / "r", "--jobs", 1)
    done = auditor("upgrade", tmp_path / "export.json", *words)
    asked = (
        "the conversion webhook answers (without it every LIST fails at each version that an object is not stored at"
    )
    assert (asked in " ".join(done.output.split())) is moves, done.output


def test_objects_at_both_versions_name_both(tmp_path):
    both = [version(WIDE), version(WIDE, "v2", storage=False)]
    objects = [thing("a", {"a": "x"}, at="v2"), thing("b", {"a": "x"})]
    done = scan(tmp_path, *of_kind(both, both, objects, HOOK, stored=("v2", "v1")))
    wanted = "every LIST at v1, v2 fails, and every write to 1 object at every version, and every write at v2"
    assert wanted in done.definition["sentence"]


def test_a_webhook_at_another_address_has_to_answer_too(tmp_path):
    both = [version(WIDE), version(WIDE, "v2", storage=False)]
    moved = {**HOOK, "webhook": {**HOOK["webhook"], "clientConfig": {"service": {"namespace": "b", "name": "hook"}}}}
    [old], [new], objects = of_kind(both, both, conversion=moved)
    old["spec"]["conversion"] = HOOK
    assert "the conversion webhook answers" in scan(tmp_path, [old], [new], objects).definition["sentence"]
    config = {**HOOK["webhook"]["clientConfig"], "caBundle": "Cg=="}
    old["spec"]["conversion"] = {**HOOK, "webhook": {**HOOK["webhook"], "clientConfig": config}}
    new["spec"]["conversion"] = HOOK
    other = tmp_path / "renewed"
    other.mkdir()
    assert scan(other, [old], [new], objects).section["decision"] == "safe"


def test_what_only_a_new_webhook_can_read_has_the_status_that_the_documentation_names(tmp_path):
    new = [version(WIDE, storage=False), version(WIDE, "v2")]
    done = scan(tmp_path, *of_kind([version(WIDE)], new, conversion=HOOK))
    rows = {
        row["name"]: (row["status"], row["audited_version"]) for row in done.rows("objects") if row["kind"] == "Thing"
    }
    assert rows == dict.fromkeys(("long", "noted", "plain"), ("needs-conversion", "v2"))
    assert done.definition["categories"] == {"needs-conversion": 3}


CONVERTER = """
import json, sys
review = json.load(sys.stdin)
request = review.pop("request")
for one in request["objects"]:
    spec, metadata = one["spec"], one["metadata"]
    one["apiVersion"] = request["desiredAPIVersion"]
    {edit}
review["response"] = {{"uid": request["uid"], "result": {{"status": "Success"}}, "convertedObjects": request["objects"]}}
json.dump(review, sys.stdout)
"""
MOVES = """
    if one["apiVersion"].endswith("v2"):
        spec["b"] = spec.pop("a")
    else:
        spec["a"] = spec.pop("b")
"""


@pytest.mark.parametrize(
    ("edit", "lost"),
    [
        ("pass", {"spec.a"}),  # nothing knows spec.a at v2
        (MOVES, set()),
        (f"{MOVES}    spec.pop('note', None)", {"spec.note"}),
        (f"{MOVES}    metadata.pop('labels', None)", {"metadata.labels"}),
        (f"{MOVES}    metadata['labels'] = {{'keep': 'other'}}", {"metadata.labels.keep", "metadata.labels.team"}),
        (f"{MOVES}    metadata['annotations'] = {{}}", {"metadata.annotations"}),
    ],
)
def test_what_a_converter_drops_is_lost_and_what_it_moves_is_not(tmp_path, edit, lost):
    (tmp_path / "hook.py").write_text(CONVERTER.format(edit=edit))
    metadata = {"labels": {"keep": "it", "team": "red"}, "annotations": {"why": "so"}}
    objects = [thing("one", {"a": "x", "note": "kept"}, metadata=metadata)]
    new = [version(WIDE, storage=False), version(spec(b=string(), note=string()), "v2")]
    command = shlex.join([sys.executable, str(tmp_path / "hook.py")])
    done = scan(tmp_path, *of_kind([version(WIDE)], new, objects, HOOK), convert_with=command)
    found = {(row["change"] in ("pruned", "converted"), row["path"]) for row in done.rows("changes")}
    assert found == {(True, path) for path in lost}
    assert done.definition["categories"] == ({"data-loss": 1} if lost else {"unchanged": 1})
    assert "because of defaults" not in done.definition["sentence"]
    assert ("1 object loses stored data" in done.definition["sentence"]) == bool(lost)
