"""Notes about objects of a query that cannot be read although they may be intact, one note for each kind.

An encrypted value needs its key, an object that is stored at another version needs its conversion webhook. The former
is left out of the answer, the latter is shown as stored.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from auditor.base.wording import are, by_count, counted, objects, shortened
from auditor.printing.get.server_errors import NotShown
from auditor.shards.sealed import sealed_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.printing.discovery import Resource
    from auditor.server.dump_rows import StoredRow
    from auditor.sources.encryption import SealedCount


_MOST_REPORTED: Final = 3
"""Corrupt objects, and kinds of them, that are reported by name."""
_LONGEST: Final = 300


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


class CorruptObjects:
    """Reports the objects that no server can read: the first ones by name, and after the answers how many more.

    Args:
        left_out: Counts what is left out of all answers.
        warn: Gets the lines.
    """

    def __init__(self, left_out: LeftOut, warn: Callable[[str], None]) -> None:
        self._left_out, self._warn = left_out, warn
        self._count = 0
        self._unlisted: dict[str, None] = {}

    def add(self, place: str, reason: str, listed: Resource | None = None) -> None:
        """Count and report an object.

        Args:
            place: Where it is.
            reason: Why it cannot be read.
            listed: Its kind, if the answer is to a LIST.
        """
        self._left_out.corrupt += 1
        self._count += 1
        if listed is not None:
            self._unlisted[listed.group_resource] = None
        if self._count <= _MOST_REPORTED:
            self._warn(f"500: corrupt object {place}: {shortened(reason, _LONGEST)}\n")

    def end(self) -> None:
        """Report how many were not named, and the kinds that a server does not list."""
        if self._count > _MOST_REPORTED:
            more = counted(self._count - _MOST_REPORTED, "more corrupt object")
            self._warn(f"500: and {more}; auditor kinds DUMP counts them, auditor audit DUMP names them\n")
        if self._unlisted:
            kinds = [*self._unlisted][:_MOST_REPORTED]
            more = f" and {counted(len(self._unlisted) - len(kinds), 'more kind')}"
            names = ", ".join(kinds) + (more if len(self._unlisted) > len(kinds) else "")
            self._warn(
                f"a live server answers no LIST of {names} that reads such an object; --as-server shows what it says\n"
            )


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
