"""The report of an earlier audit as a run compares itself with it: its manifest, the state it was made in, its tables.

A report of a fleet is seen through one of its clusters, which has parts of its own.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

import auditor
from auditor.base import arrow, tables
from auditor.base.errors import DamagedDump, PlanError
from auditor.base.statuses import Status
from auditor.crds.definitions_file import DefinitionsFile
from auditor.releases import active
from auditor.report.manifest import MANIFEST, manifest_bytes, parse_manifest, whole_report
from auditor.selectors.partitions import folders_of, recorded_folders
from auditor.shards.columns import part_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.plan.plan import Plan

__all__ = ["REPEATED", "SCHEMAS", "OldReport", "check_rows", "in_types", "read_manifest", "rows_of"]

_PART: Final = re.compile(r"part-(\d+)\.parquet")
_ABSENT: Final = "absent"
"""No folder of the index: that of a definition that the report does not know."""
SCHEMAS: Final = {"objects": tables.OBJECTS, "findings": tables.FINDINGS}
"""Tables that are no partition of the index."""
REPEATED: Final = {"findings": ("field", "bad_value", "detail", "message", "guard_path", "rule", "last_manager")}
"""Columns of text that many rows share: held as dictionaries they take a tenth of the memory."""


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
            found = f"{folder}/{name} holds {rows[name]} rows"
            advice = f"the report is not whole; audit without {option}" if option.startswith("--") else "audit anew"
            raise PlanError(option, found, f"{expected}, as its manifest says", advice)


def rows_of(path: Path) -> int:
    """Return how many rows a part of a report declares.

    Raises:
        DamagedDump: It is none, or a column of it is of another type than audits write.
    """
    with arrow.parquet_reader(path) as reader:
        rows, stored = int(reader.metadata.num_rows), reader.schema_arrow
    for field in SCHEMAS.get(path.parent.name, ()):
        known = _plain(stored.field(field.name).type) if field.name in stored.names else None
        if known is not None and not pa.types.is_nested(field.type) and known != _plain(field.type):
            found = f"is not a table of a report: column {field.name} is of type {known}"
            raise DamagedDump(str(path), found, str(_plain(field.type)), "audit anew")
    return rows


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def in_types(table: pa.Table, repeated: Sequence[str], schema: pa.Schema) -> pa.Table:
    """Return a table of a file in the types of its schema; files rename parts of them."""
    columns, fields = [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        one = schema.field(name)
        wanted = tables.DICTIONARY if name in repeated else one.type
        columns.append(column if column.type.equals(wanted) else arrow.cast(column, wanted))
        fields.append(one.with_type(wanted))
    return pa.table(columns, schema=pa.schema(fields))


class OldReport:
    """One cluster of an earlier report.

    Args:
        folder: The report.
        cluster: Name of the cluster; ignored for a report of one cluster.

    Attributes:
        state: As `auditor.plan.state` returned it; None if the report does not have it, or lacks the cluster.
        not_evaluated: (definition, version) to the number of objects whose rules were not evaluated.
        given_up: Those of them where rules took too much time or memory: another run may have more.
        not_read: Why nothing of it holds; empty if its state decides.
        dumps: How many it was made of.
    """

    def __init__(self, folder: str, cluster: str) -> None:
        self.folder = Path(folder)
        self.manifest = read_manifest(folder, "--since")
        part: dict[str, Any] = self.manifest
        self._range = (0, 1 << 62)
        self.not_read = ""
        clusters = self.manifest.get("clusters")
        if clusters is not None:
            part = next((one for one in clusters if one["name"] == cluster), {})
            self._range = tuple(part.get("parts") or (0, 0))
            self.not_read = "" if part else "the cluster is not in the report"
        release = part.get("kubernetes_release", self.manifest["kubernetes_release"])
        self.tool = {**self.manifest["tool"], "release": release}
        state = part.get("state")
        self.state: dict[str, Any] | None = state if type(state) is dict and "options" in state else None
        is_older = self.state is None or type(self.manifest.get("index")) is not list or self._lacks_controllers()
        if is_older and not self.not_read:
            self.not_read = "the report was made by an older auditor"
        self._folders: dict[str, str] = {}
        inputs = self.manifest["inputs"]
        self.dumps = len([one for one in inputs if clusters is None or one.get("cluster") == cluster])
        self._part = part
        self.given_up = {
            (entry["crd"], entry["version"]) for entry in part.get("not_evaluated") or () if entry.get("given_up")
        }
        self.not_evaluated = {
            (entry["crd"], entry["version"]): entry["objects"] for entry in part.get("not_evaluated") or ()
        }

    def _lacks_controllers(self) -> bool:
        """Return whether objects/ was written before it had a column `controller`."""
        for _, path in self._parts(self.folder / "objects")[:1]:
            with arrow.parquet_reader(path) as reader:
                names = reader.schema_arrow.names
            return "uid" in names and "controller" not in names
        return False

    def other_tool(self) -> str:
        """Return how the auditor that wrote it differs from this one; empty if it does not."""
        tool = {
            "version": auditor.__version__,
            "table_version": tables.TABLE_VERSION,
            "release": active().version,
        }
        for name, value in tool.items():
            if self.tool.get(name) != value:
                what = {"version": "auditor", "table_version": "tables", "release": "Kubernetes"}[name]
                return f"{what} was {self.tool.get(name)} and is {value}"
        return ""

    def definitions(self, files_sha256: str) -> tuple[list[bytes], set[str]] | None:
        """Return the lines of its definitions, and the names of those that came from files.

        Args:
            files_sha256: As in `Plan`.

        Returns:
            None if the files were others, or another auditor read them, or the lines are not those it wrote.
        """
        made = self.manifest["definitions"]
        if "clusters" in self.manifest or self.other_tool() or made.get("files_sha256") != files_sha256:
            return None
        try:
            text = DefinitionsFile(self.folder).whole()
        except OSError:
            return None
        if hashlib.sha256(text).hexdigest() != made["sha256"]:
            return None
        return text.splitlines(), set(made["from_files"])

    @property
    def parts(self) -> list[int]:
        """Numbers of the parts, in order; the files of one in all tables are of the same live keys."""
        return [number for number, _ in self._parts(self.folder / "objects")]

    def read(
        self, name: str, number: int, columns: Sequence[str] | None = None, repeated: Sequence[str] = ()
    ) -> pa.Table | None:
        """Return a part of a table, or some columns of it.

        Args:
            name: The name of the table's folder; that of a partition of the index as `partitions` names it.
            number: The number of the part.
            columns: Names; None for all.
            repeated: Those of them whose text becomes a dictionary.

        Returns:
            None if the table has no rows there.
        """
        schema, path = SCHEMAS.get(name), self.path(name, number)
        if not path.exists():
            return None
        names = list(columns) if columns is not None else [] if schema is None else schema.names
        table = arrow.read_parquet(path, names or None, repeated)
        if schema is None:
            return table.replace_schema_metadata(None)
        return in_types(table, repeated, schema)

    def path(self, name: str, number: int) -> Path:
        """Return the file of a part, which is there if it has rows."""
        below = name if name in SCHEMAS else f"index/{self._folders.get(name, _ABSENT)}"
        return self.folder / below / part_name(number)

    def name_folders(self, plan: Plan) -> None:
        """Name the folders of the index as a run does, which may have other definitions of the same kinds.

        Args:
            plan: The plan of the run.
        """
        known = {(entry.name, entry.group, entry.kind) for entry in plan.entries}
        folders, root = folders_of(plan), self.folder / "index"
        found = sorted(path.relative_to(root).as_posix() for path in root.glob("group=*/version=*/kind=*"))
        for folder, whose in recorded_folders(self.manifest, found).items():
            if (whose.crd, whose.group, whose.kind) in known:
                self._folders[folders.folder(whose.crd, whose.group, whose.version, whose.kind)] = folder

    def partitions(self) -> dict[str, pa.Schema]:
        """Return the columns that files of the index have, by the folder that a run gives their rows."""
        found: dict[str, pa.Schema] = {}
        for name, folder in sorted(self._folders.items()):
            for _, path in self._parts(self.folder / "index" / folder)[:1]:
                with arrow.parquet_reader(path) as reader:
                    found[name] = reader.schema_arrow.remove_metadata()
        return found

    def check(self) -> None:
        """Hold the number of rows against the manifest, which does not tell that of the index.

        Raises:
            PlanError: Rows are missing, or the whole index is.
        """
        rows = dict.fromkeys(SCHEMAS, 0)
        for name in rows:
            for _, path in self._parts(self.folder / name):
                rows[name] += rows_of(path)
        check_rows(self.folder, self._part, rows, "--since")
        with whole_report("--since"):
            valid = int(self._part.get("counts", {}).get("statuses", {}).get(Status.VALID, 0))
        index = self.folder / "index"
        if valid and not any(self._parts(path.parent) for path in index.rglob("part-*.parquet")):
            advice = "the report is not whole; audit without --since"
            raise PlanError("--since", f"{index} holds no rows", f"those of at least {valid} objects", advice)

    def _parts(self, folder: Path) -> list[tuple[int, Path]]:
        first, stop = self._range
        numbered = [(int(found[1]), path) for path in folder.glob("*") if (found := _PART.fullmatch(path.name))]
        return [(number, path) for number, path in sorted(numbered) if first <= number < stop]
