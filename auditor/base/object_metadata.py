"""Metadata of decoded objects, which may be anything that JSON can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from auditor.base.records import JsonObject

__all__ = ["labels_of", "metadata_of", "name_of", "namespace_of"]


def metadata_of(obj: JsonObject) -> JsonObject:
    """Return the metadata of an object; empty if it is not a map."""
    metadata = obj.get("metadata")
    return metadata if type(metadata) is dict else {}


def namespace_of(obj: JsonObject) -> str:
    """Return the namespace of an object; empty if it has none."""
    return metadata_of(obj).get("namespace") or ""


def name_of(obj: JsonObject) -> str:
    """Return the name of an object; empty if it has none."""
    return metadata_of(obj).get("name") or ""


def labels_of(obj: JsonObject) -> JsonObject:
    """Return the labels of an object; empty if they are not a map."""
    labels = metadata_of(obj).get("labels")
    return labels if type(labels) is dict else {}
