"""etcd's store: the revisions in a database, and which of them are live.

In: a database or snapshot file. Out: a live table (`auditor.sources.live_table`) and what could not be read. Keys and
values are bytes; what Kubernetes puts into them is no business of this package.
Source: etcd server/storage/mvcc, server/storage/schema.
"""

from auditor.sources.etcd.live import LiveKeys, write_live_table
from auditor.sources.etcd.snapshot import EtcdFile, MetaValues

__all__ = ["EtcdFile", "LiveKeys", "MetaValues", "write_live_table"]
