"""References between objects: who names an object, and which named objects do not exist.

A reference is found by its shape, in objects of every kind, custom resources as read, with their defaults: owner
references; fields whose name ends in Ref or Refs with a name; the fields of `_NAMED`, such as secretName; those of
`_OF_BUILTIN` in built-in kinds. The kind of its target is written beside it, or follows from the name of the field. If
it follows from neither, a Ref is counted as not judged.

Source: k8s.io/api */types.go (the fields of built-in kinds); external-provisioner doc, StorageClass secrets.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.printing.discovery import stored_kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource
    from auditor.server.dump import DumpStore


_NAMED: Final = {
    "secretName": "Secret", "configMapName": "ConfigMap", "serviceAccountName": "ServiceAccount",
    "claimName": "PersistentVolumeClaim", "storageClassName": "StorageClass", "ingressClassName": "IngressClass",
    "gatewayClassName": "GatewayClass", "priorityClassName": "PriorityClass", "runtimeClassName": "RuntimeClass",
    "nodeName": "Node", "serviceName": "Service", "persistentVolumeName": "PersistentVolume",
    "persistentVolumeClaimName": "PersistentVolumeClaim", "resourceClaimName": "ResourceClaim",
    "resourceClaimTemplateName": "ResourceClaimTemplate", "deviceClassName": "DeviceClass",
    "volumeAttributesClassName": "VolumeAttributesClass", "volumeSnapshotClassName": "VolumeSnapshotClass",
    "volumeSnapshotContentName": "VolumeSnapshotContent",
}  # fmt: skip
"""Fields with the name of an object, and its kind."""
_HOLDING: Final = {
    "configMap": "ConfigMap", "secret": "Secret", "service": "Service", "imagePullSecrets": "Secret",
    "secrets": "Secret", "subjects": "", "priorityLevelConfiguration": "PriorityLevelConfiguration",
}  # fmt: skip
"""Fields with an object, or a list of objects, that has the `name` of an object, and its kind if it has no `kind`."""
_OF_BUILTIN: Final = {
    "spec.volumeName": "PersistentVolume", "spec.policyName": "", "spec.dataSource": "",
    "glusterfs.endpoints": "Endpoints", "sources.clusterTrustBundle": "ClusterTrustBundle",
    "backend.resource": "", "defaultBackend.resource": "", "spec.parameters": "", "object.describedObject": "",
    "status.reservedFor": "", "subjects.serviceAccount": "ServiceAccount", "hints.forNodes": "Node",
    "status.nominatedNodeName": "Node", "spec.podName": "Pod", "target.pod": "Pod",
    "schedulingGroup.podGroupName": "PodGroup", "workloadRef.workloadName": "Workload",
    "spec.parentCompositePodGroupName": "CompositePodGroup", "parameters.adminSecretName": "Secret",
    "parameters.userSecretName": "Secret", "status.currentVolumeAttributesClassName": "VolumeAttributesClass",
    "modifyVolumeStatus.targetVolumeAttributesClassName": "VolumeAttributesClass",
}  # fmt: skip
"""Fields of built-in kinds by their last two names, with a name or with objects as in `_HOLDING`, and its kind.

A policy is of the kind that the kind of its binding is named after.
"""
_CSI_SECRET: Final = re.compile(r"csi\.storage\.k8s\.io/(.+-)?secret-name\Z")
"""Parameters of classes that name a Secret."""
_REFERENCE: Final = re.compile(r"(?P<kind>.*?)(?:Key)?Refs?\Z|ref\Z|refs\Z")
_KINDS: Final = {
    "secret": "Secret", "configMap": "ConfigMap", "serviceAccount": "ServiceAccount", "claim": "PersistentVolumeClaim",
    "pvc": "PersistentVolumeClaim", "namespace": "Namespace", "node": "Node", "service": "Service",
}  # fmt: skip
"""Kinds of references by the beginning of the field's name; others are found among the kinds of the dump."""
_ENDS_IN: Final = re.compile(r"\A[a-z]\w*(Secret|ConfigMap|ServiceAccount)\Z")
"""Beginnings of fields' names that are no kind, but end in one: nodePublishSecretRef."""
_FREE: Final = frozenset(("ConfigMap", "Secret"))
"""Built-in kinds whose data is of others: it has no fields."""

Place = tuple[str, str, str]
"""Kind, namespace and name of an object, as events name it."""


class Target(NamedTuple):
    """An object that is named: its kind's group and plural, its namespace if the kind has one, and its name.

    An object without a namespace may name one without saying where it is: then its namespace is empty, too.
    """

    group: str
    plural: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference.

    Attributes:
        resource, namespace, name: The object that has it.
        field: Where.
        target: What it names.
        is_optional: Whether the object that has it works without the target.
        uid: The uid that an owner reference gives; empty if there is none.
    """

    resource: Resource
    namespace: str
    name: str
    field: str
    target: Target
    is_optional: bool = False
    uid: str = ""


class References:
    """Finds the references in the objects of a dump.

    Args:
        store: The dump.

    Attributes:
        kinds: The kinds of the dump, each at one version.
        not_judged: The number of Refs whose kind is unknown or ambiguous, by namespace and kind; by field if the
            reference has no kind.
        secret_types: The types of the Secrets that `all` read so far.
    """

    def __init__(self, store: DumpStore) -> None:
        self._store = store
        self.kinds = stored_kinds(store.discovery)
        self.not_judged: Counter[tuple[str, str]] = Counter()
        self.secret_types: dict[Target, str] = {}
        self._uids: dict[Target, tuple[str, ...]] = {}
        self._resolved: dict[tuple[str | None, str], Resource | None] = {}

    def all(self, name: str = "", *, owners_only: bool = False) -> Iterator[Reference]:
        """Yield the references of all objects; with a name, at least those that name it. Corrupt ones are reported."""
        containing = name.encode("utf-8", "surrogateescape")
        objects = self._store.stored_objects(self.kinds, containing=containing, as_read=not owners_only)
        for resource, _, obj in objects:
            if obj is not None:
                yield from self._of(resource, obj, owners_only=owners_only)

    def to(self, resource: Resource, namespace: str, name: str) -> list[Reference]:
        """Return the references to the objects of a name.

        Args:
            resource: Their kind.
            namespace: Their namespace; empty for any. Ignored for kinds without one.
            name: The name.
        """
        return [reference for reference in self.all(name) if is_at(reference.target, resource, namespace, name)]

    def is_of_another_uid(self, reference: Reference) -> bool:
        """Return whether the owner has another uid than its reference says, by the objects that `all` read so far."""
        uids = self._uids.get(reference.target, ())
        return bool(uids and reference.uid and reference.uid not in uids)

    def owned_by(self, resource: Resource, namespace: str, name: str) -> set[Place]:
        """Return the objects that an object owns, also through others, by their owner references.

        Args:
            resource: The kind of the owner.
            namespace: Its namespace; empty for any.
            name: Its name.
        """
        below: dict[Target, list[tuple[Target, Place]]] = {}
        for reference in self.all(owners_only=True):
            place = (reference.resource.kind, reference.namespace, reference.name)
            own = _object_at(reference.resource, *place[1:])
            below.setdefault(reference.target, []).append((own, place))
        todo = [
            target
            for target in below
            if (target.group, target.plural, target.name) == (resource.group, resource.plural, name)
            and namespace in ("", target.namespace)
        ]
        places: set[Place] = set()
        while todo:
            for own, place in below.pop(todo.pop(), ()):
                places.add(place)
                todo.append(own)
        return places

    def existing(self, kinds: Sequence[Resource] = ()) -> set[Target]:
        """Return all objects of the dump, or those of some kinds."""
        places = (
            (resource, self._store.rows.place_in(resource, row))
            for resource in kinds or self.kinds
            for row in self._store.rows.of(resource)
        )
        return {_object_at(resource, *place) for resource, place in places if place is not None}

    def _of(self, resource: Resource, obj: JsonObject, *, owners_only: bool) -> Iterator[Reference]:
        metadata = obj.get("metadata")
        if type(metadata) is not dict:
            return
        namespace, name = _text(metadata.get("namespace")), _text(metadata.get("name"))
        named = [("metadata.namespace", "Namespace", {"name": namespace})] if namespace and not owners_only else []
        owners = metadata.get("ownerReferences")
        for number, owner in enumerate(owners if type(owners) is list else ()):
            if type(owner) is dict:
                named.append((f"metadata.ownerReferences[{number}]", _text(owner.get("kind")), owner))
        own = _object_at(resource, namespace, name)
        if not owners_only and (uid := _text(metadata.get("uid"))) and uid not in (uids := self._uids.get(own, ())):
            self._uids[own] = (*uids, uid)
        builtin = resource.kind if self._store.catalog.definition(resource) is None else ""
        if builtin == "Secret":
            self.secret_types[own] = _text(obj.get("type"))
        not_body = (*obj,) if owners_only or builtin in _FREE else ("metadata", "apiVersion", "kind")
        body = {key: value for key, value in obj.items() if key not in not_body}
        for field, kind, value in (*named, *sorted(_named(body, "", builtin), key=itemgetter(0))):
            target = self._target(kind, value, namespace)
            is_owner = field.startswith("metadata.ownerReferences")
            is_optional = value.get("optional") is True
            if target is None and is_owner:  # of a kind that is gone
                target = Target(_text(value.get("apiVersion")), kind, namespace, _text(value.get("name")))
            if target is not None:
                uid = _text(value.get("uid")) if is_owner else ""
                yield Reference(resource, namespace, name, field, target, is_optional, uid)
            elif _text(value.get("name")) and not is_optional:
                key = field.rpartition(".")[2].partition("[")[0]
                if _REFERENCE.match(key):
                    self.not_judged[namespace, _text(value.get("kind")) or key] += 1

    def _target(self, kind: str, value: JsonObject, namespace: str) -> Target | None:
        name = value.get("name")
        if not kind or type(name) is not str or not name or name == "*" or "${" in name:  # all, or a template
            return None
        group = value.get("group", value.get("apiGroup"))
        if type(value.get("apiVersion")) is str and "kind" in value:
            group = value["apiVersion"].rpartition("/")[0]
        resource = self._resource(group if type(group) is str else None, kind)
        if resource is None:
            return None
        own = value.get("namespace")
        place = own if type(own) is str and own and "${" not in own else namespace
        return _object_at(resource, place, name)

    def _resource(self, group: str | None, kind: str) -> Resource | None:
        """Return the kind of the dump that a reference means; None if there is none, or several without a group."""
        if (group, kind) not in self._resolved:
            same = [one for one in self.kinds if kind.lower() in (one.kind.lower(), one.plural)]
            if not same and (end := _ENDS_IN.match(kind)):
                same = [one for one in self.kinds if (one.group, one.kind) == ("", end[1])]
            fitting = [one for one in same if one.group == group] if group is not None else same
            core = [one for one in fitting if not one.group]
            self._resolved[group, kind] = next(iter(core or fitting), None) if len(fitting) == 1 or core else None
        return self._resolved[group, kind]


def _named(value: Any, path: str, builtin: str) -> Iterator[tuple[str, str, JsonObject]]:
    """Yield the field, the kind and the value of what has the shape of a reference in a value.

    Args:
        value: The value.
        path: Where it is.
        builtin: The kind of the object; empty if it is not built in.
    """
    todo = [(value, path)]
    while todo:
        value, path = todo.pop()
        if type(value) is list:
            todo += [(item, f"{path}[{number}]") for number, item in enumerate(value)]
            continue
        if type(value) is not dict:
            continue
        parent = path.rpartition(".")[2].partition("[")[0]
        for key, below in value.items():
            field = f"{path}.{key}" if path else key
            kind = _OF_BUILTIN.get(f"{parent}.{key}") if builtin else None
            if type(below) is str:
                kind = _NAMED.get(key, "Secret" if _CSI_SECRET.match(key) else None) if kind is None else kind
                if kind is not None:
                    where = value.get(f"{key}space", value.get(f"{key}Namespace"))  # secretNamespace
                    named = {"name": below, "namespace": where, "optional": value.get("optional")}
                    yield field, kind or builtin.removesuffix("Binding"), named
                continue
            kind = _HOLDING.get(key) if kind is None else kind
            if kind is None and (match := _REFERENCE.match(key)):
                word = match["kind"] or ""
                kind = _KINDS.get(word, word)
            if kind is not None:
                items = below if type(below) is list else [below]
                for number, item in enumerate(items):
                    if type(item) is dict and "name" in item:
                        own = item.get("kind", item.get("resource"))
                        place = f"{field}[{number}]" if type(below) is list else field
                        yield place, own if type(own) is str and own else kind, item
            todo.append((below, field))


def is_at(target: Target, resource: Resource, namespace: str, name: str) -> bool:
    """Return whether an object is of a kind and a name, and is or may be in a namespace; empty for any."""
    is_kind = (target.group, target.plural, target.name) == (resource.group, resource.plural, name)
    return is_kind and (not namespace or not resource.namespaced or target.namespace in ("", namespace))


def _object_at(resource: Resource, namespace: str, name: str) -> Target:
    return Target(resource.group, resource.plural, namespace if resource.namespaced else "", name)


def _text(value: Any) -> str:
    return value if type(value) is str else ""
