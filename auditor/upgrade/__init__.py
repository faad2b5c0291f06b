"""The question before an upgrade: not whether a schema differs, but which stored objects break, and what they lose.

Input: the old and the new definition, an object read and judged under both (by `auditor.program`). Output: typed
records of what changes for the object (`changes.py`), of the changes of the definition itself
(`definition_change.py`), counts (`tally.py`), and one sentence (`decision.py`). `pairing.py` tells which objects need
no comparison; `unknown_formats.py` finds values that no release has judged yet. Nothing here reads dumps or writes
tables.

Source: apiextensions-apiserver pkg/apiserver/validation/ratcheting.go (KEP-4008), pkg/apiserver/schema/{pruning,
defaulting}, pkg/registry/customresourcedefinition/strategy.go.
"""

from auditor.upgrade.changes import (
    PathChange,
    compare_reads,
    compare_round_trips,
    compare_verdicts,
    is_below,
    value_at,
    worst_by_field,
)
from auditor.upgrade.client_versions import OtherVersion, client_version, other_versions
from auditor.upgrade.decision import Decision, decide, decide_all
from auditor.upgrade.definition_change import DefinitionChange, after_update, as_sent, change_of_definition
from auditor.upgrade.in_cluster import in_cluster
from auditor.upgrade.migration import Migration, common_version, migration_of
from auditor.upgrade.pairing import Pairing, same_version
from auditor.upgrade.schema_change import (
    NEW_TRANSITION,
    SchemaChange,
    concerned_changes,
    has_value,
    place_of,
    schema_changes,
)
from auditor.upgrade.tally import Sample, UpgradeTally
from auditor.upgrade.unknown_formats import UnknownFormats, parse_assumptions

__all__ = [
    "NEW_TRANSITION",
    "Decision",
    "DefinitionChange",
    "Migration",
    "OtherVersion",
    "Pairing",
    "PathChange",
    "Sample",
    "SchemaChange",
    "UnknownFormats",
    "UpgradeTally",
    "after_update",
    "as_sent",
    "change_of_definition",
    "client_version",
    "common_version",
    "compare_reads",
    "compare_round_trips",
    "compare_verdicts",
    "concerned_changes",
    "decide",
    "decide_all",
    "has_value",
    "in_cluster",
    "is_below",
    "migration_of",
    "other_versions",
    "parse_assumptions",
    "place_of",
    "same_version",
    "schema_changes",
    "value_at",
    "worst_by_field",
]
