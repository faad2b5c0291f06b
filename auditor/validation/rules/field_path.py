"""`fieldPath` of a rule: the place below its node that a false result is reported at.

Source: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go (ValidFieldPath).
"""

from __future__ import annotations

from auditor.base.trail import Trail, structured
from auditor.schema.field_path import UNKNOWN_FIELD, FieldPathError, field_names
from auditor.schema.structural import StructuralSchema

__all__ = ["resolve_field_path"]


def resolve_field_path(path: str, schema: StructuralSchema) -> str:
    """Return a path as findings print it.

    Args:
        path: Steps ``.name`` or ``['name']``, each a property, or any key of a map.
        schema: The node that has the rule.

    Raises:
        FieldPathError: It is not valid.
    """
    trail: Trail = None
    for name in field_names(path):
        if schema.properties:
            below = schema.properties.get(name)
            trail = (trail, name)
        else:
            extra = schema.additional_properties
            below = extra if isinstance(extra, StructuralSchema) else None
            trail = (trail, name, True)
        if below is None:
            raise FieldPathError(UNKNOWN_FIELD)
        schema = below
    return structured(trail)
