"""The table of a kind: its columns, and record batches of its objects.

The interface that everything else is built on:

- `KindColumns.of(definition)` or `.of(resource)` of a built-in kind; `.merged(several)` for a kind of several clusters;
- `.schema`, and `.schema_of(names)` for some of its columns;
- `.batch(rows, columns=names)`: a row is a `TableRow`; values of columns that are not asked for are not converted.

For all objects of a kind in a dump or a report see `auditor.server.kind_batches`.

The columns are those that tie a row to a report (`TIES`: cluster, key, mod_revision, audit_status, impact, causes,
stored_version), then metadata, each top-level property of the schema sorted by name, stored_object and _rest. The
column of the audit's status is audit_status, because nearly every kind has a property `status`. A property whose name
is, apart from upper and lower case, that of another column has none: its values are in _rest, as all that does not fit.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from contextlib import suppress
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from auditor.base.tables import STRINGS
from auditor.builtin.scheme import type_named
from auditor.columns.arrays import ColumnArrays, Misfits, Unfit, attribute_of
from auditor.columns.column_types import (
    JSON,
    METADATA,
    Column,
    Paths,
    arrow_field,
    below,
    columns_of,
    go_fields,
    is_name,
    look_at_number,
    look_at_schema,
    merged_fields,
    narrowed,
)
from auditor.columns.exact import fit, json_text, rest_text
from auditor.columns.generated import Converters
from auditor.columns.records import NoRecords, Recorded, RecordReader
from auditor.crds.definition import CustomResourceDefinition
from auditor.crds.definitions_file import encode_definition
from auditor.sources.crd_files import no_collector

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from auditor.base.records import JsonObject
    from auditor.columns.exact import Rest
    from auditor.printing.discovery import Resource


TIES: Final = pa.schema(
    [
        ("cluster", pa.string()),
        ("key", pa.string()),
        ("mod_revision", pa.int64()),
        ("audit_status", pa.string()),
        ("impact", pa.string()),
        ("causes", STRINGS),
        ("stored_version", pa.string()),
    ]
)
"""The columns that every table of a kind begins with."""
STORED_OBJECT: Final = "stored_object"
REST: Final = "_rest"
_NONE: Final = object()
_OWN: Final = frozenset({*TIES.names, "metadata", STORED_OBJECT, REST, "group"})
"""Names that no property may take; readers of a data set of Parquet add its group and kind as columns."""
_NO_COLUMN: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Properties that are not columns of a schema: the table is of one kind, and metadata has the same type everywhere."""


class TableRow(NamedTuple):
    """One object, or what is known of one that could not be read.

    Attributes:
        cluster: The cluster; None if it has no name.
        key: The etcd key; None for an object of an export.
        mod_revision: The revision of its last write.
        audit_status: Its status in a report, or why it was not read; None if it was read from a dump.
        impact, causes: Those of a report; None from a dump.
        stored_version: The version that it is stored at.
        object: The object as it was read, redacted if it is to be, or as a record of `KindColumns.reader`, which costs
            far less; None if it could not be read.
        stored_object: The object as it is stored, if only a webhook could convert it.
    """

    cluster: str | None = None
    key: str | None = None
    mod_revision: int | None = None
    audit_status: str | None = None
    impact: str | None = None
    causes: tuple[str, ...] | None = None
    stored_version: str | None = None
    object: JsonObject | Recorded | None = None
    stored_object: JsonObject | None = None


class KindColumns:
    """The columns of a kind at one version.

    Args:
        group, version, kind: Those of its objects.
        fields: The column of each top-level property; that of metadata is added.
        origin: The definition that they are made of, for `schema.json`: ``definition`` and ``sha256``, or ``builtin``.
        metadata: The column of metadata.
        is_whole: Whether each field of a struct has its column.

    Attributes:
        schema: The Arrow schema of its table.
    """

    def __init__(
        self,
        group: str,
        version: str,
        kind: str,
        fields: dict[str, Column],
        origin: dict[str, Any],
        *,
        metadata: Column = METADATA,
        is_whole: bool = True,
    ) -> None:
        self.group, self.version, self.kind = group, version, kind
        self.origin = origin
        self._constants = {"apiVersion": f"{group}/{version}" if group else version, "kind": kind}
        folded = Counter(name.casefold() for name in (*fields, *_OWN))
        self.fields = {"metadata": metadata} | {
            name: fields[name] for name in sorted(fields) if folded[name.casefold()] == 1 and is_name(name)
        }
        self._names = frozenset({*self.fields, *self._constants})
        self._converters = Converters(f"{kind}.{group}", is_whole=is_whole)
        self._convert: dict[str, Callable[[Any], Any]] = {}
        self._arrays: dict[str, ColumnArrays] = {}
        self.schema = pa.schema(
            [
                *TIES,
                *(arrow_field(name, column) for name, column in self.fields.items()),
                arrow_field(STORED_OBJECT, JSON),
                arrow_field(REST, JSON),
            ]
        )

    @property
    def name(self) -> str:
        """The definition, or ``PLURAL.VERSION.GROUP`` of a built-in kind, that the columns are made of."""
        origin = self.origin.get("merged", [self.origin])[0]
        return str(origin.get("definition") or origin.get("builtin") or "")

    @classmethod
    def of(cls, kind: CustomResourceDefinition | Resource, at: str = "") -> KindColumns:
        """Return the columns of a definition, or of a built-in kind.

        Args:
            kind: The definition or the kind.
            at: The version of the definition; empty for its storage version.
        """
        if isinstance(kind, CustomResourceDefinition):
            version = kind.versions[at] if at else kind.storage_version
            schema = None if version is None else version.structural
            properties = {} if schema is None else dict(schema.properties)
            origin = {"definition": kind.name, "sha256": hashlib.sha256(encode_definition(kind.document)).hexdigest()}
            fields = _fields(properties, look_at_schema)
            return cls(kind.group, "" if version is None else version.name, kind.kind, fields, origin)
        number = type_named(f"{kind.group}/{kind.version}/{kind.kind}")
        sources = go_fields(number) if isinstance(number, int) else {}
        origin = {"builtin": f"{kind.plural}.{kind.version}.{kind.group}".rstrip(".")}
        return cls(kind.group, kind.version, kind.kind, _fields(sources, look_at_number), origin)

    @classmethod
    def merged(cls, several: Sequence[KindColumns]) -> KindColumns:
        """Return the columns of a kind whose definitions differ between clusters: all of them, at the first version."""
        first = several[0]
        fields = dict(first.fields)
        for other in several[1:]:
            fields = merged_fields(fields, other.fields)
        del fields["metadata"]
        origins = {tuple(sorted(columns.origin.items())): columns.origin for columns in several}
        origin = first.origin if len(origins) == 1 else {"merged": list(origins.values())}
        return cls(first.group, first.version, first.kind, fields, origin)

    def narrowed(self, paths: Paths) -> KindColumns:
        """Return columns whose structs have only the fields that some paths lead to: `_rest` has no meaning for them.

        A column that begins none of the paths, and one that a path names alone, is as it is here.
        """
        inner = {name: below(paths, name) for name in self.fields}
        fields = {
            name: narrowed(self.fields[name], inner[name]) if inner[name] else self.fields[name] for name in inner
        }
        metadata = fields.pop("metadata")
        return KindColumns(self.group, self.version, self.kind, fields, self.origin, metadata=metadata, is_whole=False)

    def reader(self, definition: CustomResourceDefinition, columns: Sequence[str] | None = None) -> RecordReader | None:
        """Return what decodes stored objects of a definition to records for `batch`; None if nothing can.

        `RecordReader.read_all` takes stored values of any sort, and says of each whether a storage read gives what
        its record has. `RecordReader.read` takes one that was judged and is valid, and gives a record or None:
        `TableRow(object=reader.read(data, revision) or obj)`. Only in the second case is the object itself needed.

        Args:
            definition: The definition.
            columns: The columns that `batch` will be asked for; None for all.
        """
        version = definition.versions.get(self.version)
        schema = self.schema_of(columns)
        is_whole = REST in schema.names
        fields = {name: self.fields[name] for name in self._read_for(schema)}
        try:
            return None if version is None else RecordReader(definition, version, fields, is_whole=is_whole)
        except NoRecords:
            return None

    def schema_of(self, columns: Sequence[str] | None = None) -> pa.Schema:
        """Return the schema of some columns, in the given order; of all if None.

        Raises:
            KeyError: There is no such column.
        """
        return self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])

    @no_collector()
    def batch(self, rows: Iterable[TableRow], columns: Sequence[str] | None = None) -> pa.RecordBatch:
        """Return rows as a record batch of `schema_of(columns)`; what is in no requested column is not converted."""
        schema = self.schema_of(columns)
        listed = list(rows)
        try:
            if any(isinstance(row.object, Recorded) for row in listed):
                return self._of_records(listed, schema, frozenset())
            return self._batch(listed, schema, is_fast=True)
        except (pa.ArrowException, ValueError, OverflowError, TypeError):  # what is proven has types, not each range
            return self._batch(listed, schema, is_fast=False)

    def _of_records(self, rows: list[TableRow], schema: pa.Schema, unread: Container[int]) -> pa.RecordBatch:
        """Return rows as a record batch, if some of them have records.

        Args:
            rows: The rows.
            schema: Its schema.
            unread: Rows whose records are not used.
        """
        read = self._read_for(schema)
        convert = self._conversion(schema, is_fast=True)
        arrays = [(name, attribute_of(name), self._arrays_of(name)) for name in read]
        rests: list[str | None] = [None] * len(rows)
        records: list[Any] = []
        for index, row in enumerate(rows):
            obj = row.object
            if isinstance(obj, Recorded) and index not in unread:
                records.append(obj.record)
            else:
                values, rests[index] = convert(row)
                pairs = zip(arrays, values, strict=True)
                records.append(SimpleNamespace(**{name: of.record_of(value) for (_, name, of), value in pairs}))
        misfits = Misfits()
        made = {}
        for name, attribute, of in arrays:  # also what is not asked for, as parts of it may be in `_rest`
            made[name] = of.array(list(map(attrgetter(attribute), records)), lambda: range(len(rows)), misfits)
        if misfits.unread:
            return self._of_records(rows, schema, misfits.unread)
        if REST in schema.names:
            for index in misfits.nulls:
                rests[index] = self._exactly(_object_of(rows[index]), read)[1]
            made[REST] = pa.array(rests, pa.string())
        return self._with_ties(rows, made, schema)

    def exact_batch(self, rows: Iterable[TableRow], columns: Sequence[str] | None = None) -> pa.RecordBatch:
        """Return what `batch` returns, made without generated code."""
        return self._batch(list(rows), self.schema_of(columns), is_fast=False)

    def _batch(self, rows: list[TableRow], schema: pa.Schema, *, is_fast: bool) -> pa.RecordBatch:
        convert = self._conversion(schema, is_fast=is_fast)
        converted = [convert(row) for row in rows]
        columns = zip(*(values for values, _ in converted), strict=True)
        made = dict(zip(self._read_for(schema), columns, strict=False)) | {REST: [rest for _, rest in converted]}
        arrays = {field.name: pa.array(made[field.name], field.type) for field in schema if field.name in made}
        return self._with_ties(rows, arrays, schema)

    def _conversion(self, schema: pa.Schema, *, is_fast: bool) -> Callable[[TableRow], tuple[list[Any], str | None]]:
        """Return what takes a row, and returns the values of its fields as Arrow takes them, and that of `_rest`."""
        has_rest, read = REST in schema.names, self._read_for(schema)
        converters = [(name, self._converter(name)) for name in read]

        def converted(row: TableRow) -> tuple[list[Any], str | None]:
            obj = _object_of(row)
            if is_fast and obj is not None and (not has_rest or self._is_plain(obj)):
                with suppress(Unfit, TypeError):  # the latter of orjson
                    return [convert(obj[name]) if name in obj else None for name, convert in converters], None
            return self._exactly(obj, read)

        return converted

    def _read_for(self, schema: pa.Schema) -> list[str]:
        """Return the fields that are converted: those of a schema, and all of them where it has what does not fit."""
        return [name for name in self.fields if REST in schema.names or name in schema.names]

    def _with_ties(self, rows: list[TableRow], made: dict[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
        """Return a batch of finished columns, and of those that tie a row to its report."""
        ties = dict(zip(TableRow._fields, zip(*rows, strict=True), strict=False))
        if STORED_OBJECT in schema.names and rows:
            ties[STORED_OBJECT] = tuple(None if obj is None else json_text(obj) for obj in ties[STORED_OBJECT])
        arrays = [
            made[field.name] if field.name in made else pa.array(ties[field.name] if rows else [], field.type)
            for field in schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _arrays_of(self, name: str) -> ColumnArrays:
        """Return what makes the arrays of a column of records."""
        if name not in self._arrays:
            column = self.fields[name]
            self._arrays[name] = ColumnArrays(column, is_part=name == "metadata" and column is not METADATA)
        return self._arrays[name]

    def _converter(self, name: str) -> Callable[[Any], Any]:
        """Return the generated function of a column."""
        known = self._convert.get(name)
        if known is None:
            known = self._convert[name] = self._converters.of(self.fields[name])
        return known

    def _is_plain(self, obj: JsonObject) -> bool:
        """Return whether an object is of the kind and version of the columns, and each of its fields has one."""
        return obj.keys() <= self._names and all(obj.get(name) == value for name, value in self._constants.items())

    def _exactly(self, obj: JsonObject | None, read: Sequence[str]) -> tuple[list[Any], str | None]:
        """Return the values of some top-level columns, and that of `_rest`."""
        rest: Rest = {}
        values = {} if obj is None else self._values(obj, read, rest)
        return [values.get(name) for name in read], rest_text(rest)

    def _values(self, obj: JsonObject, read: Sequence[str], rest: Rest) -> dict[str, Any]:
        """Return the values of some top-level columns, and put aside what fits in no column."""
        values: dict[str, Any] = {}
        for name, value in obj.items():
            if name in self.fields:
                if name in read:
                    values[name] = fit(self.fields[name], value, (name,), rest)
            elif value != self._constants.get(name, _NONE):
                rest[name,] = value
        rest |= {(name,): None for name in self._constants if name not in obj}
        return values


def _object_of(row: TableRow) -> JsonObject | None:
    """Return the object of a row, by the exact read if it has a record."""
    obj = row.object
    return obj.exact(row.mod_revision) if isinstance(obj, Recorded) else obj


def _fields(properties: dict[str, Any], look: Callable[[Any], Any]) -> dict[str, Column]:
    return columns_of({name: source for name, source in properties.items() if name not in _NO_COLUMN}, look)
