"""Checks metadata on a create and on an update, for objects and for embedded resources.

None of this is ever ratcheted: these faults block every update of the object.

Source: apimachinery pkg/api/validation/objectmeta.go, pkg/apis/meta/v1/validation/validation.go.
"""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, Final

from auditor.golang.go_text import quote, type_name
from auditor.golang.jsontext import encode
from auditor.golang.unicode import unprintable
from auditor.releases import changes
from auditor.validation.field_errors import (
    ADDRESS,
    NOT_SUPPORTED,
    finding,
    forbidden,
    invalid,
    not_supported_detail,
    required,
    shown_as,
    shown_text,
    shown_texts,
    too_long,
)
from auditor.validation.metaconvert import Mismatch, convert_metadata, is_clean
from auditor.validation.name_checks import (
    NameRule,
    annotation_key,
    group_version,
    label_key,
    label_value,
    namespace_name,
    valid_annotation_keys,
    valid_label_keys,
    valid_label_values,
    valid_namespaces,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from auditor.base.records import Finding, JsonObject


_CHECK: Final = "object-meta"
_MAX_ANNOTATIONS: Final = 256 * 1024
"""Most bytes of all keys and values."""
_IMMUTABLE: Final = "field is immutable"


def read_metadata(obj: JsonObject) -> tuple[JsonObject, list[Finding]]:
    """Return the metadata of an object as in ObjectMeta, or the fault of the metadata as a whole.

    Source: apiextensions-apiserver pkg/registry/customresource/validator.go (getObjectMeta).
    """
    raw = obj.get("metadata")
    if raw is None:
        return {}, []
    if type(raw) is not dict:
        return {}, [invalid(_CHECK, "metadata", raw, f"expected map[string]interface{{}}, got {type_name(raw)}")]
    if is_clean(raw):
        return raw, []
    try:
        return convert_metadata(raw), []
    except Mismatch as mismatch:
        return {}, [invalid(_CHECK, "metadata", raw, str(mismatch))]


def check_metadata(
    metadata: JsonObject,
    *,
    namespaced: bool,
    name_rule: NameRule,
    path: str = "metadata",
    check: str = _CHECK,
    fields: Collection[str] = ("name", "namespace"),
) -> list[Finding]:
    """Check metadata as on a create. Two labels may give the same finding twice; see `unique`.

    Args:
        metadata: The result of `read_metadata`.
        namespaced: Whether the object must have a namespace; otherwise it must have none.
        name_rule: The check of names and name prefixes.
        path: The path of the metadata.
        check: The check that findings name.
        fields: Those of the two required fields that may be invalid.
    """
    findings: list[Finding] = []
    prefix: str = metadata.get("generateName", "")
    if prefix:
        findings.extend(invalid(check, f"{path}.generateName", prefix, text) for text in name_rule(prefix, True))
    if "name" in fields:
        findings += _name(metadata, name_rule, path, check)
    if "namespace" in fields:
        findings += _namespace(metadata, path, check, namespaced=namespaced)
    findings += _generation(metadata, path, check)
    findings += _common(metadata, path, check)
    if finalizers := metadata.get("finalizers"):
        findings.extend(_finalizers(finalizers, f"{path}.finalizers", check))
    return findings


def _name(metadata: JsonObject, name_rule: NameRule, path: str, check: str) -> list[Finding]:
    name: str = metadata.get("name", "")
    if not name:
        return [required(check, f"{path}.name", "name or generateName is required")]
    return [invalid(check, f"{path}.name", name, text) for text in name_rule(name, False)]


def _namespace(metadata: JsonObject, path: str, check: str, *, namespaced: bool) -> list[Finding]:
    namespace: str = metadata.get("namespace", "")
    if not namespaced:
        return [forbidden(check, f"{path}.namespace", "not allowed on this type")] if namespace else []
    if not namespace:
        return [required(check, f"{path}.namespace")]
    if namespace in valid_namespaces:
        return []
    return [invalid(check, f"{path}.namespace", namespace, text) for text in namespace_name(namespace)]


def check_metadata_update(new: JsonObject, old: JsonObject, part: JsonObject | None = None) -> list[Finding]:
    """Check metadata as on an update: immutable fields, and those that are checked each time.

    Args:
        new: The new metadata.
        old: The old metadata.
        part: Fields of the new metadata in which a create would find a fault, if known.
    """
    path = "metadata"
    findings: list[Finding] = []
    if old.get("deletionTimestamp") is not None:
        extra = sorted(set(new.get("finalizers", ())) - set(old.get("finalizers", ())))
        if extra:
            listed = ", ".join(quote(text) for text in extra)
            detail = (
                "no new finalizers can be added if the object is being deleted, found new finalizers "
                f"[]string{{{listed}}}"
            )
            findings.append(forbidden(_CHECK, f"{path}.finalizers", detail))
    if not new.get("resourceVersion", ""):
        findings.append(invalid(_CHECK, f"{path}.resourceVersion", "", "must be specified for an update"))
    if changes.NEGATIVE_GENERATION.holds:
        findings.extend(_generation(new, path, _CHECK))
    generation = new.get("generation", 0)
    if generation < old.get("generation", 0):
        is_cleared = generation == 0 and changes.CLEARED_GENERATION.holds
        detail = "field cannot be cleared once set" if is_cleared else "must not be decremented"
        findings.append(invalid(_CHECK, f"{path}.generation", generation, detail))
    for name in ("name", "namespace"):
        value = new.get(name, "")
        if value != old.get(name, ""):
            findings.append(invalid(_CHECK, f"{path}.{name}", value, _IMMUTABLE))
    for name, empty in (
        ("uid", ""),
        ("creationTimestamp", None),
        ("deletionTimestamp", None),
        ("deletionGracePeriodSeconds", None),
    ):
        value = new.get(name, empty)
        if value != old.get(name, empty):
            findings.append(invalid(_CHECK, f"{path}.{name}", value, _IMMUTABLE, shown=_kept_field(name, value)))
    findings.extend(_common(new if part is None else part, path, _CHECK))
    return findings


def _kept_field(name: str, value: str | int | None) -> str:
    """Return the value of a field that may not change, as it is shown."""
    if name == "creationTimestamp" or (name == "deletionTimestamp" and value is not None):
        moment = "0001-01-01T00:00:00Z" if value is None else str(value)
        return shown_as(encode(value), f"{moment[:10]} {moment[11:19]} +0000 UTC")
    return shown_text(value) if value is None or type(value) is str else encode(value)


def _generation(metadata: JsonObject, path: str, check: str) -> list[Finding]:
    generation = metadata.get("generation", 0)
    if generation >= 0:
        return []
    return [invalid(check, f"{path}.generation", generation, "must be greater than or equal to 0")]


def _common(metadata: JsonObject, path: str, check: str) -> list[Finding]:
    """Run the checks that creates and updates share."""
    findings: list[Finding] = []
    if labels := metadata.get("labels"):
        for key, value in labels.items():
            if key not in valid_label_keys and (texts := label_key(key)):
                findings.extend(invalid(check, f"{path}.labels", key, text) for text in texts)
            if value not in valid_label_values and (texts := label_value(value)):
                findings.extend(invalid(check, f"{path}.labels", value, text) for text in texts)
    if annotations := metadata.get("annotations"):
        findings.extend(_annotations(annotations, f"{path}.annotations", check))
    if owners := metadata.get("ownerReferences"):
        findings.extend(_owners(owners, f"{path}.ownerReferences", check))
    if managed := metadata.get("managedFields"):
        for index, entry in enumerate(managed):
            if not _is_plain_entry(entry):
                findings.extend(_managed(entry, f"{path}.managedFields[{index}]", check))
    return findings


def _annotations(annotations: dict[str, str], where: str, check: str) -> list[Finding]:
    findings = [
        invalid(check, where, key, text)
        for key in annotations
        if key not in valid_annotation_keys
        for text in annotation_key(key)
    ]
    if sum(map(len, annotations)) + sum(map(len, annotations.values())) > _MAX_ANNOTATIONS // 4:
        size = sum(len(text.encode("utf-8", "surrogatepass")) for pair in annotations.items() for text in pair)
        if size > _MAX_ANNOTATIONS:
            findings.append(too_long(check, where, _MAX_ANNOTATIONS))
    return findings


def _owners(owners: list[JsonObject], where: str, check: str) -> list[Finding]:
    findings: list[Finding] = []
    if all(map(_is_plain_owner, owners)) and sum(owner.get("controller") is True for owner in owners) < 2:
        return findings
    first, every = "", None
    by_index = changes.OWNERS_BY_INDEX.holds
    for index, owner in enumerate(owners):
        path = f"{where}[{index}]" if by_index else where
        parts = group_version(owner.get("apiVersion", ""))
        findings.extend(_parts_of_owner(owner, parts, path, check) if by_index else _older(owner, parts, path, check))
        kind: str = owner.get("kind", "")
        if parts == ("", "v1") and kind == "Event":
            detail = "/v1, Kind=Event is disallowed from being an owner"
            findings.append(invalid(check, path, _owner(owner), detail, shown=_owner_text(owner)))
        if owner.get("controller") is True:
            current = f"{kind}/{owner.get('name', '')}"
            if first:
                detail = (
                    'Only one reference can have Controller set to true. Found "true" in references for '
                    f"{first} and {current}"
                )
                if every is None:  # the finding is the same for each of them
                    shown = intern(_owners_text(owners))
                    every = [_owner(ref) for ref in owners], shown
                findings.append(invalid(check, where, every[0], detail, shown=every[1]))
            else:
                first = current
    return findings


def _is_plain_owner(owner: JsonObject) -> bool:
    """Return whether an owner has no fault of its own: `_owners` finds the same, and takes longer."""
    version: str = owner.get("apiVersion", "")
    if not version or version.count("/") > 1 or version[-1] == "/" or owner.get("kind", "") in ("", "Event"):
        return False
    return bool(owner.get("name") and owner.get("uid"))


def _parts_of_owner(owner: JsonObject, parts: tuple[str, str] | None, path: str, check: str) -> Iterator[Finding]:
    api_version: str = owner.get("apiVersion", "")
    if not api_version:
        yield required(check, f"{path}.apiVersion", "must not be empty")
    elif parts is None or not parts[1]:
        yield invalid(check, f"{path}.apiVersion", api_version, "must be <group>/<version> or <version>")
    for name in ("kind", "name", "uid"):
        if not owner.get(name, ""):
            yield required(check, f"{path}.{name}", "must not be empty")


def _older(owner: JsonObject, parts: tuple[str, str] | None, path: str, check: str) -> Iterator[Finding]:
    """Check the parts of an owner as servers before `changes.OWNERS_BY_INDEX`."""
    if parts is None or not parts[1]:
        yield invalid(check, f"{path}.apiVersion", owner.get("apiVersion", ""), "version must not be empty")
    for name in ("kind", "name", "uid"):
        if not owner.get(name, ""):
            detail = "must not be empty" if changes.SHORTER_DETAILS.holds else f"{name} must not be empty"
            yield invalid(check, f"{path}.{name}", "", detail)


def _owner(owner: JsonObject) -> JsonObject:
    """Return an owner reference as its Go struct is encoded: four fields always, two only if set, in this order."""
    out = {name: owner.get(name, "") for name in ("apiVersion", "kind", "name", "uid")}
    return out | {name: owner[name] for name in ("controller", "blockOwnerDeletion") if owner.get(name) is not None}


def _owner_text(owner: JsonObject) -> str:
    held = _owner(owner)
    as_json = "{" + ",".join(f'"{name}":{encode(value)}' for name, value in held.items()) + "}"
    fields = [f"{shown}:{quote(held[name])}" for name, shown in _OWNER_TEXTS.items()]
    fields += [
        f"{name[0].upper()}{name[1:]}:(*bool)({'nil' if name not in held else ADDRESS})"
        for name in ("controller", "blockOwnerDeletion")
    ]
    return shown_as(as_json, f"v1.OwnerReference{{{', '.join(fields)}}}")


def _owners_text(owners: list[JsonObject]) -> str:
    texts = [_owner_text(owner) for owner in owners]
    return shown_as(f"[{','.join(texts)}]", f"[]v1.OwnerReference{{{', '.join(texts)}}}")


_OWNER_TEXTS: Final = {"apiVersion": "APIVersion", "kind": "Kind", "name": "Name", "uid": "UID"}


def _finalizers(finalizers: list[str], where: str, check: str) -> list[Finding]:
    findings = [
        invalid(check, where, text, message)
        for text in finalizers
        if text not in valid_label_keys
        for message in label_key(text)
    ]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        findings.append(invalid(check, where, list(finalizers), detail, shown=shown_texts(finalizers)))
    return findings


def _is_plain_entry(entry: JsonObject) -> bool:
    """Return whether an entry of managedFields has no fault: `_managed` finds the same, and takes longer."""
    manager: str = entry.get("manager", "")
    return (
        entry.get("operation") in ("Apply", "Update")
        and entry.get("fieldsType", "") in ("", "FieldsV1")
        and len(manager) <= 128
        and manager.isascii()
        and manager.isprintable()
        and len(entry.get("subresource", "")) <= 64  # of at most four bytes each
    )


def _managed(entry: JsonObject, path: str, check: str) -> list[Finding]:
    findings: list[Finding] = []
    operation: str = entry.get("operation", "")
    if operation not in ("Apply", "Update") and not changes.MANAGER_OPERATIONS.holds:
        detail = "must be `Apply` or `Update`"
        findings.append(invalid(check, f"{path}.operation", operation, detail, shown=shown_text(operation)))
    elif not operation:
        findings.append(required(check, f"{path}.operation", "must not be empty"))
    elif operation not in ("Apply", "Update"):
        detail = not_supported_detail(("Apply", "Update"))
        shown = shown_text(operation)
        findings.append(finding(check, f"{path}.operation", NOT_SUPPORTED, operation, detail, shown=shown))
    fields_type: str = entry.get("fieldsType", "")
    if fields_type not in ("", "FieldsV1"):
        findings.append(invalid(check, f"{path}.fieldsType", fields_type, "must be `FieldsV1`"))
    manager: str = entry.get("manager", "")
    if _longer(manager, 128):
        findings.append(too_long(check, f"{path}.manager", 128))
    findings.extend(
        invalid(check, f"{path}.manager", manager, f"invalid character U+{ord(letter):04X} (at position {position})")
        for position, letter in unprintable(manager)
    )
    if _longer(entry.get("subresource", ""), 256):
        findings.append(too_long(check, f"{path}.subresource", 256))
    return findings


def _longer(text: str, limit: int) -> bool:
    return len(text) > limit or (not text.isascii() and len(text.encode("utf-8", "surrogatepass")) > limit)
