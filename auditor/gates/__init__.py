"""Field-level feature gates of a definition: a proposal that no released server implements.

A manifest (or a sidecar file, because servers drop the key) says which fields are guarded by which gate. In: that
configuration, a definition, objects. Out: what is wrong with the configuration (`config.py`), which gates and paths are
on (`resolve.py`), what a write would store (`write.py`), which guarded fields are in use at rest (`usage.py`), what an
upgrade does to gates (`change.py`). Reading is never touched: gates act on writes.

Source: the design notes "CRD field-level versioning".
"""

from auditor.gates.change import GateChange, GateChanges, gate_changes
from auditor.gates.config import FieldGate, GateConfig, gate_config, parse_sidecar
from auditor.gates.paths import GatePath
from auditor.gates.resolve import GuardedPath, ResolvedGates, parse_overrides, resolve
from auditor.gates.usage import fields_in_use
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
