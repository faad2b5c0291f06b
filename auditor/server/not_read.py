"""Notes about objects of a query that cannot be read although they may be intact, one note for each kind.

An encrypted value needs its key, an object that is stored at another version needs its conversion webhook. The former
is left out of the answer, the latter is shown as stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.base.wording import are, by_count, objects
from auditor.printing.get.server_errors import NotShown
from auditor.shards.sealed import sealed_by

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

    from auditor.printing.discovery import Resource
    from auditor.sources.encryption import SealedCount, Unsealer


_MOST_REPORTED: Final = 10
"""Corrupt objects of an answer that are reported one by one."""
_LONGEST: Final = 300


def unlisted(resource: Resource) -> str:
    """Return the line about a kind with objects that a server cannot decode."""
    kind = resource.group_resource
    return f"a live server answers no LIST of {kind} that reads such an object; --as-server shows what it says\n"


class CorruptObjects:
    """Reports the objects of an answer that no server can read: the first ones by name, then how many more.

    Args:
        warn: Gets the lines.

    Attributes:
        count: How many there are.
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        self.count = 0
        self._warn = warn

    def add(self, place: str, reason: str) -> None:
        """Count and report an object."""
        self.count += 1
        if self.count <= _MOST_REPORTED:
            short = reason if len(reason) <= _LONGEST else reason[: _LONGEST - 3] + "..."
            self._warn(f"500: corrupt object {place}: {short}\n")

    def end(self) -> None:
        """Report how many were not named."""
        if self.count > _MOST_REPORTED:
            self._warn(f"500: and {self.count - _MOST_REPORTED} more corrupt objects\n")


class NotRead:
    """Counts the objects of one answer that could not be read, and reports them once.

    Args:
        resource: The kind and the requested version.
        unsealer: Opens the values; it counts those that lack a key.
    """

    def __init__(self, resource: Resource, unsealer: Unsealer) -> None:
        self.resource = resource
        self.sealed = 0
        self.unconverted = 0
        self._unsealer = unsealer
        self._before: Counter[SealedCount] = unsealer.counts.copy()

    def note(self, warn: Callable[[str], None]) -> None:
        """Write the notes, if there are any."""
        kind = self.resource.group_resource
        if self.sealed:
            text = "; ".join(sealed_by(self._entries()))
            warn(f"note: {objects(self.sealed)} of {kind} {are(self.sealed)} not shown: {text}\n")
        if self.unconverted:
            number, part, them = self.unconverted, self.resource.version, by_count(self.unconverted, "it", "them")
            warn(
                f"note: {objects(number)} of {kind} {are(number)} shown as stored: only the conversion webhook can "
                f"read {them} at {part} (--convert-with CMD)\n"
            )

    def error(self, name: str) -> NotShown:
        """Return the error for a request for one object that is encrypted."""
        return NotShown(f"{self.resource.group_resource} {name} is not shown: {'; '.join(sealed_by(self._entries()))}")

    def _entries(self) -> list[dict[str, object]]:
        counts = self._unsealer.counts - self._before
        return [
            {**reason._asdict(), "values": number, "sealed": True}
            for reason, number in sorted(counts.items())
            if reason.lacks_key
        ]
