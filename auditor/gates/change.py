"""Changes of gates by an upgrade: added, removed, graduated or switched gates, and the fields that close or open.

A field that no gate guards is open. Stored objects are affected by fields that were open and are closed now.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from auditor.gates.paths import GatePath
    from auditor.gates.resolve import GateState, ResolvedGates


_ORDER: Final = {"alpha": 0, "beta": 1, "stable": 2}


@dataclass(frozen=True, slots=True)
class GateChange:
    """One change of one gate.

    Attributes:
        change: added, removed, graduated, moved-back, deprecated, switched-on, switched-off.
        before, after: Stage and state, e.g. ``alpha, off``; empty if there is no gate.
        paths: The fields that the gate guards; for a removed gate, the fields that it guarded.
    """

    gate: str
    change: str
    before: str
    after: str
    paths: tuple[GatePath, ...] = ()


@dataclass(frozen=True, slots=True)
class GateChanges:
    """All changes of the gates of one definition.

    Attributes:
        changes: By name of the gate.
        closed: Fields that were open and are closed now: stored values remain, and new ones cannot be written.
        opened: Fields that were closed and are open now.
    """

    changes: tuple[GateChange, ...] = ()
    closed: tuple[GatePath, ...] = ()
    opened: tuple[GatePath, ...] = ()


def gate_changes(before: ResolvedGates | None, after: ResolvedGates | None) -> GateChanges:
    """Compare the gates of a definition before and after an upgrade.

    Args:
        before: None if it had none.
        after: None if it has none.
    """
    old = {} if before is None else {state.gate.name: state for state in before.states}
    new = {} if after is None else {state.gate.name: state for state in after.states}
    made = [
        change for name in sorted(old.keys() | new.keys()) for change in _changes(name, old.get(name), new.get(name))
    ]
    was = {} if before is None else {path.path: path.on for path in before.paths}
    now = {} if after is None else {path.path: path.on for path in after.paths}
    paths = sorted(was.keys() | now.keys(), key=lambda path: path.steps)
    closed = tuple(path for path in paths if was.get(path, True) and not now.get(path, True))
    opened = tuple(path for path in paths if not was.get(path, True) and now.get(path, True))
    return GateChanges(tuple(made), closed, opened)


def _said(state: GateState | None) -> str:
    return "" if state is None else f"{state.gate.stage}, {'on' if state.on else 'off'}"


def _changes(name: str, old: GateState | None, new: GateState | None) -> list[GateChange]:
    before, after = _said(old), _said(new)
    if new is None:
        return [GateChange(name, "removed", before, after, () if old is None else old.gate.paths)]
    paths = new.gate.paths
    if old is None:
        return [GateChange(name, "added", before, after, paths)]
    kinds = []
    if old.gate.stage != new.gate.stage:
        kinds.append(_moved(old.gate.stage, new.gate.stage))
    if old.on != new.on:
        kinds.append("switched-on" if new.on else "switched-off")
    return [GateChange(name, kind, before, after, paths) for kind in kinds]


def _moved(old: str, new: str) -> str:
    if new == "deprecated":
        return "deprecated"
    return "graduated" if _ORDER.get(new, -1) > _ORDER.get(old, -1) and old in _ORDER else "moved-back"
