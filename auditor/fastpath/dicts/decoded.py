"""The Python form of each node of a schema after decoding to records: `typed` makes it, generated rules use it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from auditor.fastpath.dicts.scope import has_default

if TYPE_CHECKING:
    from auditor.schema.structural import StructuralSchema

__all__ = ["Decoded"]


@dataclass(slots=True)
class Decoded:
    """The form to which a node of a schema is decoded.

    Attributes:
        schema: The node.
        kind: ``record``, ``map``, ``list``, ``scalar``; ``plain``: for orjson and the functions of `emit`.
        annotation: The msgspec annotation, without null.
        fields: For a record: property to attribute and its form.
        drops: For a record: properties that the read drops if they are null, or fills with their default.
        below: The form of list items or map values.
        has_checks: Whether something remains that decoding does not prove.
        has_sites: Whether something may be defaulted or pruned, here or below.
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
        """Return the constant that the attribute of an optional property has if the property is absent."""
        return "None" if name in self.drops and self.fields[name][1].kind != "plain" else "_U"

    def missing(self, name: str) -> tuple[str, ...]:
        """Return the value that the attribute of a property has if it is absent or null, after defaulting."""
        child = self.fields[name][1]
        found = ["None"] if child.schema.nullable else []
        if not has_default(child.schema) and name not in self.schema.required:
            found.append(self.absent(name))
        return tuple(found)
