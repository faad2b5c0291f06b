"""What to do before a definition can be applied: ordered steps that can be carried out, or why there are none.

The server refuses a definition that lacks a version named in status.storedVersions: objects may be stored at it, and
nothing could read them. Taking the version out of the list is safe only after every object was rewritten at a version
that both definitions have; so that no plan here patches the list without that.

Source: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go, the check of stored versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from auditor.base.wording import by_count, listed, objects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from auditor.crds.definition import CustomResourceDefinition
    from auditor.upgrade.definition_change import DefinitionChange
    from auditor.upgrade.tally import UpgradeTally


STORE_AT: Final = "store-at"
REWRITE: Final = "rewrite"
MANAGED_FIELDS: Final = "managed-fields"
STORED_VERSIONS: Final = "stored-versions"
RECREATE: Final = "delete"
APPLY: Final = "apply"


_INCOMPLETE: Final = "not all objects were judged: the plan stops at one that cannot be rewritten"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan.

    Attributes:
        do: ``store-at``, ``rewrite``, ``managed-fields``, ``stored-versions``, ``delete`` or ``apply``.
        text: What it does, as part of a sentence.
        version: The version that it stores at, rewrites at, or names in managedFields.
        versions: The stored versions that remain, or the versions in managedFields that go.
    """

    do: str
    text: str
    version: str = ""
    versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Migration:
    """The steps to a definition.

    Attributes:
        steps: In order, the last applies it; empty means there is no plan.
        needs: Why there is no plan, and what would help; empty means there is one, or nothing stops the definition but
            what is said of it elsewhere.
        is_needed: Whether something must be done before the definition is applied.
        note: What to know of the plan.
    """

    steps: tuple[Step, ...] = ()
    needs: str = ""
    is_needed: bool = False
    note: str = ""


def common_version(old: CustomResourceDefinition, new: CustomResourceDefinition) -> str | None:
    """Return the version at which objects are rewritten before a version goes, or None if there is none.

    It is the storage version of today where it stays: what is rewritten then is stored at it.
    """
    storage = (definition.storage_version for definition in (old, new))
    wanted = (*(version.name for version in storage if version is not None), *new.versions)
    return next((name for name in wanted if name in old.versions and name in new.versions), None)


def migration_of(
    change: DefinitionChange,
    old: CustomResourceDefinition | None,
    new: CustomResourceDefinition | None,
    tally: UpgradeTally,
    stored: Mapping[str, int] | None,
    *,
    is_complete: bool,
) -> Migration:
    """Return what to do before a definition is applied.

    Args:
        change: The change of the definition.
        old: The definition of today, parsed; None means there is none, or no server could decode it.
        new: The one to come.
        tally: The effects on its objects.
        stored: Number of objects stored at each version; None means an export does not show it.
        is_complete: All objects were judged.
    """
    last = Step(APPLY, "apply the definition")
    if change.action == "create" and not change.refusals and not change.unreadable:
        return Migration((last,))
    if change.is_refused or change.unreadable or old is None or new is None or change.action != "update":
        return Migration()
    gone = _gone(change, stored)
    harm = _harm(tally)
    version = common_version(old, new)
    steps: list[Step] = []
    note = ""
    if gone:
        is_empty = stored is not None and is_complete and not sum(stored.values()) and not tally.categories["sealed"]
        if version is None and is_empty:
            empty = Step(RECREATE, "delete the definition, which has no objects")
            return Migration((empty, last), is_needed=True)
        needs = _needs(change, version, harm)
        if needs:
            return Migration(needs=needs, is_needed=True)
        steps, note = _rewriting(change, gone, version or "", stored, is_complete=is_complete)
        if not is_complete:
            note = f"{note}; {_INCOMPLETE}".removeprefix("; ")
    elif harm:
        return Migration()
    named = {version: count for version, count in tally.managed.items() if version in change.versions_removed}
    if named and version is not None:
        text = f"take {', '.join(sorted(named))} out of the managedFields of {objects(max(named.values()))}"
        steps.insert(_before_patch(steps), Step(MANAGED_FIELDS, text, version, tuple(sorted(named))))
    return Migration((*steps, last), is_needed=bool(steps), note=note)


def _gone(change: DefinitionChange, stored: Mapping[str, int] | None) -> tuple[str, ...]:
    """Return the versions that are listed as stored, or that objects are stored at, and that go."""
    named = (*change.unmigrated, *(version for version, count in (stored or {}).items() if count))
    return tuple(version for version in dict.fromkeys(named) if version not in change.versions)


def _harm(tally: UpgradeTally) -> str:
    """Return what a rewritten object would suffer; empty if there is nothing."""
    if tally.migration_refused:
        n = tally.migration_refused
        them = by_count(n, "it", "them")
        return f"{objects(n)} cannot be rewritten: the server refuses the write (repair or delete {them})"
    for category, text in (
        ("unreadable", "cannot be read even after a rewrite"),
        ("blocked", "could no longer be updated"),
        ("invalid", "would be invalid"),
        ("data-loss", "would lose stored data"),
    ):
        if tally.categories[category]:
            return f"{objects(tally.categories[category])} {text}"
    if tally.unreadable_before:
        n = tally.unreadable_before
        return (
            f"{objects(n)} cannot be read today, and so not be rewritten (repair or delete {by_count(n, 'it', 'them')})"
        )
    return ""


def _needs(change: DefinitionChange, at: str | None, harm: str) -> str:
    if at is None:
        before = change.storage_before or "the old version"
        after = change.storage_after or "the new one"
        return f"needs a release that serves both {before} and {after} and stores {after}"
    return harm


def _rewriting(
    change: DefinitionChange, gone: tuple[str, ...], at: str, stored: Mapping[str, int] | None, *, is_complete: bool
) -> tuple[list[Step], str]:
    """Return the steps that leave no object stored at a version that goes, and what to know of them."""
    steps, note = [], ""
    moved = at != change.storage_before
    if moved:
        note = (
            f"needs a release that serves both {change.storage_before} and {at} and stores {at}; the plan makes one of "
            "today's definition by moving the storage flag"
        )
        steps.append(Step(STORE_AT, f"make {at} the storage version of today's definition", at))
    known = stored is not None and is_complete
    count = sum((stored or {}).get(version, 0) for version in gone)
    remaining = tuple(version for version in change.stored_versions if version not in gone)
    if count or not known:
        number = objects(count) if known else "every object"
        steps.append(Step(REWRITE, f"rewrite {number} stored as {listed(gone)}", at))
        remaining = (at,)
    remaining = remaining if at in remaining else (*remaining, at)
    if change.unmigrated:
        steps.append(Step(STORED_VERSIONS, f"take {listed(gone)} out of status.storedVersions", at, remaining))
    return steps, note


def _before_patch(steps: list[Step]) -> int:
    return next((position for position, step in enumerate(steps) if step.do == STORED_VERSIONS), len(steps))
