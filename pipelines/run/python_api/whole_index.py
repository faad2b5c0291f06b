"""The index of a report for Python, which reads objects where it cannot decide."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.selectors import index_query
from auditor.selectors.index_query import Index
from auditor.server.object_reader import ReadMode
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.python_api.opened import OpenedReport, decided

if TYPE_CHECKING:
    import os

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
        return decided(self._report, place, where, rows.to_pylist())


def open_index(path: str | os.PathLike[str]) -> Index:
    """Open the index of a report.

    Raises:
        PlanError: The folder is not a report.
    """
    return index_query.open_index(Path(path), WholeIndex)
