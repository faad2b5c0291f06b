"""Metadata as a record: proves the same as `fastpath.dicts.metadata`, on a record that msgspec has decoded.

msgspec refuses everything that the typed round trip would change: unknown fields, nulls, empty values, wrong types. The
fields that managers own (`fieldsV1`) are maps below maps: a float would come back as an integer.

Source: as of `auditor.fastpath.dicts.metadata`.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import orjson
from msgspec import UNSET, Meta, MsgspecError, Struct, UnsetType
from msgspec.json import Decoder

from auditor.fastpath.dicts.metadata_parts import (
    MAX_ANNOTATIONS,
    NotNormal,
    annotations_size,
    check_owner,
    is_label_value,
    is_manager,
    is_short_name,
    known_owners,
)
from auditor.fastpath.dicts.support import INT64_MAX, MEMO_LIMIT
from auditor.schema.objectmeta import is_written_time
from auditor.validation.name_checks import (
    annotation_key,
    label_key,
    namespace_name,
    subdomain_name,
    valid_annotation_keys,
    valid_label_keys,
    valid_namespaces,
)

Text = Annotated[str, Meta(min_length=1)]
Texts = Annotated[dict[str, str], Meta(min_length=1)]


class _Nothing(Struct, forbid_unknown_fields=True, gc=False):
    """An object without keys."""


_LEVELS: Final = 24
"""Deepest maps of owned fields that are proven."""
Maps: Any = _Nothing
for _ in range(_LEVELS):
    Maps = dict[str, Maps]


class ManagedFields(Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    """An entry of managedFields."""

    manager: Text
    operation: Literal["Apply", "Update"]
    api_version: Text
    time: str
    fields_type: Literal["FieldsV1"]
    fields_v1: Maps
    subresource: Annotated[str, Meta(min_length=1, max_length=64)] | UnsetType = UNSET


class Owner(Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    """An entry of ownerReferences."""

    api_version: str
    kind: str
    name: Text
    uid: Text
    controller: bool | UnsetType = UNSET
    block_owner_deletion: bool | UnsetType = UNSET


class Metadata(Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    """The metadata of an object. Objects with rare fields go to the dict tier."""

    name: Text
    generation: Annotated[int, Meta(ge=0, le=INT64_MAX)]
    namespace: Text | UnsetType = UNSET
    uid: Text | UnsetType = UNSET
    resource_version: Text | UnsetType = UNSET
    creation_timestamp: str | UnsetType = UNSET
    labels: Texts | UnsetType = UNSET
    annotations: Texts | UnsetType = UNSET
    managed_fields: Annotated[list[ManagedFields], Meta(min_length=1)] | UnsetType = UNSET
    owner_references: Annotated[list[Owner], Meta(min_length=1)] | UnsetType = UNSET
    finalizers: Annotated[list[str], Meta(min_length=1)] | UnsetType = UNSET
    deletion_timestamp: str | UnsetType = UNSET
    deletion_grace_period_seconds: Annotated[int, Meta(le=INT64_MAX)] | UnsetType = UNSET


_DECODE: Final = Decoder(Metadata).decode
_managers: set[str] = set()


def prove_record(metadata: Metadata, size: int, namespaced: bool) -> bool:
    """Return whether the metadata of an object are proven valid, if a read does not change them.

    Args:
        metadata: As decoded.
        size: Bytes of the JSON text that contains them, or more; an upper bound of the size of annotations.
        namespaced: Whether the object must have a namespace; otherwise it must have none.

    Raises:
        Exception: An error of any type: a read may change them.
    """
    if not metadata.generation:  # the read sets it to 1
        raise NotNormal
    name, namespace = metadata.name, metadata.namespace
    if (is_short_name(name) is None or len(name) > 253) and subdomain_name(name, False):
        return False
    if namespace is UNSET:
        if namespaced:
            return False
    elif not namespaced or (namespace not in valid_namespaces and namespace_name(namespace)):
        return False
    if metadata.creation_timestamp is not UNSET and not is_written_time(metadata.creation_timestamp):
        raise NotNormal
    labels = metadata.labels
    if labels is not UNSET:
        for key, value in labels.items():
            if is_label_value(value) is None or (key not in valid_label_keys and label_key(key)):
                return False
    annotations = metadata.annotations
    if annotations is not UNSET:
        for key in annotations:
            if key not in valid_annotation_keys and annotation_key(key):
                return False
        if size > MAX_ANNOTATIONS and annotations_size(annotations) > MAX_ANNOTATIONS:
            return False
    if metadata.managed_fields is not UNSET:
        for entry in metadata.managed_fields:
            if entry.manager not in _managers and not _check_manager(entry.manager):
                return False
            if not is_written_time(entry.time):
                raise NotNormal
    if metadata.owner_references is not UNSET and not _prove_owners(metadata.owner_references):
        return False
    finalizers = metadata.finalizers
    if finalizers is not UNSET:
        for key in finalizers:
            if key not in valid_label_keys and label_key(key):
                return False
        if "orphan" in finalizers and "foregroundDeletion" in finalizers:
            return False
    if metadata.deletion_timestamp is not UNSET and not is_written_time(metadata.deletion_timestamp):
        raise NotNormal
    return True


def decodes(metadata: dict[str, Any]) -> bool:
    """Return whether metadata are proven to decode as those of an object, whatever is in them; False is no answer."""
    try:
        made = _DECODE(orjson.dumps({"generation": 1, **metadata}))
    except (MsgspecError, TypeError, RecursionError):
        return False
    managed = () if made.managed_fields is UNSET else made.managed_fields
    times = made.creation_timestamp, made.deletion_timestamp, *(entry.time for entry in managed)
    return all(time is UNSET or is_written_time(time) for time in times)


def _check_manager(manager: str) -> bool:
    if not is_manager(manager):
        return False
    if len(_managers) >= MEMO_LIMIT:
        _managers.clear()
    _managers.add(manager)
    return True


def _prove_owners(owners: list[Owner]) -> bool:
    controllers = 0
    for owner in owners:
        if (owner.api_version, owner.kind) not in known_owners and not check_owner(owner.api_version, owner.kind):
            return False
        if owner.controller is True:
            controllers += 1
    return controllers < 2
