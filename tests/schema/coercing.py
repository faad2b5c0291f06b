"""The metadata of an object as a storage read leaves them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.schema.objectmeta import decode_metadata, to_json

if TYPE_CHECKING:
    from auditor.base.records import JsonObject

__all__ = ["coerce_metadata"]


def coerce_metadata(obj: JsonObject, *, drop: bool) -> list[str]:
    """Replace the metadata of an object, where it has some, by what its type keeps of it.

    Returns:
        Paths of unknown fields that vanished, in no order.
    Raises:
        CoerceError: As `decode_metadata`.
    Source: apiextensions-apiserver pkg/apiserver/schema/objectmeta/coerce.go.
    """
    if "metadata" not in obj:
        return []
    unknown: list[str] = []
    obj["metadata"] = to_json(decode_metadata(obj["metadata"], drop=drop, unknown=unknown))
    return [f"metadata.{path}" for path in unknown]
