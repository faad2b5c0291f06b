"""Who owns an object: a team that owners.yaml names, what deployed it, its top controller, or its last field manager.

Labels come from the index of the report, which has the same part numbers as its other tables, controllers from
objects/. An owner that is not known is None means it is never guessed.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from auditor.base.arrow import (
    dictionary_encoded,
    is_null,
    may_hold,
    parquet_footer,
    parquet_reader,
    plain,
    read_parquet,
    take,
)
from auditor.base.errors import DamagedDump, PlanError
from auditor.causes.accepting import read_entries
from auditor.store.coded import Coded, combined, groups_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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
Labels = dict[tuple[str, str, str, str], dict[str, str]]
"""The labels of objects by group, kind, namespace and name."""
Controllers = dict[tuple[str, str, str, str], tuple[str, str]]
"""Cluster and controller of objects by group, kind, namespace and name."""
Links = dict[tuple[str, str, str], str]
"""The controllers of objects by cluster, namespace and what these are called as controllers (`Kind.group/name`)."""


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


def owner_of(labels: Mapping[str, str], manager: str | None) -> str | None:
    """Return what deployed an object without a controller, by its labels, else the last field manager; or None."""
    if application := labels.get(_ARGO):
        return f"argocd:{application}"
    for name, prefix in _FLUX:
        if label := labels.get(f"{prefix}/name"):
            return f"{name}:{labels.get(f'{prefix}/namespace', '')}/{label}"
    if labels.get(_MANAGED_BY) == "Helm" and (release := labels.get(_INSTANCE)):
        return f"helm:{release}"
    return f"manager:{manager}" if manager else None


def _by_controller(controller: str) -> str:
    return f"controller:{controller}"


class Controlled(NamedTuple):
    """The owner of an object that has a controller: that one's top controller, which only the whole report shows."""

    namespace: str
    controller: str


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
        self._links: dict[str, Links] = {}
        self._part = ""
        self._tables: dict[Path, Any] = {}

    def of_part(self, part: str, columns: dict[str, Coded]) -> PartOwners:
        """Return the owners of the objects of one part.

        Args:
            part: Name of the file of the part, which is the same in all tables.
            columns: As `PartOwners` takes them.
        """
        if part != self._part:
            self._part, self._tables = part, {}
        controllers = controllers_in(self._once(self.report / "objects" / part, _controlled), columns)
        kinds = {(group, kind) for group in columns["group"].texts for kind in columns["kind"].texts if kind}
        keys = labels_of_owners(self.rules)
        labels: Labels = {}
        for entry in self.manifest.get("index") or ():
            if (entry.get("group"), entry.get("kind")) in kinds:
                path = self.report / "index" / str(entry.get("folder")) / part
                labels |= self._labels(path, (entry["group"], entry["kind"]), names_in(columns), keys)
        return PartOwners(self.rules, columns, labels, controllers, self.top_controller)

    def _labels(self, path: Path, kind: tuple[str, str], names: Collection[str], keys: Collection[str]) -> Labels:
        """Return the labels of the objects that are needed; objects have the same labels at each version."""
        table = self._once(path, lambda path: _labelled(path, keys)) if ".." not in path.parts else None
        if table is None:
            return {}
        rows = _rows_called(table, names).to_pylist()
        return {(*kind, row["namespace"] or "", row["name"]): dict(row["labels"] or ()) for row in rows}

    def _once(self, path: Path, read: Callable[[Path], Any]) -> Any:
        """Return a table of the current part, None if there is none; its findings and its objects need the same."""
        if path not in self._tables:
            self._tables[path] = read(path) if path.is_file() else None
        return self._tables[path]

    def named(self, cluster: str, owner: str | Controlled) -> str:
        """Return an owner, whichever way it is known."""
        return owner if isinstance(owner, str) else _by_controller(self.top_controller(cluster, *owner))

    def top_controller(self, cluster: str, namespace: str, controller: str) -> str:
        """Return the last controller of a chain of controllers, as far as these are in the report.

        Args:
            cluster: The cluster; empty means the report names none.
            namespace: The namespace of the object.
            controller: Its controller.
        """
        controllers, place = controller, namespace
        for _ in range(_LONGEST_CHAIN):
            links = self._links_of(_kind_in(controllers))
            if (above := links.get((cluster, place, controllers))) is None:
                if not place or (above := links.get((cluster, "", controllers))) is None:
                    return controllers
                place = ""
            controllers = above
        return controller  # they control each other

    def _links_of(self, owner: str) -> Links:
        """Return the controllers of the objects of a kind; parts are read only if the manifest counts such objects."""
        if owner not in self._links:
            counted = ((entry["group"], entry["kind"]) for entry in self.manifest["kinds"])
            kinds = {kind for group, kind in counted if _kind_in(_called(group, kind, "")) == owner}
            self._links[owner] = _links(self.report, owner, kinds) if kinds else {}
        return self._links[owner]


def _called(group: str, kind: str, name: str) -> str:
    """Return what a controller is called by the objects that it controls."""
    return f"{kind}.{group}/{name}" if group else f"{kind}/{name}"


def _kind_in(controller: str) -> str:
    """Return the kind and group in what a controller is called."""
    return controller.partition("/")[0]


def _links(report: Path, owner: str, kinds: Collection[str]) -> Links:
    """Return the controllers of the objects of a kind.

    Args:
        report: The folder of the report.
        owner: The kind and its group, as `_kind_in` returns them.
        kinds: The names of the kind by which objects/ may have it.
    """
    out: Links = {}
    for path in sorted((report / "objects").glob("part-*.parquet")):
        table = _controlled(path, kinds) if ".." not in path.parts else None
        if table is None:
            continue
        group, kind = Coded(table["group"]), Coded(table["kind"])
        first, number = groups_of(combined([(group.codes, len(group.texts)), (kind.codes, len(kind.texts))]))
        names = [_kind_in(_called(group.text(row), kind.text(row), "")) for row in first.tolist()]
        wanted = np.array([name == owner for name in names], dtype=bool)
        for place in _places(take(table, np.flatnonzero(wanted[number]))):
            out[place[0], place[3], _called(place[1], place[2], place[4])] = place[5]
    return out


def _rows_called(table: Any, names: Collection[str]) -> Any:
    """Return the rows of a table that have one of some names."""
    name = Coded(table["name"])
    wanted = np.array([text in names for text in name.texts], dtype=bool)
    return take(table, np.flatnonzero(wanted[name.codes]))


def _places(table: Any) -> Iterator[tuple[str, ...]]:
    """Yield the columns `_PLACE` of some rows; empty texts for nulls."""
    rows = plain(table)  # of a dictionary all texts are read, of these few
    columns = [Coded(rows[name]) for name in _PLACE]
    return zip(*([column.texts[code] or "" for code in column.codes.tolist()] for column in columns), strict=True)


def _controlled(path: Path, kinds: Collection[str] | None = None) -> Any:
    """Return the rows of a part of objects/ that have a controller; None if there are none.

    Args:
        path: The part.
        kinds: Kinds that are needed: a part whose footer shows that it has none of them counts as one without rows.
    """
    try:
        with parquet_reader(path) as reader:
            footer, names = reader.metadata, reader.schema_arrow.names
        if "controller" not in names or is_null(path, "controller", footer):
            return None  # the first is an older report
        if kinds is not None and not may_hold(path, "kind", kinds, footer):
            return None
        table = read_parquet(path, _PLACE, footer=footer)
    except DamagedDump:
        return None  # then the controllers are not known
    return controlled_rows(table)


def controlled_rows(objects: Any) -> Any:
    """Return the rows of a table of objects that have a controller; None if there are none."""
    rows = np.flatnonzero(np.asarray(objects["controller"].is_valid()))
    return take(objects.select(_PLACE), rows) if len(rows) else None


def controllers_in(table: Any, columns: dict[str, Coded]) -> Controllers:
    """Return the controllers of the objects of some rows.

    Args:
        table: As `controlled_rows` returns it.
        columns: Columns of the rows, as `PartOwners` takes them.
    """
    if table is None:
        return {}
    return {
        (group, kind, namespace, name): (cluster, controller)
        for cluster, group, kind, namespace, name, controller in _places(_rows_called(table, names_in(columns)))
    }


def labels_of_owners(rules: Iterable[OwnerRule]) -> frozenset[str]:
    """Return the names of the labels without which no label names an owner."""
    return _LABELS | {key for rule in rules for key, _ in rule.labels}


def names_in(columns: dict[str, Coded]) -> frozenset[str]:
    """Return the names of the objects of some rows; those without one have no owner that is looked up by name."""
    return frozenset(filter(None, columns["name"].texts))


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
        rules: The rules of the report.
        columns: Columns of its rows: `group`, `kind`, `namespace`, `name`, and `last_manager` if they are findings.
        labels: The labels of objects that have one of `labels_of_owners`.
        controllers: The controllers of objects.
        top_controller: As that of `ReportOwners`; None leaves open which it is.
    """

    def __init__(
        self,
        rules: tuple[OwnerRule, ...],
        columns: dict[str, Coded],
        labels: Labels,
        controllers: Controllers,
        top_controller: Callable[[str, str, str], str] | None = None,
    ) -> None:
        self._rules = rules
        self._columns = columns
        self._labels = labels
        self._controllers = controllers
        self._top_controller = top_controller

    def of_rows(self, rows: NDArray[np.int64]) -> list[str | Controlled | None]:
        """Return the owners of the objects of some rows; None for one that is not known."""
        names = [field for field in _OF_OWNER if field in self._columns]
        columns = {name: self._columns[name].codes[rows] for name in names}
        named = {place[3] for places in (self._labels, self._controllers) for place in places}
        matters = np.array([text in named for text in self._columns["name"].texts], dtype=bool)
        columns["name"] = np.where(matters[columns["name"]], columns["name"], len(matters) - 1)
        first, group = groups_of(combined([(columns[name], len(self._columns[name].texts)) for name in names]))
        owners = [self.of(row) for row in rows[first].tolist()]
        return [owners[position] for position in group.tolist()]

    def of(self, row: int) -> str | Controlled | None:
        """Return the owner of the object of a row; None if it is not known."""
        group, kind, namespace, name = (self._columns[field].text(row) for field in _OF_OWNER[:4])
        labels = self._labels.get((group, kind, namespace, name), _NO_LABELS)
        for rule in self._rules:
            if rule.matches(group=group, kind=kind, namespace=namespace, labels=labels):
                return rule.team
        manager = self._columns.get("last_manager")
        cluster, controller = self._controllers.get((group, kind, namespace, name), ("", ""))
        if not controller:
            return owner_of(labels, None if manager is None else manager.of(row))
        if (by_labels := owner_of(labels, None)) is not None:
            return by_labels
        if self._top_controller is None:
            return Controlled(namespace, controller)
        return _by_controller(self._top_controller(cluster, namespace, controller))
