"""Metadata proven quickly: already as the typed round trip would leave it, and valid as on a create.

The storage read decodes metadata into a Go struct and writes it back: unknown and malformed fields vanish, zero values are
left out, times become UTC without fraction. `prove_metadata` raises NotNormal where that would change anything; the
caller then has the reference do it, once, and asks again. What is normal but perhaps not valid is False.

Almost everything in metadata repeats from object to object: namespaces, label keys, managers, days. Each kind of string has
a memo of accepted values; only names and times of day are looked at afresh.

Source: apimachinery pkg/apis/meta/v1/types.go, pkg/api/validation/objectmeta.go.
"""

from __future__ import annotations

import re
from calendar import monthrange
from typing import TYPE_CHECKING, Any, Final

from auditor.program.support import INT64_MAX, MEMO_LIMIT, remembering
from auditor.validation.names import dns_1035_label, dns_label, go_lower, group_version, label_key, subdomain_name

if TYPE_CHECKING:
    from auditor.model import JsonObject

__all__ = ["KNOWN_FIELDS", "NotNormal", "prove_embedded", "prove_metadata"]

KNOWN_FIELDS: Final = frozenset(
    {
        *("annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers"),
        *("generateName", "generation", "labels", "managedFields", "name", "namespace", "ownerReferences"),
        *("resourceVersion", "selfLink", "uid"),
    }
)
MAX_ANNOTATIONS: Final = 262144
"""Bytes of all keys and values of annotations."""


class NotNormal(Exception):
    """The typed round trip would change the metadata."""


_label: Final = re.compile(r"[a-z0-9][-a-z0-9]*+(?<!-)").fullmatch
_label_value: Final = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]{0,62}+(?<![-_.]))?").fullmatch
_time_of_day: Final = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z").fullmatch
_day: Final = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])-([0-3][0-9])T").fullmatch


def _is_day(text: str) -> bool:
    """A day with its T, from the year 2 on: year 1 begins with the time that counts as none, year 0 with none at all."""
    found = _day(text)
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    return year > 1 and 1 <= day <= monthrange(year, month)[1]


def _is_label_key(text: str) -> bool:
    return not label_key(text)


def _is_annotation_key(text: str) -> bool:
    return not label_key(go_lower(text))


def _is_manager(text: str) -> bool:
    return bool(text) and len(text) <= 128 and text.isascii() and text.isprintable()


_days, _check_day = remembering(_is_day)
_times, _check_time = remembering(lambda text: _time_of_day(text) is not None, 90_000)
_namespaces, _check_namespace = remembering(lambda text: not dns_label(text))
_label_keys, _check_label_key = remembering(_is_label_key)
_label_values, _check_label_value = remembering(lambda text: _label_value(text) is not None)
_annotation_keys, _check_annotation_key = remembering(_is_annotation_key)
_finalizers, _check_finalizer = remembering(_is_label_key)
_managers: set[tuple[str, str, str, str]] = set()
_owners: set[tuple[str, str]] = set()


def _is_time(text: str) -> bool:
    """Say whether a time is written as the server writes it; raises TypeError for what is no string."""
    day, time = text[:11], text[11:]
    return (day in _days or _check_day(day)) and (time in _times or _check_time(time))


def prove_metadata(metadata: JsonObject, size: int, namespaced: bool) -> bool:
    """Say whether the metadata of an object is proven valid.

    Args:
        metadata: As decoded.
        size: Bytes of the JSON text that holds it, or more; a bound of what annotations can come to.
        namespaced: Whether the object must have a namespace; otherwise it must have none.

    Raises:
        NotNormal: The typed round trip would change it. (TypeError, AttributeError: the same.)
    """
    count = 2
    name = metadata.get("name")
    if type(name) is not str or not name:
        if name is not None or "name" in metadata:
            raise NotNormal
        count = 1
        ok = False
    else:
        ok = (len(name) < 254 and _label(name) is not None) or not subdomain_name(name, False)
    generation = metadata.get("generation")
    if type(generation) is not int or generation == 0 or generation > INT64_MAX:
        raise NotNormal  # a missing one becomes 1
    if generation < 0:
        ok = False
    if "namespace" in metadata:
        namespace = metadata["namespace"]
        if type(namespace) is not str or not namespace:
            raise NotNormal
        count += 1
        if not namespaced or (namespace not in _namespaces and not _check_namespace(namespace)):
            ok = False
    elif namespaced:
        ok = False
    return _prove_common(metadata, size, count) and ok


def prove_embedded(resource: JsonObject) -> bool:
    """Say whether a resource embedded in an object is proven valid: its apiVersion, kind and metadata.

    Raises:
        NotNormal: The read would change one of them. (TypeError, AttributeError: the same.)
    """
    ok = True
    for key in ("apiVersion", "kind"):
        if key not in resource:
            ok = False
        elif type(resource[key]) is not str:
            raise NotNormal
    if ok:
        kind = resource["kind"]
        ok = bool(
            resource["apiVersion"]
            and group_version(resource["apiVersion"]) is not None
            and kind
            and not dns_1035_label(go_lower(kind))
        )
    if "metadata" not in resource:
        return ok
    metadata = resource["metadata"]
    if type(metadata) is not dict:
        raise NotNormal
    count = 0
    for key in ("name", "namespace", "generation"):
        if key in metadata:
            value = metadata[key]
            if not value or type(value) is not (int if key == "generation" else str):
                raise NotNormal
            count += 1
            if key == "generation":
                if value > INT64_MAX:
                    raise NotNormal
                ok = ok and value > 0
            elif key == "namespace":
                ok = ok and not dns_label(value)
            else:
                ok = ok and value not in (".", "..") and "/" not in value and "%" not in value
    if "generateName" in metadata:
        prefix = metadata["generateName"]
        ok = ok and "/" not in prefix and "%" not in prefix
    return _prove_common(metadata, MAX_ANNOTATIONS + 1, count) and ok


def _prove_common(metadata: JsonObject, size: int, count: int) -> bool:
    """Prove what all metadata have; `count` keys are known already."""
    ok = True
    if "creationTimestamp" in metadata:
        if not _is_time(metadata["creationTimestamp"]):
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
            if value not in _label_values:
                if type(value) is not str:
                    raise NotNormal
                if not _check_label_value(value):
                    ok = False
            if key not in _label_keys and not _check_label_key(key):
                ok = False
    if "annotations" in metadata:
        annotations = metadata["annotations"]
        if type(annotations) is not dict or not annotations:
            raise NotNormal
        count += 1
        for key, value in annotations.items():
            if type(value) is not str:
                raise NotNormal
            if key not in _annotation_keys and not _check_annotation_key(key):
                ok = False
        if size > MAX_ANNOTATIONS and _size_of(annotations) > MAX_ANNOTATIONS:
            ok = False
    if "managedFields" in metadata:
        count += 1
        if not _prove_managed_fields(metadata["managedFields"]):
            ok = False
    if "ownerReferences" in metadata:
        count += 1
        if not _prove_owners(metadata["ownerReferences"]):
            ok = False
    if "finalizers" in metadata:
        finalizers = metadata["finalizers"]
        if type(finalizers) is not list or not finalizers:
            raise NotNormal
        count += 1
        for value in finalizers:
            if value not in _finalizers:
                if type(value) is not str:
                    raise NotNormal
                if not _check_finalizer(value):
                    ok = False
        if "orphan" in finalizers and "foregroundDeletion" in finalizers:
            ok = False
    if len(metadata) != count and not _prove_rare(metadata, count):
        ok = False
    return ok


def _size_of(annotations: dict[str, str]) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for pair in annotations.items() for text in pair)


def _prove_rare(metadata: JsonObject, count: int) -> bool:
    """Prove the keys that few objects have."""
    ok = True
    for key in ("generateName", "selfLink"):
        if key in metadata:
            value = metadata[key]
            if type(value) is not str or not value:
                raise NotNormal
            count += 1
            # The prefix of a generated name: its rule is that of names, which an embedded resource does not follow.
            if key == "generateName" and subdomain_name(value, True):
                ok = False
    if "deletionTimestamp" in metadata:
        if not _is_time(metadata["deletionTimestamp"]):
            raise NotNormal
        count += 1
    if "deletionGracePeriodSeconds" in metadata:
        value = metadata["deletionGracePeriodSeconds"]
        if type(value) is not int or value > INT64_MAX:
            raise NotNormal
        count += 1
    if len(metadata) != count:
        raise NotNormal
    return ok


def _prove_managed_fields(entries: Any) -> bool:
    if type(entries) is not list or not entries:
        raise NotNormal
    ok = True
    for entry in entries:
        count = 6
        try:
            who = (entry["manager"], entry["operation"], entry["apiVersion"], entry["fieldsType"])
            if who not in _managers and not _check_manager(who):
                ok = False
            if not _is_time(entry["time"]):
                raise NotNormal
            fields = entry["fieldsV1"]
        except KeyError:
            raise NotNormal from None
        if "subresource" in entry:
            subresource = entry["subresource"]
            if type(subresource) is not str or not subresource:
                raise NotNormal
            if len(subresource) > 64:
                ok = False
            count = 7
        if len(entry) != count or type(fields) is not dict:
            raise NotNormal
        # Only maps: a float would come back as an integer. What is empty or zero comes back as it is.
        below = [fields]
        for node in below:
            for child in node.values():
                if child:
                    below.append(child)
    return ok


def _check_manager(who: tuple[Any, Any, Any, Any]) -> bool:
    """Say whether manager, operation, apiVersion and fieldsType are proven valid; remember it."""
    if not all(type(text) is str and text for text in who):
        raise NotNormal
    manager, operation, _, fields_type = who
    if operation not in ("Apply", "Update") or fields_type != "FieldsV1" or not _is_manager(manager):
        return False
    if len(_managers) >= MEMO_LIMIT:
        _managers.clear()
    _managers.add(who)
    return True


def _prove_owners(owners: Any) -> bool:
    if type(owners) is not list or not owners:
        raise NotNormal
    ok = True
    controllers = 0
    for owner in owners:
        count = 4
        try:
            api_version, kind, name, uid = owner["apiVersion"], owner["kind"], owner["name"], owner["uid"]
        except KeyError:
            raise NotNormal from None
        if type(name) is not str or type(uid) is not str:
            raise NotNormal
        if not name or not uid or ((api_version, kind) not in _owners and not _check_owner(api_version, kind)):
            ok = False
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
    return ok and controllers < 2


def _check_owner(api_version: Any, kind: Any) -> bool:
    if type(api_version) is not str or type(kind) is not str:
        raise NotNormal
    parts = group_version(api_version)
    if parts is None or not parts[1] or not kind or (parts == ("", "v1") and kind == "Event"):
        return False
    if len(_owners) >= MEMO_LIMIT:
        _owners.clear()
    _owners.add((api_version, kind))
    return True
