"""The tables of a report: its objects and findings with their causes, its causes, its keys."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from auditor.base.arrow import parquet_footer, plain
from auditor.causes.build import build_causes
from auditor.causes.model import FindingsModel
from auditor.causes.parts import part_files, read_part
from auditor.causes.table import CAUSES, read_rows
from auditor.sql.tables_with_causes import TablesWithCauses, schema_with_causes
from auditor.sql.views import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


_KEYS: Final = (
    *("cluster", "source", "key", "create_revision", "mod_revision", "key_version"),
    *("group", "plural", "namespace", "name", "size"),
)
_ABOUT: Final = {
    "objects": "a key: its object, status, impact and causes",
    "findings": "a finding and its cause",
    "causes": "a cause, in a cluster",
    "keys": "a live key, or an object of an export",
}
_MORE: Final = {"fixed": "a finding of the earlier report that is gone", "changes": "a path that an upgrade changes"}
"""Tables that only some reports have."""


class ReportTables:
    """The tables of a report as Arrow.

    Args:
        report: Its folder.
        clusters: Only rows of these clusters; empty for all.
    """

    def __init__(self, report: Path, clusters: Sequence[str] = ()) -> None:
        self._report = report
        self._clusters = tuple(clusters)

    @cached_property
    def _model(self) -> FindingsModel:
        return FindingsModel.open(self._report)

    @cached_property
    def _with_causes(self) -> TablesWithCauses:
        return TablesWithCauses(self._report, self._model.manifest, self._model.causes)

    def read(self, table: str, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the rows of findings or objects, part by part, with some columns of `schema_with_causes`."""
        wanted = [*columns, *(["cluster"] if self._clusters and "cluster" not in columns else [])]
        for part in self._with_causes.read(table, wanted):
            yield self._of_clusters(part).select(columns)

    def _of_clusters(self, rows: pa.Table) -> pa.Table:
        if not self._clusters:
            return rows
        return rows.filter(pc.is_in(rows["cluster"], pa.array(self._clusters, pa.string())))

    def whole(self, table: str) -> pa.Table:
        """Return all rows of findings or objects."""
        schema = schema_with_causes(table)
        return pa.concat_tables([schema.empty_table(), *self.read(table, schema.names)])

    @cached_property
    def causes(self) -> pa.Table:
        """The causes, worst and new ones first."""
        schema = plain(CAUSES.empty_table()).schema
        rows = read_rows(self._report)
        rows = build_causes(self._report, self._model.manifest) if rows is None else rows
        started = self._model.run.started
        rows = [{**row, **{time: row[time] or started for time in ("first_seen", "last_seen")}} for row in rows]
        return self._of_clusters(pa.Table.from_pylist(rows, schema))

    def views(self) -> list[View]:
        """Return the views of the tables."""

        def batches(table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
            return (batch for part in self.read(table, columns) for batch in part.to_batches())

        def of_causes(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
            return iter(self.causes.select(columns).to_batches())

        objects = schema_with_causes("objects")
        return [
            View("objects", _ABOUT["objects"], lambda: objects, partial(batches, "objects")),
            View("findings", _ABOUT["findings"], partial(schema_with_causes, "findings"), partial(batches, "findings")),
            View("causes", _ABOUT["causes"], lambda: self.causes.schema, of_causes),
            View("keys", _ABOUT["keys"], lambda: pa.schema([objects.field(name) for name in _KEYS]), self._keys),
            *self._more(),
        ]

    def _keys(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield each key once: objects/ has a row for each version that an object was judged at."""
        last: tuple[Any, ...] | None = None
        place = ("cluster", "source", "key", "offset")
        for part in self.read("objects", tuple(dict.fromkeys((*columns, *place)))):
            keep = []
            for row in zip(*(part[name].to_pylist() for name in place), strict=True):
                keep.append(row != last)
                last = row
            yield from part.filter(pa.array(keep, pa.bool_())).select(columns).to_batches()

    def _more(self) -> Iterator[View]:
        for name, about in _MORE.items():
            files = list(part_files(self._report / name)) if (self._report / name).is_dir() else []
            if files:
                schema = plain(parquet_footer(files[0]).schema.to_arrow_schema().empty_table()).schema
                yield View(name, about, schema.remove_metadata, partial(self._parts, files))

    def _parts(self, files: Sequence[Path], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        wanted = tuple(dict.fromkeys((*columns, "cluster")))
        for path in files:
            yield from self._of_clusters(plain(read_part(path, wanted))).select(columns).to_batches()
