"""Audits of values that another engine holds: Arrow record batches in, record batches out, no files and no plan.

For engines that bring their own workers and their own storage: Spark's `mapInArrow`, `map_batches` of Ray Data, any
loop over Arrow. Rows are those that an audit of a dump with the same keys and values writes to objects/ and findings/,
with two differences: strings are plain (not every engine accepts dictionaries), and `offset` and `length` are null,
because there is no file.
"""

from __future__ import annotations

import hashlib
from collections import deque
from threading import local
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from auditor.base import tables
from auditor.base.arrow import plain_type
from auditor.base.errors import PlanError
from auditor.base.records import Shard
from auditor.crds.catalog import CrdCatalog, documents_given
from auditor.crds.definition import document_name
from auditor.crds.definitions_file import definition_entry, encode_definition
from auditor.plan.options import AuditOptions
from auditor.plan.run_plan import Plan, SourceShard
from auditor.shards.row_writer import PartFiles
from auditor.shards.shard_audit import ShardAuditor
from auditor.sources import SourcePlan
from auditor.sources.crd_files import definitions_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.shards.row_writer import RowWriter


_SCHEMAS: Final = {"objects": tables.OBJECTS, "findings": tables.FINDINGS}
_FROM_INPUT: Final = ("create_revision", "mod_revision", "key_version")
_MOST_AUDITORS: Final = 4
_KEYED, _KEYLESS = 0, 1
_NO_REVISION: Final = 1
"""Replaces an unknown revision, as an update needs one; the revisions of etcd keys begin with 2."""


def batch_schema(table: str = "objects") -> pa.Schema:
    """Return the schema of the batches of `audit_batches`: that of the report, with plain strings.

    Args:
        table: ``objects`` or ``findings``.
    """
    return pa.schema([(field.name, plain_type(field.type)) for field in _schema(table)])


def _schema(table: str) -> pa.Schema:
    if table not in _SCHEMAS:
        raise PlanError("table", f"there is no table {table!r}", f"one of {', '.join(_SCHEMAS)}")
    return _SCHEMAS[table]


def audit_batches(
    batches: Iterable[pa.RecordBatch],
    definitions: CrdCatalog | Iterable[JsonObject],
    *,
    table: str = "objects",
    source: str = "",
    options: AuditOptions | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield, for each batch of stored values, the rows that an audit would write for them.

    On Spark::

        from functools import partial
        from pyspark.sql.pandas.types import from_arrow_schema

        audit = partial(auditor.audit_batches, definitions=documents, table="findings")
        frame.mapInArrow(audit, from_arrow_schema(auditor.batch_schema("findings")))

    With Ray Data::

        def audit(table: pa.Table) -> pa.Table:
            return pa.Table.from_batches(auditor.audit_batches(table.to_batches(), documents), auditor.batch_schema())

        dataset.map_batches(audit, batch_format="pyarrow")

    Programs are built on first use and cached by thread for the next call with the same definitions and options, so
    that calls for small batches are cheap.

    Args:
        batches: Columns ``value`` (binary or string: the bytes as they are stored, as etcd or an export has them);
            optionally ``key`` (binary or string: the etcd key; null or missing for an exported object, which names
            itself), ``create_revision``, ``mod_revision`` and ``key_version`` (integers). Others are ignored. A null
            value is one without bytes.
        definitions: A catalog, or decoded documents of definitions; documents count as established.
        table: ``objects``: one row a value (and audited version); ``findings``: one row a finding.
        source: The text of the column source; empty: null.
        options: Options of an audit: `at`, `cluster`, `skip`, `scope`, `etcd_prefix`,
            `encryption_config` and so on. Options for dumps, reports and workers have no effect.
    Returns:
        One batch for each input batch, of the schema `batch_schema`, with rows in the same order; it may be empty.
    Raises:
        PlanError: There is no such table, or no column value, or the definitions are not decoded documents.
        SelectorError: The scope does not parse.
    """
    wanted = _schema(table)
    auditor = _auditor_for(definitions, options or AuditOptions(dumps=()))
    schema = batch_schema(table)
    for batch in batches:
        live = _live(batch)
        pieces = [
            auditor.rows(live.slice(start, stop - start), table, is_keyed=is_keyed)
            for start, stop, is_keyed in _runs(live["key"])
        ]
        rows = pa.concat_tables(pieces) if pieces else wanted.empty_table()
        columns = []
        for field in schema:
            column = rows[field.name]
            if field.name in ("offset", "length"):
                columns.append(pa.nulls(len(rows), field.type))
            elif field.name == "mod_revision":
                known = pc.not_equal(column, _NO_REVISION)
                columns.append(pc.if_else(known, column, pa.scalar(None, field.type)).combine_chunks())
            elif field.name == "source":
                text = pa.scalar(source or None, field.type)
                columns.append(pa.repeat(text, len(rows)))
            else:
                columns.append(column.cast(field.type).combine_chunks())
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _live(batch: pa.RecordBatch) -> pa.Table:
    """Return a batch as a live table whose offsets and lengths cut values out of its column `value`."""
    names = set(batch.schema.names)
    if "value" not in names:
        raise PlanError("batch", f"has the columns {', '.join(batch.schema.names)}", "one named value, and maybe key")
    count = batch.num_rows
    columns = {field.name: pa.nulls(count, field.type) for field in tables.LIVE_KEYS}
    for name in _FROM_INPUT:
        if name in names:
            columns[name] = batch[name].cast(pa.int64())
    if "key" in names:
        columns["key"] = key = _binary(batch["key"])
        columns["mod_revision"] = pc.if_else(key.is_valid(), pc.fill_null(columns["mod_revision"], _NO_REVISION), None)
    columns["value"] = _binary(batch["value"])
    columns["offset"] = pa.array(range(count), pa.int64())
    columns["length"] = pc.fill_null(pc.binary_length(columns["value"]), 0).cast(pa.int64())
    columns["encoding"] = pa.repeat(pa.scalar(0, pa.int8()), count)
    return pa.table(columns)


def _binary(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.binary())


def _runs(keys: pa.ChunkedArray) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, stop, whether they have keys) for each run of rows that all have keys or all have none."""
    has_key = keys.is_valid().to_pylist()
    start = 0
    for position in range(1, len(has_key) + 1):
        if position == len(has_key) or has_key[position] != has_key[start]:
            yield start, position, has_key[start]
            start = position


class _BatchValues:
    """The values of a batch, which are read by position as a mapped file is by offsets."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column

    def __getitem__(self, cut: slice) -> bytes:
        value: bytes | None = self._column[cut.start].as_py()
        return value or b""


class _NoIndex:
    """Replaces an index and drops all rows."""

    def quick(self, *_: Any) -> Callable[..., None]:
        return self.add

    def rows_of(self, *_: Any) -> list[tuple[deque[Any], bool]]:
        return [(deque(maxlen=0), False)]  # it drops all rows

    def add(self, *_: Any) -> None:
        """Do nothing."""


class _CollectedRows(PartFiles):
    """A sink that collects the rows of a shard in memory, without an index."""

    def __init__(self) -> None:
        self.rows: RowWriter | None = None

    def index(self, *_: Any) -> Any:
        return _NoIndex()

    def has_objects(self, *_: Any) -> bool:
        return True  # other batches may have them

    def write(self, rows: RowWriter, parts: Path) -> None:  # noqa: ARG002 - there are no files
        self.rows = rows


class _BatchAuditor:
    """Audits the rows of batches as shards; definitions are in memory, not in a file."""

    def __init__(self, plan: Plan, definitions: dict[str, CustomResourceDefinition], documents: dict[str, Any]) -> None:
        self._sink = _CollectedRows()
        self._auditor = ShardAuditor(plan, "", sink=self._sink, documents=lambda entry: documents[entry.name])
        self._auditor.definitions.update(definitions)

    def rows(self, live: pa.Table, table: str, *, is_keyed: bool) -> pa.Table:
        """Return the rows of a table for rows of a live table."""
        number = _KEYED if is_keyed else _KEYLESS
        offsets = pa.array(range(len(live)), pa.int64())
        live = live.set_column(live.schema.get_field_index("offset"), "offset", offsets)
        self._auditor.sources[number] = live, _BatchValues(live["value"])
        self._auditor(SourceShard(number, Shard(0, 0, len(live)), 0))
        collected, self._sink.rows = self._sink.rows, None
        assert collected is not None
        objects = collected.objects.table()
        return objects if table == "objects" else collected.found.table(objects)


class _Auditors(local):
    """The auditors of one thread, by definitions and options, the most recently used last."""

    def __init__(self) -> None:
        self.auditors: dict[tuple[str, AuditOptions], _BatchAuditor] = {}


_known = _Auditors()


def _auditor_for(definitions: CrdCatalog | Iterable[JsonObject], options: AuditOptions) -> _BatchAuditor:
    """Return the cached auditor for definitions and options, or a new one."""
    parsed: dict[str, CustomResourceDefinition] = {}
    if isinstance(definitions, CrdCatalog):
        parsed = {definition.name: definition for definition in definitions.crds.values()}
        documents = {name: definition.document for name, definition in parsed.items()}
    else:
        documents = {
            document_name(document): document
            for given in documents_given(definitions)
            for document in definitions_in(given)
        }
    texts = [encode_definition(documents[name]) for name in sorted(documents)]
    sha256 = hashlib.sha256(b"\n".join(texts)).hexdigest()
    is_catalog = f"{sha256} of a catalog" if parsed else sha256  # whose parsed definitions may have a status
    auditor = _known.auditors.pop((is_catalog, options), None)
    if auditor is None:
        entries = tuple(definition_entry(name, documents[name], False) for name in sorted(documents))
        sources = tuple(
            SourcePlan("", "batches", "", "", None, None, number == _KEYLESS, "", 0) for number in (_KEYED, _KEYLESS)
        )
        plan = Plan(sources, "", entries, frozenset(documents), sha256, options)
        auditor = _BatchAuditor(plan, parsed, documents)
        while len(_known.auditors) >= _MOST_AUDITORS:
            del _known.auditors[next(iter(_known.auditors))]
    _known.auditors[is_catalog, options] = auditor
    return auditor
