"""The storage read: from the bytes of one stored value to the object that a GET at some version returns.

This is the plain interpreter; faster paths are checked against it and fall back to it. Order: decode; coerce metadata,
prune, drop nulls and coerce embedded resources by the schema of the stored version; default by that schema; convert;
then the same steps except defaulting by the schema of the requested version, where malformed metadata is an error.

A read decodes metadata into its Go type and encodes it again. A malformed field is dropped whole, and the next write
makes this permanent. Times are brought to UTC, null labels become empty ones and a missing generation becomes 1: these
only look different. Zero values that vanish do not change the meaning.

Source: apiextensions-apiserver pkg/apiserver/customresource_handler.go (GetRESTOptions, unstructuredSchemaCoercer),
pkg/apiserver/schema/objectmeta/coerce.go; apimachinery pkg/runtime/serializer/versioning/versioning.go (Decode);
apiserver pkg/features/kube_features.go (AllowUnsafeMalformedObjectDeletion, on since 1.37),
pkg/storage/etcd3/{store,corrupt_obj_deleter}.go, pkg/storage/errors/storage.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.base.paths import check_paths
from auditor.base.quick_init import quick_init
from auditor.base.statuses import Impact
from auditor.crds.conversion import NEEDS_WEBHOOK, ConversionError, convert, parse_group_version
from auditor.golang import cbor
from auditor.golang.go_text import display, quote, type_name
from auditor.golang.jsontext import GoJsonError, as_text, decode
from auditor.releases import changes
from auditor.schema.defaulting import copy_json, default, drop_nulls, keeps_defaults
from auditor.schema.objectmeta import CoerceError, coerce_embedded, read_metadata, reads_the_same, served_metadata
from auditor.schema.pruning import prune

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.schema.structural import StructuralSchema

    MetadataProver = Callable[[Any], bool]


NO_METADATA: Final = "panic: no metadata in a stored object"
"""Reason of a value that ends the server process: it decodes, but has no metadata."""

_CBOR_TAG: Final = b"\xd9\xd9\xf7"


class ReadError(Exception):
    """A stored value that the server cannot read; the text is the reason."""


@quick_init
@dataclass(frozen=True, slots=True)
class ReadResult:
    """Result of a read: an object, or the reason why it cannot be read.

    Attributes:
        object: The object at the requested version.
        unreadable: The reason, with the server's message if it has one.
        pruned: Dotted paths of unknown fields that either of the two prunings dropped, sorted.
        defaulted: Dotted paths that received a default and were not pruned later, sorted.
        stored_version: The version in the stored apiVersion, or None.
        effect: The effect of the read on the object's metadata (`rewritten_metadata`).
        is_metadata_proven: Whether the caller's prover says that the metadata of the object is valid.
    """

    object: JsonObject | None = None
    unreadable: str | None = None
    pruned: tuple[str, ...] = ()
    defaulted: tuple[str, ...] = ()
    stored_version: str | None = None
    effect: str = ""
    is_metadata_proven: bool = False

    @property
    def needs_conversion(self) -> bool:
        """Whether only a conversion webhook could convert the object to this version."""
        return self.unreadable is not None and self.unreadable.startswith(NEEDS_WEBHOOK)


def read_object(
    definition: CustomResourceDefinition,
    version_name: str,
    data: bytes,
    decoded: Any = None,
    proves_metadata: MetadataProver | None = None,
) -> ReadResult:
    """Read one stored value at a version of its definition.

    Args:
        definition: The definition that the key belongs to, even if the value names another kind.
        version_name: The version to read at.
        data: The stored bytes, decrypted.
        decoded: The document that orjson decoded from them, if the caller has it; it is changed in place.
        proves_metadata: As of `finish_read`.
    Returns:
        The object, or the reason why it cannot be read; bad data raises nothing.
    """
    target = definition.versions.get(version_name)
    if target is None:
        return ReadResult(unreadable=f'no version "{version_name}" in CRD {definition.name}')
    if target.unserved_reason:
        return ReadResult(unreadable=f"unusable CRD {definition.name}: {target.unserved_reason}")
    try:
        obj = decode_value(data, decoded)
    except ReadError as error:
        return ReadResult(unreadable=str(error))
    has_nulls = data[:1] != b"{" or b"null" in data
    return finish_read(definition, version_name, obj, has_nulls=has_nulls, proves_metadata=proves_metadata)


def finish_read(
    definition: CustomResourceDefinition,
    version_name: str,
    obj: JsonObject,
    *,
    has_nulls: bool = True,
    proves_metadata: MetadataProver | None = None,
) -> ReadResult:
    """Do the steps of `read_object` after decoding; `obj` is changed in place and is the object of the result.

    The definition has the version and can be served.

    Args:
        definition, version_name: As in `read_object`.
        obj: The decoded object.
        has_nulls: Whether there may be a null in it.
        proves_metadata: Returns whether metadata is proven: a read leaves it as it is, and a create finds nothing.
    """
    metadata = obj.get("metadata")
    schema, own, stored = _schema_of(definition, obj)
    is_apart = not _may_change_metadata(schema) and not _may_change_metadata(
        definition.versions[version_name].structural
    )
    is_proven = is_apart and proves_metadata is not None and proves_metadata(metadata)
    if not is_apart:
        metadata = copy_json(metadata)
    try:
        pruned, defaulted = _before_conversion(
            definition, obj, schema, own=own, has_nulls=has_nulls, is_metadata_proven=is_proven
        )
        convert(obj, definition, version_name)
        again: list[str] = []
        read = obj.get("metadata") or {}
        is_same = is_apart and stored == version_name and keeps_defaults(schema)
        if not is_same or (read is not metadata and not reads_the_same(read)):
            again = coerce(definition, obj, drop=False)
    except (CoerceError, ConversionError, ReadError) as error:
        return ReadResult(unreadable=str(error), stored_version=stored)
    if stored != version_name:
        pruned += again
        if again and defaulted:
            defaulted = [path for path in defaulted if not _is_below(path, again)]
    pruned.sort()
    read = obj.get("metadata") or {}
    effect = rewritten_metadata(metadata, read)
    return ReadResult(obj, None, tuple(pruned), tuple(defaulted), stored, effect, is_proven and read is metadata)


def before_conversion(definition: CustomResourceDefinition, data: bytes) -> JsonObject | None:
    """Return a stored value as the server sends it to a conversion webhook, or None if it fails earlier."""
    try:
        obj = decode_value(data)
        schema, own, _ = _schema_of(definition, obj)
        _before_conversion(definition, obj, schema, own=own)
    except (CoerceError, ReadError):
        return None
    return obj


def _before_conversion(
    definition: CustomResourceDefinition,
    obj: JsonObject,
    schema: StructuralSchema | None,
    *,
    own: bool,
    has_nulls: bool = True,
    is_metadata_proven: bool = False,
) -> tuple[list[str], list[str]]:
    """Read an object by the schema of its own version, in place; return pruned and defaulted paths."""
    pruned = _coerce(
        definition, obj, schema, own=own, drop=True, has_nulls=has_nulls, is_metadata_proven=is_metadata_proven
    )
    return pruned, default(obj, schema) if own else []


def decode_value(data: bytes, decoded: Any = None) -> JsonObject:
    """Decode stored bytes, JSON or CBOR, to an object with a kind; `decoded` is as in `read_object`.

    Raises:
        ReadError: The message is in the server's words.
        TooMuchToReport: The paths of its fields cannot be held.
    Source: apimachinery pkg/apis/meta/v1/unstructured/helpers.go, pkg/runtime/serializer/cbor/cbor.go.
    """
    obj = _decode_cbor(data) if data.startswith(_CBOR_TAG) else _decode_json(data, decoded)
    check_paths(obj, len(data))
    return obj


def _decode_json(data: bytes, decoded: Any) -> JsonObject:
    try:
        obj = decode(data, decoded)
    except GoJsonError as error:
        raise ReadError(str(error)) from None
    if type(obj) is not dict:
        if obj is None:
            raise ReadError(_missing_kind(data))
        raise ReadError(f"json: cannot unmarshal {_word(obj)} into Go value of type map[string]interface {{}}")
    if not _kind(obj):
        raise ReadError(_missing_kind(data))
    return obj


def _decode_cbor(data: bytes) -> JsonObject:
    try:
        obj = cbor.decode_object(data)
    except cbor.CborError as error:
        raise ReadError(str(error)) from None
    if not _kind(obj):
        raise ReadError(_missing_kind(data))
    if not _group_version(obj)[1]:
        raise ReadError(f"Object 'apiVersion' is missing in '{as_text(data)}'")
    return obj


def coerce(definition: CustomResourceDefinition, obj: JsonObject, *, drop: bool) -> list[str]:
    """Coerce metadata, prune, drop nulls and coerce embedded resources by the version that the object names, in place.

    Args:
        definition: The definition of the key; if the object has another group or kind, only its metadata is coerced.
        obj: Decoded.
        drop: True for the coercion after decoding: malformed metadata is dropped, a missing generation set to 1. False
            for the one after conversion: malformed metadata makes the read fail.
    Returns:
        Dotted paths of dropped unknown fields, unordered.
    Raises:
        ReadError, CoerceError: The read fails; the message is the server's.
    """
    schema, own, _ = _schema_of(definition, obj)
    return _coerce(definition, obj, schema, own=own, drop=drop)


def _coerce(
    definition: CustomResourceDefinition,
    obj: JsonObject,
    schema: StructuralSchema | None,
    *,
    own: bool,
    drop: bool,
    has_nulls: bool = True,
    is_metadata_proven: bool = False,
) -> list[str]:
    """Do `coerce` by the schema of an object; `own`: whether the object has the definition's kind."""
    for key in ("kind", "apiVersion"):
        value = obj.get(key, "")
        if type(value) is not str:
            raise ReadError(
                f".{key} accessor error: {display(value)} is of the type {type_name(value)}, expected string"
            )
    unknown: list[str] = []
    metadata = None
    if "metadata" in obj:
        metadata = obj["metadata"]
        if not is_metadata_proven:
            metadata = read_metadata(metadata, drop=drop, unknown=unknown)
    dropped = [f"metadata.{path}" for path in unknown]
    if own:
        if not definition.preserve_unknown_fields:
            dropped += prune(obj, schema)
            if has_nulls:
                drop_nulls(obj, schema)
        dropped += coerce_embedded(obj, schema, drop=drop)
        if drop:
            if metadata is None:
                raise ReadError(NO_METADATA)
            if "generation" not in metadata:
                metadata = {**metadata, "generation": 1}
    if metadata is not None:  # written last: nulls and embedded resources are handled before
        obj["metadata"] = served_metadata(metadata)
    return dropped


def choose_version(definition: CustomResourceDefinition, obj: Any, version_name: str | None = None) -> str | None:
    """Return the version at which an object is audited if the caller gives none.

    Args:
        definition: The definition of its key.
        obj: The decoded value, of any type; only its apiVersion counts.
        version_name: The requested version; it is not checked.
    Returns:
        The requested version; else the object's own if the definition has it and its group is the same; else the
        storage version. None if there is no such version.
    """
    if version_name is not None:
        return version_name
    group, own = _group_version(obj) if type(obj) is dict else ("", "")
    if group == definition.group and own in definition.versions:
        return own
    storage = definition.storage_version
    return None if storage is None else storage.name


def _schema_of(
    definition: CustomResourceDefinition, obj: JsonObject
) -> tuple[StructuralSchema | None, bool, str | None]:
    """Return the schema of an object's version, whether it is of the definition's kind, and the name of the version."""
    group, name = _group_version(obj)
    if group != definition.group or obj.get("kind") != definition.kind:
        return None, False, name or None
    version = definition.versions.get(name)
    return (None if version is None else version.structural), True, name or None


def _may_change_metadata(schema: StructuralSchema | None) -> bool:
    """Return whether dropping nulls, or defaulting, by a schema may change the metadata of an object in place."""
    below = None if schema is None else schema.properties.get("metadata")
    return below is not None and bool(below.properties or below.items or below.additional_properties)


def _group_version(obj: JsonObject) -> tuple[str, str]:
    api_version = obj.get("apiVersion", "")
    return (parse_group_version(api_version) or ("", "")) if type(api_version) is str else ("", "")


def _kind(obj: JsonObject) -> str:
    """Return the kind that the decoder finds: none if apiVersion does not parse."""
    kind, api_version = obj.get("kind"), obj.get("apiVersion")
    if type(api_version) is str and parse_group_version(api_version) is None:
        return ""
    return kind if type(kind) is str else ""


def _missing_kind(data: bytes) -> str:
    return f"Object 'Kind' is missing in '{as_text(data)}'"


def _word(value: Any) -> str:
    if type(value) is str:
        return "string"
    if type(value) is list:
        return "array"
    return "bool" if type(value) is bool else "number"


def _is_below(path: str, dropped: Iterable[str]) -> bool:
    return any(
        path == path_dropped or path.startswith((f"{path_dropped}.", f"{path_dropped}[")) for path_dropped in dropped
    )


LOSES_DATA: Final = Impact.LOSES_DATA.value  # the larger of the two
DRIFTS: Final = Impact.DRIFTS.value


def rewritten_metadata(stored: Any, read: JsonObject) -> str:
    """Return the impact of a read on metadata; empty if the metadata is unchanged.

    Args:
        stored: ``metadata`` as stored, of any type.
        read: ``metadata`` after the read.
    """
    if type(stored) is not dict:
        return DRIFTS if stored is None else LOSES_DATA
    if read is stored:
        return ""
    if read.get("creationTimestamp", "") is None:  # absent, as servers before `changes.NO_NULL_TIMES` show it
        read = {key: value for key, value in read.items() if key != "creationTimestamp"}
    if _is_lost(stored, read):
        return LOSES_DATA
    return DRIFTS if _plain(stored) != read else ""


def _is_lost(stored: Any, read: Any) -> bool:
    """Return whether any value other than a zero value is lost."""
    if type(stored) is dict:
        if type(read) is not dict:
            return True
        for key, value in stored.items():
            if value and (key not in read or (value is not read[key] and _is_lost(value, read[key]))):
                return True  # a read shares the texts and the fieldsV1 that it copies
        return False
    if type(stored) is list:
        return type(read) is not list or len(stored) != len(read) or any(map(_is_lost, stored, read))
    is_number = type(stored) in (int, float) and type(read) in (int, float)
    return stored is not None and type(stored) is not type(read) and not is_number


def _plain(stored: JsonObject) -> JsonObject:
    """Return metadata without zero values at the top level, which count as absent."""
    kept = "deletionGracePeriodSeconds"
    return {key: value for key, value in stored.items() if value or (key == kept and value is not None)}


_INTERNAL = "InternalError"


class CorruptValue(NamedTuple):
    """A value that a server cannot read.

    Attributes:
        key: Its key, as the message names it.
        revision: Its revision.
        reason: What is wrong with it.
        is_closed: Whether it cannot even be decrypted.
    """

    key: str
    revision: int
    reason: str
    is_closed: bool = False


def answer_to_update(reason: str, revision: int) -> str:
    """Return the message of the answer, code 500, to an update of an object that cannot be decoded."""
    return f"object not decodable revision={revision}: {reason}" if changes.CORRUPT_OBJECTS.holds else reason


def described(value: CorruptValue) -> str:
    """Return the words since `changes.CORRUPT_OBJECTS`."""
    where = f"StorageError: corrupt object, Code: 7, Key: {value.key}, ResourceVersion: 0, AdditionalErrorMsg: "
    if value.is_closed:
        return f"{where}data from the storage is not transformable revision=0: {value.reason}"
    return f"{where}object not decodable revision={value.revision}: {value.reason}"


def answer_to_one(value: CorruptValue) -> tuple[str, str]:
    """Return reason and message of the answer, code 500, to a GET of the object."""
    if changes.CORRUPT_OBJECTS.holds:
        return _INTERNAL, f"Internal error occurred: {described(value)}"
    return (_INTERNAL, f"Internal error occurred: {value.reason}") if value.is_closed else ("", value.reason)


def first_of_list(value: CorruptValue) -> tuple[str, str]:
    """Return reason and message of a LIST's answer before `changes.CORRUPT_OBJECTS`: it stops at the first value."""
    if not value.is_closed:
        return "", value.reason
    return _INTERNAL, f"unable to transform key {quote(value.key)}: {value.reason}"
