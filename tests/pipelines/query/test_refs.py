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
    return _dump(tmp_path, OBJECTS)


def _dump(folder: Path, objects: dict[str, dict[str, Any]], form: str = "etcdctl") -> Path:
    store = Store(definition())
    for key, obj in objects.items():
        store.put(json.dumps(obj).encode(), f"/registry/{key}")
    return folder / str(store.write(folder / f"dump.{form}.json", form))


def _rows(*words: object) -> list[tuple[str, ...]]:
    done = auditor("refs", *words, "-o", "ndjson")
    assert done.code == 0, done.output
    rows = map(json.loads, done.stdout.splitlines())
    names = ("kind", "name", "field", *(["target"] if "--dangling" in words else []))
    return sorted(tuple(row[name] for name in names) for row in rows)


def _table(*words: object) -> list[list[str]]:
    return [line.split() for line in auditor("refs", *words).stdout.splitlines()]


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
    assert _rows(dump, "secrets/tls") == _rows(dump, "secrets/tls", "-n", "shop")
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


def _user(namespace: str, **spec: Any) -> dict[str, Any]:
    return _object("Pod", "user", spec=spec, metadata={"namespace": namespace})


def test_all_namespaces_are_searched_and_more_than_one_is_named(tmp_path: Path) -> None:
    secret, volume = {"secretName": "tls"}, "spec.volumes[0].secret.secretName"
    elsewhere = _object("Secret", "tls", metadata={"namespace": "lab"})
    users = {f"pods/{name}/user": _user(name, volumes=[{"secret": secret}]) for name in ("lab", "shop")}
    both = _dump(tmp_path, {**users, "secrets/shop/tls": OBJECTS["secrets/shop/tls"], "secrets/lab/tls": elsewhere})
    assert _table(both, "secrets/tls") == [
        ["KIND", "NAMESPACE", "NAME", "FIELD", "REFERS", "TO"],
        ["Pod", "lab", "user", volume, "secrets", "lab/tls"],
        ["Pod", "shop", "user", volume, "secrets", "shop/tls"],
    ]
    assert _table(both, "secrets/tls", "-n", "lab") == [
        ["KIND", "NAMESPACE", "NAME", "FIELD"],
        ["Pod", "lab", "user", volume],
    ]
    del users["pods/lab/user"]
    used = _dump(tmp_path, {**users, "secrets/shop/tls": OBJECTS["secrets/shop/tls"], "secrets/lab/tls": elsewhere})
    assert _table(used, "secrets/tls")[1:] == [["Pod", "shop", "user", volume, "secrets", "shop/tls"]]


def test_a_target_that_does_not_exist_is_said(dump: Path) -> None:
    done = auditor("refs", dump, "secrets/gone", "-n", "shop", "-o", "ndjson")
    assert (done.code, len(done.stdout.splitlines())) == (0, 2)
    assert done.stderr == "secrets shop/gone does not exist in the dump\n"
    for words, name in ((("-n", "shop"), "shop/nosuch"), ((), "nosuch")):
        done = auditor("refs", dump, "secrets/nosuch", *words)
        assert (done.code, done.stdout) == (1, "")
        assert done.stderr == f"secrets {name} does not exist in the dump\nNo references found.\n"
    assert auditor("refs", dump, "secrets/pull", "-n", "shop").stderr == ""
    done = auditor("refs", dump, "pods/web", "-n", "shop")
    assert (done.code, done.stderr) == (0, "No references found.\n")


def test_of_many_targets_that_do_not_exist_three_are_named(tmp_path: Path) -> None:
    users = {f"pods/n{number}/user": _user(f"n{number}", serviceAccountName="gone") for number in range(5)}
    done = auditor("refs", _dump(tmp_path, users), "sa/gone")
    first = ", ".join(f"serviceaccounts n{number}/gone" for number in range(3))
    assert done.stderr == f"{first} and 2 more do not exist in the dump\n"


def test_a_claim_and_its_volume_refer_to_each_other(tmp_path: Path) -> None:
    named = {"kind": "PersistentVolumeClaim", "namespace": "shop", "name": "lost", "apiVersion": "v1"}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"claimRef": named}}
    objects = {
        "persistentvolumes/v": volume,
        **{
            f"persistentvolumeclaims/shop/{name}": _object("PersistentVolumeClaim", name, spec={"volumeName": of})
            for name, of in (("store", "v"), ("other", "gone"), ("waits", ""))
        },
    }
    namespace = {"namespaces/shop": OBJECTS["namespaces/shop"]}
    dump = _dump(tmp_path, {**objects, **namespace})
    assert _rows(dump, "pv/v") == [("PersistentVolumeClaim", "store", "spec.volumeName")]
    assert _rows(dump, "pvc/lost") == [("PersistentVolume", "v", "spec.claimRef")]
    lost = [
        ("PersistentVolume", "v", "spec.claimRef", "persistentvolumeclaims shop/lost"),
        ("PersistentVolumeClaim", "other", "spec.volumeName", "persistentvolumes gone"),
    ]
    assert _rows(dump, "--dangling") == lost
    assert _rows(_dump(tmp_path, {**objects, **namespace}, "export"), "--dangling") == lost
    del objects["persistentvolumes/v"]
    assert _rows(_dump(tmp_path, {**objects, **namespace}, "export"), "--dangling") == []


@pytest.mark.parametrize("form", ["etcdctl", "export"])
def test_an_owner_of_another_uid_is_marked(tmp_path: Path, form: str) -> None:
    def owned(name: str, uid: str) -> dict[str, Any]:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", **({"uid": uid} if uid else {})}
        return _object("Pod", name, metadata={"ownerReferences": [owner]})

    objects = {
        "namespaces/shop": OBJECTS["namespaces/shop"],
        "replicasets/shop/web": _object("ReplicaSet", "web", "apps/v1", metadata={"uid": "new"}),
        **{f"pods/shop/{name}": owned(name, uid) for name, uid in (("a", "new"), ("b", "old"), ("c", ""))},
    }
    dump, field = _dump(tmp_path, objects, form), "metadata.ownerReferences[0]"
    another = ("Pod", "b", f"{field} (another uid)")
    assert _rows(dump, "rs/web") == [("Pod", "a", field), another, ("Pod", "c", field)]
    assert _rows(dump, "--dangling") == [(*another, "replicasets.apps shop/web")]
    assert _rows(dump, "--dangling", "-n", "other") == []


ISSUER = definition("Issuer", scope="Cluster")
VOLUME = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}}
STORAGE = "storage.k8s.io/v1"


def _attachment(volume: str) -> dict[str, Any]:
    spec = {"source": {"persistentVolumeName": volume}, "nodeName": "n", "attacher": "a"}
    return {"apiVersion": STORAGE, "kind": "VolumeAttachment", "metadata": {"name": f"to-{volume}"}, "spec": spec}


def _issuer(name: str) -> dict[str, Any]:
    refs = {"caRef": {"kind": "Secret", "name": "tls"}, "keyRef": {"kind": "Secret", "name": "gone"}}
    body = {"spec": {**refs, "otherRef": {"kind": "Secret", "name": "tls", "namespace": "lab"}}}
    return {"apiVersion": "bakery.example.com/v1", "kind": "Issuer", "metadata": {"name": name}, **body}


def test_a_reference_without_a_namespace_is_dangling_only_if_no_namespace_has_the_object(tmp_path: Path) -> None:
    objects = {
        "apiextensions.k8s.io/customresourcedefinitions/issuers.bakery.example.com": ISSUER,
        "secrets/shop/tls": OBJECTS["secrets/shop/tls"],
        "namespaces/shop": OBJECTS["namespaces/shop"],
        "bakery.example.com/issuers/all": _issuer("all"),
    }
    dump = _dump(tmp_path, objects)
    done = auditor("refs", dump, "--dangling")
    assert _rows(dump, "--dangling") == [
        ("Issuer", "all", "spec.keyRef", "secrets gone"),
        ("Issuer", "all", "spec.otherRef", "secrets lab/tls"),
    ]
    assert done.stderr == (
        "note: 1 reference of objects without a namespace does not name the namespace of an object that exists: unknown: "
        "Issuer all spec.caRef\n"
    )
    for words in ((), ("-n", "shop")):
        assert ("Issuer", "all", "spec.caRef") in _rows(dump, "secrets/tls", *words)
    assert ("Issuer", "all", "spec.otherRef") not in _rows(dump, "secrets/tls", "-n", "shop")


def test_fields_of_built_in_kinds_that_name_objects_are_references(tmp_path: Path) -> None:
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "p"}}
    binding = {**policy, "kind": "ValidatingAdmissionPolicyBinding", "spec": {"policyName": "p"}}
    base = "validatingadmissionpolic"
    dump = _dump(tmp_path, {
        "persistentvolumes/v": VOLUME,
        "volumeattachments/to-v": _attachment("v"),
        "volumeattachments/to-gone": _attachment("gone"),
        "minions/n": {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}},
        f"{base}ies/p": {**policy, "kind": "ValidatingAdmissionPolicy"},
        f"{base}ybindings/p": binding,
    })  # fmt: skip
    assert _rows(dump, "pv/v") == [("VolumeAttachment", "to-v", "spec.source.persistentVolumeName")]
    assert _rows(dump, "validatingadmissionpolicies/p") == [
        ("ValidatingAdmissionPolicyBinding", "p", "spec.policyName")
    ]
    assert _rows(dump, "--dangling") == [
        ("VolumeAttachment", "to-gone", "spec.source.persistentVolumeName", "persistentvolumes gone")
    ]


def test_what_is_not_searched_or_judged_is_said(tmp_path: Path, dump: Path) -> None:
    ghost = {
        "gone.example.com/ghosts/shop/g": _object(
            "Ghost", "g", "gone.example.com/v1", spec={"secretRef": {"name": "tls"}}
        )
    }
    (tmp_path / "other").mkdir()
    haunted = _dump(tmp_path / "other", {**OBJECTS, **ghost})
    note = "note: 1 value of no kind that its definitions name, not searched; first /registry/gone.example.com/ghosts/shop/g\n"
    for words in (("secrets/tls",), ("--dangling",)):
        assert note in auditor("refs", haunted, *words).stderr
    judged = "reference to unknown or ambiguous kinds is not judged: ovenRefs\n"
    assert auditor("refs", dump, "--dangling").stderr == f"note: 1 {judged}"
    assert auditor("refs", dump, "--dangling", "-n", "other").stderr.endswith("other\nNo references found.\n")
    assert auditor("refs", dump, "secrets/tls").stderr == ""
    spec = {f"{word}Ref": {"name": "x", "kind": word} for word in ("Issuer", "Mill", "Oven", "Shop")}
    many = _dump(
        tmp_path, {"bakery.example.com/loafs/shop/m": _object("Loaf", "m", "bakery.example.com/v1", spec=spec)}
    )
    text = "note: 4 references to unknown or ambiguous kinds are not judged: Issuer, Mill, Oven and 1 more\n"
    assert auditor("refs", many, "--dangling").stderr == text


def test_what_cannot_be_read_and_what_is_no_object_is_said(dump: Path, tmp_path: Path) -> None:
    store = Store(definition())
    store.put(b"{torn tls", "/registry/pods/shop/torn")
    torn = store.write(tmp_path / "torn.json", "etcdctl")
    done = auditor("refs", torn, "secrets/tls", "-n", "shop")
    assert (done.code, done.stdout) == (3, "")
    assert "500: corrupt object /registry/pods/shop/torn" in done.stderr
    assert "secrets shop/tls does not exist in what could be read of the dump\n" in done.stderr
    assert auditor("refs", dump).code == 2


TORN_POD = b"k8s\0\n\x09\n\x02v1\x12\x03Pod\x12\x40\n\x05\n\x03web"
"""An envelope that has seven of the 64 bytes of its message."""
OTHER_KIND = json.dumps(_object("Bun", "bun", "bakery.example.com/v1")).encode()


@pytest.mark.parametrize(
    ("key", "value", "lost"),
    [
        ("pods/shop/web", TORN_POD, True),
        ("pods/shop/web", b'{"kind":"Pod","apiVersion":"v1","spec":{}', True),
        ("bakery.example.com/loafs/shop/web", json.dumps(OBJECTS["bakery.example.com/loafs/shop/l"]).encode()[:50], True),
        ("bakery.example.com/loafs/shop/web", b"", True),
        ("bakery.example.com/loafs/shop/web", OTHER_KIND, False),
        ("pods/shop/web", json.dumps(_object("Pod", "web", "v7")).encode(), False),
        ("pods/shop/web", b"kind: Pod\napiVersion: v1\n", False),
    ],
)  # fmt: skip
def test_a_value_that_may_have_lost_the_reference_leaves_it_open(
    key: str, value: bytes, lost: bool, tmp_path: Path
) -> None:
    store = Store(definition())
    store.put(json.dumps(OBJECTS["secrets/shop/pull"]).encode(), "/registry/secrets/shop/pull")
    store.put(value, f"/registry/{key}")
    done = auditor("refs", store.write(tmp_path / "dump.json", "etcdctl"), "secrets/pull", "-n", "shop")
    assert (done.code, done.stdout) == (3 if lost else 0, "")
    assert (f"500: corrupt object /registry/{key}: " in done.stderr) is lost
    said = " in what could be read of the dump" if lost else ""
    assert done.stderr.endswith(f"No references found{said}.\n")


UNKNOWN = (
    "note: a name in a text, a command, a selector, or a field that is not named as one of a reference (secretName, tlsRef) is not "
    "known as a reference: these objects may be in use\n"
)


def test_a_kind_alone_lists_the_objects_that_no_reference_names(tmp_path: Path) -> None:
    free = {
        "secrets/shop/free": _object("Secret", "free"),
        "secrets/other/tls": _object("Secret", "tls", metadata={"namespace": "other"}),
        "configmaps/shop/gone": _object("ConfigMap", "gone"),
        "configmaps/shop/left": _object("ConfigMap", "left"),
    }
    dump = _dump(tmp_path, OBJECTS | free)
    done = auditor("refs", dump, "secrets,configmaps", "-o", "csv")
    rows = ["kind,namespace,name", "Secret,other,tls", "Secret,shop,free", "ConfigMap,shop,left"]
    assert (done.code, done.stdout.splitlines()) == (0, rows)
    assert done.stderr == f"note: 1 reference to unknown or ambiguous kinds is not judged: oven\n{UNKNOWN}".replace(
        "oven\n", "ovenRefs\n"
    )
    assert "free" in auditor("refs", dump, "secret", "-n", "shop").stdout
    assert "other" not in auditor("refs", dump, "secret", "-n", "shop").stdout


def test_an_object_of_a_cluster_may_name_one_of_any_namespace(tmp_path: Path) -> None:
    issuer = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {"csi": {"secretRef": {"name": "free"}}},
    }
    dump = _dump(tmp_path, {"secrets/shop/free": _object("Secret", "free"), "persistentvolumes/v": issuer})
    done = auditor("refs", dump, "secrets")
    assert (done.code, done.stdout) == (0, "")
    assert done.stderr.startswith("A reference names each of them.\n")


def test_what_is_not_read_may_refer(tmp_path: Path) -> None:
    free = {"secrets/shop/free": _object("Secret", "free")}
    dump = _dump(tmp_path, free)
    export = auditor("refs", _dump(tmp_path, free, "list"), "secrets")
    assert (export.code, "an export may lack objects that refer to these" in export.stderr) == (0, True)
    store = Store(definition())
    store.put(json.dumps(free["secrets/shop/free"]).encode(), "/registry/secrets/shop/free")
    store.put(b"{torn", "/registry/pods/shop/web")
    dump = tmp_path / str(store.write(tmp_path / "torn.json", "etcdctl"))
    done = auditor("refs", dump, "secrets")
    assert (done.code, "free" in done.stdout) == (3, True)
    assert "note: part of the dump could not be read, and may refer to these objects\n" in done.stderr


def test_an_unknown_kind_alone_is_refused(dump: Path) -> None:
    assert auditor("refs", dump, "cakes").code == 1
    assert "give KIND/NAME, KIND, or --dangling" in auditor("refs", dump).stderr
    assert auditor("refs", dump, "secrets", "--dangling").code == 2
