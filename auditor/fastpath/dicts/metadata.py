"""Proves decoded metadata: a read does not change it, and it is valid for a create.

The storage read decodes metadata into a Go struct and writes it back: unknown and malformed fields vanish, zero values
are left out, times become UTC without fraction. `prove_metadata` raises NotNormal if that would change anything; the
caller then reads the metadata by the exact path, once, and calls it again. It returns False for metadata that the read
does not change and that may be invalid.

Source: apimachinery pkg/apis/meta/v1/types.go, pkg/api/validation/objectmeta.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from orjson import dumps as _dumps

from auditor.fastpath.dicts.metadata_parts import (
    MAX_ANNOTATIONS,
    NotNormal,
    annotations_size,
    check_only_maps,
    check_owner,
    is_manager,
    is_short_name,
    known_owners,
)
from auditor.fastpath.dicts.support import INT64_MAX, MEMO_LIMIT
from auditor.schema.objectmeta import is_written_time
from auditor.validation.name_checks import (
    annotation_key,
    dns_1035_label,
    dns_label,
    go_lower,
    group_version,
    label_key,
    label_value,
    namespace_name,
    path_segment,
    subdomain_name,
    valid_annotation_keys,
    valid_label_keys,
    valid_label_values,
    valid_namespaces,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import JsonObject


_managers: set[tuple[str, str, str, str]] = set()
"""Accepted managers: manager, operation, apiVersion, fieldsType."""


def prove_metadata(metadata: JsonObject, size: int, namespaced: bool) -> bool:
    """Return whether the metadata of an object is proven valid.

    Args:
        metadata: As decoded.
        size: Bytes of the JSON text that contains it, or more; an upper bound of the size of annotations.
        namespaced: Whether the object must have a namespace; otherwise it must have none.

    Raises:
        NotNormal: The typed round trip would change it.
    """
    generation = metadata.get("generation")
    if type(generation) is not int or generation == 0 or generation > INT64_MAX:
        raise NotNormal
    if generation < 0 or "name" not in metadata:
        return False
    name = metadata["name"]
    if type(name) is not str or not name:
        raise NotNormal
    count = 2
    if (is_short_name(name) is None or len(name) > 253) and subdomain_name(name, False):
        return False
    if "namespace" in metadata:
        namespace = metadata["namespace"]
        if type(namespace) is not str or not namespace:
            raise NotNormal
        count += 1
        if not namespaced or (namespace not in valid_namespaces and namespace_name(namespace)):
            return False
    elif namespaced:
        return False
    return _prove_common(metadata, size, count)


def metadata_prover(data: bytes, *, namespaced: bool) -> Callable[[Any], bool] | None:
    """Return what proves the metadata of an object that is decoded from some bytes; None if these are no JSON object.

    It takes metadata of any type, and returns whether a read leaves them as they are and a create finds nothing.
    """
    if data[:1] != b"{":
        return None
    size = len(data) * _REPLACEMENT_BYTES

    def proves(metadata: Any) -> bool:
        try:
            return type(metadata) is dict and prove_metadata(metadata, size, namespaced)
        except NotNormal:
            return False

    return proves


_REPLACEMENT_BYTES: Final = 3
"""Bytes of U+FFFD in UTF-8; `golang.jsontext` decodes each byte that is not UTF-8 to one."""


def prove_embedded(resource: JsonObject) -> bool:
    """Return whether a resource embedded in an object is proven valid: its apiVersion, kind and metadata.

    Raises:
        NotNormal: The read would change one of them. (TypeError, AttributeError: the same.)
    """
    api_version, kind = resource.get("apiVersion"), resource.get("kind")
    if type(api_version) is not str or type(kind) is not str or not api_version or not kind:
        return False
    if group_version(api_version) is None or dns_1035_label(go_lower(kind)):
        return False
    if "metadata" not in resource:
        return True
    metadata = resource["metadata"]
    if type(metadata) is not dict:
        raise NotNormal
    count = 0
    for key in ("name", "namespace"):
        if key in metadata:
            text = metadata[key]
            if type(text) is not str or not text:
                raise NotNormal
            count += 1
            if dns_label(text) if key == "namespace" else path_segment(text, False):
                return False
    if "generation" in metadata:
        generation = metadata["generation"]
        if type(generation) is not int or not 0 < generation <= INT64_MAX:
            return False
        count += 1
    if "generateName" in metadata and path_segment(metadata["generateName"], True):
        return False
    return _prove_common(metadata, MAX_ANNOTATIONS + 1, count)


def _prove_common(metadata: JsonObject, size: int, count: int) -> bool:
    """Return whether the fields that all metadata have are proven; `count` keys are known already."""
    try:
        if "creationTimestamp" in metadata:
            value = metadata["creationTimestamp"]
            if not is_written_time(value):
                raise NotNormal
            count += 1
        if "uid" in metadata:
            value = metadata["uid"]
            if type(value) is not str or not value:
                raise NotNormal
            count += 1
        if "resourceVersion" in metadata:
            value = metadata["resourceVersion"]
            if type(value) is not str or not value:
                raise NotNormal
            count += 1
        if "labels" in metadata:
            labels = metadata["labels"]
            if type(labels) is not dict or not labels:
                raise NotNormal
            count += 1
            for key, value in labels.items():
                if value not in valid_label_values:
                    if type(value) is not str:
                        raise NotNormal
                    if label_value(value):
                        return False
                if key not in valid_label_keys and label_key(key):
                    return False
        if "annotations" in metadata:
            annotations = metadata["annotations"]
            if type(annotations) is not dict or not annotations:
                raise NotNormal
            count += 1
            for key, value in annotations.items():
                if type(value) is not str:
                    raise NotNormal
                if key not in valid_annotation_keys and annotation_key(key):
                    return False
            if size > MAX_ANNOTATIONS and annotations_size(annotations) > MAX_ANNOTATIONS:
                return False
        if "managedFields" in metadata:
            count += 1
            if not _prove_managed_fields(metadata["managedFields"]):
                return False
        if "ownerReferences" in metadata:
            count += 1
            if not _prove_owners(metadata["ownerReferences"]):
                return False
        if "finalizers" in metadata:
            finalizers = metadata["finalizers"]
            if type(finalizers) is not list or not finalizers:
                raise NotNormal
            count += 1
            for value in finalizers:
                if value not in valid_label_keys:
                    if type(value) is not str:
                        raise NotNormal
                    if label_key(value):
                        return False
            if "orphan" in finalizers and "foregroundDeletion" in finalizers:
                return False
        return len(metadata) == count or _prove_rare(metadata, count)
    except Exception:  # noqa: BLE001 - any error that a value of another type causes
        raise NotNormal from None


def _prove_rare(metadata: JsonObject, count: int) -> bool:
    """Return whether the fields that few objects have are proven."""
    for key in ("generateName", "selfLink"):
        if key in metadata:
            value = metadata[key]
            if type(value) is not str or not value:
                raise NotNormal
            count += 1
            # The prefix of a generated name: its rule is that of names, which an embedded resource does not follow.
            if key == "generateName" and subdomain_name(value, True):
                return False
    if "deletionTimestamp" in metadata:
        value = metadata["deletionTimestamp"]
        if type(value) is not str or not is_written_time(value):
            raise NotNormal
        count += 1
    if "deletionGracePeriodSeconds" in metadata:
        value = metadata["deletionGracePeriodSeconds"]
        if type(value) is not int or value > INT64_MAX:
            raise NotNormal
        count += 1
    if len(metadata) != count:
        raise NotNormal
    return True


def _prove_managed_fields(entries: Any) -> bool:
    if type(entries) is not list or not entries:
        raise NotNormal
    for entry in entries:
        count = 6
        try:
            who = (entry["manager"], entry["operation"], entry["apiVersion"], entry["fieldsType"])
            if who not in _managers and not _check_manager(who):
                return False
            if not is_written_time(entry["time"]):
                raise NotNormal
            fields = entry["fieldsV1"]
        except KeyError:
            raise NotNormal from None
        if "subresource" in entry:
            subresource = entry["subresource"]
            if type(subresource) is not str or not subresource:
                raise NotNormal
            if len(subresource) > 64:
                return False
            count = 7
        if len(entry) != count or type(fields) is not dict:
            raise NotNormal
        # Only maps below: a float would come back as an integer. Each `":` of the text is then followed by a brace.
        text = _dumps(fields)
        if text.count(b'":') != text.count(b'":{'):
            check_only_maps(fields)
    return True


def _check_manager(who: tuple[Any, Any, Any, Any]) -> bool:
    """Return whether manager, operation, apiVersion and fieldsType are proven valid; remember them."""
    if not all(type(text) is str and text for text in who):
        raise NotNormal
    manager, operation, _, fields_type = who
    if operation not in ("Apply", "Update") or fields_type != "FieldsV1" or not is_manager(manager):
        return False
    if len(_managers) >= MEMO_LIMIT:
        _managers.clear()
    _managers.add(who)
    return True


def _prove_owners(owners: Any) -> bool:
    if type(owners) is not list or not owners:
        raise NotNormal
    controllers = 0
    for owner in owners:
        count = 4
        try:
            api_version, kind, name, uid = owner["apiVersion"], owner["kind"], owner["name"], owner["uid"]
        except KeyError:
            raise NotNormal from None
        if type(name) is not str or type(uid) is not str:
            raise NotNormal
        if ((api_version, kind) not in known_owners and not check_owner(api_version, kind)) or not name or not uid:
            return False
        if "controller" in owner:
            if type(owner["controller"]) is not bool:
                raise NotNormal
            count += 1
            controllers += owner["controller"]
        if "blockOwnerDeletion" in owner:
            if type(owner["blockOwnerDeletion"]) is not bool:
                raise NotNormal
            count += 1
        if len(owner) != count:
            raise NotNormal
    return controllers < 2
