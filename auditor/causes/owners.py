"""Who owns an object: a team that owners.yaml names, what deployed it, its top controller, or its last field manager.

Labels come from the index of the report, which has the same part numbers as its other tables, controllers from
objects/. An owner that is not known is None means it is never guessed.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from auditor.base.arrow import dictionary_encoded, is_null, may_hold, parquet_footer, parquet_reader, read_parquet, take
from auditor.base.errors import DamagedDump, PlanError
from auditor.causes.accepting import read_entries
from auditor.store.coded import Coded, combined, groups_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from numpy.typing import NDArray


_KEYS: Final = ("team", "namespace", "kind", "labels")
_ARGO: Final = "argocd.argoproj.io/instance"
_FLUX: Final = (("flux", "kustomize.toolkit.fluxcd.io"), ("flux-helm", "helm.toolkit.fluxcd.io"))
_MANAGED_BY, _INSTANCE = "app.kubernetes.io/managed-by", "app.kubernetes.io/instance"
_INDEX_COLUMNS: Final = ("namespace", "name", "labels")
_LABEL_NAMES: Final = "labels.key_value.key"
"""The names of labels, as the footer of a file names them."""
_LABELS: Final = frozenset((_ARGO, _INSTANCE, *(f"{prefix}/name" for _, prefix in _FLUX)))
"""Labels without which no other label names an owner."""
_OF_OWNER: Final = ("group", "kind", "namespace", "name", "last_manager")
_PLACE: Final = ("cluster", "group", "kind", "namespace", "name", "controller")
_LONGEST_CHAIN: Final = 32
"""Controllers above each other that are looked up; a longer chain is one that never ends."""
_NO_LABELS: Final[dict[str, str]] = {}


@dataclass(frozen=True, slots=True)
class OwnerRule:
    """An entry of owners.yaml: objects that match all of its globs belong to a team."""

    team: str
    namespace: str = ""
    kind: str = ""
    labels: tuple[tuple[str, str], ...] = ()

    def matches(self, *, group: str, kind: str, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether an object belongs to the team."""
        names = (f"{kind}.{group}" if group else kind, kind)
        return (
            (not self.namespace or fnmatch.fnmatchcase(namespace, self.namespace))
            and (not self.kind or any(fnmatch.fnmatchcase(name, self.kind) for name in names))
            and all(key in labels and fnmatch.fnmatchcase(labels[key], value) for key, value in self.labels)
        )

    def data(self) -> dict[str, Any]:
        """Return the rule as JSON data, as owners.yaml has it."""
        given = {"team": self.team, "namespace": self.namespace, "kind": self.kind, "labels": dict(self.labels)}
        return {name: value for name, value in given.items() if value}


def read_owner_rules(path: str) -> tuple[OwnerRule, ...]:
    """Return the entries of owners.yaml: a list, or a mapping with the list as `owners`; the first match decides.

    Raises:
        PlanError: The file cannot be read, or an entry names no team or no glob.
    """
    entries = read_entries(path, "owners", "teams")
    return tuple(_rule(entry, f"{path}: entry {number}") for number, entry in enumerate(entries, 1))


def _rule(content: Any, where: str) -> OwnerRule:
    if not isinstance(content, dict) or [name for name in content if name not in _KEYS]:
        raise PlanError("--owners", f"{where} has other keys", ", ".join(_KEYS))
    labels = content.get("labels") or {}
    if not isinstance(labels, dict) or not all(isinstance(text, str) for pair in labels.items() for text in pair):
        raise PlanError("--owners", f"{where}: labels is not a mapping of texts", "label: glob")
    texts = {name: content.get(name) or "" for name in _KEYS[:3]}
    if not all(isinstance(text, str) for text in texts.values()) or not texts["team"]:
        raise PlanError("--owners", f"{where} names no team", "a text")
    if not (texts["namespace"] or texts["kind"] or labels):
        raise PlanError("--owners", f"{where} has no glob", "at least one of namespace, kind and labels")
    return OwnerRule(**texts, labels=tuple(labels.items()))


def owner_rules_of(manifest: dict[str, Any]) -> tuple[OwnerRule, ...]:
    """Return the rules that a report was made with."""
    return tuple(_rule(owner, "owners") for owner in manifest["options"].get("owners") or ())


def owner_of(labels: Mapping[str, str], manager: str | None, controller: str | None = None) -> str | None:
    """Return what deployed an object, by its labels, else its controller, else the last field manager; or None."""
    if application := labels.get(_ARGO):
        return f"argocd:{application}"
    for name, prefix in _FLUX:
        if label := labels.get(f"{prefix}/name"):
            return f"{name}:{labels.get(f'{prefix}/namespace', '')}/{label}"
    if labels.get(_MANAGED_BY) == "Helm" and (release := labels.get(_INSTANCE)):
        return f"helm:{release}"
    if controller:
        return f"controller:{controller}"
    return f"manager:{manager}" if manager else None


class ReportOwners:
    """The owners of the objects of a report.

    Args:
        report: Folder of the report.
        manifest: Its manifest.
    """

    def __init__(self, report: Path, manifest: dict[str, Any]) -> None:
        self.report = report
        self.manifest = manifest
        self.rules = owner_rules_of(manifest)
        self._links: dict[tuple[str, str, str], str] | None = None
        self._part = ""
        self._tables: dict[Path, Any] = {}

    def of_part(self, part: str, columns: dict[str, Coded]) -> PartOwners:
        """Return the owners of the objects of one part.

        Args:
            part: Name of the file of the part, which is the same in all tables.
            columns: Columns of its rows: `group`, `kind`, `audited_version`, `namespace`, `name`, and `last_manager` if
                the rows are findings.
        """
        if part != self._part:
            self._part, self._tables = part, {}
        return PartOwners(self, part, columns)

    def controlled(self, path: Path) -> Any:
        """Return the rows of a part of objects/ that have a controller; None if there are none."""
        return self._once(path, _controlled)

    def labelled(self, path: Path, keys: Collection[str]) -> Any:
        """Return the names and labels of a file of the index; None if no object has one of some labels.

        Args:
            path: The file.
            keys: Names of labels, which are the same in each call.
        """
        return self._once(path, lambda path: _labelled(path, keys))

    def _once(self, path: Path, read: Callable[[Path], Any]) -> Any:
        """Return a table of the current part; its findings and its objects need the same."""
        if path not in self._tables:
            self._tables[path] = read(path)
        return self._tables[path]

    def top_controller(self, cluster: str, namespace: str, controller: str) -> str:
        """Return the last controller of a chain of controllers, as far as these are in the report.

        Args:
            cluster: The cluster; empty means the report names none.
            namespace: The namespace of the object.
            controller: Its controller.
        """
        if self._links is None:
            self._links = _links(self.report)
        controllers, place = controller, namespace
        for _ in range(_LONGEST_CHAIN):
            if (above := self._links.get((cluster, place, controllers))) is None:
                if not place or (above := self._links.get((cluster, "", controllers))) is None:
                    return controllers
                place = ""
            controllers = above
        return controller  # they control each other


def _links(report: Path) -> dict[tuple[str, str, str], str]:
    """Return the controllers of the objects that control others, by cluster, namespace and name (`Kind.group/name`)."""
    paths = [path for path in sorted((report / "objects").glob("part-*.parquet")) if ".." not in path.parts]
    tables = [table for path in paths if (table := _controlled(path)) is not None]
    controllers = {text for table in tables for text in Coded(table["controller"]).texts if text is not None}
    names = {text.partition("/")[2] for text in controllers}
    out = {}
    for table in tables:
        columns = {name: Coded(table[name]) for name in _PLACE}
        for row in _rows_called(columns["name"], names):
            cluster, group, kind, namespace, called, controller = (columns[field].text(row) for field in _PLACE)
            if (own := f"{kind}.{group}/{called}" if group else f"{kind}/{called}") in controllers:
                out[cluster, namespace, own] = controller
    return out


def _rows_called(name: Coded, names: Collection[str]) -> list[int]:
    """Return the rows that have one of some names."""
    wanted = np.array([text in names for text in name.texts], dtype=bool)
    rows: list[int] = np.flatnonzero(wanted[name.codes]).tolist()
    return rows


def _controlled(path: Path) -> Any:
    """Return the rows of a part of objects/ that have a controller; None if there are none."""
    try:
        with parquet_reader(path) as reader:
            footer, names = reader.metadata, reader.schema_arrow.names
        if "controller" not in names or is_null(path, "controller", footer):
            return None  # the first is an older report
        table = read_parquet(path, _PLACE, footer=footer)
    except DamagedDump:
        return None  # then the controllers are not known
    rows = np.flatnonzero(np.asarray(table["controller"].is_valid()))
    return take(table, rows) if len(rows) else None


def _labelled(path: Path, wanted: Collection[str]) -> Any:
    """Return the names and labels of a file of the index; None if no object has one of some labels."""
    try:
        footer = parquet_footer(path)
        if not may_hold(path, _LABEL_NAMES, wanted, footer):
            return None
        table = read_parquet(path, _INDEX_COLUMNS, footer=footer)
    except DamagedDump:
        return None  # then the labels are not known
    keys = (dictionary_encoded(chunk.keys).dictionary for chunk in table["labels"].chunks)
    return None if set(wanted).isdisjoint(key for keys in keys for key in keys.to_pylist()) else table


class PartOwners:
    """The owners of the objects of one part of a report.

    Args:
        owners: Those of the report.
        part: As `ReportOwners.of_part` takes it.
        columns: As `ReportOwners.of_part` takes them.
    """

    def __init__(self, owners: ReportOwners, part: str, columns: dict[str, Coded]) -> None:
        self._owners = owners
        self._columns = columns
        self._keys = {key for rule in owners.rules for key, _ in rule.labels} | _LABELS
        self._labels: dict[tuple[str, str, str, str], dict[str, str]] = {}
        self._controllers: dict[tuple[str, str, str, str], tuple[str, str]] = {}
        kinds = {(group, kind) for group in columns["group"].texts for kind in columns["kind"].texts if kind}
        names = frozenset(filter(None, columns["name"].texts))
        self._read_controllers(owners.report / "objects" / part, names)
        for entry in owners.manifest.get("index") or ():
            if (entry.get("group"), entry.get("kind")) not in kinds:
                continue
            path = owners.report / "index" / str(entry.get("folder")) / part
            if ".." not in path.parts and path.is_file():
                self._read(path, entry["group"], entry["kind"], names)

    def _read_controllers(self, path: Path, names: frozenset[str]) -> None:
        table = self._owners.controlled(path) if path.is_file() else None
        if table is None:
            return
        columns = {name: Coded(table[name]) for name in _PLACE}
        for row in _rows_called(columns["name"], names):
            cluster, *place, controller = (columns[field].text(row) for field in _PLACE)
            self._controllers[place[0], place[1], place[2], place[3]] = (cluster, controller)

    def _read(self, path: Path, group: str, kind: str, names: frozenset[str]) -> None:
        """Read the labels of the objects that are needed; objects have the same labels at each version."""
        table = self._owners.labelled(path, self._keys)
        if table is None:
            return
        rows = take(table, np.array(_rows_called(Coded(table["name"]), names), dtype=np.int64)).to_pylist()
        for row in rows:
            self._labels[(group, kind, row["namespace"] or "", row["name"])] = dict(row["labels"] or ())

    def of_rows(self, rows: NDArray[np.int64]) -> list[str | None]:
        """Return the owners of the objects of some rows; None for one that is not known."""
        is_named = bool(self._labels or self._controllers)
        names = [field for field in _OF_OWNER if field in self._columns and (is_named or field != "name")]
        columns = [self._columns[name] for name in names]
        first, group = groups_of(combined([(column.codes[rows], len(column.texts)) for column in columns]))
        owners = [self.of(row) for row in rows[first].tolist()]
        return [owners[position] for position in group.tolist()]

    def of(self, row: int) -> str | None:
        """Return the owner of the object of a row; None if it is not known."""
        group, kind, namespace, name = (self._columns[field].text(row) for field in _OF_OWNER[:4])
        labels = self._labels.get((group, kind, namespace, name), _NO_LABELS)
        for rule in self._owners.rules:
            if rule.matches(group=group, kind=kind, namespace=namespace, labels=labels):
                return rule.team
        manager = self._columns.get("last_manager")
        cluster, controller = self._controllers.get((group, kind, namespace, name), ("", None))
        if controller is not None:
            controller = self._owners.top_controller(cluster, namespace, controller)
        return owner_of(labels, None if manager is None else manager.of(row), controller)
