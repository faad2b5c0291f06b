"""Topics: the causes that one person deals with at once, of one definition and one part of it.

A definition with a hundred faulty fields has a hundred causes and one topic: its schema. The topic of a cause follows
from what identifies the cause, so its id is the same in every report too.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.report.findings.severity import rank, worst_of
from auditor.report.findings.titles import kind_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from auditor.report.findings.causes import Cause
    from auditor.report.findings.keys import CauseKey

__all__ = ["AREAS", "Topic", "area_of", "topic_of", "topics_of"]

AREAS: Final = {
    "schema": "schema",
    "list-type": "schema",
    "embedded": "schema",
    "scale": "schema",
    "rule": "rules",
    "type-meta": "metadata",
    "object-meta": "metadata",
    "gate": "gates",
}
"""The part of a definition that a check belongs to; an impact, and a check that is not here, is a part of its own."""
_ID_DIGITS: Final = 8
_VERSION: Final = "1"


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
        return first.title if len(self.causes) == 1 else f"{self.area}: {len(self.causes)} causes, first {first.title}"

    @property
    def kind_name(self) -> str:
        """The kind with its group."""
        return kind_name(self.causes[0].group, self.causes[0].kind)


def area_of(check: str | None, impact: str | None) -> str:
    """Return the part of a definition that a cause belongs to."""
    return impact or AREAS.get(check or "", check or "")


def topic_of(key: CauseKey) -> str:
    """Return the id of the topic of a cause."""
    content = [_VERSION, key.group, key.kind, key.version, area_of(key.check, key.impact)]
    return hashlib.sha256(b"topic" + orjson.dumps(content)).hexdigest()[:_ID_DIGITS]


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
    topics = [Topic(topic, tuple(found), counts.get(topic, 0)) for topic, found in members.items()]
    return sorted(topics, key=lambda topic: (rank(topic.severity), -topic.objects))
