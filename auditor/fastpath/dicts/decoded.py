"""What the typed tier decodes each node of a schema to: `typed` makes it, generated rules read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from auditor.fastpath.dicts.scope import has_default

if TYPE_CHECKING:
    from auditor.schema.structural import StructuralSchema

__all__ = ["Decoded"]


@dataclass(slots=True)
class Decoded:
    """What a node of a schema is decoded to.

    Attributes:
        schema: The node.
        kind: ``record``, ``map``, ``list``, ``scalar``; ``plain``: for orjson and the functions of `emit`.
        annotation: What msgspec decodes to, null apart.
        fields: For a record: property to attribute and what that holds.
        drops: For a record: properties that the read drops where they are null, or fills with their default.
        below: For the items of a list, or the values of a map.
        has_checks: There is something that decoding does not prove.
        has_sites: Something may be defaulted or pruned, here or below.
    """

    schema: StructuralSchema
    kind: str
    annotation: Any
    fields: dict[str, tuple[str, Decoded]] = field(default_factory=dict)
    drops: set[str] = field(default_factory=set)
    below: Decoded | None = None
    has_checks: bool = False
    has_sites: bool = False

    def absent(self, name: str) -> str:
        """Return the constant that the attribute of an optional property holds where that is not there."""
        return "None" if name in self.drops and self.fields[name][1].kind != "plain" else "_U"

    def missing(self, name: str) -> tuple[str, ...]:
        """Return what the attribute of a property holds where it is not there or null, once defaults are in place."""
        child = self.fields[name][1]
        found = ["None"] if child.schema.nullable else []
        if not has_default(child.schema) and name not in self.schema.required:
            found.append(self.absent(name))
        return tuple(found)
