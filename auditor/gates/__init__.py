"""Field-level feature gates of a definition: a proposal that no released server implements.

A manifest (or a sidecar file, because servers drop the key) says which fields are guarded by which gate. Input: that
configuration, a definition, objects. Output: faults of the configuration (`config.py`), the gates and paths that are on
and the guarded fields that stored objects use (`resolve.py`), the object that a write would store (`write.py`), the
changes of gates by an upgrade (`change.py`). Gates act on writes only, not on reads.

Source: the design notes "CRD field-level versioning".
"""

from auditor.gates.change import GateChange, GateChanges, gate_changes
from auditor.gates.config import FieldGate, GateConfig, gate_config, parse_sidecar
from auditor.gates.paths import GatePath
from auditor.gates.resolve import GuardedPath, ResolvedGates, fields_in_use, parse_overrides, resolve
from auditor.gates.write import Written, simulate_write

__all__ = [
    "FieldGate",
    "GateChange",
    "GateChanges",
    "GateConfig",
    "GatePath",
    "GuardedPath",
    "ResolvedGates",
    "Written",
    "fields_in_use",
    "gate_changes",
    "gate_config",
    "parse_overrides",
    "parse_sidecar",
    "resolve",
    "simulate_write",
]
