"""The warning that a server sends with every answer at a deprecated version.

Source: apiextensions-apiserver pkg/apiserver/customresource_handler.go (defaultDeprecationWarning); apiserver
pkg/endpoints/deprecation; kubernetes staging api (zz_generated.prerelease-lifecycle.go).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.printing.discovery import version_rank

if TYPE_CHECKING:
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.printing.discovery import Resource

__all__ = ["deprecation_warning"]

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
    own = [one for one in versions if type(one) is dict] if type(versions) is list else []
    this = next((one for one in own if one.get("name") == resource.version), {})
    if this.get("deprecated") is not True:
        return ""
    if type(this.get("deprecationWarning")) is str:
        return str(this["deprecationWarning"])
    text = f"{definition.group}/{resource.version} {definition.kind} is deprecated"
    newer = [
        str(one.get("name"))
        for one in own
        if one.get("served") is True
        and one.get("deprecated") is not True
        and version_rank(str(one.get("name"))) < version_rank(resource.version)
    ]
    if not newer:
        return text
    return f"{text}; use {definition.group}/{min(newer, key=version_rank)} {definition.kind}"
