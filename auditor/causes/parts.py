"""Counts the causes of single parts of a report: of a shard while its rows are in memory, or of part files.

The worker that writes the rows of a shard counts their causes. Part files are read back where only the whole report
shows what is counted: with options that accept or redact findings, for parts in which something is new since an earlier
report, or for a report without causes.parquet.
The counts of all parts, added in the order of the parts, equal those that one process makes of part after part.
"""

from __future__ import annotations

import pickle
import re
import sys
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from auditor.base import arrow
from auditor.causes.counting import Counting
from auditor.causes.field_patterns import Definitions
from auditor.causes.owners import (
    PartOwners,
    ReportOwners,
    controlled_rows,
    controllers_in,
    labels_of_owners,
    names_in,
    owner_rules_of,
)
from auditor.causes.row_causes import (
    CONCERNED,
    FINDING_COLUMNS,
    IMPACTS,
    OBJECT_COLUMNS,
    CauseNumbers,
    FindingRows,
    ObjectImpacts,
    concerned,
)
from auditor.causes.severity import parse_rules
from auditor.shards.table_rows import part_name
from auditor.store.coded import Coded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from auditor.causes.accepting import Acceptance
    from auditor.causes.counting import PartCounts
    from auditor.shards.row_writer import RowWriter


COUNTS: Final = "counts"
"""Folder of the counts of parts in that of a report while it is written; each file has the name of its part."""
_PART: Final = re.compile(r"part-\d+\.parquet")
_HARMLESS_STATUSES: Final = frozenset({"valid", "invalid", "definition", "builtin", "other"})


def overrides_of(manifest: dict[str, Any]) -> Any:
    """Return the overrides of severities that a report was made with."""
    return parse_rules(manifest["options"].get("severity") or ())


# -- while rows are written --------------------------------------------------------------------------------------------


class ShardCounter:
    """Counts the causes of a shard from its rows in memory, into a file of `COUNTS`.

    Args:
        definitions: The file of the definitions of the run.
        rules: The rules of severities and owners, as the options of a manifest have them.
    """

    def __init__(self, definitions: str, rules: dict[str, Any]) -> None:
        self._definitions = definitions
        self._rules = rules
        self._causes: CauseNumbers | None = None

    def __call__(self, rows: RowWriter, objects: Any, findings: Any, parts: Path) -> None:
        """Write the counts of a shard below a folder.

        Args:
            rows: Its rows.
            objects, findings: The tables made of them; None means it has no findings.
            parts: The folder.
        """
        path = (parts / COUNTS / part_name(rows.result.number)).with_suffix(".pickle")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(pickle.dumps(self._counted(rows, objects, findings)))

    def _counted(self, rows: RowWriter, objects: Any, findings: Any) -> PartCounts:
        manifest: dict[str, Any] = {"options": self._rules}
        causes = self._causes = self._causes or CauseNumbers(Definitions(Path(self._definitions), manifest))
        counting = Counting(overrides_of(manifest), most_owners=sys.maxsize)  # the sum of all parts is limited
        rules = owner_rules_of(manifest)
        controlled = controlled_rows(objects)

        def owners(columns: dict[str, Coded]) -> PartOwners:
            labels = rows.index.labels(names_in(columns), labels_of_owners(rules))
            return PartOwners(rules, columns, labels, controllers_in(controlled, columns))

        if findings is not None:
            _count_findings(findings, lambda: findings, owners, causes, counting, None)
        _count_impacts(objects, lambda: objects, owners, causes, counting, None)
        return counting.counted(causes)


def written_counts(report: Path, anew: Mapping[str, PartCounts]) -> Iterator[PartCounts]:
    """Yield the counts of a report whose shards were written by `ShardCounter`, in their order.

    Args:
        report: Folder of the report.
        anew: The counts of parts that were counted again, by the names of their files.
    """
    for path in sorted((report / COUNTS).glob("*.pickle")):
        if (later := anew.get(f"{path.stem}.parquet")) is not None:
            yield later
            continue
        with path.open("rb") as stream, suppress(EOFError):
            while True:  # those of a shard that was audited in smaller ones follow one another
                yield pickle.load(stream)  # noqa: S301 - workers of this run wrote it, into a private folder


# -- of part files -----------------------------------------------------------------------------------------------------


def tables_to_count(manifest: dict[str, Any]) -> tuple[str, ...]:
    """Return the tables of a report that have causes; objects/ only if it has rows with an impact of their own."""
    statuses = {name for name, count in manifest["counts"]["statuses"].items() if count}
    impacts = {name for kind in manifest["kinds"] for name, count in kind["impacts"].items() if count}
    has_impacts = bool(statuses - _HARMLESS_STATUSES) or not impacts.isdisjoint(IMPACTS)
    has_impacts |= bool(manifest.get("namespaces"))
    return ("findings", "objects") if has_impacts else ("findings",)


def parts_to_count(report: Path, tables: Iterable[str]) -> list[str]:
    """Return the names of the parts of some tables of a report, in order."""
    return sorted({path.name for table in tables for path in part_files(report / table)})


def count_part(
    report: Path,
    name: str,
    tables: Iterable[str],
    owners: ReportOwners,
    causes: CauseNumbers,
    counting: Counting,
    accepted: Acceptance | None = None,
) -> None:
    """Count one part of a report.

    Args:
        report: Folder of the report.
        name: Name of the file of the part.
        tables: As `tables_to_count` returns them.
        owners: The owners of its objects.
        causes: Numbers its causes.
        counting: Counts.
        accepted: The findings that are accepted; None means none.
    """
    own = (lambda columns: owners.of_part(name, columns), causes, counting, accepted)
    for path in (report / table / name for table in tables):
        if not path.exists():
            continue
        if path.parent.name == "findings":
            messages = cache(partial(read_part, path, ("message",)))
            _count_findings(read_part(path, FINDING_COLUMNS, "change"), messages, *own)
        else:
            _count_impacts(read_part(path, CONCERNED), partial(read_part, path, OBJECT_COLUMNS, "change"), *own)


class PartCounter:
    """Counts single parts of a report, in any order, without what is counted of namespaces.

    Args:
        report: Folder of the report.
        manifest: Its manifest, with the rules of severities and owners among its options.
    """

    def __init__(self, report: Path, manifest: dict[str, Any]) -> None:
        self._report = report
        self._overrides = overrides_of(manifest)
        self._tables = tables_to_count(manifest)
        self._causes = CauseNumbers(Definitions(report, manifest))
        self._owners = ReportOwners(report, manifest)

    def count(self, name: str) -> PartCounts:
        """Return the counts of one part.

        Args:
            name: Name of its file, one of `parts_to_count`.
        """
        counting = Counting(self._overrides, most_owners=sys.maxsize)  # the sum of all parts is limited
        count_part(self._report, name, self._tables, self._owners, self._causes, counting)
        return counting.counted(self._causes)


def part_files(folder: Path) -> Iterator[Path]:
    """Yield the parts of a table of a report, in order."""
    return (path for path in sorted(folder.glob("part-*.parquet")) if _PART.fullmatch(path.name))


def read_part(path: Path, columns: tuple[str, ...], *optional: str) -> Any:
    """Return columns of a part, those of text as dictionaries; optional ones only if the part has them."""
    return arrow.read_parquet(path, columns, optional=optional)


# -- of both -----------------------------------------------------------------------------------------------------------


def _count_findings(
    table: Any,
    messages: Callable[[], Any],
    owners: Callable[[dict[str, Coded]], PartOwners],
    causes: CauseNumbers,
    counting: Counting,
    accepted: Acceptance | None,
) -> None:
    """Count findings; `messages` returns a table with their messages."""
    if not table.num_rows:
        return
    rows = FindingRows.of(table, causes)
    settled = None if accepted is None else accepted.findings(rows, causes, counting.finding_ranks(rows))

    def message(row: int) -> str:
        return messages()["message"][row].as_py() or ""

    owner = owners(rows.columns).of_rows
    counting.add_findings(rows, _change(table), settled, owner=owner, message=message)


def _count_impacts(
    first: Any,
    objects: Callable[[], Any],
    owners: Callable[[dict[str, Coded]], PartOwners],
    causes: CauseNumbers,
    counting: Counting,
    accepted: Acceptance | None,
) -> None:
    """Count the impacts of objects, whose table is asked for only if some have any; `first` has `CONCERNED` of them."""
    mask = concerned(first, causes)
    if not mask.any():
        return
    table = arrow.take(objects(), np.flatnonzero(mask))
    rows = ObjectImpacts.of(table, causes)
    settled = None if accepted is None else accepted.impacts(rows, causes, counting.impact_ranks(rows))
    owner = owners(rows.columns).of_rows
    counting.add_impacts(rows, _change(table), settled, lambda row: table["pruned"][row].as_py() or [], owner)


def _change(table: Any) -> Coded | None:
    return Coded(table["change"]) if "change" in table.column_names else None
