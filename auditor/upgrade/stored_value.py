"""Decodes a stored value of any kind, for scans that look into all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from auditor.builtin.protobuf import MAGIC, decode_message, decode_unknown
from auditor.golang.cbor import decode_object
from auditor.sources.storage_value import CBOR_TAG

if TYPE_CHECKING:
    from auditor.base.records import JsonObject


def decoded_value(data: bytes) -> tuple[str, str, JsonObject]:
    """Return apiVersion, kind and the object in a stored value; if its version is unknown, the object has only these.

    Raises:
        WireError: It cannot be decoded.
        JSONDecodeError: Likewise.
        CborError: Likewise.
    """
    if data.startswith(MAGIC):
        api_version, kind, raw = decode_unknown(data)
        label = f"{api_version}/{kind}" if "/" in api_version else f"/{api_version}/{kind}"
        return api_version, kind, {**(decode_message(label, raw) or {}), "apiVersion": api_version, "kind": kind}
    obj = decode_object(data) if data.startswith(CBOR_TAG) else orjson.loads(data)
    if type(obj) is not dict:
        return "", "", {}
    names = [text if type(text) is str else "" for text in (obj.get("apiVersion"), obj.get("kind"))]
    return names[0], names[1], obj
