"""The result of opening a dump: plain records that can be sent to other processes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import visible
from auditor.sources.registry_key import printable_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.base.errors import SourceError


NAMED: Final = 10
"""Number of files that a note names."""


WHOLE: Final = "the whole dump"
NOT_OPENED: Final = "the whole dump, for want of another file"
"""Places of damage: all of a dump, by its own fault or by that of a file that it is read with, such as one of keys."""
BESIDE: Final = " beside it"
"""How the place of another dump ends."""
UNREAD_DEFINITIONS: Final = "definitions in "
"""How the place of a file begins that may hold definitions and was not read."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A part of a container that could not be read: reported prominently, exit code 3.

    Attributes:
        where: The part, e.g. ``page 83 (revisions 21..39)``.
        reason: The fault and its consequences.
    """

    where: str
    reason: str

    @property
    def is_of_definitions(self) -> bool:
        """Whether it is no part of a dump, but a file that may hold definitions."""
        return self.where.startswith(UNREAD_DEFINITIONS)

    def line(self, source: str) -> str:
        """Return the line that is printed, with the name of the dump."""
        if self.is_of_definitions:
            return visible(f"NOT READ  {self.where}: {self.reason}")
        return visible(f"DAMAGED  {source}: {self.where}: {self.reason}")


def damage_beside(error: SourceError) -> Damage:
    """Return the damage that one dump reports for another dump that cannot be read."""
    return Damage(f"{error.where}{BESIDE}", error.found)


class DamageLog:
    """Collects damage; at most a thousand records and the number of further ones."""

    LIMIT = 1000

    def __init__(self) -> None:
        self._kept: list[Damage] = []
        self._more = 0

    def add(self, where: str, reason: str) -> None:
        """Note one damaged part."""
        if len(self._kept) < self.LIMIT:
            self._kept.append(Damage(where, reason))
        else:
            self._more += 1

    def extend(self, other: DamageLog) -> None:
        """Note what another one has, after that of this one."""
        for damage in other._kept:
            self.add(damage.where, damage.reason)
        self._more += other._more

    def records(self) -> tuple[Damage, ...]:
        """Return what was noted."""
        if not self._more:
            return tuple(self._kept)
        return (*self._kept, Damage("and more", f"{self._more} more damaged parts are not listed"))


@dataclass(slots=True)
class SourcePlan:
    """One dump, ready to be divided into shards.

    Attributes:
        name: The name that the user gave.
        format: A name of `auditor.sources.dump_formats`, or a form of the manifest readers.
        mapped: The file that workers map; `offset` and `length` in the live table refer to it.
        sha256: Hex digest of the given input (for a data directory, of its database).
        revision: The store's current revision; None if the dump does not know it.
        compacted_revision: History up to this revision is compacted; None if not known or nothing was compacted.
        is_export: The objects came through an API: no keys, stored versions unknown.
        live: The Arrow file of live keys (`auditor.base.tables.LIVE_KEYS`), in key order.
        rows: Rows of that file.
        damage: Parts that could not be read.
        notes: Notes for the report.
        states: The states of its files before reading.
        modified: Time of the last change of its file, in seconds since 1970, or None.
        defining: Ranges of rows (first, end) that definitions may be among; None if their kinds are not known.
        kinds: The range of rows (first, end) of each (group, kind) of an export; rows behind all of them may be of any
            kind, or of none. None if their kinds are not known.
    """

    name: str
    format: str
    mapped: str
    sha256: str
    revision: int | None
    compacted_revision: int | None
    is_export: bool
    live: str
    rows: int
    damage: tuple[Damage, ...] = ()
    notes: tuple[str, ...] = ()
    modified: float | None = None
    defining: tuple[tuple[int, int], ...] | None = None
    states: tuple[Any, ...] = ()
    kinds: dict[tuple[str, str], tuple[int, int]] | None = None


def with_printable_names(plan: SourcePlan) -> SourcePlan:
    r"""Return a plan that tables and texts can store: invalid UTF-8 in file names is escaped as ``\xNN``."""
    damage = tuple(Damage(printable_name(damage.where), printable_name(damage.reason)) for damage in plan.damage)
    return replace(plan, name=printable_name(plan.name), damage=damage, notes=tuple(map(printable_name, plan.notes)))


def first_names(names: Sequence[str], total: int) -> str:
    """Return the names that a note lists, and the number of further ones."""
    return ", ".join(names) + (f" and {total - len(names)} more" if total > len(names) else "")


def one_line(error: BaseException) -> str:
    """Return an unexpected error as one short line that every table can store."""
    text = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode()
    return " ".join(text.split())[:300]
