"""The columns and cells of a table of objects, their subresources, and the warning of a deprecated version.

Source: kubernetes pkg/registry/{apps,core}/.../storage (Scale), apiextensions-apiserver pkg/registry/customresource
(etcd.go, scaleFromCustomResource), pkg/printers/internalversion/printers.go (printScale); for the warning
apiextensions-apiserver pkg/apiserver/customresource_handler.go (defaultDeprecationWarning), apiserver
pkg/endpoints/deprecation and kubernetes staging api (zz_generated.prerelease-lifecycle.go).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.records import metadata_of, name_of
from auditor.builtin.builtin_columns import builtin_cells, builtin_headers
from auditor.builtin.loose_values import walk
from auditor.golang.go_text import quote
from auditor.printing.discovery import Resource, version_rank
from auditor.printing.get.server_errors import StatusError, given_up_cells
from auditor.printing.jsonpath import Visits
from auditor.printing.printer_columns import age_of, custom_resource_columns, custom_resource_row
from auditor.printing.tables import ColumnHeader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.printing.printer_columns import Cell
    from auditor.server.catalog import Catalog


class Printer:
    """Prints objects of the kinds of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._columns: dict[tuple[str, str, str], Any] = {}

    def through(self, resource: Resource, obj: JsonObject, subresource: str) -> tuple[Resource, JsonObject]:
        """Return a subresource of an object, and the kind of the subresource.

        Raises:
            StatusError: The kind has no such subresource.
        """
        definition = self._catalog.definition(resource)
        if not has_subresource(definition, resource, subresource):
            raise StatusError(404, "NotFound", "the server could not find the requested resource")
        if subresource == "status":
            return resource, obj
        scale = scale_of(definition, resource, obj)
        if scale is None:
            path = definition.versions[resource.version].scale if definition is not None else None
            text = (
                f"Internal error occurred: the spec replicas field {quote(path.spec_replicas_path)} does not exist"
                if path
                else ""
            )
            raise StatusError(500, "InternalError", text)
        return SCALE, scale

    def columns(self, resource: Resource) -> Any:
        """Return the compiled columns of a custom resource."""
        key = (resource.group, resource.version, resource.plural)
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = custom_resource_columns(resource.columns)
        return column

    def headers(self, resource: Resource) -> Sequence[ColumnHeader]:
        """Return the columns of a kind."""
        if resource == SCALE:
            return SCALE_HEADERS
        if self._catalog.definition(resource) is None:
            return builtin_headers(resource.group, resource.kind)
        return [
            ColumnHeader("Name", is_name=True),
            *(ColumnHeader(column.name, wide=column.priority != 0) for column, _ in self.columns(resource)),
        ]

    def cells(
        self, resource: Resource, objects: Sequence[JsonObject], now: float, *, listed: bool
    ) -> tuple[list[Sequence[Cell]], str]:
        """Return the cells of objects, and a message if the cells of some could not be made; else an empty one."""
        if resource == SCALE:
            created = [metadata_of(obj).get("creationTimestamp") or "" for obj in objects]
            return [
                scale_cells(obj, age_of(created_at, now)) for obj, created_at in zip(objects, created, strict=True)
            ], ""
        if self._catalog.definition(resource) is None:
            return builtin_cells(resource.group, resource.kind, objects, now, listed=listed), ""
        columns, visits = self.columns(resource), Visits()
        given_up: list[str] = []
        rows: list[Sequence[Cell]] = [
            [name_of(obj), *custom_resource_row(columns, obj, now, visits, given_up)] for obj in objects
        ]
        return rows, given_up_cells(given_up) if given_up else ""


SCALE: Final = Resource("autoscaling", "v1", "Scale", "scales", "scale")
SCALE_HEADERS: Final = (
    ColumnHeader("Name", is_name=True),
    ColumnHeader("Desired"),
    ColumnHeader("Available"),
    ColumnHeader("Age"),
)
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
        selector_text = walk(obj, scale.label_selector_path.lstrip(".")) if scale.label_selector_path else None
        selector = selector_text if type(selector_text) is str else ""
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
    for expression in [] if plain else selector.get("matchExpressions") or []:
        key, operator, values = (
            expression.get("key", ""),
            expression.get("operator"),
            sorted(expression.get("values") or []),
        )
        text = {"In": f"{key} in ({','.join(values)})", "NotIn": f"{key} notin ({','.join(values)})", "Exists": key}
        parts.append((key, text.get(operator, f"!{key}")))
    return ",".join(text for _, text in sorted(parts))


_BUILTIN: Final = {
    ("", "v1", "Endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ("", "v1", "ComponentStatus"): "v1 ComponentStatus is deprecated in v1.19+",
}


def deprecation_warning(definition: CustomResourceDefinition | None, resource: Resource) -> str:
    """Return the warning of a version; empty if it is not deprecated.

    Args:
        definition: The definition of the kind, or None for a built-in one.
        resource: The kind and version.
    """
    if definition is None:
        return _BUILTIN.get((resource.group, resource.version, resource.kind), "")
    spec = definition.document.get("spec")
    versions = spec.get("versions") if type(spec) is dict else None
    own = [version for version in versions if type(version) is dict] if type(versions) is list else []
    this = next((version for version in own if version.get("name") == resource.version), {})
    if this.get("deprecated") is not True:
        return ""
    if type(this.get("deprecationWarning")) is str:
        return str(this["deprecationWarning"])
    text = f"{definition.group}/{resource.version} {definition.kind} is deprecated"
    newer = [
        str(version.get("name"))
        for version in own
        if version.get("served") is True
        and version.get("deprecated") is not True
        and version_rank(str(version.get("name"))) < version_rank(resource.version)
    ]
    if not newer:
        return text
    return f"{text}; use {definition.group}/{min(newer, key=version_rank)} {definition.kind}"
