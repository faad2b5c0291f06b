"""`auditor refs`: who refers to an object, and references to objects that do not exist."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.pipelines.nights.support import Store
from tests.pipelines.nights.support import definition as closed_definition

if TYPE_CHECKING:
    from pathlib import Path


def definition(kind: str = "Loaf", spec: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    """Return a definition whose spec keeps all fields, or has another schema."""
    document: dict[str, Any] = closed_definition(kind, **options)
    for version in document["spec"]["versions"]:
        free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version["schema"]["openAPIV3Schema"]["properties"]["spec"] = spec or free
        del version["selectableFields"]
    return document


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
    bound = {"persistentvolumeclaims/shop/lost": _object("PersistentVolumeClaim", "lost")}
    unused = auditor("refs", _dump(tmp_path, {**objects, **namespace, **bound}), "pvc", "-o", "json")
    assert {row["name"] for row in json.loads(unused.stdout)} == {"lost", "store", "other", "waits"}
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
    "note: a name in a text, a command, a template, a selector, a grant (resourceNames), or a field that is not named as one of a "
    "reference (secretName, tlsRef) is not known as a reference: these objects may be in use\n"
)


def test_a_kind_alone_lists_the_objects_that_no_reference_names(tmp_path: Path) -> None:
    free = {
        "secrets/shop/free": _object("Secret", "free", type="Opaque"),
        "secrets/other/tls": _object("Secret", "tls", metadata={"namespace": "other"}, type="kubernetes.io/tls"),
        "configmaps/shop/gone": _object("ConfigMap", "gone"),
        "configmaps/shop/left": _object("ConfigMap", "left"),
    }
    dump = _dump(tmp_path, OBJECTS | free)
    done = auditor("refs", dump, "secrets,configmaps", "-o", "csv")
    rows = [
        "kind,namespace,name,type",
        "Secret,other,tls,kubernetes.io/tls",
        "Secret,shop,free,Opaque",
        "ConfigMap,shop,left,",
    ]
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


def _of_cluster(kind: str, name: str, api_version: str = "v1", **body: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **body}


def _secret(number: str, namespace: str = "shop") -> dict[str, dict[str, Any]]:
    secret = _object("Secret", number, type="Opaque", metadata={"namespace": namespace})
    return {f"secrets/{namespace}/{number}": secret}


CSI_SECRETS = ("controllerPublish", "nodeStage", "nodePublish", "controllerExpand", "nodeExpand")
VOLUMES = {
    "csi": {"driver": "d", "volumeHandle": "h", **{f"{name}SecretRef": {"name": "s", "namespace": "lab"} for name in CSI_SECRETS}},
    "azureFile": {"secretName": "s", "secretNamespace": "lab", "shareName": "a"},
    "cephfs": {"monitors": ["m"], "secretRef": {"name": "s", "namespace": "lab"}},
    "flexVolume": {"driver": "d", "secretRef": {"name": "s", "namespace": "lab"}},
    "storageos": {"secretRef": {"name": "s", "namespace": "lab"}},
}  # fmt: skip


def test_secrets_of_volumes_are_references_to_the_namespace_that_they_name(tmp_path: Path) -> None:
    volumes = {
        f"persistentvolumes/{kind.lower()}": _of_cluster("PersistentVolume", kind.lower(), spec={kind: source})
        for kind, source in VOLUMES.items()
    }
    pod = _user("shop", volumes=[{"name": "v", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "s"}}}])
    dump = _dump(tmp_path, {**volumes, "pods/shop/user": pod, **_secret("s"), **_secret("s", "lab")})
    fields = [f"spec.csi.{name}SecretRef" for name in CSI_SECRETS] + ["spec.azureFile.secretName"]
    fields += [f"spec.{kind}.secretRef" for kind in ("cephfs", "flexVolume", "storageos")]
    assert sorted(row[2] for row in _rows(dump, "secrets/s", "-n", "lab")) == sorted(fields)
    assert _rows(dump, "secrets/s", "-n", "shop") == [("Pod", "user", "spec.volumes[0].csi.nodePublishSecretRef")]
    assert auditor("refs", dump, "secrets").stderr == "A reference names each of them.\n"


def test_secrets_of_storage_classes_are_references_unless_they_are_templates(tmp_path: Path) -> None:
    csi = "csi.storage.k8s.io"
    named = {
        f"{csi}/provisioner-secret-name": "s", f"{csi}/provisioner-secret-namespace": "lab",
        f"{csi}/node-stage-secret-name": "${pvc.name}", f"{csi}/node-stage-secret-namespace": "${pvc.namespace}",
        f"{csi}/node-publish-secret-name": "s", f"{csi}/node-publish-secret-namespace": "${pvc.namespace}",
        "adminSecretName": "s", "adminSecretNamespace": "lab",
    }  # fmt: skip
    objects = {"storageclasses/c": _of_cluster("StorageClass", "c", STORAGE, provisioner="p", parameters=named)}
    dump = _dump(tmp_path, {**objects, **_secret("s"), **_secret("s", "lab")})
    anywhere = ("StorageClass", "c", f"parameters.{csi}/node-publish-secret-name")
    both = [("StorageClass", "c", "parameters.adminSecretName"), anywhere]
    assert _rows(dump, "secrets/s", "-n", "shop") == [anywhere]
    assert _rows(dump, "secrets/s", "-n", "lab") == [
        *both, ("StorageClass", "c", f"parameters.{csi}/provisioner-secret-name")
    ]  # fmt: skip
    assert [row for row in _rows(dump, "--dangling") if row[0] == "StorageClass"] == []


def test_other_fields_of_built_in_kinds_are_references(tmp_path: Path) -> None:
    service = {"group": "", "resource": "services", "namespace": "shop", "name": "front"}
    subject = {"kind": "ServiceAccount", "serviceAccount": {"namespace": "shop", "name": "robot"}}
    everyone = {"kind": "ServiceAccount", "serviceAccount": {"namespace": "shop", "name": "*"}}
    snapshot = {"apiGroup": "bakery.example.com", "kind": "Loaf", "name": "l"}
    objects = {
        "namespaces/shop": OBJECTS["namespaces/shop"],
        "ipaddresses/10.0.0.1": _of_cluster(
            "IPAddress", "10.0.0.1", "networking.k8s.io/v1", spec={"parentRef": service}
        ),
        "flowschemas/f": _of_cluster(
            "FlowSchema", "f", "flowcontrol.apiserver.k8s.io/v1", spec={"rules": [{"subjects": [subject, everyone]}]}
        ),
        "persistentvolumeclaims/shop/p": _object("PersistentVolumeClaim", "p", spec={"dataSource": snapshot}),
        "ingress/shop/i": _object(
            "Ingress", "i", "networking.k8s.io/v1", spec={"defaultBackend": {"resource": snapshot}}
        ),
        "ingressclasses/c": _of_cluster(
            "IngressClass", "c", "networking.k8s.io/v1", spec={"parameters": {**snapshot, "namespace": "shop"}}
        ),
        "pods/shop/user": _user("shop", volumes=[{"name": "g", "glusterfs": {"endpoints": "front", "path": "p"}}]),
        "configmaps/shop/text": _object("ConfigMap", "text", data={"secretName": "gone", "serviceName": "gone"}),
    }
    assert _rows(_dump(tmp_path, objects), "--dangling") == sorted(
        [
            ("FlowSchema", "f", "spec.rules[0].subjects[0].serviceAccount", "serviceaccounts shop/robot"),
            ("IPAddress", "10.0.0.1", "spec.parentRef", "services shop/front"),
            ("Ingress", "i", "spec.defaultBackend.resource", "loafs.bakery.example.com shop/l"),
            ("IngressClass", "c", "spec.parameters", "loafs.bakery.example.com shop/l"),
            ("PersistentVolumeClaim", "p", "spec.dataSource", "loafs.bakery.example.com shop/l"),
            ("Pod", "user", "spec.volumes[0].glusterfs.endpoints", "endpoints shop/front"),
        ]
    )


def _reference(**defaults: str) -> dict[str, Any]:
    properties = {
        "name": {"type": "string"},
        **{key: {"type": "string", "default": of} for key, of in defaults.items()},
    }
    return {"type": "array", "items": {"type": "object", "properties": properties}}


LOAF = {"type": "object", "default": {}, "properties": {
    "certificateRefs": _reference(kind="Secret", group=""),
    "backendRefs": _reference(kind="Service", group=""),
    "parentRefs": _reference(kind="Oven", group="bakery.example.com"),
    "shelfRef": {"type": "object", "default": {"name": "usual", "kind": "ConfigMap"}, "properties": {
        "name": {"type": "string"}, "kind": {"type": "string"},
    }},
}}  # fmt: skip


def test_a_reference_of_a_custom_resource_has_its_defaults(tmp_path: Path) -> None:
    crds = "apiextensions.k8s.io/customresourcedefinitions"
    loaf = _object(
        "Loaf", "l", "bakery.example.com/v1",
        spec={key: [{"name": "t"}] for key in ("certificateRefs", "backendRefs", "parentRefs", "unknownRefs")},
    )  # fmt: skip
    bakery = {
        f"{crds}/loafs.bakery.example.com": definition(spec=LOAF),
        f"{crds}/ovens.bakery.example.com": definition("Oven"),
        f"{crds}/certificates.bakery.example.com": definition("Certificate"),
        "bakery.example.com/loafs/shop/l": loaf,
        "namespaces/shop": OBJECTS["namespaces/shop"],
        **_secret("t"),
    }
    dump = _dump(tmp_path, bakery)
    assert _rows(dump, "secrets/t") == [("Loaf", "l", "spec.certificateRefs[0]")]
    assert _rows(dump, "configmaps/usual") == [("Loaf", "l", "spec.shelfRef")]
    assert _rows(dump, "--dangling") == [
        ("Loaf", "l", "spec.backendRefs[0]", "services shop/t"),
        ("Loaf", "l", "spec.parentRefs[0]", "ovens.bakery.example.com shop/t"),
        ("Loaf", "l", "spec.shelfRef", "configmaps shop/usual"),
    ]
    assert auditor("refs", dump, "secrets").stderr == "A reference names each of them.\n"


def test_only_a_webhook_could_convert_it_but_its_own_version_has_defaults(tmp_path: Path) -> None:
    hooked = definition(spec=LOAF, versions=("v1alpha1", "v1"))
    hooked["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://hook.example.com"}},
    }
    loaf = _object("Loaf", "l", "bakery.example.com/v1alpha1", spec={"certificateRefs": [{"name": "t"}]})
    dump = _dump(tmp_path, {
        "apiextensions.k8s.io/customresourcedefinitions/loafs.bakery.example.com": hooked,
        "bakery.example.com/loafs/shop/l": loaf,
        **_secret("t"),
    })  # fmt: skip
    assert _rows(dump, "secrets/t") == [("Loaf", "l", "spec.certificateRefs[0]")]


def test_secrets_that_are_used_by_their_type_are_counted(tmp_path: Path) -> None:
    release, token = "helm.sh/release.v1", "kubernetes.io/service-account-token"
    used = {
        f"secrets/shop/{name}": _object("Secret", name, type=of)
        for name, of in (("a", release), ("b", release), ("c", token))
    }
    done = auditor("refs", _dump(tmp_path, {**used, **_secret("free")}), "secrets")
    note = "note: 3 Secrets that no reference names are used by their type, not listed: "
    assert done.stderr == f"{note}{release}, {token}\n{UNKNOWN}"
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["KIND", "NAMESPACE", "NAME", "TYPE"],
        ["Secret", "shop", "free", "Opaque"],
    ]
    assert auditor("refs", _dump(tmp_path, used), "secrets").stderr == f"{note}{release}, {token}\n"
