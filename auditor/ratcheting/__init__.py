"""Ratcheting: which faults an update may keep because the faulty part did not change.

Input: a new and an old value with their structural schema. Output: a tree that has, for each node, the old value and
whether anything changed. The walk over keywords uses it if a node has findings; rules use it if they are false. This
package contains no keywords, messages or findings.

Source: apiserver pkg/cel/common/equality.go, maplist.go (KEP-4008).
"""

from auditor.ratcheting.correlation import CorrelatedObject, Faults, MapListKeys
from auditor.ratcheting.go_equality import canonical_text, deep_equal, has_equal_pair

__all__ = ["CorrelatedObject", "Faults", "MapListKeys", "canonical_text", "deep_equal", "has_equal_pair"]
