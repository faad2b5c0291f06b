"""Ratcheting: what an update may keep although it breaks the schema.

In come a new and an old value with their structural schema; out goes a tree that says, per node, what the old value was
and whether anything changed. The keyword walk asks it when a node has findings; rules ask it when they are false.
No keyword, no message and no finding may be here.

Source: apiserver pkg/cel/common/equality.go, maplist.go (KEP-4008).
"""

from auditor.ratcheting.correlation import CorrelatedObject, MapListKeys
from auditor.ratcheting.equality import canonical_text, deep_equal, has_equal_pair

__all__ = ["CorrelatedObject", "MapListKeys", "canonical_text", "deep_equal", "has_equal_pair"]
