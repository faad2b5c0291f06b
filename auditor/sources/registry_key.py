"""Keys of an API server in etcd, /registry/<group>/<plural>/[<namespace>/]<name>, classified by their form.

Keys of custom resources begin with their group, keys of built-in kinds with their plural, with a few exceptions. A
custom group always has a dot and a built-in plural never has one, so the first segment decides. Definitions are not
known here: the caller passes their (group, plural) pairs.
Source: apiserver pkg/server/options/etcd.go, pkg/registry/generic/registry/store.go (NamespaceKeyFunc); kubernetes
pkg/kubeapiserver/default_storage_factory_builder.go (the exceptions).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from auditor.base.statuses import KeyClass

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


OWN_GROUPS: Final = frozenset(
    {
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "extensions",
        "flowcontrol.apiserver.k8s.io",
        "imagepolicy.k8s.io",
        "internal.apiserver.k8s.io",
        "lifecycle.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "settings.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)
"""API groups that Kubernetes serves itself; no definition makes them."""

_CRDS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")

_ELSEWHERE: Final = {
    ("minions",): "nodes",
    ("services", "specs"): "services",
    ("services", "endpoints"): "endpoints",
    ("controllers",): "replicationcontrollers",
    ("ingress",): "ingresses",
}
"""Built-in kinds whose keys do not begin with their plural."""
_PLACES: Final = {plural: place for place, plural in _ELSEWHERE.items()} | {
    "apiservices": ("apiregistration.k8s.io", "apiservices")
}
"""Beginning of the keys of these kinds; those of every other built-in kind begin with its plural."""

_NAMESPACED: Final = {
    "": "pods configmaps secrets serviceaccounts persistentvolumeclaims podtemplates resourcequotas limitranges events "
    "services endpoints replicationcontrollers",
    "apps": "deployments replicasets statefulsets daemonsets controllerrevisions",
    "batch": "jobs cronjobs",
    "autoscaling": "horizontalpodautoscalers",
    "policy": "poddisruptionbudgets",
    "networking.k8s.io": "networkpolicies ingresses",
    "discovery.k8s.io": "endpointslices",
    "rbac.authorization.k8s.io": "roles rolebindings",
    "coordination.k8s.io": "leases leasecandidates",
    "storage.k8s.io": "csistoragecapacities",
    "resource.k8s.io": "resourceclaims resourceclaimtemplates",
    "certificates.k8s.io": "podcertificaterequests",
    "scheduling.k8s.io": "workloads podgroups compositepodgroups",
    "lifecycle.k8s.io": "evictions evictionrequests",
}
_CLUSTER_SCOPED: Final = {
    "": "nodes namespaces persistentvolumes",
    "rbac.authorization.k8s.io": "clusterroles clusterrolebindings",
    "storage.k8s.io": "storageclasses volumeattachments csinodes csidrivers volumeattributesclasses",
    "scheduling.k8s.io": "priorityclasses",
    "node.k8s.io": "runtimeclasses",
    "networking.k8s.io": "ingressclasses ipaddresses servicecidrs",
    "certificates.k8s.io": "certificatesigningrequests clustertrustbundles",
    "flowcontrol.apiserver.k8s.io": "flowschemas prioritylevelconfigurations",
    "admissionregistration.k8s.io": "validatingwebhookconfigurations mutatingwebhookconfigurations "
    "validatingadmissionpolicies validatingadmissionpolicybindings mutatingadmissionpolicies "
    "mutatingadmissionpolicybindings",
    "resource.k8s.io": "deviceclasses resourceslices devicetaintrules resourcepoolstatusrequests",
    "internal.apiserver.k8s.io": "storageversions",
    "storagemigration.k8s.io": "storageversionmigrations",
    "apiregistration.k8s.io": "apiservices",
}
_BUILTIN: Final = {
    plural: (group, namespaced)
    for groups, namespaced in ((_NAMESPACED, True), (_CLUSTER_SCOPED, False))
    for group, plurals in groups.items()
    for plural in plurals.split()
}


@dataclass(frozen=True, slots=True)
class KeyParts:
    """The parts of a key; `status` is custom, definition, builtin, orphaned, sealed or other; unknown parts are None.

    ``custom`` is preliminary: the value decides the status of the object.
    """

    status: KeyClass
    group: str | None = None
    plural: str | None = None
    namespace: str | None = None
    name: str | None = None
    reason: str | None = None


def printable_key(key: bytes) -> str:
    r"""Return a key as text; bytes that are no UTF-8 are written ``\xNN``."""
    return key.decode("utf-8", "backslashreplace")


def printable_name(name: str) -> str:
    r"""Return the name of a file, as Python holds it, as text; bytes that are no UTF-8 are written ``\xNN``."""
    return name if name.isascii() else printable_key(name.encode("utf-8", "surrogateescape"))


def is_namespaced(plural: str) -> bool | None:
    """Return whether objects of a built-in kind have a namespace, or None if there is no such kind."""
    known = _BUILTIN.get(plural)
    return None if known is None else known[1]


def split_key(key: bytes, prefix: str) -> tuple[str, ...] | None:
    """Return the segments of a key below the prefix, or None if it is not below it."""
    text = printable_key(key)
    root = "/" + prefix.strip("/") + "/" if prefix.strip("/") else "/"
    return tuple(text[len(root) :].split("/")) if text.startswith(root) else None


def classify(
    segments: tuple[str, ...] | None, resources: Mapping[tuple[str, str], bool], sealed: Collection[str] = ()
) -> KeyParts:
    """Classify a key.

    Args:
        segments: From `split_key`.
        resources: (group, plural) of each definition to whether its objects are namespaced.
        sealed: Names of encrypted definitions, without a key for them: the scope of their objects is not known.
    """
    if segments is None:
        return KeyParts(KeyClass.OTHER, reason="not below the prefix of the API server's keys")
    if len(segments) < 2 or not all(segments):
        return KeyParts(KeyClass.OTHER, reason="no key of an object")
    namespaced = resources.get((segments[0], segments[1]))
    if namespaced is not None:
        return _custom(segments, namespaced=namespaced)
    if segments[:2] == _CRDS:
        if len(segments) == 3:
            return KeyParts(KeyClass.DEFINITION, *_CRDS, None, segments[2])
        return KeyParts(KeyClass.OTHER, *_CRDS, reason="no key of a definition")
    if segments[0] in OWN_GROUPS or "." not in segments[0]:
        return _builtin(segments)
    if len(segments) < 3:
        return KeyParts(KeyClass.OTHER, segments[0], segments[1], reason="no key of an object")
    namespace = segments[2] if len(segments) > 3 else None
    definition = f"{segments[1]}.{segments[0]}"
    status, reason = KeyClass.ORPHANED, f"no definition owns {definition}"
    if definition in sealed:
        status, reason = KeyClass.SEALED, f"its definition {definition} is sealed, so that it cannot be judged"
    return KeyParts(status, segments[0], segments[1], namespace, "/".join(segments[3:] or segments[2:]), reason)


def _custom(segments: tuple[str, ...], *, namespaced: bool) -> KeyParts:
    """Classify a key of a definition; the server finds no object if its segments do not fit the scope."""
    group, plural, *rest = segments
    if len(rest) == 2 and namespaced:
        return KeyParts(KeyClass.CUSTOM, group, plural, rest[0], rest[1])
    if len(rest) == 1 and not namespaced:
        return KeyParts(KeyClass.CUSTOM, group, plural, None, rest[0])
    form = "namespace and name" if namespaced else "a name"
    reason = f"the key does not fit the scope: {plural}.{group} wants {form} after the resource"
    return KeyParts(KeyClass.OTHER, group, plural, None, rest[-1] if rest else None, reason)


def listed_place(segments: tuple[str, ...] | None, resources: Mapping[tuple[str, str], bool]) -> KeyParts | None:
    """Return the classification of a key below the prefix of a kind, at any depth.

    A LIST of the kind reads every such key, but no other request reads one that does not fit the scope.

    Args:
        segments: From `split_key`.
        resources: As in `classify`.

    Returns:
        The classification, or None if no LIST of a known kind reads the key.
    """
    if segments is None or len(segments) < 2:
        return None
    if len(segments) > 2 and segments[:2] == _CRDS:
        return KeyParts(KeyClass.DEFINITION, *_CRDS, None, "/".join(segments[2:]) or None)
    namespaced = resources.get((segments[0], segments[1])) if len(segments) > 2 else None
    if namespaced is not None:
        namespace, names = (segments[2], segments[3:]) if namespaced and len(segments) > 3 else (None, segments[2:])
        return KeyParts(KeyClass.CUSTOM, segments[0], segments[1], namespace or None, "/".join(names) or None)
    place = classify(tuple(part or "-" for part in segments), resources) if segments[0] else None
    is_known = place is not None and place.status is KeyClass.BUILTIN and is_namespaced(place.plural or "") is not None
    return KeyParts(KeyClass.BUILTIN, place.group, place.plural) if is_known and place is not None else None


def _builtin(segments: tuple[str, ...]) -> KeyParts:
    """Classify a key of a built-in kind; the group of an unknown kind is None.

    A key like ``nodes/a`` or ``apps/deployments/a/b`` belongs to no kind: servers store nodes below ``minions``, and no
    LIST reads other keys. Its first segment counts as plural.
    """
    group: str | None = None
    rest = segments
    if segments[0] in OWN_GROUPS and len(segments) > 2:
        group, rest = segments[0], segments[1:]
    for length in (1, 2):
        if rest[:length] in _ELSEWHERE and len(rest) > length:
            rest = (_ELSEWHERE[rest[:length]], *rest[length:])
            break
    plural, *tail = rest
    known = _BUILTIN.get(plural)
    place = _PLACES.get(plural, (plural,))
    if known is not None and (segments[: len(place)] != place or len(segments) == len(place)):
        return KeyParts(KeyClass.BUILTIN, None, "/".join(segments[: len(segments) - len(tail)]), None, "/".join(tail))
    if group is None and known is not None:
        group = known[0]
    has_namespace = len(tail) > 1 and (known is None or known[1])
    namespace, names = (tail[0], tail[1:]) if has_namespace else (None, tail)
    reason = None
    if known is not None and (has_namespace != known[1] or len(names) != 1):
        form = "namespace and name" if known[1] else "a name"
        reason = f"the key does not fit the scope: {plural} want {form} after {'/'.join(place)}"
    return KeyParts(KeyClass.BUILTIN, group, plural, namespace, "/".join(names), reason)
