"""Stage 4: index rows of a shard, one partition a (group, version, kind), sorted by namespace and name.

One row per object and served version. At a version other than the audited one, the object is read again only if that
version can differ: it has selectable fields, or embedded resources, which can fail a read.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import islice
from operator import le
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from auditor.base import arrow, tables
from auditor.base.errors import SelectorError
from auditor.base.records import JsonObject
from auditor.schema.structural import nodes_of
from auditor.selectors.selectable_fields import field_types, plain_keys, selectable, selectable_values
from auditor.shards.table_rows import array_of, constant, write_parquet
from auditor.storage_read.read import read_object

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.base.records import AuditedObject
    from auditor.crds.definition import CustomResourceDefinition


Append = Callable[[int, JsonObject, dict[str, str]], None]
"""Adds the row of an object, from its position in the shard, the object, and its selectable fields."""

_PYTHON: Final = {"boolean": bool, "integer": int}
_NO_LABELS: Final[dict[str, str]] = {}


class _Partition:
    """Rows of one version of one kind, and how its objects are read."""

    def __init__(self, definition: CustomResourceDefinition, name: str, meta: dict[str, str], folder: str) -> None:
        self.version = version = definition.versions[name]
        self.folder = folder
        self.fields = field_types(version)
        self.reads_again = bool(self.fields) or any(node.embedded_resource for node in nodes_of(version.structural))
        self.schema = tables.with_metadata(tables.index_schema(self.fields), **meta)
        self.rows: list[tuple[Any, ...]] = []
        self.values = self._values()

    def _values(self) -> Callable[[JsonObject, dict[str, str]], tuple[Any, ...]]:
        """Return a function that makes the last columns of a row: text and typed value of each selectable field."""
        version = self.version
        known = {path.removeprefix("."): plain_keys(path) for path in version.selectable_fields}
        fields = [(label, known[label], _PYTHON.get(kind, str)) for label, kind in self.fields]

        def of_keys(obj: JsonObject, texts: dict[str, str]) -> tuple[Any, ...]:
            row: list[Any] = []
            for label, keys, kind in fields:
                value: Any = obj
                for key in keys or ():
                    if type(value) is not dict:
                        value = None
                        break
                    value = value.get(key)
                if type(value) is float and value.is_integer():  # 5.0 is an integer to selectors
                    return of_paths(obj, texts)
                row.append(texts.get(label, ""))
                row.append(value if type(value) is kind else None)
            return tuple(row)

        def of_paths(obj: JsonObject, texts: dict[str, str]) -> tuple[Any, ...]:
            try:
                typed = selectable_values(version, obj)
            except SelectorError:  # a path that no server accepts, or that fails for this object
                typed = {}
            row: list[Any] = []
            for label, _, kind in fields:
                value = typed.get(label)
                row += (texts.get(label, ""), value if type(value) is kind else None)
            return tuple(row)

        return of_paths if None in known.values() else of_keys


def _by_name(row: tuple[Any, ...]) -> tuple[str, str]:
    return row[1] or "", row[2] or ""


class IndexBuilder:
    """Collects the index rows of one shard."""

    def __init__(self, owner: Any, cluster: str | None, source: str, meta: dict[str, str], live: pa.Table) -> None:
        self.owner = owner
        self.live = live
        self.served: dict[str, list[str]] = {}
        self.cluster = cluster
        self.source = source
        self.meta = meta
        self.partitions: dict[tuple[str, str], _Partition] = {}
        self._quicks: dict[tuple[str, str], Append | None] = {}

    def quick(self, definition: CustomResourceDefinition, version: str) -> Append | None:
        """Return a function that adds the rows of an object judged at one version, or None if only `add` can."""
        if definition.conversion != "None":
            return None
        places = self._places(definition, version)
        own = next((place for place in places if place.version.name == version), None)
        return None if own is None else _quick(own, [place for place in places if place is not own])

    def _quick_of(self, definition: CustomResourceDefinition, version: str) -> Append | None:
        key = (definition.name, version)
        if key not in self._quicks:
            self._quicks[key] = self.quick(definition, version)
        return self._quicks[key]

    def rows_of(self, definition: CustomResourceDefinition, version: str) -> list[tuple[list[tuple[Any, ...]], bool]]:
        """Return the lists that take the rows of an object that is stored and judged at a version.

        Each comes with a flag: whether it is the list of that version, whose rows end with the selectable fields. An
        empty list means that the object must be read again, which `add` does.
        """
        return [(place.rows, place.version.name == version) for place in self._places(definition, version)]

    def _places(self, definition: CustomResourceDefinition, version: str) -> list[_Partition]:
        """Return the lists for the rows of an object judged at a version; empty if it must be read again."""
        names = self._names(definition) if definition.conversion == "None" else [version]
        places = [self._partition(definition, name) for name in names]
        return [] if any(place.reads_again and place.version.name != version for place in places) else places

    def _names(self, definition: CustomResourceDefinition) -> list[str]:
        names = self.served.get(definition.name)
        if names is None:
            names = self.served[definition.name] = [version.name for version in definition.served_versions]
        return names

    def add(self, definition: CustomResourceDefinition, at: int, data: bytes, judged: list[AuditedObject]) -> None:
        """Add the rows of one object: at each served version, or under a webhook at the version it is stored at.

        Args:
            definition: The definition of its kind.
            at: Its position in the shard.
            data: Its stored bytes.
            judged: The object at each requested version.
        """
        if len(judged) == 1:
            only = judged[0]
            if only.object is None:
                return
            append = self._quick_of(definition, only.audited_version or "")
            if append is not None and type(only.object.get("metadata")) is dict:
                append(at, only.object, only.selectable)
                return
        names = self._names(definition)
        by_version = {audited.audited_version: audited for audited in judged}
        some = next((audited for audited in judged if audited.object is not None), None)
        if some is None or some.object is None:
            return
        if definition.conversion != "None":
            own = (some.stored_version, *((some.audited_version,) if definition.webhook is not None else ()))
            names = [name for name in dict.fromkeys(own) if name in definition.versions]
        for name in names:
            place = self._partition(definition, name)
            audited = by_version.get(name)
            if audited is not None:
                obj, fields = audited.object, audited.selectable
            elif place.reads_again:
                read = read_object(definition, name, data)
                if read.object is None:
                    continue
                obj = read.object
                try:
                    fields = selectable(place.version, obj, definition.namespaced)
                except SelectorError:
                    fields = {}
            else:
                obj, fields = some.object, {}
            if obj is not None:
                self._append(place, at, obj, fields)

    def _partition(self, definition: CustomResourceDefinition, version: str) -> _Partition:
        key = (definition.name, version)
        partition = self.partitions.get(key)
        if partition is None:
            entry = self.owner.by_name[definition.name]
            folder = self.owner.folders.folder(entry.name, entry.group, version, entry.kind)
            partition = self.partitions[key] = _Partition(definition, version, self.meta, folder)
        return partition

    def _append(self, place: _Partition, at: int, obj: JsonObject, fields: dict[str, str]) -> None:
        metadata = obj.get("metadata")
        row = _row(at, metadata if type(metadata) is dict else {})
        place.rows.append(row + place.values(obj, fields) if place.fields else row)

    def labels(self, names: frozenset[str], wanted: frozenset[str]) -> dict[tuple[str, str, str, str], dict[str, str]]:
        """Return the labels of objects by group, kind, namespace and name.

        Args:
            names: Names of objects; those of others are left out.
            wanted: Names of labels; objects with none of them are left out.
        """
        out = {}
        for (definition, _), place in self.partitions.items():
            entry = self.owner.by_name[definition]
            for row in place.rows:
                if row[2] in names and not wanted.isdisjoint(row[6]):
                    out[entry.group, entry.kind, row[1] or "", row[2]] = row[6]
        return out

    def write(self, folder: Path, name: str) -> None:
        """Write one part a partition; versions with equal objects share a part."""
        written: dict[str, list[tuple[_Partition, Path]]] = {}
        for (definition, _), place in self.partitions.items():
            if not place.rows:
                continue
            path = folder / place.folder / name
            others = written.setdefault(definition, [])
            same = [entry for other, entry in others if other.fields == place.fields and other.rows == place.rows]
            if same:
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(same[0], path)
            else:
                write_parquet(self._table(place), path)
            others.append((place, path))

    def _table(self, place: _Partition) -> pa.Table:
        columns_, *own = zip(*place.rows, strict=True)
        if not _is_sorted(own[0], own[1]):  # in the order of keys "a-b/x" comes before "a/x", and names may differ
            columns_, *own = zip(*sorted(place.rows, key=_by_name), strict=True)
        live = arrow.take(self.live, columns_)
        given = ("namespace", "name", "uid", "created", "deleting", "labels")
        fields = (f"{prefix}:{label}" for label, _ in place.fields for prefix in ("field", "value"))
        columns: dict[str, tuple[Any, ...]] = dict(zip((*given, *fields), own, strict=True))
        made = []
        for column in place.schema:
            if column.name in columns:
                made.append(array_of(columns[column.name], column.type))
            elif column.name in ("cluster", "source"):
                text = self.cluster if column.name == "cluster" else self.source
                made.append(constant(text, len(columns_)))
            else:
                made.append(live[column.name].combine_chunks())
        return pa.Table.from_arrays(made, schema=place.schema)


def _row(at: int, metadata: JsonObject) -> tuple[Any, ...]:
    """Return the first columns of a row: those of every version."""
    find = metadata.get
    return (
        at,
        find("namespace"),
        find("name"),
        find("uid"),
        find("creationTimestamp"),
        "deletionTimestamp" in metadata,
        find("labels") or _NO_LABELS,
    )


def _quick(own: _Partition, others: list[_Partition]) -> Append:
    append, values = own.rows.append, own.values

    def alone(at: int, obj: JsonObject, _fields: dict[str, str]) -> None:
        append(_row(at, obj["metadata"]))

    def with_fields(at: int, obj: JsonObject, fields: dict[str, str]) -> None:
        append(_row(at, obj["metadata"]) + values(obj, fields))

    def several(at: int, obj: JsonObject, fields: dict[str, str]) -> None:
        row = _row(at, obj["metadata"])
        append(row + values(obj, fields) if own.fields else row)
        for place in others:
            place.rows.append(row)

    if others:
        return several
    return with_fields if own.fields else alone


def _is_sorted(namespaces: tuple[Any, ...], names: tuple[Any, ...]) -> bool:
    """Return whether rows are in order of namespace and name (`_by_name`), as those of an export mostly are."""
    pairs = list(zip(namespaces, names, strict=True))
    try:
        return all(map(le, pairs, islice(pairs, 1, None)))
    except TypeError:  # those without one come first
        pairs = [(namespace or "", name or "") for namespace, name in pairs]
        return all(map(le, pairs, islice(pairs, 1, None)))
