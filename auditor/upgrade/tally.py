"""Counts of the effects of an upgrade on the objects of one definition, with the first examples of each effect.

Tallies of parts of a dump add up: the counts do not depend on how the dump was cut.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from auditor.upgrade.changes import PathChange
    from auditor.upgrade.schema_change import SchemaChange


SAMPLES: Final = 3
"""Examples kept of each category."""

SHOWN_AGAIN: Final = "shown-again"

_LONGEST: Final = 80
_COUNTERS: Final = (
    *("categories", "changes", "managed", "rewrites", "gates", "closed", "formats", "failing", "narrowed"),
    *("users", "uses", "records", "versions", "shown"),
)


class Sample(NamedTuple):
    """One object as an example.

    Attributes:
        key: What ``auditor show`` finds it by.
        text: What is the matter, in the server's words where it has some.
        manager: Who last wrote the field; None if not known.
        time: When; None if not known.
    """

    key: str
    text: str
    manager: str | None = None
    time: str | None = None


@dataclass(slots=True)
class UpgradeTally:
    """Counts over the objects of one definition.

    Categories are effects on an object; it can have several of them, except the last. ``unreadable``: readable before,
    not after. ``unmigrated``: the same, and only because it is stored at a version that is removed: it is also judged
    as it would be if it were rewritten before the upgrade. ``needs-conversion``: from now on only a webhook can read
    it. ``unconverted``: an export shows it at a version that goes, and only a webhook could convert it. ``sealed``:
    encrypted, and not judged without its key. ``deleted``: with its definition. ``blocked``: newly invalid, and
    updates are refused. ``invalid``: newly invalid, and the result of updates is not known. ``tolerated``: newly
    invalid, and tolerated while the fields do not change. ``data-loss``, ``drift`` (defaults) and ``selector``: as
    their changes say. ``mended``: repaired by the upgrade. ``apply-refused``: a value newly does not fit its
    type, so that each server-side apply fails. ``manager-refused``: the object newly does not fit at a version in its
    managedFields, so that applies at others fail. ``broken-before``: unreadable, or its updates are refused, before and
    after. ``reworded``: findings remain, and the server of another release says them in other words. ``unchanged``:
    none of these.

    Attributes:
        objects: Number of objects judged, once for each requested version.
        categories: Number of objects by category.
        changes: Number of values by (change, plain path, old, new); old and new are JSON text for changed defaults, as
            far as they are short, and empty otherwise. What was pruned and is shown again counts as `SHOWN_AGAIN`.
        samples: First examples by category, in key order.
        managed: Objects whose managedFields name a version that the new definition does not have, by that version.
        to_migrate: Objects stored at another version than the new storage version.
        rewrites: The result of a write that changes nothing: refused, passed, unknown (a webhook would have to tell).
        migration_refused: Objects stored at a removed version whose unchanged write the old server refuses.
        gates: Objects that use a field whose gate changes, by the path of the field; `closed`: of fields that were open
            and are not any more.
        formats: Number of values by (plain path, format); and of those that would fail, in `failing`.
        create_refused: Number of tolerated objects that a create refuses: at versions with the status subresource it
            drops the status, and what is invalid in it.
        narrowed: Number of objects by change of the schema that they break, by which they lose a value, or under whose
            new transition rule they have one.
        users: Number of objects by (what goes: ``version v1`` or ``subresource status``, manager that used it).
        uses: Number of objects by what goes.
        unreadable_before: Objects that cannot be read before and after.
        records: Number of objects by (record of the table of changes between releases, category); an empty name: no
            record makes the difference alone.
        versions: Number of objects by (category, version at which they are so); only of definitions at whose served
            versions an upgrade may do different things, or that do not serve their storage version.
        shown: Number of objects of exports by the version that they are at.
    """

    objects: int = 0
    categories: Counter[str] = field(default_factory=Counter)
    changes: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    managed: Counter[str] = field(default_factory=Counter)
    to_migrate: int = 0
    rewrites: Counter[str] = field(default_factory=Counter)
    migration_refused: int = 0
    gates: Counter[str] = field(default_factory=Counter)
    closed: Counter[str] = field(default_factory=Counter)
    formats: Counter[tuple[str, str]] = field(default_factory=Counter)
    failing: Counter[tuple[str, str]] = field(default_factory=Counter)
    create_refused: int = 0
    narrowed: Counter[SchemaChange] = field(default_factory=Counter)
    users: Counter[tuple[str, str]] = field(default_factory=Counter)
    uses: Counter[str] = field(default_factory=Counter)
    unreadable_before: int = 0
    records: Counter[tuple[str, str]] = field(default_factory=Counter)
    versions: Counter[tuple[str, str]] = field(default_factory=Counter)
    shown: Counter[str] = field(default_factory=Counter)

    def sample(self, category: str, one: Sample) -> None:
        """Keep an example, unless there are enough."""
        kept = self.samples.setdefault(category, [])
        if len(kept) < SAMPLES:
            kept.append(one)

    def count(self, change: PathChange, path: str) -> None:
        """Count one change at a plain path."""
        old, new = change.texts() if change.change == "default-changed" else ("", "")
        texts = [text if text is not None and len(text) <= _LONGEST else "" for text in (old, new)]
        name = change.change if change.change != "pruned" or change.is_loss else SHOWN_AGAIN
        self.changes[(name, path, texts[0], texts[1])] += 1

    def merge(self, other: UpgradeTally) -> None:
        """Add the counts of objects that come later in key order."""
        self.objects += other.objects
        self.to_migrate += other.to_migrate
        self.migration_refused += other.migration_refused
        self.unreadable_before += other.unreadable_before
        self.create_refused += other.create_refused
        for name in _COUNTERS:
            getattr(self, name).update(getattr(other, name))
        for category, samples in other.samples.items():
            for sample in samples:
                self.sample(category, sample)
