"""Notes about objects of a query that cannot be read although they may be intact, one note for each kind.

An encrypted value needs its key, an object that is stored at another version needs its conversion webhook. The former
is left out of the answer, the latter is shown as stored.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from auditor.base.wording import are, by_count, objects, shortened
from auditor.printing.get.server_errors import NotShown
from auditor.shards.sealed import sealed_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.printing.discovery import Resource
    from auditor.server.dump_rows import StoredRow
    from auditor.sources.encryption import SealedCount


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
            self._warn(f"500: corrupt object {place}: {shortened(reason, _LONGEST)}\n")

    def end(self) -> None:
        """Report how many were not named."""
        if self.count > _MOST_REPORTED:
            self._warn(f"500: and {self.count - _MOST_REPORTED} more corrupt objects\n")


@dataclass(slots=True)
class LeftOut:
    """How many objects are left out of the answers, by reason.

    Attributes:
        sealed: Encrypted, without a key for them.
        failed: This program failed on them.
        corrupt: No server can read them.
    """

    sealed: int = 0
    failed: int = 0
    corrupt: int = 0

    def __bool__(self) -> bool:
        return bool(self.sealed or self.failed or self.corrupt)


class NotRead:
    """Counts the objects of one answer that could not be read, and reports them once.

    Args:
        resource: The kind and the requested version.
        left_out: Counts what is left out of all answers.
        is_requested: Whether an object that cannot be read could belong to the answer.
    """

    def __init__(
        self, resource: Resource, left_out: LeftOut, is_requested: Callable[[StoredRow], bool] = lambda _: True
    ) -> None:
        self.resource = resource
        self.is_requested = is_requested
        self.unconverted = 0
        self._left_out = left_out
        self._sealed: Counter[SealedCount] = Counter()

    def add(self, row: StoredRow, sealed: SealedCount) -> None:
        """Count an object that is encrypted, and left out."""
        if self.is_requested(row):
            self._sealed[sealed] += 1
            self._left_out.sealed += 1

    def note(self, warn: Callable[[str], None]) -> None:
        """Write the notes, if there are any."""
        kind = self.resource.group_resource
        if number := self._sealed.total():
            warn(f"note: {objects(number)} of {kind} {are(number)} not shown: {self._providers()}\n")
        if self.unconverted:
            number, part, them = self.unconverted, self.resource.version, by_count(self.unconverted, "it", "them")
            warn(
                f"note: {objects(number)} of {kind} {are(number)} shown as stored: only the conversion webhook can "
                f"read {them} at {part} (--convert-with CMD)\n"
            )

    def error(self, name: str) -> NotShown:
        """Return the error for a request for one object that is encrypted."""
        return NotShown(f"{self.resource.group_resource} {name} is not shown: {self._providers()}")

    def _providers(self) -> str:
        counts = sorted(self._sealed.items())
        return "; ".join(sealed_by({**by._asdict(), "values": number, "sealed": True} for by, number in counts))
