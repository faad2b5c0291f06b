"""The report of an earlier audit as a run compares itself with it: its manifest, the state it was made in, its tables.

A report of a fleet is seen through one of its clusters, which has parts of its own.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow.parquet as pq

from auditor import tables
from auditor.errors import PlanError
from pipelines.kept_rows import PartTable
from pipelines.report import MANIFEST

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["OldReport", "read_manifest"]

_PART: Final = re.compile(r"part-(\d+)\.parquet")


def read_manifest(report: str, option: str) -> dict[str, Any]:
    """Return the manifest of a report that an option names.

    Raises:
        PlanError: There is none, or it is that of an upgrade scan.
    """
    try:
        manifest: dict[str, Any] = orjson.loads((Path(report) / MANIFEST).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        raise PlanError(option, f"{report} is no report", f"a folder with {MANIFEST}, as an audit writes it") from None
    if "upgrade" in manifest:
        raise PlanError(option, f"{report} is the report of an upgrade scan", "that of an audit")
    return manifest


class OldReport:
    """One cluster of an earlier report.

    Args:
        folder: The report.
        cluster: Name of the cluster; of a report of one cluster the name plays no part.

    Attributes:
        state: As `pipelines.report_state` told it; None where the report does not know it, or not the cluster.
        not_evaluated: (definition, version) to the number of objects whose rules were not evaluated.
        not_read: Why nothing of it holds; empty where its state decides.
    """

    def __init__(self, folder: str, cluster: str) -> None:
        self.folder = Path(folder)
        self.manifest = read_manifest(folder, "--since")
        self.tool = {**self.manifest["tool"], "release": self.manifest["kubernetes_release"]}
        part: dict[str, Any] = self.manifest
        self._range = (0, 1 << 62)
        self.not_read = ""
        clusters = self.manifest.get("clusters")
        if clusters is not None:
            part = next((one for one in clusters if one["name"] == cluster), {})
            self._range = tuple(part.get("parts") or (0, 0))
            self.not_read = "" if part else "the cluster is not in the report"
        self.state: dict[str, Any] | None = part.get("state")
        if self.state is None and not self.not_read:
            self.not_read = "the report was made by an older auditor"
        self.rows: int = part.get("counts", {}).get("rows", 0)
        self.not_evaluated = {
            (entry["crd"], entry["version"]): entry["objects"] for entry in part.get("not_evaluated") or ()
        }

    def table(self, name: str, schema: pa.Schema) -> PartTable:
        """Return a table by the name of its folder."""
        return PartTable(self._parts(self.folder / name), schema)

    def partitions(self) -> dict[str, PartTable]:
        """Return the partitions of the index by folder below ``index``; their columns are those of the files."""
        found: dict[str, PartTable] = {}
        root = self.folder / "index"
        for folder in sorted({path.parent for path in root.rglob("part-*.parquet")}):
            paths = self._parts(folder)
            if paths:
                schema = pq.read_schema(paths[0]).remove_metadata()
                found[str(folder.relative_to(root))] = PartTable(paths, schema)
        return found

    def objects(self) -> PartTable:
        """Return objects/.

        Raises:
            PlanError: Rows are missing.
        """
        found = self.table("objects", tables.OBJECTS)
        if len(found) != self.rows:
            raise PlanError(
                "--since",
                f"{self.folder}/objects holds {len(found)} rows",
                f"{self.rows}, as its manifest says",
                "the report is not whole; audit without --since",
            )
        return found

    def _parts(self, folder: Path) -> list[Path]:
        first, stop = self._range
        numbered = [(int(found[1]), path) for path in folder.glob("*") if (found := _PART.fullmatch(path.name))]
        return [path for number, path in sorted(numbered) if first <= number < stop]
