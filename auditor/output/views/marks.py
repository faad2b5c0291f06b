"""The cause, the severity and the owner of single rows of a report, for a command that shows one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.causes.accepting import Acceptance
from auditor.causes.counting import Counting
from auditor.causes.field_patterns import Definitions
from auditor.causes.owners import ReportOwners
from auditor.causes.parts import overrides_of
from auditor.causes.row_causes import (
    FINDING_COLUMNS,
    OBJECT_COLUMNS,
    CauseNumbers,
    FindingRows,
    ObjectImpacts,
    namespaces_of,
)
from auditor.causes.severity import SEVERITIES
from auditor.causes.table import read_rows

if TYPE_CHECKING:
    from pathlib import Path


class Marks:
    """Marks rows of a report; all rows of an object have to be given together.

    Args:
        report: Folder of the report.
        manifest: Its manifest.
    """

    def __init__(self, report: Path, manifest: dict[str, Any]) -> None:
        self._owners = ReportOwners(report, manifest)
        self._causes = CauseNumbers(Definitions(report, manifest), namespaces_of(manifest))
        self._counting = Counting(overrides_of(manifest))
        self._accepted = Acceptance.of_manifest(manifest)
        self._ids = {row["digest"]: row["cause"] for row in read_rows(report) or ()}

    def _mark(self, cause: int, rank: int, settled: Any, at: int) -> dict[str, Any]:
        digest = self._causes.keys[cause].digest()
        mark = {"cause": self._ids.get(digest, digest[:8]), "severity": SEVERITIES[rank]}
        return mark | ({"accepted": True} if settled is not None and bool(settled[at]) else {})

    def findings(self, table: Any, part: str) -> list[dict[str, Any]]:
        """Return for each row of a table of findings its cause and severity, its owner and whether it is accepted.

        Args:
            table: Rows of a part of findings/, in its order.
            part: Name of the file of the part.
        """
        if not table.num_rows or not set(FINDING_COLUMNS) <= set(table.column_names):  # of an older report
            return [{} for _ in range(table.num_rows)]
        rows = FindingRows.of(table, self._causes)
        ranks = self._counting.finding_ranks(rows)
        settled = None if self._accepted is None else self._accepted.findings(rows, self._causes, ranks)
        owners = self._owners.of_part(part, rows.columns)
        out = []
        for row, (cause, rank) in enumerate(zip(rows.cause.tolist(), ranks.tolist(), strict=True)):
            owner = owners.of(row)
            out.append(self._mark(cause, rank, settled, row) | ({} if owner is None else {"owner": owner}))
        return out

    def objects(self, table: Any) -> list[list[dict[str, Any]]]:
        """Return for each row of a table of objects its impacts that are causes, with cause and severity.

        Args:
            table: Rows of a part of objects/.
        """
        out: list[list[dict[str, Any]]] = [[] for _ in range(table.num_rows)]
        if not table.num_rows or not set(OBJECT_COLUMNS) <= set(table.column_names):  # of an older report
            return out
        rows = ObjectImpacts.of(table, self._causes)
        ranks = self._counting.impact_ranks(rows)
        settled = None if self._accepted is None else self._accepted.impacts(rows, self._causes, ranks)
        for number, (row, cause, rank) in enumerate(
            zip(rows.row.tolist(), rows.cause.tolist(), ranks.tolist(), strict=True)
        ):
            out[row].append({"impact": rows.impact[number], **self._mark(cause, rank, settled, number)})
        return out
