"""The report of an earlier audit as a run compares itself with it: its manifest, and how many rows it must have."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from auditor.base import arrow, tables
from auditor.base.arrow import plain_type
from auditor.base.errors import DamagedDump, PlanError
from auditor.store.manifest import MANIFEST, manifest_bytes, parse_manifest, whole_report

_SCHEMAS: Final = {"objects": tables.OBJECTS, "findings": tables.FINDINGS}


def read_manifest(report: str, option: str, shown: str = "") -> dict[str, Any]:
    """Return the manifest of a report that an option names.

    Args:
        report: Its folder.
        option: The option.
        shown: How the report is called in errors, where the folder is a copy.

    Raises:
        PlanError: There is none, or it is that of an upgrade scan.
    """
    try:
        manifest = parse_manifest(manifest_bytes(Path(report)))
    except OSError:
        manifest = None
    if manifest is None:
        raise PlanError(
            option, f"{shown or report} is not a report", f"a folder with {MANIFEST}, as an audit writes it"
        )
    if "upgrade" in manifest:
        raise PlanError(option, f"{shown or report} is the report of an upgrade scan", "that of an audit")
    return manifest


def check_rows(folder: Path, manifest: dict[str, Any], rows: dict[str, int], option: str) -> None:
    """Hold the numbers of rows of a report against its manifest.

    Args:
        folder: The report.
        manifest: Or what it says of one cluster.
        rows: Those of `objects` and `findings` that are there.
        option: What names the report.

    Raises:
        PlanError: Rows are missing.
    """
    with whole_report(option):
        objects = manifest.get("counts", {}).get("rows", 0)
        findings = sum(entry["count"] for entry in manifest.get("findings", ()))  # of the most frequent ones
    for name, expected, whole in (
        ("objects", str(objects), rows["objects"] == objects),
        ("findings", f"at least {findings}", rows["findings"] >= findings),
    ):
        if not whole:
            reason = f"{folder}/{name} holds {rows[name]} rows"
            advice = f"the report is not whole; audit without {option}" if option.startswith("--") else "audit anew"
            raise PlanError(option, reason, f"{expected}, as its manifest says", advice)


def rows_of(path: Path) -> int:
    """Return how many rows a part of a report declares.

    Raises:
        DamagedDump: It is none, or a column of it is of another type than audits write.
    """
    with arrow.parquet_reader(path) as reader:
        rows, stored = int(reader.metadata.num_rows), reader.schema_arrow
    _check_types(path, stored.remove_metadata())
    return rows


def _check_types(path: Path, stored: pa.Schema) -> None:
    table = path.parent.name
    if stored == _checked.get(table):
        return  # as the part before
    for field in _SCHEMAS.get(table, ()):
        known = plain_type(stored.field(field.name).type) if field.name in stored.names else None
        if known is not None and not pa.types.is_nested(field.type) and known != plain_type(field.type):
            reason = f"is not a table of a report: column {field.name} is of type {known}"
            raise DamagedDump(str(path), reason, str(plain_type(field.type)), "audit anew")
    _checked[table] = stored


_checked: Final[dict[str, pa.Schema]] = {}
"""The columns of the last part that was checked, by table: most parts have the same."""
