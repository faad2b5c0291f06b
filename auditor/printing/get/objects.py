"""Objects as a client receives them, in groups by the answer that had them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.base.records import metadata_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource

__all__ = ["Found", "as_list", "as_received", "joined", "place_of", "without_managed_fields"]


@dataclass(slots=True)
class Found:
    """Objects of one kind from one answer."""

    resource: Resource
    objects: Sequence[JsonObject]
    listed: bool


def as_received(value: Any) -> Any:
    """Return a value as a client decodes it: a float that JSON writes without fraction or exponent is an integer."""
    kind = type(value)
    if kind is dict:
        return {key: as_received(each) for key, each in value.items()}
    if kind is list:
        return [as_received(each) for each in value]
    if kind is float and value.is_integer() and -(2**63) <= value < 2**63:
        return int(value)
    return value


def joined(found: list[Found]) -> list[Found]:
    """Join consecutive answers of one kind; leave out empty ones."""
    out: list[Found] = []
    for group in found:
        if not group.objects:
            continue
        if out and out[-1].resource == group.resource and not group.listed:
            out[-1] = Found(group.resource, [*out[-1].objects, *group.objects], listed=False)
        else:
            out.append(group)
    return out


def place_of(resource: Resource, obj: JsonObject) -> str:
    """Return a description of where an object is."""
    metadata = metadata_of(obj)
    namespace = metadata.get("namespace")
    return f"{resource.group_resource} {f'{namespace}/' if namespace else ''}{metadata.get('name', '')}"


def as_list(items: list[JsonObject]) -> JsonObject:
    """Return the List that a client prints for several objects."""
    return {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}


def without_managed_fields(value: JsonObject) -> JsonObject:
    """Return an object, or a List of objects, without metadata.managedFields."""
    if "items" in value and value.get("kind") == "List":
        return {**value, "items": [without_managed_fields(item) for item in value["items"]]}
    metadata = metadata_of(value)
    if "managedFields" not in metadata:
        return value
    return {**value, "metadata": {key: each for key, each in metadata.items() if key != "managedFields"}}
