"""Causes as they are read, those of all clusters together; and topics, the causes that one person deals with at once.

A topic is the causes of one definition and one part of it: a definition with a hundred faulty fields has a hundred
causes and one topic, its schema.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.causes.keys import area_of
from auditor.causes.severity import SEVERITIES, rank, worst_of
from auditor.causes.titles import kind_name, remedy_of

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Sequence


_CHANGES: Final = ("new", "more", "same", "not-rechecked", "fixed")
_SUMS: Final = (
    *("objects", "findings", "distinct_findings", "new_objects", "new_findings", "fixed_objects", "fixed_findings"),
    *("accepted_objects", "accepted_findings", "rejected", "tolerated_while_unchanged", "tolerated_globally"),
    "verdict_unknown",
)
_IMPACTS: Final = ("crashes-server", "breaks-list", "breaks-watch")
"""Impacts that come first among causes of one severity: until they are repaired, a kind or the server is down."""
_EXAMPLES: Final = 3
_OWNERS: Final = 5


@dataclass(frozen=True, slots=True)
class Cause:
    """Why findings are there, or what objects do to a server.

    Attributes:
        id: First digits of the digest, at least 8; unique in the report.
        digest: Digest of what identifies the cause; the same in every report.
        severity: critical, high, medium or low; the worst of its objects that are not accepted.
        change: new, more, same, fixed or not-rechecked against the earlier report; None without one.
        title: What is wrong, in one line, without the kind.
        group: API group.
        kind: Kind; the plural name where the kind is not known.
        version: Audited version; None for an impact on the kind as a whole.
        impact: What the objects do to a server; None for findings.
        check: Which check objects; None for an impact.
        type: The server's cause; None for an impact.
        field: Path without indexes and map keys; None for an impact.
        rule: Text of the validation rule, if one failed.
        guard_path: Path within which a change makes the server refuse an update; None if there is none.
        clusters: Clusters in which it is; empty for one without a name.
        objects: Number of objects.
        namespaces: Number of namespaces, counted in each cluster; None for a cause of an upgrade, which counts none.
        findings: Number of rows of findings/; 0 for an impact.
        distinct_findings: The same, a finding of several requests counted once, and those that follow from others not.
        new_objects: Objects of `objects` that are new or worse.
        new_findings: Rows of `findings` that are new.
        fixed_objects: Objects of the earlier report that are fixed.
        fixed_findings: Findings of the earlier report that are fixed.
        accepted_objects: Objects with no finding of this cause that is not accepted.
        accepted_findings: Rows of `findings` that are accepted.
        rejected: Objects that no update can change: each is refused.
        tolerated_while_unchanged: Objects that updates can change while the field stays as it is.
        tolerated_globally: Objects that updates can change anyway.
        verdict_unknown: Objects without a verdict: no update was tried.
        first_seen: Start of the first run that had it, as far as the reports know.
        last_seen: Start of the last run that had it.
        owners: The most frequent owners; empty if none is known.
        schema_changes: What changed in the definition since the earlier report, e.g. ``required: + spec.tier``.
        examples: Up to three objects, each a key, or NAMESPACE/NAME if it has none.
        messages: The message of each example.
        example_clusters: The cluster of each example; empty without a name.
        topic: Id of the topic: causes of one definition and one part of it.
        last_good: For each example its newest older revision that can be read, and when that was written; empty if the
            dump has none.
    """

    id: str
    digest: str
    severity: str
    change: str | None
    title: str
    group: str
    kind: str
    version: str | None
    impact: str | None
    check: str | None
    type: str | None
    field: str | None
    rule: str | None
    guard_path: str | None
    clusters: tuple[str, ...]
    objects: int
    namespaces: int | None
    findings: int
    distinct_findings: int
    new_objects: int
    new_findings: int
    fixed_objects: int
    fixed_findings: int
    accepted_objects: int
    accepted_findings: int
    rejected: int
    tolerated_while_unchanged: int
    tolerated_globally: int
    verdict_unknown: int
    first_seen: datetime.datetime
    last_seen: datetime.datetime
    owners: tuple[str, ...]
    schema_changes: tuple[str, ...]
    examples: tuple[str, ...]
    messages: tuple[str, ...]
    example_clusters: tuple[str, ...]
    topic: str = ""
    last_good: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether it has objects that are not accepted."""
        return self.objects > self.accepted_objects

    @property
    def kind_name(self) -> str:
        """The kind with its group."""
        return kind_name(self.group, self.kind)

    @property
    def remedy(self) -> str:
        """What to do about it; empty for what an upgrade does."""
        return remedy_of(self.impact or "", self.type or "", self.messages)


@dataclass(frozen=True, slots=True)
class Topic:
    """Causes that belong together, as far as they are not accepted.

    Attributes:
        id: First digits of a digest; the same in every report.
        causes: The causes, worst and new ones first.
        objects: Objects with at least one finding of the causes that is not accepted.
    """

    id: str
    causes: tuple[Cause, ...]
    objects: int

    @property
    def severity(self) -> str:
        """The worst severity of the causes."""
        return worst_of(cause.severity for cause in self.causes)

    @property
    def change(self) -> str | None:
        """New if all causes are new, more if one is new or has new objects, else the change of the first."""
        changes = {cause.change for cause in self.causes}
        if changes == {"new"}:
            return "new"
        return "more" if changes & {"new", "more"} else self.causes[0].change

    @property
    def area(self) -> str:
        """The part of the definition."""
        return area_of(self.causes[0].check, self.causes[0].impact)

    @property
    def title(self) -> str:
        """What is wrong, in one line, without the kind."""
        first = self.causes[0]
        if len(self.causes) == 1:
            return first.title
        severity = self.severity
        worst = sum(cause.severity == severity for cause in self.causes)
        some = "" if worst == len(self.causes) else f" ({worst} {severity})"
        return f"{self.area}: {len(self.causes)} causes{some}, first {first.title}"

    @property
    def kind_name(self) -> str:
        """The kind with its group."""
        return kind_name(self.causes[0].group, self.causes[0].kind)


def merged(rows: Iterable[dict[str, Any]], started: datetime.datetime) -> list[Cause]:
    """Return the causes of rows of causes.parquet, worst and new ones first; the rows of clusters are added up.

    Args:
        rows: The rows.
        started: When the run began, for causes that no earlier report has.
    """
    by_digest: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_digest.setdefault(row["digest"], []).append(row)
    causes = [_merged(group, started) for group in by_digest.values()]
    return sorted(
        causes,
        key=lambda one: (
            *(not one.objects, SEVERITIES.index(one.severity), _change_rank(one.change)),
            _IMPACTS.index(one.impact) if one.impact in _IMPACTS else len(_IMPACTS),
        ),
    )


def _change_rank(change: str | None) -> int:
    return _CHANGES.index(change) if change in _CHANGES else 0


def _merged(rows: list[dict[str, Any]], started: datetime.datetime) -> Cause:
    first = next((row for row in rows if row["objects"]), rows[0])
    present = [row for row in rows if row["objects"]] or rows
    owners: Counter[str] = Counter()
    for row in rows:
        for place, name in enumerate(row["owners"] or ()):
            owners[name] += _OWNERS - place
    examples = [
        (example, message, row["cluster"] or "", last_good)
        for row in present
        for example, message, last_good in zip(
            row["examples"] or (), row["messages"] or (), row["last_good"] or (), strict=True
        )
    ][:_EXAMPLES]
    changes = [row["change"] for row in present]
    counts = [row["namespaces"] for row in rows]
    return Cause(
        id=first["cause"],
        digest=first["digest"],
        severity=worst_of(row["severity"] for row in present),
        change=_change(changes),
        clusters=tuple(row["cluster"] for row in present if row["cluster"]),
        owners=tuple(name for name, _ in owners.most_common(_OWNERS)),
        schema_changes=tuple(dict.fromkeys(text for row in rows for text in row["schema_changes"] or ())),
        examples=tuple(example for example, _, _, _ in examples),
        messages=tuple(message for _, message, _, _ in examples),
        example_clusters=tuple(cluster for _, _, cluster, _ in examples),
        last_good=tuple(last_good for _, _, _, last_good in examples),
        topic=first["topic"],
        namespaces=None if None in counts else sum(counts),
        first_seen=min(row["first_seen"] or started for row in rows),
        last_seen=max(row["last_seen"] or started for row in rows),
        **{name: sum(row[name] for row in rows) for name in _SUMS},
        **{
            name: first[name]
            for name in ("title", "group", "kind", "version", "impact", "check", "type", "field", "rule", "guard_path")
        },
    )


def _change(changes: list[str | None]) -> str | None:
    """Return the change of a cause in several clusters: new only if it is new in all of them."""
    known = [change for change in changes if change is not None]
    if not known:
        return None
    if "new" in known and any(change != "new" for change in known):
        return "more"
    return min(known, key=_CHANGES.index)


def topics_of(causes: Sequence[Cause], rows: Iterable[dict[str, Any]]) -> list[Topic]:
    """Return the topics of the causes that are not accepted, worst first.

    Args:
        causes: The causes of a report, worst and new ones first.
        rows: The rows of causes.parquet that they were made of.
    """
    objects: dict[tuple[str, str | None], int] = {}
    for row in rows:
        place = (row["topic"], row["cluster"])
        objects[place] = max(objects.get(place, 0), row["topic_objects"])
    members: dict[str, list[Cause]] = {}
    for cause in causes:
        if cause.is_open:
            members.setdefault(cause.topic, []).append(cause)
    counts: dict[str, int] = {}
    for (topic, _), count in objects.items():
        counts[topic] = counts.get(topic, 0) + count
    topics = [Topic(topic, tuple(causes), counts.get(topic, 0)) for topic, causes in members.items()]
    return sorted(topics, key=lambda topic: (rank(topic.severity), -topic.objects))
