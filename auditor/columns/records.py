"""Stored objects of a definition as records that have the fields of its columns alone, decoded in one step.

A `RecordReader` proves of the stored bytes of an object that a storage read gives exactly what the record has, and
leaves all else to the exact read (`storage_read`). msgspec decodes into types that are made of the schema and of the
columns together: a field of another type, or a null where the schema allows one, is not proven; a field without a
column is ignored, as pruning drops it or the caller does not ask for it; a missing field has its default. Metadata must
be such that coercing them changes nothing. Validity is neither needed nor proven.

msgspec checks the syntax of what it ignores, but not the range of its numbers. A server cannot decode an object with a
number out of range: `overflowing` looks for these in the bytes themselves.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, Raw

from auditor.base.paths import FREE_BYTES
from auditor.columns.arrays import Texts, Unfit, attribute_of, server_moments
from auditor.columns.column_types import METADATA, Column, Kind, look_at_schema
from auditor.releases import changes
from auditor.schema.defaulting import copy_json, default
from auditor.schema.objectmeta import has_embedded
from auditor.schema.structural import ABSENT, StructuralSchema
from auditor.storage_read.read import read_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition


MOST_RECORDS: Final = 1000
"""Largest number of record types of a version; creating one takes 50 us."""
_INTEGER: Final = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
_EXACT: Final = Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]
"""Integers that a double holds."""
_SCALARS: Final[dict[Kind, Any]] = {
    Kind.STRING: str,
    Kind.TIME: str,
    Kind.INTEGER: _INTEGER,
    Kind.NUMBER: _EXACT | float,
    Kind.BOOLEAN: bool,
}
_META_FIELDS: Final = ("apiVersion", "kind", "metadata")


class NoRecords(Exception):
    """The objects of a version cannot be decoded to records; the text is the reason."""


class Recorded(NamedTuple):
    """A stored object as a record.

    Attributes:
        record: It; read by `auditor.columns.arrays`.
        data: The stored bytes.
        reader: What made it.
    """

    record: Any
    data: bytes
    reader: RecordReader

    def exact(self, revision: int | None) -> JsonObject:
        """Return the object by the exact read, for a value that is not proven to fit its column.

        Args:
            revision: That of its last write.
        """
        read = read_object(self.reader.definition, self.reader.version.name, self.data).object
        assert read is not None, "what was proven to be readable is not"
        if revision is not None:
            read["metadata"]["resourceVersion"] = str(revision)
        return read


class RecordReader:
    """Decodes stored objects of a version of a definition to records of some columns.

    Args:
        definition, version: The version at which the objects are stored and read.
        columns: The top-level columns, by name.
        is_whole: Whether what no column has is put aside, so that each property must have one.

    Raises:
        NoRecords: Only the exact read can give these columns.
    """

    def __init__(
        self,
        definition: CustomResourceDefinition,
        version: CrdVersion,
        columns: dict[str, Column],
        *,
        is_whole: bool = True,
    ) -> None:
        self.definition, self.version = definition, version
        schema = version.structural
        if schema is None or version.unserved_reason or definition.preserve_unknown_fields or not _is_record(schema):
            raise NoRecords("the root is no record")
        if has_embedded(schema):
            raise NoRecords("embedded resources, whose metadata may be unreadable")
        own = [schema.properties[name] for name in _META_FIELDS if name in schema.properties]
        if any(_changes(node) for node in own):
            raise NoRecords("a schema of metadata")
        api_version = f"{definition.group}/{version.name}"
        head = {"apiVersion": Literal[api_version], "kind": Literal[definition.kind], "metadata": _Metadata}
        fields = {name: column for name, column in columns.items() if name != "metadata"}
        record = _RecordTypes(is_whole=is_whole).record(schema, fields, head)
        self._decode = msgspec.json.Decoder(record).decode
        self._has_managers = "metadata" in columns and "managedFields" in dict(columns["metadata"].fields)
        self._null_times = not changes.NO_NULL_TIMES.holds

    def read(self, data: bytes, revision: int | None) -> Recorded | None:
        """Return the record of an object whose numbers are known to be in range; None if it is not proven.

        Args:
            data: The stored bytes, decrypted, such as those of an object that was judged and is valid.
            revision: That of its last write, which is its resourceVersion; None if it is not known.
        """
        if len(data) > FREE_BYTES:  # the exact read checks its paths
            return None
        try:
            made: Any = self._decode(data)
            metadata = made.f_metadata
            created = metadata.f_creationTimestamp
            if created is not None:
                server_moments[created]
            elif self._null_times:
                return None
            if metadata.f_deletionTimestamp is not None:
                server_moments[metadata.f_deletionTimestamp]
            if metadata.f_managedFields is not None:
                for entry in metadata.f_managedFields:
                    if entry.f_time is not None:
                        server_moments[entry.f_time]
                    if self._has_managers and entry.f_fieldsV1 is not None:
                        _owned_fields[bytes(entry.f_fieldsV1)]
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, Unfit):
            return None
        if revision is not None:
            metadata.f_resourceVersion = str(revision)
        return Recorded(made, data, self)

    def read_all(self, values: Sequence[bytes], revisions: Sequence[int | None]) -> list[Recorded | None]:
        """Return the record of each of some objects that may be anything; None for what is not proven."""
        refused = overflowing(values)
        made = [self.read(data, revision) for data, revision in zip(values, revisions, strict=True)]
        for index in refused:
            made[index] = None
        return made


# ---- numbers

_TOGETHER: Final = 64
"""Texts that are looked at in one piece: a small piece remains in the caches of a processor."""
_MANY_DIGITS: Final = 200
_IS_LARGE: Final = re.compile(rb"[-./0-9]+[eE]\+?[0-9]{3}|[-./0-9]*?[0-9]{%d}" % _MANY_DIGITS).match
_BEFORE_NUMBERS: Final = np.isin(np.arange(256), list(b" \t\r\n,:["))


def overflowing(values: Sequence[bytes]) -> set[int]:
    """Return the indexes of JSON texts that may have a number beyond the range of a double; they may be a few others.

    Such a number has an exponent of three digits or more, or at least 210 digits in one piece.
    """
    found: set[int] = set()
    for first in range(0, len(values), _TOGETHER):
        found |= {first + index for index in _overflowing(values[first : first + _TOGETHER])}
    return found


def _overflowing(values: Sequence[bytes]) -> set[int]:
    """Do `overflowing` by the runs of digits, points and signs: a number is one, behind white space or punctuation."""
    text = b"\n".join((b"", *values, b""))
    codes = np.frombuffer(text, np.uint8)
    are_digits = (codes - ord("-")) < 13  # - . / and digits
    edges = np.flatnonzero(are_digits[1:] != are_digits[:-1])
    starts, ends = edges[::2], edges[1::2] + 1
    has_exponent = _BEFORE_NUMBERS[codes[starts]] & ((codes[ends] | 32) == ord("e"))
    places = np.flatnonzero(has_exponent | (ends - starts > _MANY_DIGITS))
    found = [starts[place] for place in places if _IS_LARGE(text, starts[place] + 1)]
    if not found:
        return set()
    after = np.cumsum([1, *(len(value) + 1 for value in values)])
    return set((np.searchsorted(after, found, side="right") - 1).tolist())


# ---- types


def _is_record(schema: StructuralSchema) -> bool:
    """Return whether pruning keeps of an object of a schema its properties, and nothing else."""
    return (
        schema.type == "object"
        and schema.additional_properties is None
        and not (schema.preserve_unknown_fields or schema.int_or_string)
    )


def _changes(schema: StructuralSchema) -> bool:
    """Return whether defaulting or dropping nulls by a schema may change a value of a resource's own fields."""
    return schema.default is not ABSENT or bool(schema.properties or schema.items or schema.additional_properties)


class _RecordTypes:
    """Makes the types of one version; equal positions share one.

    Args:
        is_whole: As of `RecordReader`.
    """

    def __init__(self, *, is_whole: bool) -> None:
        self._is_whole = is_whole
        self._made: dict[tuple[int, Column], Any] = {}

    def of(self, schema: StructuralSchema, column: Column) -> Any:
        """Return the type of a value that is not null.

        Raises:
            NoRecords: There is none.
        """
        place = id(schema), column
        if place not in self._made:
            if len(self._made) >= MOST_RECORDS:
                raise NoRecords("too many types")
            self._made[place] = self._make(schema, column)
        return self._made[place]

    def _make(self, schema: StructuralSchema, column: Column) -> Any:
        kind = column.kind
        if kind is not Kind.JSON and kind is not look_at_schema(schema).kind:
            raise NoRecords("a column of another type")
        if kind in _SCALARS:
            return _SCALARS[kind]
        if kind is Kind.STRUCT:
            if not _is_record(schema):
                raise NoRecords("properties beside others")
            return self.record(schema, dict(column.fields))
        if kind is Kind.JSON:
            return _json_type(schema)
        assert column.item is not None
        if kind is Kind.LIST:
            assert schema.items is not None
            return list[self.of(schema.items, column.item)]  # type: ignore[misc]
        assert isinstance(schema.additional_properties, StructuralSchema)
        if schema.properties:
            raise NoRecords("properties beside others")
        return dict[str, self.of(schema.additional_properties, column.item)]  # type: ignore[misc]

    def record(
        self, schema: StructuralSchema, columns: dict[str, Column], head: dict[str, Any] | None = None
    ) -> type[msgspec.Struct]:
        """Return the type of objects of a schema, with a field for each column.

        Args:
            schema: Their schema.
            columns: By name.
            head: Further fields, which must be there, with their types.
        """
        head = head or {}
        fields: list[Any] = [(attribute_of(name), kind, msgspec.field(name=name)) for name, kind in head.items()]
        if self._is_whole and schema.properties.keys() - columns.keys() - head.keys():
            raise NoRecords("properties without a column")
        for name, column in columns.items():
            child = schema.properties.get(name)
            if child is None:
                raise NoRecords("a column of another definition")
            annotation = self.of(child, column)
            if child.default is ABSENT:
                if not child.nullable and annotation is not Raw:  # a read drops the null
                    annotation |= None
                fields.append((attribute_of(name), annotation, msgspec.field(name=name, default=None)))
            else:
                fields.append((attribute_of(name), annotation, _defaulted(name, child, annotation)))
        return msgspec.defstruct("Record", fields, kw_only=True, gc=False)


def _defaulted(name: str, schema: StructuralSchema, annotation: Any) -> Any:
    """Return the field of a property that has a default."""
    if annotation is Raw:
        raise NoRecords("a default of JSON text")
    value = copy_json(schema.default)
    default(value, schema)
    try:
        msgspec.convert(value, annotation)
    except msgspec.ValidationError:
        raise NoRecords("a default of another type") from None
    return msgspec.field(name=name, default_factory=lambda: msgspec.convert(value, annotation))


def _json_type(schema: StructuralSchema) -> Any:
    """Return the type of what is JSON text in its column."""
    if schema.int_or_string:
        return _INTEGER | str
    parts = schema.properties or schema.items or schema.additional_properties is not None
    if not (parts or schema.nullable):
        if schema.preserve_unknown_fields:
            return Raw
        if schema.type == "object":
            return msgspec.defstruct("Pruned", [], gc=False)
    raise NoRecords("JSON text that a read changes")


# ---- metadata


class _Nothing(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An object without keys."""


_LEVELS: Final = 24
"""Deepest maps of owned fields that are proven."""
_maps: Any = _Nothing
for _ in range(_LEVELS):
    _maps = dict[str, _maps]
_decode_maps: Final = msgspec.json.Decoder(_maps).decode


def _has_maps_alone(data: bytes) -> bool | None:
    """Return True if JSON text is made of maps alone: of numbers, a read of fieldsV1 changes some."""
    try:
        _decode_maps(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return True


_owned_fields: Final = Texts(_has_maps_alone)

_TEXT: Final = Annotated[str, Meta(min_length=1)]
_ZEROS_KEPT: Final = frozenset({"deletionGracePeriodSeconds", "controller", "blockOwnerDeletion"})
_OWNER_TEXTS: Final = frozenset({"apiVersion", "kind", "name", "uid"})
"""Fields of owners that a read adds."""


def _metadata_type(name: str, column: Column) -> Any:
    """Return the type of a value of metadata that a read does not change."""
    kind = column.kind
    if kind is Kind.STRUCT:
        fields: list[Any] = []
        for key, below in column.fields:
            annotation = _metadata_type(key, below)
            given: Any = 1 if key == "generation" else None
            if key == "creationTimestamp":
                annotation |= None
            elif key in (_OWNER_TEXTS if name == "ownerReferences" else ("name",)):
                given = msgspec.NODEFAULT
            fields.append((attribute_of(key), annotation, msgspec.field(name=key, default=given)))
        return msgspec.defstruct("Metadata", fields, kw_only=True, gc=False)
    if kind is Kind.STRING:
        return _TEXT
    if kind is Kind.INTEGER:
        return _INTEGER if name in _ZEROS_KEPT else Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]
    if kind is Kind.MAP:
        return Annotated[dict[str, str], Meta(min_length=1)]
    if kind is Kind.LIST:
        assert column.item is not None
        item = str if column.item.kind is Kind.STRING else _metadata_type(name, column.item)
        return Annotated[list[item], Meta(min_length=1)]  # type: ignore[valid-type]
    return {Kind.BOOLEAN: bool, Kind.TIME: str, Kind.JSON: Raw}[kind]


_Metadata: Final = _metadata_type("metadata", METADATA)
