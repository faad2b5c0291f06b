"""Subresources of an object, as ``kubectl get --subresource`` requests them: ``status`` and ``scale``.

Source: kubernetes pkg/registry/{apps,core}/.../storage (Scale), apiextensions-apiserver pkg/registry/customresource
(etcd.go, scaleFromCustomResource), pkg/printers/internalversion/printers.go (printScale).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.builtin.values import walk
from auditor.printing.discovery import Resource
from auditor.printing.tables import Header

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition

__all__ = ["SCALE", "SCALE_HEADERS", "has_subresource", "scale_cells", "scale_of"]

SCALE: Final = Resource("autoscaling", "v1", "Scale", "scales", "scale")
SCALE_HEADERS: Final = (Header("Name", is_name=True), Header("Desired"), Header("Available"), Header("Age"))
_SCALED: Final = {
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("", "ReplicationController"),
}
_NO_STATUS: Final = """
ConfigMap Endpoints Event LimitRange PodTemplate Secret ServiceAccount ControllerRevision Lease LeaseCandidate
EndpointSlice IngressClass NetworkPolicy IPAddress RuntimeClass PriorityClass ClusterRole ClusterRoleBinding Role
RoleBinding CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttributesClass MutatingAdmissionPolicy
MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicyBinding
ValidatingWebhookConfiguration DeviceClass ResourceClaimTemplate ResourceSlice ClusterTrustBundle
"""
_WITHOUT_STATUS: Final = frozenset(_NO_STATUS.split())


def has_subresource(definition: CustomResourceDefinition | None, resource: Resource, name: str) -> bool:
    """Whether a server serves a subresource of a kind."""
    if definition is not None:
        version = definition.versions[resource.version]
        return version.has_status if name == "status" else name == "scale" and version.scale is not None
    if name == "scale":
        return (resource.group, resource.kind) in _SCALED
    return name == "status" and resource.kind not in _WITHOUT_STATUS


def scale_of(definition: CustomResourceDefinition | None, resource: Resource, obj: JsonObject) -> JsonObject | None:
    """Return the Scale of an object; None if it has no number of replicas."""
    metadata = obj.get("metadata")
    kept = ("creationTimestamp", "name", "namespace", "resourceVersion", "uid")
    own = {name: metadata[name] for name in kept if name in metadata} if type(metadata) is dict else {}
    out: JsonObject = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": own}
    if definition is None:
        spec = _number(obj, "spec.replicas", 1)
        status = _number(obj, "status.replicas", 0)
        selector = _selector_text(walk(obj, "spec.selector"), plain=resource.kind == "ReplicationController")
    else:
        scale = definition.versions[resource.version].scale
        if scale is None:
            return None
        spec = _number(obj, scale.spec_replicas_path.lstrip("."), None)
        status = _number(obj, scale.status_replicas_path.lstrip("."), 0)
        found = walk(obj, scale.label_selector_path.lstrip(".")) if scale.label_selector_path else None
        selector = found if type(found) is str else ""
        if spec is None:
            return None
    out["spec"] = {"replicas": spec} if spec else {}
    out["status"] = {"replicas": status or 0, **({"selector": selector} if selector else {})}
    return out


def scale_cells(scale: JsonObject, age: str) -> list[Any]:
    """Return the row of a Scale."""
    return [scale["metadata"].get("name", ""), scale["spec"].get("replicas", 0), scale["status"]["replicas"], age]


def _number(obj: JsonObject, path: str, absent: int | None) -> int | None:
    found = walk(obj, path)
    return found if type(found) is int else absent


def _selector_text(selector: Any, *, plain: bool) -> str:
    """Return a label selector as ``metav1.LabelSelectorAsSelector`` prints it: requirements by key."""
    if type(selector) is not dict:
        return ""
    labels = selector if plain else selector.get("matchLabels") or {}
    parts = [(str(key), f"{key}={value}") for key, value in labels.items()]
    for one in [] if plain else selector.get("matchExpressions") or []:
        key, operator, values = one.get("key", ""), one.get("operator"), sorted(one.get("values") or [])
        text = {"In": f"{key} in ({','.join(values)})", "NotIn": f"{key} notin ({','.join(values)})", "Exists": key}
        parts.append((key, text.get(operator, f"!{key}")))
    return ",".join(text for _, text in sorted(parts))
