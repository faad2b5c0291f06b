"""ObjectMeta: coerces metadata to its type, at the root and in embedded resources.

Input: an object and its schema. Output: the object with typed metadata, paths of fields that vanished, or a CoerceError
with the server's text. Validation checks metadata beyond its type. Follows apiextensions-apiserver
pkg/apiserver/schema/objectmeta.
"""

from auditor.schema.objectmeta.reference import CoerceError, coerce_embedded, decode_metadata
from auditor.schema.objectmeta.types import OBJECT_META, served_metadata, to_json

__all__ = ["OBJECT_META", "CoerceError", "coerce_embedded", "decode_metadata", "served_metadata", "to_json"]
