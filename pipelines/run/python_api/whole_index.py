"""The index of a report for Python, which reads objects where it cannot decide."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.base.errors import PlanError
from auditor.selectors import index_query
from auditor.selectors.index_query import Index
from auditor.selectors.where import Failures, compile_where
from auditor.server.not_read import NotRead
from auditor.server.object_reader import ReadMode
from auditor.server.report import ReportStore
from auditor.sql.kind_views import NEEDS_DUMP
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.python_api.given import warn
from pipelines.run.python_api.opened import OpenedReport

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import pyarrow as pa

    from auditor.selectors.index_query import IndexedKind


class WholeIndex(Index):
    """The index of a report that reads objects from the dump for what it cannot decide."""

    @cached_property
    def _report(self) -> OpenedReport:
        return OpenedReport(QueryOptions(str(self.report), mode=ReadMode(streamed=True)))

    def decide(self, place: IndexedKind, where: str, rows: pa.Table) -> list[bool | None]:
        """Return for each row whether a predicate holds for its object; None if its evaluation fails.

        Raises:
            PlanError: The dump of the report is not there.
        """
        return _decided(self._report, place, where, rows.to_pylist())


def open_index(path: str | os.PathLike[str]) -> Index:
    """Open the index of a report.

    Raises:
        PlanError: The folder is not a report.
    """
    return index_query.open_index(Path(path), WholeIndex)


def _decided(report: OpenedReport, place: IndexedKind, where: str, rows: Sequence[dict[str, Any]]) -> list[bool | None]:
    """Return for rows of the index of a report whether a predicate holds for their objects; None if it fails on one.

    Raises:
        PlanError: The dump of the report is not there.
    """
    predicate = compile_where(where)

    def decide(row: dict[str, Any]) -> bool | None:
        stores = report._opened.stores  # noqa: SLF001 - both are of this package
        store = stores.get(row["cluster"] or "") or stores[""]
        if not isinstance(store, ReportStore):
            raise PlanError("where", f"needs the objects, and {NEEDS_DUMP}")
        wanted = (place.group, place.version, place.plural)
        kinds = store.discovery.resources
        resource = next(each for each in kinds if (each.group, each.version, each.plural) == wanted)
        notes, failures = NotRead(resource, store.reader.left_out), Failures()
        obj = store.reader.read_or_stored(resource, store.stored_row(resource, row), notes)
        notes.note(warn)
        fits = obj is not None and predicate.test(obj, failures)
        return None if failures.failed else fits

    found: list[bool | None] = report._run(lambda: list(map(decide, rows)))  # noqa: SLF001 - both are of this package
    return found
