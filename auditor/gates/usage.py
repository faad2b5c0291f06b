"""Guarded fields in stored objects, which exist only because they were stored earlier.

A field whose gate is off would be lost if its object were created again, for example from a backup. The object itself
is valid: these findings do not make it invalid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.records import Finding
from auditor.gates.paths import places
from auditor.golang.jsontext import encode

if TYPE_CHECKING:
    from auditor.gates.resolve import GuardedPath, ResolvedGates

__all__ = ["DEPRECATED_FIELD_IN_USE", "GATED_FIELD_IN_USE", "fields_in_use"]

GATED_FIELD_IN_USE: Final = "GatedFieldInUse"
DEPRECATED_FIELD_IN_USE: Final = "DeprecatedFieldInUse"
_LONGEST: Final = 200


def fields_in_use(gates: ResolvedGates, obj: Any) -> list[Finding]:
    """Return a finding for every field in use whose gate is off or deprecated.

    Args:
        gates: The gates, with the fields that are on.
        obj: The object as stored, without defaults.
    """
    return [
        _finding(one, where, value)
        for one in gates.paths
        if not one.on or one.state.gate.stage == "deprecated"
        for where, value in places(obj, one.path.steps)
    ]


def _finding(one: GuardedPath, where: str, value: Any) -> Finding:
    gate = one.state.gate
    shown = encode(value)
    shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."
    lost = "a write that makes the object anew loses the field"
    if one.on:
        state = f"gate {gate.name} ({gate.stage}) is on"
    elif one.blocked_by is not None:
        state = f"gate {gate.name} ({gate.stage}) counts for nothing, because {one.blocked_by} is off: {lost}"
    else:
        state = f"gate {gate.name} ({gate.stage}) is off ({one.state.why}): {lost}"
    if gate.stage == "deprecated":
        detail = f"{gate.warning}; {state}" if gate.warning else f"deprecated; {state}"
        return Finding(where, DEPRECATED_FIELD_IN_USE, value, detail, f"{where}: Deprecated: {shown}: {detail}", "gate")
    return Finding(where, GATED_FIELD_IN_USE, value, state, f"{where}: Gated: {shown}: {state}", "gate")
