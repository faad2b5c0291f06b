"""ObjectMeta: metadata made to fit its type, at the root and in embedded resources.

In: an object and its schema. Out: the object with typed metadata, paths of fields that vanished, or a CoerceError
with the server's text. What metadata must satisfy beyond its type is for validation. Follows apiextensions-apiserver
pkg/apiserver/schema/objectmeta.
"""

from auditor.schema.objectmeta.reference import CoerceError, coerce_embedded, decode_metadata
from auditor.schema.objectmeta.types import OBJECT_META, to_json

__all__ = ["OBJECT_META", "CoerceError", "coerce_embedded", "decode_metadata", "to_json"]
