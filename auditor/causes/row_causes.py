"""The cause of each row of findings/ and objects/ of a report, part by part."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from auditor.causes.follows import BLOCKING, FOLLOWS
from auditor.causes.keys import CauseKey, form_of, topic_of
from auditor.store.coded import Coded, combined, groups_of
from auditor.updates.apply_answer import APPLY_FAILS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from auditor.causes.field_patterns import Definitions


Numbers = np.ndarray[Any, Any]

FINDING_COLUMNS: Final = (
    *("cluster", "key", "group", "kind", "audited_version", "namespace", "name", "request", "check", "field", "type"),
    *("detail", "verdict", "guard_path", "rule", "last_manager"),
)
"""Columns of findings/ that the grouping needs."""
OBJECT_COLUMNS: Final = (
    *("cluster", "key", "group", "plural", "kind", "audited_version", "namespace", "name", "status", "reason"),
    *("impact", "impacts", "pruned"),
)
"""Columns of objects/ that the grouping needs."""
CONCERNED: Final = ("status", "impact", "cluster", "namespace")
"""Columns of objects/ that show which objects need the others."""
_HARMLESS: Final = ("none", "drifts", "unknown")
_OF_KEY: Final = ("cluster", "group", "kind", "audited_version", "check", "field", "type", "detail", "rule")
_OF_OBJECT: Final = ("cluster", "key", "group", "kind", "audited_version", "namespace", "name")
_OF_IMPACT: Final = ("group", "plural", "kind", "audited_version")
IMPACTS: Final = (
    *("crashes-server", "breaks-list", "breaks-watch", "is-deleted", "needs-webhook", "blocks-delete", "blocks-apply"),
    "loses-data",
)
"""Impacts that are causes, worst first; the severity of each is in `severity`, its title in `titles`."""
OF_NAMESPACES: Final = {"deleted": "loses-namespace", "missing": "lacks-namespace"}
"""Causes by what a namespace is (`namespaces` of a manifest); each such namespace is one, with the objects in it."""
IN_NAMESPACES: Final = ("valid", "invalid", "builtin", "sealed", "needs-conversion")
"""Statuses of objects whose namespace matters to them; what no server reads at its key has causes of its own."""
_MOST_FOUND: Final = 100_000
"""Findings without their objects that are known to be of a cause."""
_OF_VERSION: Final = ("loses-data", "blocks-delete", "blocks-apply")
"""Impacts that depend on the version."""
_STATUSES: Final = ("unreadable", "needs-conversion", "unserved", "orphaned", "sealed")


class CauseNumbers:
    """Numbers causes in the order in which they are found; the same instance serves all parts of a report.

    Args:
        definitions: The definitions of the report, for the keys of maps in paths.
        namespaces: The impact of namespaces that are missing or deleted, by cluster and name (`namespaces_of`).
        are_namespaces_left: Whether only the causes of these are not counted yet.

    Attributes:
        keys: The causes.
        topics: For each cause the number of its topic.
    """

    def __init__(
        self,
        definitions: Definitions,
        namespaces: dict[tuple[str, str], str] | None = None,
        *,
        are_namespaces_left: bool = False,
    ) -> None:
        self.definitions = definitions
        self.namespaces = namespaces or {}
        self.are_namespaces_left = are_namespaces_left
        self.keys: list[CauseKey] = []
        self.topics: list[int] = []
        self._of_topics: dict[str, int] = {}
        self._numbers: dict[CauseKey, int] = {}
        self._found: dict[tuple[str | None, ...], int] = {}

    def number(self, key: CauseKey) -> int:
        """Return the number of a cause; of several wordings the first in alphabetical order is kept."""
        meant = key.meaning()
        number = self._numbers.get(meant)
        if number is None:
            number = self._numbers[meant] = len(self.keys)
            self.keys.append(key)
            self.topics.append(self._of_topics.setdefault(topic_of(key), len(self._of_topics)))
        else:
            self.keys[number] = min(self.keys[number], key, key=_WORDING)
        return number

    def of_finding(self, values: tuple[str | None, ...]) -> int:
        """Return the number of the cause of a finding.

        Args:
            values: The columns `cluster`, `group`, `kind`, `audited_version`, `check`, `field`, `type`, `detail` and
                `rule` of its row.
        """
        number = self._found.get(values)
        if number is None:
            if len(self._found) >= _MOST_FOUND:  # details may have names of objects
                self._found.clear()
            cluster, group, kind, version, check, field, type_, detail, rule = (value or "" for value in values)
            number = self._found[values] = self.number(
                CauseKey(
                    group=group,
                    kind=kind,
                    version=version,
                    check=check,
                    type=type_,
                    field=self.definitions.generic(cluster, group, kind, version, field),
                    rule=rule,
                    form="" if rule else form_of(detail, field),
                )
            )
        return number


_WORDING: Final = attrgetter("field", "type", "form")


@dataclass(slots=True)
class FindingRows:
    """Rows of a part of findings/ and the cause of each.

    Attributes:
        columns: The columns of `FINDING_COLUMNS` by name.
        cause: For each row the number of its cause.
        object: For each row the number of its object within the part; with another version it is another one.
        distinct: For each row a number that is equal for the same finding of several requests.
        topic: For each row the number of the topic of its cause.
    """

    columns: dict[str, Coded]
    cause: NDArray[np.int64]
    object: NDArray[np.int64]
    distinct: NDArray[np.int64]
    topic: NDArray[np.int64]

    @classmethod
    def of(cls, table: Any, causes: CauseNumbers) -> FindingRows:
        """Return the rows of a table with their causes."""
        columns = {name: Coded(table[name]) for name in FINDING_COLUMNS}
        own = combined([(columns[name].codes, len(columns[name].texts)) for name in _OF_KEY])
        first, group = groups_of(own)
        numbers = [causes.of_finding(tuple(columns[name].of(row) for name in _OF_KEY)) for row in first.tolist()]
        cause = np.array(numbers, dtype=np.int64)[group] if numbers else np.zeros(0, dtype=np.int64)
        objects = _runs([columns[name].codes for name in _OF_OBJECT])
        distinct = groups_of(combined([(objects, len(objects)), (group, len(first))]))[1]
        cause = _followed(columns, cause, objects)
        topic = np.array(causes.topics, dtype=np.int64)[cause] if len(cause) else cause
        return cls(columns, cause, objects, distinct, topic)

    def __len__(self) -> int:
        return len(self.cause)


def _runs(columns: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the number of the run of each row: rows next to each other that are equal in all columns."""
    if not len(columns[0]):
        return np.zeros(0, dtype=np.int64)
    begins = np.zeros(len(columns[0]), dtype=bool)
    for codes in columns:
        begins[1:] |= codes[1:] != codes[:-1]
    return np.cumsum(begins)


def follows_of(columns: dict[str, Coded]) -> NDArray[np.bool_]:
    """Return for each row of findings/ whether it follows from others of its object."""
    details = columns["detail"]
    begins = np.array([text is not None and text.startswith(FOLLOWS) for text in details.texts])
    follows: NDArray[np.bool_] = begins[details.codes] & (columns["field"].numbers(("<nil>",)) == 0)
    return follows


def _followed(columns: dict[str, Coded], cause: NDArray[np.int64], objects: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the causes of rows; a finding that follows from others has the cause of the first of these.

    Rules are not checked because of findings of some types alone: a label that is wrong is no reason.
    """
    follows = follows_of(columns)
    if not follows.any():
        return cause
    out = cause.copy()
    requests = columns["request"]
    own = np.flatnonzero(~follows)
    blocking = own[columns["type"].numbers(BLOCKING)[own] < len(BLOCKING)]
    rows = np.flatnonzero(follows)
    of_request = combined([(objects, len(objects)), (requests.codes, len(requests.texts))])
    for chosen, place in ((blocking, of_request), (blocking, objects), (own, of_request), (own, objects)):
        places, first = np.unique(place[chosen], return_index=True)
        if not len(places):
            continue
        positions = np.minimum(np.searchsorted(places, place[rows]), len(places) - 1)
        is_followed = places[positions] == place[rows]
        out[rows[is_followed]] = cause[chosen[first[positions[is_followed]]]]
        rows = rows[~is_followed]
    return out


@dataclass(slots=True)
class ObjectImpacts:
    """The rows of a part of objects/ that have an impact of their own, one for each impact.

    Attributes:
        columns: Columns of `OBJECT_COLUMNS` by name, without `impacts` and `pruned`.
        row: For each entry the row in the part.
        cause: For each entry the number of its cause.
        impact: For each entry its impact, a key of `severity.OF_IMPACT`.
    """

    columns: dict[str, Coded]
    row: NDArray[np.int64]
    cause: NDArray[np.int64]
    impact: list[str]

    @classmethod
    def of(cls, table: Any, causes: CauseNumbers) -> ObjectImpacts:
        """Return the impacts of the objects of a table."""
        columns = {name: Coded(table[name]) for name in OBJECT_COLUMNS if name not in ("impacts", "pruned")}
        impacts = table["impacts"].to_pylist()
        in_namespaces = _in_namespaces(columns, causes.namespaces)
        rows, numbers, names = [], [], []
        known: dict[tuple[str | None, ...], int] = {}
        for row, every in enumerate(impacts):
            status = columns["status"].of(row)
            own = [] if causes.are_namespaces_left else _impacts(every or (), status, columns["reason"].of(row))
            object_impacts = [(impact, "") for impact in own]
            if in_namespaces[row]:
                place = columns["cluster"].text(row), columns["namespace"].text(row)
                object_impacts.append((causes.namespaces[place], place[1]))
            for impact, namespace in object_impacts:
                rows.append(row)
                names.append(impact)
                of = (impact, namespace, *(() if namespace else (columns[name].of(row) for name in _OF_IMPACT)))
                if of not in known:
                    key = CauseKey(kind="Namespace", form=namespace, impact=impact)
                    known[of] = causes.number(key if namespace else _key(columns, row, impact))
                numbers.append(known[of])
        return cls(columns, np.array(rows, dtype=np.int64), np.array(numbers, dtype=np.int64), names)


def concerned(table: Any, causes: CauseNumbers) -> NDArray[np.bool_]:
    """Return for each row of a part of objects/ whether it may have an impact that is a cause.

    Args:
        table: The columns `CONCERNED` of the part.
        causes: Numbers the causes.
    """
    columns = {name: Coded(table[name]) for name in CONCERNED}
    mask = _in_namespaces(columns, causes.namespaces)
    if not causes.are_namespaces_left:
        mask |= has_own_impact(columns)
    return mask


def has_own_impact(columns: dict[str, Coded]) -> NDArray[np.bool_]:
    """Return for each object whether it may have an impact that is a cause, whatever its namespace is."""
    mask: NDArray[np.bool_] = columns["status"].numbers(_STATUSES) < len(_STATUSES)
    mask |= columns["impact"].numbers(_HARMLESS) == len(_HARMLESS)
    return mask


def namespaces_of(manifest: dict[str, Any]) -> dict[tuple[str, str], str]:
    """Return the impact of the namespaces of a report that are missing or deleted, by cluster and name."""
    return {
        (namespace["cluster"] or "", namespace["name"]): OF_NAMESPACES[namespace["is"]]
        for namespace in manifest.get("namespaces") or ()
    }


def shows_namespaces(manifest: dict[str, Any], cluster: str | None) -> bool:
    """Return whether the dumps of a cluster of a report show which namespaces there are."""
    parts = [part for part in manifest.get("clusters") or () if part["name"] == cluster] or [manifest]
    return parts[0].get("namespaces") is not None


def _in_namespaces(columns: dict[str, Coded], namespaces: dict[tuple[str, str], str]) -> NDArray[np.bool_]:
    """Return for each row whether its object is in one of some namespaces."""
    mask = np.zeros(len(columns["status"]), dtype=bool)
    if namespaces:
        cluster, namespace = columns["cluster"], columns["namespace"]
        names = sorted({name for _, name in namespaces})
        mask = (namespace.numbers(names) < len(names)) & (columns["status"].numbers(IN_NAMESPACES) < len(IN_NAMESPACES))
        for row in np.flatnonzero(mask).tolist():
            mask[row] = (cluster.text(row), namespace.text(row)) in namespaces
    return mask


def _impacts(impacts: list[str] | tuple[()], status: str | None, reason: str | None) -> list[str]:
    """Return the impacts that are causes: of those that break the kind only the worst."""
    if status == "needs-conversion" and reason is None:
        status = None  # it was judged at its own version: the cause is the impact
    shown = [impact for impact in IMPACTS if impact in impacts]
    if "crashes-server" in shown:
        shown = [impact for impact in shown if impact not in ("breaks-list", "breaks-watch")]
    if status == "needs-conversion" and "needs-webhook" in shown:
        shown.remove("needs-webhook")
    if status in _STATUSES and not (status == "unreadable" and shown):
        shown.append(status)
    return shown


def reason_of(impact: str, reason: str) -> str:
    """Return what the reason of an object says about one of its impacts; empty if it is about another one."""
    return reason if reason.startswith(APPLY_FAILS) is (impact == "blocks-apply") else ""


def _key(columns: dict[str, Coded], row: int, impact: str) -> CauseKey:
    version = columns["audited_version"].text(row) if impact in _OF_VERSION else ""
    kind = columns["kind"].text(row) or columns["plural"].text(row)
    return CauseKey(group=columns["group"].text(row), kind=kind, version=version, impact=impact)


def is_new(change: Coded) -> NDArray[np.bool_]:
    """Return for each row whether its column `change` says that it is new or worse."""
    fresh: NDArray[np.bool_] = change.numbers(("new", "worse")) < len(("new", "worse"))
    return fresh
