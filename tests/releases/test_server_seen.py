"""Which release of its API server a snapshot shows, by what is in it."""

import json

import pytest

from auditor.plan.options import AuditOptions
from auditor.plan.run_plan import make_plan
from auditor.releases.apis import served_since
from auditor.store.server_seen import server_seen
from tests.upgrade.support import encoded

APPS, RESOURCE, MIGRATION = (
    f"/registry/apiregistration.k8s.io/apiservices/v1.{group}"
    for group in ("apps", "resource.k8s.io", "storagemigration.k8s.io")
)


def node(version):
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {"nodeInfo": {"kubeletVersion": version}},
    }


def candidate(version):
    return {
        "apiVersion": "coordination.k8s.io/v1beta1", "kind": "LeaseCandidate", "metadata": {"name": "c"},
        "spec": {"binaryVersion": version},
    }  # fmt: skip


def protobuf_node(version):
    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    meta = field(1, b"v1") + field(2, b"Node")
    status = field(7, field(7, version.encode()))
    return b"k8s\0" + field(1, meta) + field(2, field(1, field(1, b"n")) + field(3, status))


def seen(folder, values):
    values = {"/registry/configmaps/default/a": {"apiVersion": "v1", "kind": "ConfigMap"}, **values}
    kvs = [
        {"key": encoded(key.encode()), "create_revision": at, "mod_revision": at, "version": 1,
         "value": encoded(value if isinstance(value, bytes) else json.dumps(value).encode())}
        for at, (key, value) in enumerate(sorted(values.items()), 2)
    ]  # fmt: skip
    path = folder / "dump.json"
    path.write_text(json.dumps({"header": {"revision": len(kvs) + 1}, "kvs": kvs, "count": len(kvs)}))
    return server_seen(make_plan(AuditOptions(dumps=(str(path),), report=str(folder / "r")), folder))


ALL = {APPS: {}, RESOURCE: {}, MIGRATION: {}}


@pytest.mark.parametrize(
    ("values", "version", "least", "most"),
    [
        ({"/registry/minions/n": node("v1.35.2")}, "1.35 to 1.38", 35, 38),
        (
            {"/registry/minions/a": node("v1.33.2"), "/registry/minions/b": node("v1.35.2-eks-1")},
            "1.35 to 1.38",
            35,
            38,
        ),
        ({"/registry/minions/n": protobuf_node("v1.34.1+k3s1")}, "1.34 to 1.37", 34, 37),
        ({"/registry/leasecandidates/kube-system/c": candidate("1.36.1")}, "1.36 to 1.37", 36, 37),
        (ALL, "1.37 or newer", 37, None),
        ({APPS: {}, RESOURCE: {}}, "1.34 to 1.36", 34, 36),
        ({APPS: {}, RESOURCE: {}, "/registry/minions/n": node("v1.36.0")}, "1.36", 36, 36),
        ({APPS: {}, "/registry/minions/n": node("v1.33.0")}, "1.33", 33, 33),
    ],
)
def test_what_a_snapshot_shows_is_put_together(tmp_path, values, version, least, most):
    found = seen(tmp_path, values)
    assert (found["version"], found["least"], found["most"]) == (version, least, most)
    assert found["key"] in values
    assert found["by"]


@pytest.mark.parametrize(
    "values",
    [
        {},
        {RESOURCE: {}},
        {"/registry/minions/n": node("unknown")},
        {"/registry/minions/n": b"k8s:enc:aescbc:v1:k:x"},
        {"/registry/minions/n": b"[" * 100_000},
        {"/registry/minions/n": {"status": {"nodeInfo": [{"kubeletVersion": "v1.35.1"}]}}},
        {APPS: {}, "/registry/minions/n": node("v1.36.0")},  # a kubelet newer than the server can be: amid something
    ],
)
def test_what_shows_nothing_or_contradicts_itself_is_left_out(tmp_path, values):
    assert seen(tmp_path, values) is None


def test_the_image_of_a_pod_says_it_exactly(tmp_path):
    pod = b"k8s\0 registry.k8s.io/kube-apiserver:v1.36.2 "
    values = {"/registry/pods/kube-system/kube-apiserver-a": pod, "/registry/minions/n": node("v1.34.0")}
    found = seen(tmp_path, values)
    assert (found["version"], found["least"], found["most"]) == ("v1.36.2", 36, 36)
    assert found["by"] == ["image of /registry/pods/kube-system/kube-apiserver-a"]


def test_stable_versions_that_came_after_the_oldest_release():
    assert served_since() == {"resource.k8s.io/v1": 34, "storagemigration.k8s.io/v1": 37}
