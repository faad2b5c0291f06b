"""CustomResourceDefinition: one definition as the server serves it, from its v1 or v1beta1 document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from auditor.model import JsonObject
    from auditor.schema.structural import StructuralSchema

__all__ = ["CrdVersion", "CustomResourceDefinition", "Scale"]


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale subresource: raw JSON paths as the definition gives them, leading dot included."""

    spec_replicas_path: str
    status_replicas_path: str
    label_selector_path: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CrdVersion:
    """One version of a definition.

    Attributes:
        schema: What values are validated against; None: the version has no schema.
        structural: What pruning, defaulting, list types and rules go by, with its defaults pruned; None: none, so
            a read prunes everything but apiVersion, kind and metadata (unless preserve_unknown_fields).
        unserved_reason: Why a server cannot serve the version, e.g. not structural; empty where it can.
    """

    name: str
    served: bool
    storage: bool
    schema: StructuralSchema | None
    structural: StructuralSchema | None
    has_status: bool = False
    scale: Scale | None = None
    selectable_fields: tuple[str, ...] = ()
    printer_columns: tuple[JsonObject, ...] = ()
    unserved_reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CustomResourceDefinition:
    """One definition. Names are those the server goes by: accepted names where the document has a status."""

    name: str
    group: str
    plural: str
    singular: str
    kind: str
    list_kind: str
    namespaced: bool
    versions: dict[str, CrdVersion]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    conversion: str = "None"
    preserve_unknown_fields: bool = False
    stored_versions: tuple[str, ...] = ()
    established: bool = True
    document: JsonObject = field(default_factory=dict)

    @property
    def resource(self) -> str:
        """plural.group, the name of a definition."""
        return f"{self.plural}.{self.group}"

    @property
    def storage_version(self) -> CrdVersion | None:
        """The version that new writes are stored at."""
        return next((version for version in self.versions.values() if version.storage), None)

    @property
    def served_versions(self) -> tuple[CrdVersion, ...]:
        """The versions that clients can ask for, in the order of the definition."""
        return tuple(version for version in self.versions.values() if version.served)
