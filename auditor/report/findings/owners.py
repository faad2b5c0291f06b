"""Who owns an object: a team that owners.yaml names, else what deployed it, else the field manager that wrote last.

Labels come from the index of the report, which has the same part numbers as its other tables. An owner that is not
known is None: it is never guessed.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from auditor.base.arrow import dictionary_encoded, may_hold, read_parquet, take
from auditor.base.errors import AuditorError, DamagedDump, PlanError
from auditor.report.findings.coded import Coded, combined, groups_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["OwnerRule", "PartOwners", "owner_of", "owner_rules_of", "read_owner_rules"]

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
            and (not self.kind or any(fnmatch.fnmatchcase(one, self.kind) for one in names))
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
    from auditor.sources.yaml import yaml_to_json  # noqa: PLC0415

    try:
        content = yaml_to_json(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError, AuditorError) as error:
        raise PlanError("--owners", f"{path} cannot be read: {error}", "a YAML file of teams") from error
    if isinstance(content, dict) and list(content) == ["owners"]:
        content = content["owners"]
    if not isinstance(content, list):
        raise PlanError("--owners", f"{path} is not a list of entries", "a list of mappings")
    return tuple(_rule(one, f"{path}: entry {number}") for number, one in enumerate(content, 1))


def _rule(content: Any, where: str) -> OwnerRule:
    if not isinstance(content, dict) or [name for name in content if name not in _KEYS]:
        raise PlanError("--owners", f"{where} has other keys", ", ".join(_KEYS))
    labels = content.get("labels") or {}
    if not isinstance(labels, dict) or not all(isinstance(one, str) for pair in labels.items() for one in pair):
        raise PlanError("--owners", f"{where}: labels is not a mapping of texts", "label: glob")
    texts = {name: content.get(name) or "" for name in _KEYS[:3]}
    if not all(isinstance(one, str) for one in texts.values()) or not texts["team"]:
        raise PlanError("--owners", f"{where} names no team", "a text")
    if not (texts["namespace"] or texts["kind"] or labels):
        raise PlanError("--owners", f"{where} has no glob", "at least one of namespace, kind and labels")
    return OwnerRule(**texts, labels=tuple(labels.items()))


def owner_rules_of(manifest: dict[str, Any]) -> tuple[OwnerRule, ...]:
    """Return the rules that a report was made with."""
    return tuple(_rule(one, "owners") for one in manifest["options"].get("owners") or ())


def owner_of(labels: Mapping[str, str], manager: str | None) -> str | None:
    """Return what deployed an object, by its labels, else the last field manager; None if neither is known."""
    if application := labels.get(_ARGO):
        return f"argocd:{application}"
    for name, prefix in _FLUX:
        if found := labels.get(f"{prefix}/name"):
            return f"{name}:{labels.get(f'{prefix}/namespace', '')}/{found}"
    if labels.get(_MANAGED_BY) == "Helm" and (release := labels.get(_INSTANCE)):
        return f"helm:{release}"
    return f"manager:{manager}" if manager else None


class PartOwners:
    """The owners of the objects of one part of a report.

    Args:
        report: Folder of the report.
        manifest: Its manifest.
        part: Name of the file of the part, which is the same in all tables.
        columns: Columns of its rows: `group`, `kind`, `audited_version`, `namespace`, `name`, and `last_manager` if the
            rows are findings.
        without: Files of the index without a label that names an owner, as far as they are known; more are added.
    """

    def __init__(
        self,
        report: Path,
        manifest: dict[str, Any],
        part: str,
        columns: dict[str, Coded],
        without: set[Path] | None = None,
    ) -> None:
        self._columns = columns
        self._rules = owner_rules_of(manifest)
        self._keys = {key for rule in self._rules for key, _ in rule.labels} | _LABELS
        self._labels: dict[tuple[str, str, str, str], dict[str, str]] = {}
        kinds = {(group, kind) for group in columns["group"].texts for kind in columns["kind"].texts if kind}
        names = frozenset(filter(None, columns["name"].texts))
        without = set() if without is None else without
        for entry in manifest.get("index") or ():
            path = report / "index" / str(entry.get("folder")) / part
            if (entry.get("group"), entry.get("kind")) not in kinds or path in without:
                continue
            if ".." not in path.parts and path.is_file():
                self._read(path, entry["group"], entry["kind"], names, without)

    def _read(self, path: Path, group: str, kind: str, names: frozenset[str], without: set[Path]) -> None:
        """Read the labels of the objects that are needed; objects have the same labels at each version."""
        try:
            if not may_hold(path, _LABEL_NAMES, self._keys):
                without.add(path)
                return
            table = read_parquet(path, _INDEX_COLUMNS)
            keys = {
                text
                for chunk in table["labels"].chunks
                for text in dictionary_encoded(chunk.keys).dictionary.to_pylist()
            }
            if not keys & self._keys:
                without.add(path)
                return
            name = Coded(table["name"])
            wanted = np.array([text in names for text in name.texts])[name.codes]
            rows = take(table, np.flatnonzero(wanted)).to_pylist()
        except DamagedDump:
            return  # then the labels are not known
        for row in rows:
            self._labels[(group, kind, row["namespace"] or "", row["name"])] = dict(row["labels"] or ())

    def of_rows(self, rows: NDArray[np.int64]) -> list[str | None]:
        """Return the owners of the objects of some rows; None for one that is not known."""
        names = [one for one in _OF_OWNER if one in self._columns and (self._labels or one != "name")]
        columns = [self._columns[one] for one in names]
        first, group = groups_of(combined([(one.codes[rows], len(one.texts)) for one in columns]))
        found = [self.of(row) for row in rows[first].tolist()]
        return [found[at] for at in group.tolist()]

    def of(self, row: int) -> str | None:
        """Return the owner of the object of a row; None if it is not known."""
        group, kind, namespace, name = (self._columns[one].text(row) for one in _OF_OWNER[:4])
        labels = self._labels.get((group, kind, namespace, name), _NO_LABELS)
        for rule in self._rules:
            if rule.matches(group=group, kind=kind, namespace=namespace, labels=labels):
                return rule.team
        manager = self._columns.get("last_manager")
        return owner_of(labels, None if manager is None else manager.of(row))
