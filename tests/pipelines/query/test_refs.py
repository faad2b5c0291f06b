"""`auditor refs`: who refers to an object, and references to objects that do not exist."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.pipelines.nights.support import Store, definition

if TYPE_CHECKING:
    from pathlib import Path


def _object(kind: str, name: str, api_version: str = "v1", **body: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop", "uid": name, **body.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


CONTAINER = {
    "name": "c",
    "env": [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "tls", "key": "a"}}},
        {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "gone", "key": "b", "optional": True}}},
        {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ],
    "envFrom": [{"configMapRef": {"name": "conf"}}, {"secretRef": {"name": "gone"}}],
}
POD = {
    "containers": [CONTAINER],
    "volumes": [
        {"name": "v", "secret": {"secretName": "tls"}},
        {"name": "p", "projected": {"sources": [{"secret": {"name": "tls"}}, {"configMap": {"name": "conf"}}]}},
        {"name": "d", "persistentVolumeClaim": {"claimName": "gone"}},
    ],
    "imagePullSecrets": [{"name": "pull"}],
    "serviceAccountName": "robot",
}
OWNED = {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "old", "uid": "u"}]}
OBJECTS: dict[str, dict[str, Any]] = {
    "namespaces/shop": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
    "secrets/shop/tls": _object("Secret", "tls"),
    "secrets/shop/pull": _object("Secret", "pull"),
    "configmaps/shop/conf": _object("ConfigMap", "conf"),
    "serviceaccounts/shop/robot": _object("ServiceAccount", "robot", secrets=[{"name": "tls"}]),
    "pods/shop/web": _object("Pod", "web", spec=POD, metadata=OWNED),
    "deployments/shop/web": _object("Deployment", "web", "apps/v1", spec={"template": {"spec": POD}}),
    "ingress/shop/web": _object(
        "Ingress", "web", "networking.k8s.io/v1",
        spec={"tls": [{"secretName": "tls"}], "defaultBackend": {"service": {"name": "front"}}},
    ),
    "bakery.example.com/loafs/shop/l": _object(
        "Loaf", "l", "bakery.example.com/v1",
        spec={"tlsRef": {"kind": "Secret", "name": "tls"}, "ovenRefs": [{"name": "unknown kind"}], "loafRef": {"name": "m"}},
    ),
}  # fmt: skip


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    store = Store(definition())
    for key, obj in OBJECTS.items():
        store.put(json.dumps(obj).encode(), f"/registry/{key}")
    return tmp_path / str(store.write(tmp_path / "dump.json", "etcdctl"))


def _rows(*words: object) -> list[tuple[str, ...]]:
    done = auditor("refs", *words, "-o", "ndjson")
    assert done.code == 0, done.output
    rows = map(json.loads, done.stdout.splitlines())
    return sorted(
        (row["kind"], row["name"], row["field"], *([row["target"]] if "target" in row else [])) for row in rows
    )


def test_each_reference_to_an_object_is_named_with_its_field(dump: Path) -> None:
    of_pod = [
        "containers[0].env[0].valueFrom.secretKeyRef",
        "volumes[0].secret.secretName",
        "volumes[1].projected.sources[0].secret",
    ]
    assert _rows(dump, "secrets/tls", "-n", "shop") == sorted(
        [
            *(("Pod", "web", f"spec.{field}") for field in of_pod),
            *(("Deployment", "web", f"spec.template.spec.{field}") for field in of_pod),
            ("Ingress", "web", "spec.tls[0].secretName"),
            ("Loaf", "l", "spec.tlsRef"),
            ("ServiceAccount", "robot", "secrets[0]"),
        ]
    )
    assert _rows(dump, "secret/tls", "-n", "other") == []
    assert len(_rows(dump, "ns/shop")) == len(OBJECTS) - 1


def test_what_does_not_exist_is_named_but_what_is_optional_not(dump: Path) -> None:
    of_pod = [
        ("containers[0].envFrom[1].secretRef", "secrets shop/gone"),
        ("volumes[2].persistentVolumeClaim.claimName", "persistentvolumeclaims shop/gone"),
    ]
    assert _rows(dump, "--dangling") == sorted(
        [
            *(("Pod", "web", f"spec.{field}", target) for field, target in of_pod),
            *(("Deployment", "web", f"spec.template.spec.{field}", target) for field, target in of_pod),
            ("Pod", "web", "metadata.ownerReferences[0]", "replicasets.apps shop/old"),
            ("Ingress", "web", "spec.defaultBackend.service", "services shop/front"),
            ("Loaf", "l", "spec.loafRef", "loafs.bakery.example.com shop/m"),
        ]
    )


def test_an_export_tells_what_is_missing_only_of_kinds_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    items = [OBJECTS["pods/shop/web"], OBJECTS["secrets/shop/tls"]]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    done = auditor("refs", path, "--dangling")
    assert [line.split()[-1] for line in done.stdout.splitlines()[1:]] == ["shop/gone", "shop/pull"]
    assert "references to kinds that the export has no object of are not checked" in done.stderr


def test_what_cannot_be_read_and_what_is_no_object_is_said(dump: Path, tmp_path: Path) -> None:
    store = Store(definition())
    store.put(b"{torn tls", "/registry/pods/shop/torn")
    torn = store.write(tmp_path / "torn.json", "etcdctl")
    done = auditor("refs", torn, "secrets/tls", "-n", "shop")
    assert (done.code, done.stdout) == (3, "")
    assert "500: corrupt object /registry/pods/shop/torn" in done.stderr
    assert auditor("refs", dump, "nonsense/tls").code == 2
    assert auditor("refs", dump).code == 2
    assert auditor("refs", dump, "secrets").code == 2
