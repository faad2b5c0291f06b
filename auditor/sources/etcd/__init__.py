"""etcd's store: the revisions in a database, and the live keys.

Input: a database or snapshot file. Output: a live table (`auditor.sources.live_table`) and the damage. Keys and values
are bytes; this package does not interpret them.
Source: etcd server/storage/mvcc, server/storage/schema.
"""

from auditor.sources.etcd.mvcc import LiveKeys, write_live_table
from auditor.sources.etcd.snapshot import EtcdFile, MetaValues

__all__ = ["EtcdFile", "LiveKeys", "MetaValues", "write_live_table"]
