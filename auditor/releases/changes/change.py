"""What a record of the table of changes is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from auditor.releases.release import Release, active

__all__ = ["Affects", "Change"]


class Affects(StrEnum):
    """What a change is about."""

    OBJECTS = "stored objects"
    DEFINITIONS = "definitions"
    MESSAGES = "messages"


@dataclass(frozen=True, slots=True)
class Change:
    """One behaviour that differs between releases.

    Attributes:
        name: Short, unique.
        since: The first minor release that behaves in the new way: 37 of 1.37.
        affects: What it is about.
        what: The new behaviour, in a sentence.
        before: The old one.
        source: Where it can be read: files of the k8s.io modules, pull requests.
    """

    name: str
    since: int
    affects: Affects
    what: str
    before: str
    source: str

    def is_in(self, release: Release) -> bool:
        """Tell whether a release behaves in the new way."""
        return release.minor >= self.since or self.name in release.also

    @property
    def version(self) -> tuple[int, int]:
        """The compatibility version of the rule language in which it came."""
        return (1, self.since)

    @property
    def holds(self) -> bool:
        """Whether the release that is reproduced at the moment behaves in the new way."""
        return self.is_in(active())
