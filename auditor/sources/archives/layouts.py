"""Layouts of backup tools: the paths in an archive or folder say which files hold objects, and how often.

Velero writes each object at its plain path and, since format 1.1.0, again below its version; with API group versions
on also converted to every other version served. must-gather lists objects and then writes them one by one.
Source: velero pkg/archive, pkg/backup/item_backupper.go; rancher/backup-restore-operator pkg/resourcesets;
openshift/oc pkg/cli/admin/inspect; kubectl pkg/cmd/clusterinfo.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from auditor.sources.files.digest import map_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


Use = Literal["objects", "etcd", "skip", "other-version", "format", "unknown"]
"""The use of a file.

Objects, part of an etcd data directory, ignored, an object again at another version, the format of a backup, or to be
detected from its content.
"""

_LOGS: Final = b"==== START logs for container "
_LOGS_END: Final = b"==== END logs for container "
MANIFESTS: Final = (".json", ".yaml", ".yml", ".ndjson", ".jsonl")
NAMES: Final = 2000
"""Number of names after which an archive counts as one of no known tool."""

_VELERO: Final = re.compile(
    r"(?:^|.*/)resources/(?P<resource>[^/]+)/(?:(?P<version>v[^/]+)/)?(?:cluster|namespaces/[^/]+)/[^/]+\.json$"
)
_VELERO_FORMAT: Final = re.compile(r"(?:^|.*/)metadata/version$")
VELERO_FORMATS: Final = ("1", "1.1.0")
"""Formats of Velero's backups that are known; a backup has its own in a file."""
_RANCHER: Final = re.compile(
    r"(?:^|.*/)(?P<resource>[^/#]+)#(?P<version>[^/#]+)/(?:(?P<ns>[^/]+)/)?(?P<name>[^/]+)\.json$"
)
_INSPECT: Final = re.compile(r"(?:^|.*/)(?:cluster-scoped-resources|namespaces)/.+\.(?:yaml|yml|json)$")
_INSPECT_MARK: Final = re.compile(
    r"(?:^|.*/)(?:cluster-scoped-resources/[^/]+/.+"
    r"|namespaces/([^/]+)/(?:\1\.yaml|(?:core|apps|batch|[a-z0-9-]+(?:\.[a-z0-9-]+)+)/[a-z0-9-]+(?:\.yaml|/[^/]+\.yaml)))$"
)
_ETCD: Final = re.compile(r"(?:^|.*/)member/(?:snap/db|wal/[^/]+\.wal)$")


@dataclass(frozen=True, slots=True)
class ArchiveLayout:
    """The layout of one tool.

    Attributes:
        name: The format of the plan.
        title: A description.
        mark: Pattern of paths that identify it.
        files: Pattern of paths that hold objects; others are skipped. None: files are detected from their content.
        notes: Notes in the report for every dump of this kind.
    """

    name: str
    title: str
    mark: re.Pattern[str] | None
    files: re.Pattern[str] | None
    notes: tuple[str, ...] = ()

    def use(self, name: str) -> Use:
        """Return the use of a file by its path."""
        if self.name == "etcd-data-dir":
            return "etcd" if _ETCD.match(name) else "skip"
        if self.files is None:
            return "unknown"
        if self.name == "velero" and _VELERO_FORMAT.match(name):
            return "format"
        match = self.files.match(name)
        if match is None:
            return "skip"
        if self.name == "velero":
            version = match["version"]
            return "objects" if version is None or version.endswith("-preferredversion") else "other-version"
        return "objects"


_SERVED: Final = "its objects came through an API: they do not show what is stored"

_ALL: Final = (
    ArchiveLayout(
        "velero",
        "Velero backup",
        _VELERO,
        _VELERO,
        (f"a Velero backup: {_SERVED}",),
    ),
    ArchiveLayout(
        "rancher", "Rancher backup", _RANCHER, _RANCHER, (f"a Rancher backup of chosen resources: {_SERVED}",)
    ),
    ArchiveLayout("etcd-data-dir", "etcd data directory", _ETCD, _ETCD),
    ArchiveLayout(
        "must-gather", "must-gather or `oc adm inspect`", _INSPECT_MARK, _INSPECT, (f"an inspection: {_SERVED}",)
    ),
    ArchiveLayout(
        "cluster-info",
        "`kubectl cluster-info dump`",
        None,
        None,
        ("a `kubectl cluster-info dump`: it holds no custom resources and no definitions",),
    ),
    ArchiveLayout("archive", "files of manifests or dumps", None, None),
)

LAYOUTS: Final = {layout.name: layout for layout in _ALL}


def layout_of(names: Iterable[str]) -> ArchiveLayout:
    """Return the tool that wrote files with these names; only the first names are read."""
    nodes: set[str] = set()
    pods: set[str] = set()
    for number, name in enumerate(names):
        if number >= NAMES:
            break
        for known in ("velero", "rancher", "etcd-data-dir", "must-gather"):
            mark = LAYOUTS[known].mark
            if mark is not None and mark.match(name):
                return LAYOUTS[known]
        folder, _, file = name.rpartition("/")
        if file in {"nodes.json", "nodes.yaml"}:
            nodes.add(folder)
        elif file in {"pods.json", "pods.yaml"} and folder:
            pods.add(folder.rpartition("/")[0])
        if nodes & pods:
            return LAYOUTS["cluster-info"]
    return LAYOUTS["archive"]


def rancher_place(name: str) -> tuple[str, str, bytes] | None:
    """Return group, resource and authenticated data of a file of a Rancher backup."""
    match = _RANCHER.match(name)
    if match is None:
        return None
    resource, _, group = match["resource"].partition(".")
    namespace = match["ns"]
    return group, resource, (f"{namespace}#{match['name']}" if namespace else match["name"]).encode()


def without_logs(path: Path, target: Path) -> Path:
    """Return a file, or a copy without the logs that `kubectl cluster-info dump` prints between its lists."""
    if map_file(path).find(_LOGS) < 0:
        return path
    inside = False
    with path.open("rb") as stream, target.open("wb") as out:
        for line in stream:
            if line.startswith(_LOGS):
                inside = True
            elif inside and line.startswith(_LOGS_END):
                inside = False
            elif not inside:
                out.write(line)
    return target
