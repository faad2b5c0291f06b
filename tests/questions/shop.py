"""A small cluster with a past, for which people ask questions: its objects as plain values, and dumps of it."""

from __future__ import annotations

import datetime
import json
from base64 import b64encode
from copy import deepcopy
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.documents import named_definition
from tests.sources.archives.writing import must_gather, rancher, tgz, velero
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot
from tests.sources.kine.test_kine import store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.sources.kine.test_kine import Row

__all__ = ["FORMS", "NEWEST", "Object", "dump_of", "named", "objects", "steps"]

Object = dict[str, Any]

NEWEST: Final = datetime.datetime(2026, 3, 10, 12, 0, tzinfo=datetime.UTC)
"""The newest time in the cluster."""

_PLURALS: Final = {
    "Widget": "shop.example.com/widgets",
    "CustomResourceDefinition": "apiextensions.k8s.io/customresourcedefinitions",
    "Service": "services/specs",
    "Endpoints": "services/endpoints",
    "Ingress": "ingress",
    "Node": "minions",
}
"""Where etcd has the objects of a kind, if not below its plural."""


def _time(days: float) -> str:
    """Return the time so many days before the newest one."""
    return (NEWEST - datetime.timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _object(api: str, kind: str, name: str, namespace: str = "", *, days: float = 30, **parts: Any) -> Object:
    metadata: Object = {"name": name, "creationTimestamp": _time(days), "uid": f"{kind}-{namespace}-{name}".lower()}
    if namespace:
        metadata["namespace"] = namespace
    metadata |= parts.pop("metadata", {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **parts}


def _owned(kind: str, name: str, namespace: str = "shop", api: str = "apps/v1") -> Object:
    """Return the metadata of what an object owns."""
    owner = {"apiVersion": api, "kind": kind, "name": name, "uid": f"{kind}-{namespace}-{name}".lower()}
    return {"ownerReferences": [{**owner, "controller": True}]}


def _condition(kind: str, status: str, reason: str = "", message: str = "") -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": _time(1)}


def _pod(name: str, status: Object, *, node: str = "", image: str = "example.com/web:1", **parts: Any) -> Object:
    spec: Object = {
        "containers": [{"name": "main", "image": image}],
        "serviceAccountName": parts.pop("account", "baker"),
    }
    if node:
        spec["nodeName"] = node
    spec |= parts.pop("spec", {})
    return _object("v1", "Pod", name, "shop", spec=spec, status=status, **parts)


def _running(*, ready: bool, waiting: str = "", restarts: int = 0) -> Object:
    state = (
        {"waiting": {"reason": waiting, "message": "back-off 5m0s"}}
        if waiting
        else {"running": {"startedAt": _time(2)}}
    )
    status = "True" if ready else "False"
    reason = "" if ready else "ContainersNotReady"
    return {
        "phase": "Running",
        "conditions": [_condition("Ready", status, reason), _condition("PodScheduled", "True")],
        "containerStatuses": [
            {"name": "main", "ready": ready, "restartCount": restarts, "image": "", "imageID": "", "state": state}
        ],
    }


@cache
def certificate(name: str, days: int) -> str:
    """Return a certificate as PEM that expires so many days after the newest time."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(NEWEST - datetime.timedelta(days=90))
        .not_valid_after(NEWEST + datetime.timedelta(days=days))
        .sign(key, hashes.SHA256())
    )
    return built.public_bytes(serialization.Encoding.PEM).decode()


def _data(**values: str) -> dict[str, str]:
    return {name.replace("__", "."): b64encode(value.encode()).decode() for name, value in values.items()}


def _widget(name: str, namespace: str = "shop", *, days: float = 20, **spec: Any) -> Object:
    ready = spec.pop("ready", "True")
    status = (
        {"conditions": [_condition("Ready", ready, "" if ready == "True" else "Failed", "no flour")]} if ready else {}
    )
    more = spec.pop("metadata", {})
    return _object("shop.example.com/v1", "Widget", name, namespace, days=days, metadata=more, spec=spec, status=status)


def _definition() -> Object:
    text, number = {"type": "string"}, {"type": "integer"}
    reference = {"type": "object", "properties": {"name": text}}
    spec = {
        "type": "object",
        "properties": {
            "color": text, "size": {**number, "maximum": 10}, "secretRef": reference, "tags": {"type": "array", "items": text},
            "due": {"type": "string", "format": "date-time"},
        },
    }  # fmt: skip
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    definition = named_definition(
        "widgets.shop.example.com", "Widget", schema,
        selectableFields=[{"jsonPath": ".spec.color"}], subresources={"status": {}},
        additionalPrinterColumns=[{"name": "Color", "type": "string", "jsonPath": ".spec.color"}],
    )  # fmt: skip
    definition["metadata"] |= {"uid": "crd-widgets", "creationTimestamp": _time(200)}
    names = {**definition["spec"]["names"], "shortNames": ["wd"]}
    definition["spec"]["names"] = names
    condition = _condition("Established", "True", "InitialNamesAccepted")
    accepted = _condition("NamesAccepted", "True", "NoConflicts")
    definition["status"] = {"acceptedNames": names, "storedVersions": ["v1"], "conditions": [accepted, condition]}
    return definition


def _manager(name: str, days: float, **fields: Any) -> Object:
    written = {"f:spec": {f"f:{field}": {} for field in fields}}
    return {
        "manager": name, "operation": "Update", "apiVersion": "shop.example.com/v1", "time": _time(days), "fieldsType": "FieldsV1",
        "fieldsV1": written,
    }  # fmt: skip


def steps() -> list[tuple[Object, bool]]:
    """Return each write in order: the object, and whether it is deleted."""
    gone = _widget("gone", color="red", size=1, days=9)
    changed = [
        _secret_of_the_database("new", days=2),
        gone,
        _front(color="green", writers=[_manager("baker", 15, size=1), _manager("painter", 1, color=1)]),
    ]
    by_time = sorted([*_first(), *changed], key=_written)
    settings = _object("v1", "ConfigMap", "settings", "shop", data={"mode": "fast"})
    return [*((obj, False) for obj in by_time), (gone, True), (settings, False)]


def _written(obj: Object) -> str:
    """Return the newest time at which an object says that it was written."""
    metadata = obj["metadata"]
    times = [entry["time"] for entry in metadata.get("managedFields", ())]
    return max(metadata["creationTimestamp"], metadata.get("deletionTimestamp", ""), *times, "")


def _secret_of_the_database(password: str, days: float) -> Object:
    writer = {
        "manager": "rotator",
        "operation": "Update",
        "apiVersion": "v1",
        "time": _time(days),
        "fieldsType": "FieldsV1",
    }
    more = {"managedFields": [{**writer, "fieldsV1": {"f:data": {"f:password": {}}}}]}
    return _object("v1", "Secret", "db", "shop", type="Opaque", data=_data(password=password), metadata=more)


def _front(color: str, writers: list[Object]) -> Object:
    return _widget(
        "front", color=color, size=4, tags=["a", "b"], secretRef={"name": "db"}, metadata={"managedFields": writers}
    )


def _first() -> list[Object]:
    return [_definition(), *_scoped(), *_workloads(), *_pods(), *_config(), *_widgets(), *_events()]


def _scoped() -> list[Object]:
    ready, pressed = (
        _condition("Ready", "True", "KubeletReady"),
        _condition("MemoryPressure", "True", "Low", "memory is low"),
    )
    terminating = {"deletionTimestamp": _time(3), "creationTimestamp": _time(90)}
    return [
        *(_object("v1", "Namespace", name, days=100, spec={"finalizers": ["kubernetes"]}, status={"phase": "Active"})
          for name in ("default", "shop", "lab")),
        _object("v1", "Namespace", "old", metadata=terminating, spec={"finalizers": ["kubernetes"]}, status={"phase": "Terminating"}),
        _object("v1", "Node", "big", days=100, spec={}, status={"conditions": [ready]}),
        _object("v1", "Node", "small", days=50, spec={}, status={"conditions": [pressed, ready]}),
    ]  # fmt: skip


def _workloads() -> list[Object]:
    def deployment(name: str, wanted: int, ready: int) -> Object:
        template = {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": "example.com/web:1"}]},
        }
        spec = {"replicas": wanted, "selector": {"matchLabels": {"app": name}}, "template": template}
        status = {"replicas": wanted, "readyReplicas": ready, "availableReplicas": ready, "updatedReplicas": wanted}
        return _object("apps/v1", "Deployment", name, "shop", spec=spec, status=status)

    def replica_set(name: str, owner: str, wanted: int, ready: int) -> Object:
        spec = {"replicas": wanted, "selector": {"matchLabels": {"app": owner}}}
        status = {"replicas": wanted, "readyReplicas": ready}
        more = _owned("Deployment", owner)
        return _object("apps/v1", "ReplicaSet", name, "shop", metadata=more, spec=spec, status=status)

    failed = {"conditions": [_condition("Failed", "True", "BackoffLimitExceeded", "it failed 6 times")], "failed": 6}
    return [
        deployment("web", 3, 1), deployment("api", 1, 1), deployment("idle", 0, 0),
        replica_set("web-5f", "web", 3, 1), replica_set("api-77", "api", 1, 1),
        _object("batch/v1", "Job", "bake", "shop", spec={"completions": 1}, status=failed),
    ]  # fmt: skip


def _pods() -> list[Object]:
    finished = {"phase": "Succeeded", "conditions": [_condition("Ready", "False", "PodCompleted")]}
    pending = {"phase": "Pending", "conditions": [_condition("PodScheduled", "False", "Unschedulable", "0/2 nodes")]}
    secrets = {"imagePullSecrets": [{"name": "registry"}]}
    volume = {
        "volumes": [
            {"name": "config", "configMap": {"name": "settings"}},
            {"name": "lost", "secret": {"secretName": "missing"}},
        ]
    }
    web = _owned("ReplicaSet", "web-5f")
    leaving = {**_owned("ReplicaSet", "api-77"), "deletionTimestamp": _time(0.5), "finalizers": ["example.com/drain"]}
    return [
        _pod("web-1", _running(ready=True), node="big", spec=volume, metadata=web, days=5),
        _pod("web-2", _running(ready=False, waiting="CrashLoopBackOff", restarts=7), node="small", metadata=web, days=5),
        _pod("web-3", pending, metadata=web, days=0.25),
        _pod("api-1", _running(ready=True), node="big", image="example.com/api:2", spec=secrets, metadata=leaving, days=8),
        _pod("bake-1", finished, node="big", image="example.com/bake:1", metadata=_owned("Job", "bake", api="batch/v1"), days=1),
    ]  # fmt: skip


def _config() -> list[Object]:
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    rule = {"host": "shop.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    bound = {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    return [
        _secret_of_the_database("old", days=25),
        _object("v1", "Secret", "front-tls", "shop", type="kubernetes.io/tls",
                data=_data(tls__crt=certificate("shop.example.com", 20), tls__key="private")),
        _object("v1", "Secret", "old-tls", "lab", type="kubernetes.io/tls",
                data=_data(tls__crt=certificate("old.example.com", -5), tls__key="private")),
        _object("v1", "Secret", "registry", "shop", type="kubernetes.io/dockerconfigjson", data=_data(__dockerconfigjson="{}")),
        _object("v1", "ConfigMap", "settings", "shop", data={"mode": "slow"}),
        _object("v1", "ConfigMap", "unused", "lab", data={"a": "b"}, metadata={"labels": {"team": "lab"}}),
        _object("v1", "ConfigMap", "trust", "shop", data={"ca.crt": certificate("ca.example.com", 400)}),
        _object("v1", "ServiceAccount", "baker", "shop"),
        _object("v1", "Service", "web", "shop", spec={"selector": {"app": "web"}, "ports": [{"port": 80}], "type": "ClusterIP"}),
        _object("networking.k8s.io/v1", "Ingress", "front", "shop",
                spec={"rules": [rule], "tls": [{"hosts": ["shop.example.com"], "secretName": "front-tls"}]}),
        _object("v1", "PersistentVolumeClaim", "store", "shop", spec={**claim, "volumeName": "v"}, status=bound),
        _object("v1", "PersistentVolume", "v", status={"phase": "Bound"},
                spec={"capacity": {"storage": "1Gi"}, "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "shop", "name": "store"}}),
        _object("v1", "PersistentVolumeClaim", "waits", "lab", spec=claim, status={"phase": "Pending"}),
    ]  # fmt: skip


def _widgets() -> list[Object]:
    labelled = {"labels": {"team": "lab", "tier": "gold"}}
    held = {"deletionTimestamp": _time(6), "finalizers": ["example.com/hold", "example.com/bill"]}
    return [
        _front("blue", [_manager("baker", 15, color=1, size=1)]),
        _widget("back", color="red", size=2, tags=["b"], due=_time(-10)),
        _widget("side", color="red", size=12, ready="False", due=_time(40)),
        _widget("top", "lab", color="blue", size=9, metadata=labelled, days=4),
        _widget("stuck", "lab", color="green", size=3, metadata=held, ready=""),
        _widget("orphan", "lab", color="blue", size=5, secretRef={"name": "missing"}, days=0.1,
                metadata=_owned("Widget", "never", "lab", "shop.example.com/v1")),
    ]  # fmt: skip


def _events() -> list[Object]:
    def event(name: str, kind: str, about: str, reason: str, days: float, sort: str = "Warning") -> Object:
        involved = {"kind": kind, "name": about, "namespace": "shop", "uid": f"{kind}-shop-{about}".lower()}
        return _object(
            "v1", "Event", name, "shop", days=days, involvedObject=involved, reason=reason, message=f"{reason} of {about}",
            type=sort, count=1, firstTimestamp=_time(days), lastTimestamp=_time(days), source={"component": "kubelet"},
        )  # fmt: skip

    return [
        event("e1", "Pod", "web-2", "BackOff", 0.2),
        event("e2", "Pod", "web-3", "FailedScheduling", 0.1),
        event("e3", "Pod", "web-1", "Started", 5, "Normal"),
        event("e4", "Deployment", "web", "ScalingReplicaSet", 0, "Normal"),
        event("e5", "Widget", "side", "Failed", 2),
    ]


@cache
def _live() -> dict[str, Object]:
    live: dict[str, Object] = {}
    for obj, is_deleted in steps():
        if is_deleted:
            del live[key_of(obj)]
        else:
            live[key_of(obj)] = obj
    return live


def objects(kind: str = "") -> list[Object]:
    """Return the objects that the cluster has now.

    Args:
        kind: The kind; empty for all.
    """
    return [deepcopy(obj) for obj in _live().values() if kind in ("", obj["kind"])]


def named(objs: Iterable[Object]) -> set[str]:
    """Return NAMESPACE/NAME of objects; only NAME of those without a namespace."""
    return {"/".join(filter(None, (obj["metadata"].get("namespace"), obj["metadata"]["name"]))) for obj in objs}


def key_of(obj: Object) -> str:
    """Return the key of an object in etcd, without /registry/."""
    metadata = obj["metadata"]
    plural = _PLURALS.get(obj["kind"], obj["kind"].lower() + "s")
    return "/".join(filter(None, (plural, metadata.get("namespace"), metadata["name"])))


def _snapshot() -> bytes:
    history = History()
    for obj, is_deleted in steps():
        key = f"/registry/{key_of(obj)}".encode()
        if is_deleted:
            history.delete(key)
        else:
            history.put(key, json.dumps(obj).encode())
    return snapshot(bolt_file(etcd_buckets(history.rows)))


def _kine(path: Path) -> None:
    rows: list[Row] = []
    live: dict[str, tuple[int, int]] = {}  # id of the first and of the last row
    for number, (obj, is_deleted) in enumerate(steps(), 2):
        key, value = key_of(obj), json.dumps(obj).encode()
        first, last = live.get(key, (0, 0))
        rows.append((number, f"/registry/{key}", int(not last), int(is_deleted), first, last, 0, value, None))
        live[key] = (first or number, number)
        if is_deleted:
            del live[key]
    store(path, rows)


def _listing() -> bytes:
    pairs = [
        {"key": b64encode(f"/registry/{key}".encode()).decode(), "create_revision": 2, "mod_revision": 2, "version": 1,
         "value": b64encode(json.dumps(obj).encode()).decode()}
        for key, obj in sorted(_live().items())
    ]  # fmt: skip
    return json.dumps({"header": {"revision": 99}, "kvs": pairs, "count": len(pairs)}).encode()


def _lines() -> bytes:
    return b"".join(json.dumps(obj).encode() + b"\n" for obj in _live().values())


_WRITTEN: Final[dict[str, Callable[[], bytes]]] = {
    "snapshot.db": _snapshot,
    "get.json": _listing,
    "objects.ndjson": _lines,
    "velero.tgz": lambda: tgz(velero(objects())),
    "rancher.tgz": lambda: tgz(rancher(objects())),
    "must-gather.tgz": lambda: tgz(must_gather(objects())),
}
KINE: Final = "state.db"
FORMS: Final = (*_WRITTEN, KINE)


def dump_of(form: str, folder: Path) -> Path:
    """Write the cluster in a form, and return the file."""
    path = folder / form
    if form == KINE:
        _kine(path)
    else:
        path.write_bytes(_WRITTEN[form]())
    return path
