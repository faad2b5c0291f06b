"""Maps folders of the index to definitions; light, since a start loads it without the code that makes rows."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from auditor.selectors.partitions import Folders, IndexFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from auditor.plan.plan import Plan

__all__ = ["folders_of", "written_folders"]


def folders_of(plan: Plan) -> Folders:
    """Return the names of the folders of the index of a run, by definition."""
    return Folders((entry.name, entry.group, entry.kind) for entry in plan.entries)


def written_folders(plan: Plan, versions: Iterable[Mapping[str, Any]], report: Path) -> list[dict[str, str]]:
    """Return the section `index` of a manifest: the definition and version of each folder of the index.

    Args:
        plan: The plan of the run.
        versions: Rows of versions.parquet.
        report: Folder of the report.
    """
    folders, out = folders_of(plan), []
    for row in versions:
        folder = folders.folder(row["crd"], row["group"], row["version"], row["kind"])
        if (report / "index" / folder).is_dir():
            out.append({"folder": folder, **{name: row[name] for name in IndexFolder._fields}})
    return sorted(out, key=itemgetter("folder"))
