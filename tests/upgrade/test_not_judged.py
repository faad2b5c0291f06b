"""No upgrade is called safe on the word of a scan that did not judge every object."""

import base64
import json

import pytest

from auditor.base.errors import PlanError
from auditor.plan.options import AuditOptions, RunScope
from auditor.shards.upgrade import UpgradeOptions
from pipelines.run.audit import run_audit
from pipelines.run.upgrade import run_upgrade
from tests.upgrade.support import crd, scan, spec, string, summary_of, thing, version, write_crds, write_dump

V1 = version(spec(color=string()))
V2 = version(spec(color=string()), "v2")
OLD = version(spec(color=string()), "v1", storage=False)


def upgrade(folder, *dumps):
    new = write_crds(folder / "new.json", crd(V1))
    options = AuditOptions(dumps=tuple(map(str, dumps)), report=str(folder / "report"))
    return run_upgrade(options, UpgradeOptions((str(new),)))


@pytest.mark.parametrize("given", ["list", "object", "report", "definitions", "manifest"])
def test_a_dump_without_an_object_is_refused(tmp_path, given):
    dump = write_dump(tmp_path / "dump.json", [crd(V1, stored=["v1"])], [thing("a", {"color": "red"})])
    run_audit(AuditOptions(dumps=(str(dump),), report=str(tmp_path / "audit")))
    (tmp_path / "list").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": []}))
    (tmp_path / "object").write_text('{"a": 1}')
    path = {
        "report": tmp_path / "audit",
        "definitions": tmp_path / "audit" / "definitions.ndjson",
        "manifest": tmp_path / "audit" / "manifest.json",
    }.get(given, tmp_path / given)
    with pytest.raises(PlanError, match="nothing was judged"):
        upgrade(tmp_path, path)
    assert not (tmp_path / "report").exists()


def test_a_dump_with_a_torn_object_is_not_called_safe(tmp_path):
    dump = tmp_path / "dump.ndjson"
    text = "\n".join(json.dumps(one) for one in (crd(V1), thing("a", {"color": "red"})))
    dump.write_text(text + '\n{"apiVersion": "example.com/v1", "kind": "Thi')
    code, manifest = upgrade(tmp_path, dump)
    section = manifest["upgrade"]
    assert (code, section["decision"]) == (0, "unknown")
    assert "safe" not in section["sentence"] + section["definitions"][0]["sentence"]
    assert "1 value of unknown kind that cannot be read" in section["sentence"]


def test_versions_of_objects_out_of_scope_are_not_called_unused(tmp_path):
    old, new = [crd(OLD, V2, stored=["v1", "v2"])], [crd(V2)]
    done = scan(tmp_path, old, new, [thing("a", {"color": "red"})], scope=RunScope(namespace="elsewhere"))
    assert "no object is stored" not in json.dumps(done.section)
    assert "not all objects were judged" in done.definition["sentence"]
    assert "2 keys out of scope" in summary_of(str(done.folder))


@pytest.mark.parametrize(
    ("namespace", "said"), [("elsewhere", "no object was judged"), ("default", "safe (of the objects in scope)")]
)
def test_no_user_is_to_apply_definitions_for_objects_that_were_left_out(tmp_path, namespace, said):
    objects = [thing("a", {"color": "red"}), thing("b", {"color": "red"}, metadata={"namespace": "other"})]
    done = scan(tmp_path, [crd(V1, stored=["v1"])], [crd(V1)], objects, scope=RunScope(namespace=namespace))
    text = summary_of(str(done.folder))
    assert said in done.section["sentence"]
    assert ("safe" in done.section["sentence"]) == (namespace == "default")
    assert "Next: check the rest before you apply the definitions." in text


def test_a_sealed_object_leaves_the_definitions_of_other_kinds_safe(tmp_path):
    """The answer as a whole is not safe; a definition whose objects were all judged is."""
    gold = crd(V1, stored=["v1"], plural="golds", kind="Gold")
    dump = write_dump(tmp_path / "dump.json", [crd(V1, stored=["v1"]), gold], [thing("a", {}), thing("b", {})])
    document = json.loads(dump.read_text())
    sealed = next(kv for kv in document["kvs"] if b"/things/default/b" in base64.b64decode(kv["key"]))
    sealed["value"] = base64.b64encode(b"k8s:enc:aescbc:v1:key1:" + bytes(48)).decode()
    dump.write_text(json.dumps(document))
    new = write_crds(tmp_path / "new.json", crd(V1), crd(V1, plural="golds", kind="Gold"))
    options = AuditOptions(dumps=(str(dump),), report=str(tmp_path / "report"), jobs=1)
    section = run_upgrade(options, UpgradeOptions((str(new),)))[1]["upgrade"]
    words = {definition["name"]: definition["decision"] for definition in section["definitions"]}
    assert words == {"things.example.com": "unknown", "golds.example.com": "safe"}
    assert section["not_judged"] == ["1 key sealed (encrypted, and no key was given)"]


def test_a_refused_definition_changes_nothing_and_leaves_others_safe(tmp_path):
    """The server keeps today's definition: its objects are judged by that, and nothing of the new one is listed."""
    old = [crd(V1, stored=["v1"]), crd(V1, stored=["v1"], plural="golds", kind="Gold")]
    wrong = crd(version(spec(color={"type": "strung"}), served=True))
    done = scan(tmp_path, old, [wrong, crd(V1, plural="golds", kind="Gold")], [thing("a", {"color": "red"})])
    gold, refused = done.section["definitions"]
    assert (gold["decision"], refused["decision"]) == ("safe", "blocks")
    assert [effect["type"] for effect in refused["effects"]] == ["refused"]
    assert (refused["schema_changes"], refused["categories"]) == ([], {"unchanged": 1})
    assert (done.code, done.changes()) == (1, [])


def test_a_refused_definition_that_no_cluster_has_makes_no_kind(tmp_path):
    wrong = crd(version(spec(color={"type": "strung"})), plural="golds", kind="Gold")
    done = scan(tmp_path, [crd(V1, stored=["v1"])], [wrong, crd(V1)], [thing("a", {"color": "red"})])
    words = {definition["name"]: definition["decision"] for definition in done.section["definitions"]}
    assert words == {"golds.example.com": "blocks", "things.example.com": "safe"}


@pytest.mark.parametrize("is_export", [True, False])
def test_a_conversion_webhook_that_goes_is_not_safe_for_an_export(tmp_path, is_export):
    """Without it objects are read as they are stored, which an export does not show."""
    client = {"service": {"namespace": "d", "name": "w"}}
    webhook = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}
    versions = version(spec(color=string()), "v1alpha1", storage=False), version(spec(color=string()))
    old, new = crd(*versions, conversion=webhook, stored=["v1alpha1", "v1"]), crd(*versions)
    if is_export:
        (tmp_path / "dump.json").write_text(json.dumps(thing("a", {"color": "red"})))
        old_file, new_file = write_crds(tmp_path / "old.json", old), write_crds(tmp_path / "new.json", new)
        options = AuditOptions(dumps=(str(tmp_path / "dump.json"),), crds=(str(old_file),), report=str(tmp_path / "r"))
        section = run_upgrade(options, UpgradeOptions((str(new_file),)))[1]["upgrade"]
        assert "without the webhook they are read as they are stored" in section["sentence"]
    else:
        section = scan(tmp_path, [old], [new], [thing("a", {"color": "red"})]).section
    assert section["decision"] == ("attention" if is_export else "safe")
