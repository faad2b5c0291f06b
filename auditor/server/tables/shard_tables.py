"""The typed rows of a shard, written by its worker while its rows are in memory: `audit --tables`.

Statuses, impacts and causes are taken from the rows of the shard. Its objects are read from the bytes that the worker
has mapped, by the definitions and the generated code that it judged them with. The files are below `TABLES` in the
folder of the report while it is written, one a kind with the name of the part, so that what happens to the part files
of a shard happens to them: they are forgotten if it is audited again, and joined if it is audited in smaller ones.
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from auditor.base.arrow import read_parquet
from auditor.base.errors import AuditorError, PlanError
from auditor.causes.field_patterns import Definitions
from auditor.causes.keys import ID_DIGITS, ids_of
from auditor.causes.row_causes import CONCERNED, IN_NAMESPACES, OF_NAMESPACES, CauseNumbers, concerned
from auditor.causes.rows_with_causes import causes_by_object
from auditor.columns.dataset import Written, described, write_part
from auditor.printing.discovery import stored_kinds
from auditor.server.catalog import Catalog
from auditor.server.dump import DumpStore
from auditor.server.dump_rows import DumpRows
from auditor.server.kind_batches import AUDITED_COLUMNS, KindPart, audited_rows
from auditor.server.object_reader import ReadMode, program_for_reads
from auditor.shards.table_rows import part_name
from auditor.store.coded import Coded
from auditor.store.dump_namespaces import DumpNamespaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from auditor.columns import KindColumns, TableRow
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
    from auditor.plan.run_plan import Plan
    from auditor.printing.discovery import Resource
    from auditor.program.program import AuditProgram
    from auditor.selectors.partitions import Folders
    from auditor.server.dump_rows import StoredRow
    from auditor.server.kind_batches import CausesOfPart
    from auditor.shards.judge import ObjectJudge
    from auditor.shards.row_writer import RowWriter


TABLES: Final = "tables"
"""Folder of the typed rows in that of a report while it is written."""
WRITTEN: Final = "written"
"""Folder below it of what was written of each shard (`PartTables`)."""

_OF_NAMESPACES: Final = frozenset(OF_NAMESPACES.values())


@dataclass(slots=True)
class PartTables:
    """What was written of a shard.

    Attributes:
        kinds: The entry of each kind for `schema.json`.
        causes: The digest of each cause, by its id in the rows.
        of_namespaces: The digests of those that are causes because of namespaces.
    """

    kinds: list[dict[str, Any]] = field(default_factory=list)
    causes: dict[str, str] = field(default_factory=dict)
    of_namespaces: set[str] = field(default_factory=set)


class ShardTables:
    """Writes the typed rows of a shard beside its part files.

    Args:
        count: What is called with the same arguments first; None for nothing.
    """

    def __init__(self, count: Callable[..., None] | None) -> None:
        self._count = count
        self._tables: _Tables | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a worker needs: it opens dumps and reads definitions itself."""
        return ShardTables, (self._count,)

    def __call__(self, rows: RowWriter, objects: pa.Table, findings: pa.Table | None, parts: Path) -> None:
        """Write the tables of a shard below a folder.

        Args:
            rows: Its rows.
            objects, findings: The tables made of them; None means it has no findings.
            parts: The folder.
        """
        if self._count is not None:
            self._count(rows, objects, findings, parts)
        if self._tables is None or self._tables.owner is not rows.owner:
            self._tables = _Tables(rows.owner)
        self._tables.write(rows, objects, findings, parts / TABLES)
        rows.owner.unsealer.counts.clear()  # what was opened for them was counted before


def written_tables(report: Path) -> Iterator[tuple[str, PartTables]]:
    """Yield what was written of each shard of a report, with the name of its files."""
    for path in sorted((report / TABLES / WRITTEN).glob("*.pickle")):
        for part in _pickled(path):
            yield f"{path.stem}.parquet", part


def _pickled(path: Path) -> Iterator[PartTables]:
    with path.open("rb") as stream, suppress(EOFError):
        while True:  # those of a shard that was audited in smaller ones follow one another
            yield pickle.load(stream)  # noqa: S301 - workers of this run wrote it, into a private folder


def renamed_causes(part: PartTables, ids: Mapping[str, str]) -> dict[str, str | None]:
    """Return the ids that causes of a shard have in the finished report, by their ids in its rows, where they differ.

    Two causes of a report whose ids begin alike have longer ones. None means that the report does not have the cause:
    a dump that was damaged while it was read does not show its namespaces.

    Args:
        part: What was written.
        ids: The id of each cause of the report, by its digest.
    """
    final = {
        own: None if digest in part.of_namespaces and digest not in ids else ids.get(digest, digest[:ID_DIGITS])
        for own, digest in part.causes.items()
    }
    return {own: cause for own, cause in final.items() if cause != own}


def rename_causes(path: Path, changed: Mapping[str, str | None]) -> None:
    """Give the causes in a file of typed rows other ids; those of None are left out."""
    table = read_parquet(path)
    causes = [
        None if own is None else [name for each in own if (name := changed.get(each, each)) is not None]
        for own in table["causes"].to_pylist()
    ]
    place = table.schema.get_field_index("causes")
    column = table.schema.field(place)
    table = table.set_column(place, column, pa.array(causes, column.type))
    write_part(table.to_batches(), table.schema, path)


def rename_kinds(report: Path, known: dict[tuple[str, str], str], folders: Folders) -> dict[str, str]:
    """Name the folders of the kinds of a cluster as those of its fleet.

    Args:
        report: Folder of the report of the cluster.
        known: The folder of each kind, by group and kind; those of further kinds are added.
        folders: Names them.

    Returns:
        The new name of each folder.
    """
    names = {}
    for path in sorted((report / TABLES / WRITTEN).glob("*.pickle")):
        parts = list(_pickled(path))
        for entry in (entry for part in parts for entry in part.kinds):
            group, kind, name = entry["group"], entry["kind"], entry.get("definition") or entry["builtin"]
            if (group, kind) not in known:
                known[group, kind] = folders.table_folder(name, group, kind)
            names[entry["folder"]] = entry["folder"] = known[group, kind]
        path.write_bytes(b"".join(map(pickle.dumps, parts)))
    return names


class _Tables:
    """Writes the tables of the shards of one worker.

    Args:
        owner: The judge of its values.
    """

    def __init__(self, owner: ObjectJudge) -> None:
        self.owner = owner
        plan = owner.plan
        rows = partial(DumpRows, sources=owner.sources)
        self._store = DumpStore(plan, ReadMode(), lambda _: None, rows, _JudgedKinds(plan, owner))  # the report warns
        self._store.reader.unsealer = owner.unsealer
        self._store.reader.program = self._program
        self._inputs = [{"name": source.name, "format": source.format} for source in plan.sources]
        self._causes = CauseNumbers(Definitions(Path(plan.definitions), {"options": {}}))
        self._digests: dict[int, str] = {}
        self._namespaces = DumpNamespaces(plan)
        self._kinds: dict[Resource, _KindInShard] = {}
        self._by_name: dict[tuple[str, str], Resource] = {}
        for resource in stored_kinds(self._store.discovery):
            for name in (resource.plural, resource.kind):
                self._by_name.setdefault((resource.group, name), resource)

    def _program(self, definition: CustomResourceDefinition, version: CrdVersion) -> AuditProgram:
        """Return a program for reads, with the code that was generated for the judge if there is some."""
        judging = self.owner.programs.get((definition.name, version.name))
        warm = judging is not None and judging.compiled and not judging.is_cold
        return judging.for_reads() if judging is not None and warm else program_for_reads(definition, version)

    def write(self, rows: RowWriter, objects: pa.Table, findings: pa.Table | None, folder: Path) -> None:
        """Write the tables of a shard below a folder."""
        part = part_name(rows.result.number)
        written = PartTables()
        of_part = self._causes_of(objects, findings, written)
        codes, kinds = _kinds_of(objects)
        of_kind: dict[Resource, list[int]] = {}
        for number, (group, plural, kind) in enumerate(kinds):
            resource = self._by_name.get((group or "", plural or kind or ""))
            if resource is not None:
                of_kind.setdefault(resource, []).append(number)
        for resource in sorted(of_kind, key=lambda resource: (resource.group, resource.kind)):
            if (kept := self._kind(resource)) is not None:
                chosen = np.flatnonzero(np.isin(codes, of_kind[resource]))
                kept.table = objects.select(AUDITED_COLUMNS).take(chosen), of_part
                written.kinds.append(kept.write(folder, part))
                kept.table = None
        path = (folder / WRITTEN / part).with_suffix(".pickle")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(written))

    def _kind(self, resource: Resource) -> _KindInShard | None:
        """Return the writer of a kind; None if its definition is not usable, as its rows in the report say."""
        known = self._kinds.get(resource)
        if known is None:
            try:
                known = _KindInShard(self._store, resource, self._inputs, self.owner)
            except AuditorError:
                return None
            self._kinds[resource] = known
        return known

    def _causes_of(self, objects: pa.Table, findings: pa.Table | None, written: PartTables) -> CausesOfPart:
        """Return the ids of the causes of the objects of a shard that have any, which are noted."""
        causes = self._causes
        causes.namespaces = self._faults(objects)
        mask = concerned(objects.select(CONCERNED), causes)
        some = objects.take(np.flatnonzero(mask)) if mask.any() else None
        found = causes_by_object(some, findings, causes)
        keys = {number: causes.keys[number] for own in found.values() for number in own}
        digests = {number: self._digest(number) for number in keys}
        ids = ids_of(list(digests.values()))
        written.causes = {ids[digest]: digest for digest in digests.values()}
        written.of_namespaces = {digests[number] for number, key in keys.items() if key.impact in _OF_NAMESPACES}
        return {whose: tuple(ids[digests[number]] for number in own) for whose, own in found.items()}

    def _digest(self, number: int) -> str:
        """Return the digest of a cause by its number."""
        known = self._digests.get(number)
        if known is None:
            known = self._digests[number] = self._causes.keys[number].digest()
        return known

    def _faults(self, objects: pa.Table) -> dict[tuple[str, str], str]:
        """Return the impact of those namespaces of the objects of a shard that are missing or deleted."""
        if not self._namespaces.are_known:
            return {}
        status, namespace = Coded(objects["status"]), Coded(objects["namespace"])
        wanted = status.numbers(IN_NAMESPACES) < len(IN_NAMESPACES)
        names = (namespace.texts[code] for code in np.unique(namespace.codes[wanted]).tolist())
        faults = {name: fault for name in names if name and (fault := self._namespaces.fault(name)) is not None}
        cluster = self.owner.plan.options.cluster
        return {(cluster, name): OF_NAMESPACES[fault.what] for name, fault in faults.items()}


class _JudgedKinds(Catalog):
    """The kinds of a plan, with the definitions that its judge has parsed."""

    def __init__(self, plan: Plan, owner: ObjectJudge) -> None:
        self._owner = owner
        super().__init__(plan)

    def _definition(self, place: tuple[str, str]) -> CustomResourceDefinition:
        definition = self._owner.definition(self._outlines[place][1])
        if isinstance(definition, str):
            raise PlanError(self._outlines[place][1].name, definition, "a definition that a server can use")
        return definition


class _KindInShard(KindPart):
    """The objects of a kind in a shard.

    Attributes:
        table: `AUDITED_COLUMNS` of its rows in objects/, with the causes of the objects; None between shards.
    """

    def __init__(
        self, store: DumpStore, resource: Resource, inputs: Sequence[dict[str, Any]], owner: ObjectJudge
    ) -> None:
        super().__init__(store, resource)
        columns = self.columns
        self.table: tuple[pa.Table, CausesOfPart] | None = None
        self._inputs = inputs
        self._folder = owner.folders.table_folder(columns.name, columns.group, columns.kind)
        self._entry = described(columns, self._folder, Written())

    def rows(self) -> Iterator[tuple[StoredRow | None, TableRow]]:
        """Yield the rows of the shard."""
        return audited_rows([] if self.table is None else [self.table], self._inputs)

    def write(self, folder: Path, part: str) -> dict[str, Any]:
        """Write the rows of the shard below a folder; return the entry of the kind for `schema.json`."""
        written = Written()
        batches = counted_batches([self], self.columns, written)
        write_part(batches, self.columns.schema, folder / self._folder / part)
        return self._entry | asdict(written)


def counted_batches(parts: Sequence[KindPart], columns: KindColumns, written: Written) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a kind, and count them."""
    for part in parts:
        for rows in part.batches_of_rows(table=columns):
            batch = columns.batch(rows)
            with_rest = batch.num_rows - batch["_rest"].null_count
            written.add(Written(batch.num_rows, with_rest, sum(row.object is None for row in rows)))
            yield batch


def _kinds_of(objects: pa.Table) -> tuple[Any, list[tuple[str | None, ...]]]:
    """Return the distinct groups, plurals and kinds of rows, and for each row the number of its own."""
    columns = [Coded(objects[name]) for name in ("group", "plural", "kind")]
    distinct, codes = np.unique(np.stack([column.codes for column in columns]), axis=1, return_inverse=True)
    kinds = [
        tuple(column.texts[code] for column, code in zip(columns, row, strict=True)) for row in distinct.T.tolist()
    ]
    return codes.reshape(-1), kinds
