"""Check that a report is consistent: before it is put in place, and before the rows of an earlier one are read.

A missing row would be an object that no one looks at.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from auditor.base.errors import EngineError, PlanError
from auditor.store.earlier_report import check_rows, rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.plan.options import AuditOptions
    from auditor.shards.result import ShardResult


def check_report(options: AuditOptions, parts: Path, manifest: dict[str, Any], total: ShardResult) -> None:
    """Check that each key has its rows, and that the tables have the rows that the manifest says.

    Args:
        options: The options of the run.
        parts: The folder that becomes the report.
        manifest: The manifest of the report.
        total: The counts of all shards.
    Raises:
        EngineError: They do not: a bug in this program, so no report may be written.
    """
    counts = manifest["counts"]
    keys, rows = counts["keys"] - counts["out_of_scope"], counts["rows"]
    has_more = "served" in (options.at, options.at_of_exports)  # a row for each version that is served
    if rows < keys or (rows > keys and not has_more):
        raise EngineError("report", f"{rows} rows of {keys} keys", "a row for each key", "please report it")
    if (row_counts := _rows(parts / "objects")) != rows:
        raise EngineError(
            "report", f"{row_counts} rows in objects/", f"{rows}, as they were counted", "please report it"
        )
    created = sum(total.findings.values())  # those of other requests have rows as well
    if (row_counts := _rows(parts / "findings")) < created:
        raise EngineError(
            "report", f"{row_counts} rows in findings/", f"{created} of creates alone", "please report it"
        )
    if (known := sum(counts["statuses"].values())) != rows:
        raise EngineError("report", f"statuses of {known} rows", str(rows), "please report it")


def check_earlier(report: Path, manifest: dict[str, Any], shown: str) -> None:
    """Check that an earlier report has the files and rows that its manifest says, and that each declares sane sizes.

    Args:
        report: Its folder.
        manifest: Its manifest.
        shown: How the user named it.

    Raises:
        PlanError: It has not.
        DamagedDump: A file is none that an audit writes.
    """
    rows = {table: _rows(report / table) for table in ("objects", "findings")}
    check_rows(report, manifest, rows, shown)
    for table in ("fixed", "changes"):
        _rows(report / table)
    files = manifest.get("files")
    for name in files if type(files) is list else ():
        # Path.is_file() raises an error for a name that no file system takes
        if type(name) is not str or ".." in name.split("/") or not os.path.isfile(report / name):  # noqa: PTH113
            raise PlanError(
                shown, f"lacks the file {str(name)[:300]}", "all files that its manifest lists", "audit anew"
            )


def _rows(table: Path) -> int:
    return sum(rows_of(part) for part in table.glob("*.parquet"))
