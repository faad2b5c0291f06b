"""The rows of a dump: live keys, or objects of an export, found by kind, namespace and name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from auditor.plan.dumps import cut_value, open_live, open_values
from auditor.sources.manifests.object_header import read_header
from auditor.sources.registry_key import printable_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from auditor.base.records import JsonObject
    from auditor.plan.run_plan import Plan
    from auditor.printing.discovery import Resource
    from auditor.selectors.grammar import FieldRequirement, LabelRequirement
    from auditor.server.catalog import Catalog


class StoredRow(NamedTuple):
    """One live key, or one object of an export, which has neither key nor revisions."""

    source: int
    key: bytes | None
    mod_revision: int | None
    offset: int
    length: int
    encoding: int


class ListRequest(NamedTuple):
    """What a LIST selects."""

    resource: Resource
    namespace: str
    labels: tuple[LabelRequirement, ...]
    fields: Sequence[FieldRequirement]


class RowToRead(NamedTuple):
    """A row whose object a LIST reads.

    Attributes:
        row: Where it is stored.
        is_tested: Whether the predicate is evaluated on its object.
        is_left: Whether workers leave it to the process that answers.
        light: What the index has of its object.
    """

    row: StoredRow
    is_tested: bool = True
    is_left: bool = False
    light: JsonObject | None = None


class RowRead(NamedTuple):
    """What a worker read of a row.

    Attributes:
        fits: Whether its object matches the selectors of the request.
        object: The object as it is printed, if the predicate selects it, too.
    """

    fits: bool
    object: JsonObject | None


ReadAhead = Callable[[ListRequest, "Iterator[RowToRead]"], "Iterator[tuple[RowToRead, RowRead | None]]"]
"""Yields rows in their order, each with what a worker read, or None: then the process that answers reads it."""


class DumpRows:
    """The live tables of all dumps of a plan, and the values they point to.

    Args:
        plan: The plan.
        catalog: Its kinds.
        sources: Those of its dumps that are open already, by number; others are added.

    Attributes:
        plan: The plan.
    """

    def __init__(self, plan: Plan, catalog: Catalog, sources: dict[int, tuple[Any, Any]] | None = None) -> None:
        self.plan = plan
        self._catalog = catalog
        self._sources = {} if sources is None else sources
        self._by_kind: dict[int, dict[tuple[str, str], list[tuple[str, int]]]] = {}

    def source(self, number: int) -> tuple[Any, Any]:
        """Return the mapped (live table, values) of a source."""
        source = self._sources.get(number)
        if source is None:
            plan = self.plan.sources[number]
            source = self._sources[number] = (open_live(plan), open_values(plan))
        return source

    def of(self, resource: Resource, namespace: str = "", name: str = "") -> Iterator[StoredRow]:
        """Yield the rows of a kind in key order, optionally of one namespace or of one object."""
        prefix = self._catalog.key_prefix(resource)
        if namespace and resource.namespaced:
            prefix += f"{namespace}/"
        for number, source in enumerate(self.plan.sources):
            if source.is_export:
                yield from self._export_rows(number, resource, namespace, name)
            else:
                yield from self._keys_below(number, prefix + name, exact=bool(name))

    def _keys_below(self, number: int, prefix: str, *, exact: bool) -> Iterator[StoredRow]:
        table, _ = self.source(number)
        if not table.num_rows:
            return
        wanted = prefix.encode("utf-8", "surrogateescape")
        keys = table["key"]
        mask = pc.equal(keys, wanted) if exact else pc.starts_with(keys, wanted)
        yield from self.take(number, np.flatnonzero(mask.to_numpy(zero_copy_only=False)))

    def all(self, number: int) -> Iterator[StoredRow]:
        """Yield every row of a source."""
        table, _ = self.source(number)
        return self.take(number, np.arange(table.num_rows))

    def exact(self, number: int, key: bytes) -> Iterator[StoredRow]:
        """Yield the row of one key, if it exists."""
        table, _ = self.source(number)
        mask = pc.equal(table["key"], key).to_numpy(zero_copy_only=False)
        return self.take(number, np.flatnonzero(mask))

    def take(self, number: int, positions: Any) -> Iterator[StoredRow]:
        """Yield rows of a live table by position, one batch at a time."""
        table, _ = self.source(number)
        for start in range(0, len(positions), 4096):
            part = table.take(positions[start : start + 4096])
            columns = [part[name].to_pylist() for name in StoredRow._fields[1:]]
            for values in zip(*columns, strict=True):
                yield StoredRow(number, *values)

    def outside(self, resources: Sequence[Resource]) -> Iterator[StoredRow]:
        """Yield the rows of all sources that belong to none of some kinds."""
        prefixes = {self._catalog.key_prefix(resource).encode() for resource in resources}
        lengths = sorted({len(prefix) for prefix in prefixes})
        for number, source in enumerate(self.plan.sources):
            if source.is_export:
                inside = {position for resource in resources for _, position in self._exported(number, resource)}
                yield from (row for position, row in enumerate(self.all(number)) if position not in inside)
                continue
            for row in self.all(number):
                key = row.key or b""
                if not any(key[:length] in prefixes for length in lengths):
                    yield row

    def kind_place(self, row: StoredRow) -> str:
        """Return what the keys of a kind have in common, from one of them; of an object of an export kind and group."""
        if row.key is None:
            header = read_header(self.stored_bytes(row))
            return self.place(row) if header is None else f"{header.kind}.{header.group}".rstrip(".")
        prefix, key = f"{self._catalog.prefix}/", printable_key(row.key)
        parts = key.removeprefix(prefix).split("/") if key.startswith(prefix) else []
        depth = 2 if len(parts) > 2 and "." in parts[0] else 1
        return f"{prefix}{'/'.join(parts[:depth])}/" if len(parts) > depth else key

    def place_in(self, resource: Resource, row: StoredRow) -> tuple[str, str] | None:
        """Return namespace and name of a row of a kind, by its key, or by the object of an export that has a header."""
        if row.key is not None:
            prefix = len(self._catalog.key_prefix(resource).encode())
            namespace, _, name = printable_key(row.key[prefix:]).rpartition("/")
            return namespace, name
        header = read_header(self.stored_bytes(row))
        return None if header is None else (header.namespace or "", header.name)

    def _exported(self, number: int, resource: Resource) -> list[tuple[str, int]]:
        """Return namespace/name and position of each object of a kind in an export."""
        kinds = self._by_kind.setdefault(number, {})
        places = [(group, resource.kind) for group in sorted(self._catalog.groups_of(resource))]
        for place in places:
            if place not in kinds:
                self._read_headers(number, place)
        return [row for place in places for row in kinds[place]]

    def _export_rows(self, number: int, resource: Resource, namespace: str, name: str) -> Iterator[StoredRow]:
        wanted = [
            row
            for key, row in sorted(self._exported(number, resource))
            if (not namespace or key.startswith(f"{namespace}/")) and (not name or key.partition("/")[2] == name)
        ]
        yield from self.take(number, np.array(wanted, dtype=np.int64))

    def _read_headers(self, number: int, place: tuple[str, str]) -> None:
        """Find the objects of a group and kind in an export; if it does not know where they may be, those of all."""
        kinds = self._by_kind[number]
        table, _ = self.source(number)
        ranges = self.plan.sources[number].kinds
        if ranges is None:
            positions = np.arange(0 if kinds else table.num_rows)
        else:
            end_of_all = max((end for _, end in ranges.values()), default=0)
            positions = np.concatenate((np.arange(*ranges.get(place, (0, 0))), np.arange(end_of_all, table.num_rows)))
        kinds.setdefault(place, [])
        for position, row in zip(positions.tolist(), self.take(number, positions), strict=True):
            header = read_header(self.stored_bytes(row))
            if header is None:
                continue
            own = header.group, header.kind
            if ranges is None or own == place:
                kinds.setdefault(own, []).append((f"{header.namespace}/{header.name}", position))

    def stored_bytes(self, row: StoredRow) -> bytes:
        """Return the bytes of a row as stored."""
        _, values = self.source(row.source)
        return cut_value(values, row.offset, row.length, row.encoding)

    def anywhere(self, resource: Resource, name: str) -> Iterator[StoredRow]:
        """Yield the rows with a name in all namespaces."""
        for row in self.of(resource):
            if (
                row.key is not None
                and self._catalog.is_key_of(resource, row.key)
                and row.key.endswith(f"/{name}".encode())
            ):
                yield row
            elif row.key is None:
                header = read_header(self.stored_bytes(row))
                if header is not None and header.name == name:
                    yield row

    def place(self, row: StoredRow) -> str:
        """Return the key of a row, or dump and offset of an object of an export."""
        if row.key is not None:
            return printable_key(row.key)
        return f"{self.plan.sources[row.source].name} at byte {row.offset}"
