"""The tables findings/ and objects/ of a report as Arrow, part by part, each row with its causes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow

from auditor.base.arrow import plain, plain_type
from auditor.base.tables import FINDINGS, OBJECTS, STRINGS
from auditor.causes.accepting import Acceptance
from auditor.causes.counting import Counting
from auditor.causes.field_patterns import Definitions
from auditor.causes.parts import overrides_of, part_files, read_part
from auditor.causes.row_causes import (
    FINDING_COLUMNS,
    CauseNumbers,
    FindingRows,
    namespaces_of,
)
from auditor.causes.rows_with_causes import WHOSE, CauseIds, CausesOfObjects
from auditor.causes.severity import SEVERITIES, rank

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from auditor.causes.topics import Cause


pa: Any = pyarrow

_CHANGE: Final = ("change", pa.string())
OF_FINDINGS: Final = pa.schema([("cause", pa.string()), ("severity", pa.string()), ("accepted", pa.bool_())])
"""What findings have beside the columns of the report: their cause, its severity, whether an entry accepts them."""
OF_OBJECTS: Final = pa.schema([("cause", pa.string()), ("causes", STRINGS), ("severity", pa.string())])
"""What objects have beside the columns of the report: the ids of their causes, the worst first, and its severity."""


def schema_with_causes(table: str) -> Any:
    """Return the columns of findings or objects with their causes; text is plain."""
    stored, own = (FINDINGS, OF_FINDINGS) if table == "findings" else (OBJECTS, OF_OBJECTS)
    fields = [(field.name, plain_type(field.type)) for field in stored]
    return pa.schema([*fields, _CHANGE, *own])


class TablesWithCauses:
    """The findings and objects of a report.

    Args:
        report: Its folder.
        manifest: Its manifest.
        known: Its causes, as a model of it has them.
    """

    def __init__(self, report: Path, manifest: dict[str, Any], known: Sequence[Cause]) -> None:
        self._report = report
        self._manifest = manifest
        self._counting = Counting(overrides_of(manifest))
        self._causes = CauseNumbers(Definitions(report, manifest), namespaces_of(manifest))
        self._ids = CauseIds(self._causes, known)
        self._of_each = CausesOfObjects(report, manifest, known)
        self._severities = {cause.id: cause.severity for cause in known}

    def read(self, table: str, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the parts of a table with some of its columns, those of causes among them only if they are named.

        Args:
            table: ``findings`` or ``objects``.
            columns: Names of `schema_with_causes`.
        """
        own = (OF_FINDINGS if table == "findings" else OF_OBJECTS).names
        stored = [name for name in columns if name not in own and name != "change"]
        is_grouped = len(stored) + ("change" in columns) < len(columns)
        needed = () if not is_grouped else FINDING_COLUMNS if table == "findings" else WHOSE
        schema = schema_with_causes(table)
        wanted = pa.schema([schema.field(name) for name in columns])
        for path in part_files(self._report / table):
            part = read_part(path, tuple(dict.fromkeys((*stored, *needed, "key"))), "change")
            more: dict[str, list[Any]] = {}
            if is_grouped:
                more = self._of_findings(part) if table == "findings" else self._of_objects(path.name, part)
            whole = plain(part)
            for name, values in more.items():
                whole = whole.append_column(name, pa.array(values, schema.field(name).type))
            if "change" in columns and "change" not in whole.column_names:
                whole = whole.append_column("change", pa.nulls(whole.num_rows, pa.string()))
            yield whole.select(columns).cast(wanted)

    def _of_findings(self, part: Any) -> dict[str, list[Any]]:
        rows = FindingRows.of(part, self._causes)
        ranks = self._counting.finding_ranks(rows)
        accepted = Acceptance.of_manifest(self._manifest)
        settled = np.zeros(len(rows), bool) if accepted is None else accepted.findings(rows, self._causes, ranks)
        return {
            "cause": [self._ids.of(number)[0] for number in rows.cause.tolist()],
            "severity": [SEVERITIES[rank] for rank in ranks.tolist()],
            "accepted": [bool(value) for value in settled],
        }

    def _of_objects(self, name: str, part: Any) -> dict[str, list[Any]]:
        of_part = self._of_each.of_part(name)
        ids = [
            sorted(of_part.get(whose, ()), key=lambda cause: rank(self._severities[cause]))
            for whose in zip(*(part[column].to_pylist() for column in WHOSE), strict=True)
        ]
        worst = [each[0] if each else None for each in ids]
        return {
            "causes": ids,
            "cause": worst,
            "severity": [None if cause is None else self._severities[cause] for cause in worst],
        }
