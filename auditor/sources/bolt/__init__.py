"""bolt files, the B+trees in which etcd stores its keys.

Input: the bytes of a file that may be truncated, partly overwritten or made by an attacker. Output: the elements of its
buckets in key order, as arrays over thousands of pages at once, and the parts that could not be read (`Loss`). No key
or value is copied. Valid pages are read by the thousand (tree.py), all others one by one (check.py).

Nothing here knows etcd: keys are bytes, values are bytes or buckets. Source: bbolt internal/common, tx_check.go.
"""

from auditor.sources.bolt.check import Loss
from auditor.sources.bolt.page import LeafElements, Meta, Metas, read_metas
from auditor.sources.bolt.tree import BoltTree, Bucket

__all__ = ["BoltTree", "Bucket", "LeafElements", "Loss", "Meta", "Metas", "read_metas"]
