"""What an upgrade changes of one object: what its reads under the old and the new definition show, put side by side.

Both reads start from the same stored bytes, so that lists keep their lengths and each difference has a reason: a schema
that prunes what the other knows, a default that came, went or changed, a null that is no longer allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.golang.jsontext import encode
from auditor.schema.structural import ABSENT
from auditor.updates.managed_fields import locate

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from auditor.base.records import AuditedObject, JsonObject


PRUNED: Final = "pruned"
CONVERTED: Final = "converted"
DEFAULTED: Final = "defaulted"
DEFAULT_CHANGED: Final = "default-changed"
SELECTOR: Final = "selector"
VERDICT: Final = "verdict"

_VERDICTS: Final = ("tolerated-globally", "tolerated-while-unchanged", "invalid", "blocks-every-update")


@dataclass(frozen=True, slots=True)
class PathChange:
    """One path of an object that an upgrade changes.

    Attributes:
        change: ``pruned``: a stored value that is shown no longer, and lost with the next write (or, where `old` is
            absent, is shown again); for a null `new` may be the default that takes its place; ``converted``: a stored
            value that is gone, or another, once a converter brought the object to the version and back; ``defaulted``:
            a default fills in what was absent; ``default-changed``: what a read shows there differs for another reason
            of the schemas; ``selector``: what field selectors see; ``verdict``: what the server says to the value.
        path: Dotted; of a verdict the place of its finding (`place_of`); None means the object as a whole.
        old: JSON data before, of a pruned path the stored value; `ABSENT`: nothing.
        new: JSON data after; `ABSENT`: nothing.
    """

    change: str
    path: str | None
    old: Any = ABSENT
    new: Any = ABSENT

    @property
    def is_loss(self) -> bool:
        """Whether a stored value goes."""
        return self.change == CONVERTED or (self.change == PRUNED and self.old is not ABSENT)

    def texts(self) -> tuple[str | None, str | None]:
        """Return old and new as JSON text, or None if there is no value."""
        return (
            None if self.old is ABSENT else encode(self.old),
            None if self.new is ABSENT else encode(self.new),
        )


def compare_reads(
    old: AuditedObject, new: AuditedObject, stored: Callable[[], Any], *, may_confuse: bool = True
) -> list[PathChange]:
    """Compare what two reads of the same stored bytes show.

    Args:
        old: As read under the old definition; readable.
        new: As read under the new one; readable.
        stored: Gives what the bytes hold, before anything was dropped; called where something is newly pruned.
        may_confuse: Defaults may differ that Python takes for equal (`Pairing.may_confuse`).
    Returns:
        Changes of all sorts but verdicts; those of the object by path, then those of selectors by label.
    """
    before, after = old.object or {}, new.object or {}
    changes = _selectors(old, new)
    if old.pruned == new.pruned and old.defaulted == new.defaulted:
        if before == after and (not may_confuse or _same_defaults(before, after, new.defaulted)):
            return changes
        lost: list[str] = []
        back: list[str] = []
    else:
        dropped, drops = frozenset(old.pruned), frozenset(new.pruned)
        lost = [path for path in new.pruned if path not in dropped and not is_below(path, dropped)]
        back = [path for path in old.pruned if path not in drops and not is_below(path, drops)]
    value = stored() if lost else None
    read_changes = [PathChange(PRUNED, path, old=value_at(value, path)) for path in lost]
    read_changes += [PathChange(PRUNED, path, new=value_at(after, path)) for path in back]
    # What is nowhere was a default of the stored version, pruned again on the way to another.
    read_changes = [change for change in read_changes if change.old is not ABSENT or change.new is not ABSENT]
    told = {change.path for change in read_changes}
    walk = _ChangesWalk(told, frozenset(old.defaulted), frozenset(new.defaulted))
    read_changes += walk.compare(before, after, "")
    read_changes.sort(key=lambda one: one.path or "")
    return read_changes + changes


def compare_round_trips(old: AuditedObject, new: AuditedObject) -> list[PathChange]:
    """Return what an object loses by a conversion to another version and back, by path.

    Args:
        old: Before; readable. Its defaults are not stored, and so cannot be lost.
        new: Converted and converted back, at the same version; readable.
    """
    defaults = frozenset(old.defaulted)
    walk = _ChangesWalk(set(), defaults, frozenset(new.defaulted))
    changes = [
        PathChange(CONVERTED, change.path, change.old, change.new)
        for change in walk.compare(old.object or {}, new.object or {}, "")
        if change.old is not ABSENT and not _is_of(change.path or "", defaults)
    ]
    return sorted(changes, key=lambda one: one.path or "")


def _selectors(old: AuditedObject, new: AuditedObject) -> list[PathChange]:
    if new.select_error != old.select_error:
        before, after = (error if error is not None else ABSENT for error in (old.select_error, new.select_error))
        return [PathChange(SELECTOR, None, before, after)]
    if old.selectable == new.selectable:
        return []
    labels = sorted(old.selectable.keys() & new.selectable.keys())
    return [
        PathChange(SELECTOR, label, old.selectable[label], new.selectable[label])
        for label in labels
        if old.selectable[label] != new.selectable[label]
    ]


def _same_defaults(before: JsonObject, after: JsonObject, paths: Iterable[str]) -> bool:
    """Return whether defaults are the same, also in type: for Python 1 and True are equal."""
    return all(_shown_alike(value_at(before, path), value_at(after, path)) for path in paths)


def _shown_alike(one: Any, other: Any) -> bool:
    """Whether clients see the same: 1.0 is shown as 1."""
    if one is ABSENT or other is ABSENT:
        return one is other
    return bool(one == other) and encode(one) == encode(other)


class _ChangesWalk:
    """Walks two objects together, down to where they differ."""

    def __init__(self, told: set[str | None], old_defaults: frozenset[str], new_defaults: frozenset[str]) -> None:
        self.told = told
        self.old_defaults = old_defaults
        self.new_defaults = new_defaults
        self.both = old_defaults & new_defaults

    def compare(self, before: Any, after: Any, path: str) -> Iterator[PathChange]:
        if type(before) is dict and type(after) is dict and path not in self.both:
            for key in {**before, **after}:
                if path or key != "apiVersion":
                    below = f"{path}.{key}" if path else key
                    yield from self._child(before.get(key, ABSENT), after.get(key, ABSENT), below)
        elif type(before) is list and type(after) is list and len(before) == len(after) and path not in self.both:
            for index, (pair, other) in enumerate(zip(before, after, strict=True)):
                yield from self._child(pair, other, f"{path}[{index}]")
        elif not _shown_alike(before, after):
            yield PathChange(DEFAULT_CHANGED, path, before, after)

    def _child(self, before: Any, after: Any, path: str) -> Iterator[PathChange]:
        if path in self.told:
            return
        if before is ABSENT:
            is_stored = not _is_of(path, self.new_defaults)
            change = PRUNED if is_stored else DEFAULTED if path in self.new_defaults else DEFAULT_CHANGED
            yield PathChange(change, path, before, after)
        elif before is None and after is not None and not _is_of(path, self.old_defaults):
            yield PathChange(PRUNED, path, before, after)
        elif after is ABSENT:
            yield PathChange(DEFAULT_CHANGED, path, before, after)
        else:
            yield from self.compare(before, after, path)


def _is_of(path: str, defaults: frozenset[str]) -> bool:
    """Return whether a default gave the value at a path, or is around it."""
    return path in defaults or is_below(path, defaults)


def is_below(path: str, others: Container[str]) -> bool:
    """Return whether a path is below one of others; looks up each of its parents, so `others` should be a set."""
    return any(path[:position] in others for position, letter in enumerate(path) if letter in ".[")


def value_at(obj: Any, path: str) -> Any:
    """Return the value at a dotted path; `ABSENT` if there is none."""
    steps, rest = locate(obj, path)
    if rest:
        return ABSENT
    for step in steps:
        obj = obj[step]
    return obj


# -- verdicts ----------------------------------------------------------------------------------------------------------


def worst_by_field(found: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Return the worst verdict of each field that has findings.

    Args:
        found: (field, verdict) of each; a verdict of None is not known, and reported as ``invalid``.
    """
    worst: dict[str, str] = {}
    for field, verdict in found:
        name = str(verdict or "invalid")
        if field not in worst or _VERDICTS.index(worst[field]) < _VERDICTS.index(name):
            worst[field] = name
    return worst


def compare_verdicts(old: Mapping[str, str], new: Mapping[str, str]) -> list[PathChange]:
    """Return the fields whose worst verdict differs, by field; without findings there is nothing (`ABSENT`)."""
    fields = sorted(old.keys() | new.keys())
    return [
        PathChange(VERDICT, field, old.get(field, ABSENT), new.get(field, ABSENT))
        for field in fields
        if old.get(field) != new.get(field)
    ]
