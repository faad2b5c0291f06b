"""Rows of built-in kinds in a report, and that `audit` and `query` say the same of each stored kind."""

import base64
import json
import re

import pyarrow.parquet as pq
import pytest
import yaml

from auditor.builtin.builtin_kinds import BUILTIN_KINDS
from auditor.builtin.scheme import target_of
from tests.builtin.test_stored import seeds
from tests.command import auditor
from tests.pipelines.nights.support import definition

CONFIG_MAP = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"NAME","namespace":"shop"},"data":{"a":"b"}}'


def dump(path, values):
    """Write what `etcdctl get -w json` prints of keys and values."""
    entries = [
        {
            "key": base64.b64encode(key.encode()).decode(),
            "value": base64.b64encode(value).decode(),
            "create_revision": 5,
            "mod_revision": 7,
            "version": 1,
        }
        for key, value in sorted(values.items())
    ]
    path.write_text(json.dumps({"header": {"revision": 9}, "kvs": entries, "count": len(entries)}))
    return path


def run(*words):
    return auditor(*words)


def audit(tmp_path, values, *more):
    report = tmp_path / "out"
    done = run("audit", dump(tmp_path / "dump.json", values), "--report", report, "--jobs", "1", *more)
    rows = {row["key"]: row for row in pq.read_table(report / "objects").to_pylist()}
    return done, rows


def stored(into):
    """Return an undamaged value of each form of a stored kind."""
    return [base64.b64decode(seed["value"]) for seed in seeds() if seed["into"] == into]


def test_a_value_that_does_not_decode_breaks_lists_of_its_kind(tmp_path):
    done, rows = audit(
        tmp_path,
        {
            "/registry/configmaps/shop/good": CONFIG_MAP.replace(b"NAME", b"good"),
            "/registry/configmaps/shop/bad": CONFIG_MAP.replace(b'"b"', b"5"),
            "/registry/configmaps/shop/torn": CONFIG_MAP[:40],
            "/registry/podsecuritypolicy/left": b"{}",
        },
    )
    assert done.code == 1
    good, bad, torn, left = (rows[f"/registry/{name}"] for name in (
        "configmaps/shop/good", "configmaps/shop/bad", "configmaps/shop/torn", "podsecuritypolicy/left"))  # fmt: skip
    assert (good["status"], good["impact"], good["kind"], good["stored_version"]) == (
        "builtin", "none", "ConfigMap", "v1")  # fmt: skip
    assert (bad["status"], bad["impact"], bad["kind"], bad["stored_version"]) == (
        "unreadable", "breaks-list", "ConfigMap", "v1")  # fmt: skip
    assert bad["reason"] == "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    assert (torn["status"], torn["kind"]) == ("unreadable", "ConfigMap")
    assert torn["reason"] == "couldn't get version/kind; json parse error: unexpected end of JSON input"
    assert left["status"] == "orphaned"
    assert re.search(r"ConfigMap +shop/\w+ \+1 +cannot be listed or watched +[0-9a-f]{8}\n", done.output)
    whole = run("summary", tmp_path / "out", "--lines", "0").output
    cells = next(line.split() for line in whole.splitlines() if line.startswith("ConfigMap "))
    assert cells[1:] == ["3", "2", "0"]
    assert "4 keys: 2 unreadable, 1 orphaned, 1 builtin\n" in whole
    assert "nothing to do" not in done.output
    shown = run("show", tmp_path / "out", "/registry/configmaps/shop/bad")
    assert "cannot unmarshal number" in shown.output
    shown = run("show", tmp_path / "dump.json", "/registry/configmaps/shop/bad", "-o", "json")
    assert json.loads(shown.stdout)["status"] == "unreadable"


def test_skipped_kinds_are_named_and_not_decoded(tmp_path):
    bad = {"/registry/configmaps/shop/bad": b"torn", "/registry/pods/shop/bad": b"k8s\0torn"}
    done, rows = audit(tmp_path, bad, "--skip", "builtin")
    assert done.code == 0
    for kind, row in zip(("ConfigMap", "Pod"), rows.values(), strict=True):
        assert (row["kind"], row["status"], row["reason"]) == (kind, "builtin", "not decoded")
    assert "NOT DECODED  2 values of built-in kinds (--skip builtin)" in done.output


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", BUILTIN_KINDS, ids=lambda kind: f"{kind.version}-{kind.plural}")
def test_audit_and_query_agree_on_each_stored_kind(tmp_path, kind):
    target = target_of(kind.group, kind.kind)
    if (target.group, target.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition"):
        pytest.skip("definitions have a status of their own")
    good = stored(f"{target.group}/{target.kind}")
    assert good
    broken = [value[: len(value) // 2] for value in good] + [b"k8s\0", b"garbage", CONFIG_MAP]
    place = f"/registry/{kind.prefix}/" + ("shop/" if kind.namespaced else "")
    values = {f"{place}{number:03}": value for number, value in enumerate(good + broken)}
    _, rows = audit(tmp_path, values)
    name = f"{kind.plural}.{kind.version}.{kind.group}" if kind.group else kind.plural
    asked = run("query", tmp_path / "dump.json", name, "-A", "-o", "name")
    if target.kind == "ConfigMap":
        broken.pop()
    unreadable = [key for key, row in rows.items() if row["status"] == "unreadable"]
    assert len(unreadable) == len(broken), asked.output
    assert asked.output.count("/") >= len(good)
    for key, row in rows.items():
        described = run("show", tmp_path / "dump.json", key, "-o", "json")
        said = json.loads(described.stdout)
        assert said["status"] == row["status"], (key, described.output)
        assert (said.get("reason") or None) == row["reason"]
        assert ("read" in said) == (row["status"] == "builtin")


GHOST = b'{"kind":"Ghost","apiVersion":"gone.example.com/v1","metadata":{"name":"a","namespace":"shop"}}'
LEFT = {"/registry/podsecuritypolicy/left": b"{}"}
ASK = "find out what uses the keys of podsecuritypolicy"
DEFINE = "give the definitions of the orphaned keys with --crds"


@pytest.mark.parametrize(
    ("values", "said", "unsaid"),
    [
        (LEFT, [ASK, "that Kubernetes v1.37.2 does not use (podsecuritypolicy)"], [DEFINE, "definition."]),
        ({"/registry/gone.example.com/ghosts/shop/a": GHOST}, [DEFINE, "1 key without a definition"], [ASK]),
        ({**LEFT, "/registry/gone.example.com/ghosts/shop/a": GHOST}, [DEFINE, f" Then {ASK}"], ["2 key"]),
    ],
)
def test_no_definition_is_asked_for_where_a_built_in_kind_is_stored_no_more(tmp_path, values, said, unsaid):
    good = {"/registry/configmaps/shop/good": CONFIG_MAP.replace(b"NAME", b"good")}
    done, _ = audit(tmp_path, {**good, **values})
    last = " ".join(done.output.partition("NOT JUDGED")[2].split())
    assert not [text for text in said if text not in last]
    assert not [text for text in unsaid if text in last]


def test_an_exported_object_of_a_kind_that_is_served_no_more_has_no_key_to_delete(tmp_path):
    items = [{"kind": "Ingress", "apiVersion": "extensions/v1beta1", "metadata": {"name": "a", "namespace": "shop"}},
             json.loads(CONFIG_MAP)]  # fmt: skip
    (tmp_path / "list.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    done = run("audit", tmp_path / "list.json", "--report", tmp_path / "out", "--jobs", "1")
    last = " ".join(done.output.rpartition("Next: ")[2].split())
    assert last.startswith("change the apiVersion of Ingress.extensions before you apply them")
    assert "etcdctl" not in last
    assert "--crds" not in last


@pytest.mark.parametrize("plural", ["ranges", "masterleases", "peerserverleases"])
def test_what_no_request_lists_breaks_no_list_and_prevents_an_all_clear(tmp_path, plural):
    done, rows = audit(tmp_path, {f"/registry/{plural}/one": b"k8s\0\x0a\x99"})
    row = rows[f"/registry/{plural}/one"]
    assert (row["status"], row["impact"], row["impacts"]) == ("unreadable", None, [])
    assert done.code == 1
    assert "cannot be listed" not in done.output
    assert "nothing to do" not in done.output


WRONG_TYPES = [
    ({"kind": "ConfigMap", "data": {"a": 5}}, "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"),
    ({"kind": "Secret", "data": {"a": "!"}}, "illegal base64 data at input byte 0"),
    ({"kind": "Service", "spec": {"ports": {}}}, "json: cannot unmarshal object into Go struct field ServiceSpec.spec.ports of type []v1.ServicePort"),
    ({"kind": "Pod", "metadata": {"name": 5}}, "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string"),
    ({"kind": "Pod", "apiVersion": "v7"}, 'no kind "Pod" is registered for version "v7" in scheme "pkg/runtime/scheme.go:111"'),
]  # fmt: skip


@pytest.mark.parametrize("form", ["list.json", "list.yaml", "documents.yaml", "typed.json"])
@pytest.mark.parametrize(("wrong", "reason"), WRONG_TYPES)
def test_exported_objects_with_wrong_types_are_unreadable(tmp_path, form, wrong, reason):
    bad = {"apiVersion": "v1", "metadata": {"name": "bad", "namespace": "shop"}, **wrong}
    good = {"apiVersion": "v1", "kind": bad["kind"], "metadata": {"name": "good", "namespace": "shop"}}
    kind = f"{bad['kind']}List" if form == "typed.json" else "List"
    whole = {"kind": kind, "apiVersion": "v1", "metadata": {}, "items": [good, bad]}
    text = json.dumps(whole)
    if form == "list.yaml":
        text = yaml.safe_dump(whole)
    elif form == "documents.yaml":
        text = yaml.safe_dump_all([good, bad])
    (tmp_path / form).write_text(text)
    done = run("audit", tmp_path / form, "--report", tmp_path / "out", "--jobs", "1")
    first, second = sorted(pq.read_table(tmp_path / "out" / "objects").to_pylist(), key=lambda row: row["status"])
    assert (first["status"], first["reason"]) == ("builtin", None)
    assert (second["status"], second["reason"], second["kind"]) == ("unreadable", reason, bad["kind"])
    assert done.code == 1
    assert "nothing to do" not in done.output


@pytest.mark.parametrize(
    "key",
    [
        "/registry/services/foo/bar", "/registry/services/specs", "/registry/nodes/a", "/registry/endpoints/shop/a",
        "/registry/ingresses/shop/a", "/registry/replicationcontrollers/shop/a", "/registry/apps/deployments/shop/a",
        "/registry/apiservices/v1.a", "/registry/apiregistration.k8s.io/pods/shop/a",
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [b"torn", b"k8s\0torn"])
def test_a_key_where_no_list_reads_breaks_none(tmp_path, key, value):
    sound = next(one for one in stored("apiregistration.k8s.io/APIService") if one.startswith(b"k8s"))
    good = {"/registry/apiregistration.k8s.io/apiservices/a": sound}
    done, rows = audit(tmp_path, {**good, key: value})
    assert (rows[key]["status"], rows[key]["impact"]) == ("orphaned", "none")
    assert "cannot be listed" not in done.output
    assert "find out what uses the keys" in done.output


@pytest.mark.parametrize(
    ("key", "is_reached"),
    [
        ("/registry/configmaps/torn", False), ("/registry/configmaps/shop/deep/torn", False),
        ("/registry/minions/a/b", False), ("/registry/configmaps/shop/", False),
        ("/registry/configmaps/shop/torn", True), ("/registry/minions/torn", True),
    ],
)  # fmt: skip
def test_what_no_request_reaches_is_to_be_deleted_with_etcdctl(tmp_path, key, is_reached):
    done, _ = audit(tmp_path, {key: b"torn"})
    said = " ".join(done.output.replace("\\\n", "").split())
    assert f"next: auditor show {tmp_path / 'out'} " in said
    assert ("only `etcdctl del` removes it" in said) != is_reached


@pytest.mark.parametrize(
    ("key", "impact", "said"),
    [
        ("/registry/ranges/servicenodeports", "crashes-server", "until then the API server does not stay up"),
        ("/registry/ranges/serviceips", None, "restore or repair the value"),
        ("/registry/masterleases/10.0.0.1", None, "restore or repair the value"),
    ],
)
def test_a_torn_range_of_node_ports_ends_a_server_and_others_do_not(tmp_path, key, impact, said):
    """What a server of 1.37.2 did with each: with the first it ended after 62 seconds, with the others it was ready."""
    done, rows = audit(tmp_path, {key: b"torn"})
    assert (rows[key]["status"], rows[key]["impact"]) == ("unreadable", impact)
    assert ("ends the API server proce" in done.output) == (impact is not None)
    assert "cannot be listed" not in done.output
    assert said in " ".join(done.output.rpartition("Next: ")[2].split())
    shown = json.loads(run("show", tmp_path / "dump.json", key, "-o", "json").stdout)
    assert (shown["reason"], shown.get("impact")) == (rows[key]["reason"], impact)
    assert done.code == 1


@pytest.mark.parametrize(
    ("key", "impacts"),
    [
        ("/registry/services/specs/shop/torn", ["crashes-server", "breaks-list"]),
        ("/registry/ipaddresses/10.0.0.9", ["crashes-server", "breaks-list"]),
        ("/registry/servicecidrs/torn", ["crashes-server", "breaks-list"]),
        ("/registry/services/endpoints/shop/torn", ["breaks-list"]),
        ("/registry/configmaps/shop/torn", ["breaks-list"]),
    ],
)
def test_what_a_server_must_list_to_start_ends_it(tmp_path, key, impacts):
    """A server of 1.37.2 with one of the first three ended 61 seconds after its start (initial IP and port check)."""
    done, rows = audit(tmp_path, {key: b"torn"})
    assert (rows[key]["status"], rows[key]["impacts"]) == ("unreadable", impacts)
    assert ("ends the API server proce" in done.output) == ("crashes-server" in impacts)
    assert done.code == 1


def test_validate_says_of_manifests_what_an_audit_says(tmp_path):
    good = json.loads(CONFIG_MAP.replace(b"NAME", b"a"))
    bad = {**good, "data": {"a": 5}}
    old = {"kind": "Ingress", "apiVersion": "extensions/v1beta1", "metadata": {"name": "a", "namespace": "shop"}}
    (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all([good, bad, old]))
    (tmp_path / "crds.yaml").write_text(yaml.safe_dump(definition()))
    done = run("validate", "--crds", tmp_path / "crds.yaml", tmp_path / "objects.yaml", "-o", "json")
    said = [(one["kind"], one["status"], one["reason"]) for one in json.loads(done.stdout)]
    report = tmp_path / "out"
    run("audit", tmp_path / "objects.yaml", "--crds", tmp_path / "crds.yaml", "--report", report, "--jobs", "1")
    rows = pq.read_table(report / "objects").to_pylist()
    stored = [(row["kind"], row["status"], row["reason"]) for row in rows]
    assert sorted(said[:2], key=str) == sorted((one for one in stored if one[0] == "ConfigMap"), key=str)
    assert [status for _, status, _ in said] == ["builtin", "unreadable", "unserved"]
    assert said[2][2] == 'no matches for kind "Ingress" in version "extensions/v1beta1"'  # as kubectl create says
    assert [status for kind, status, _ in stored if kind == "Ingress"] == ["orphaned"]
    assert done.code == 1
