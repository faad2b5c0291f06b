"""The readers of single files, one module for each format; a new format is a new line of the table."""

from __future__ import annotations

from typing import Final

from auditor.sources.readers import etcd, etcdctl, kine_sqlite, kine_text, manifests
from auditor.sources.readers.reader import DumpFile, Reader, Settings

__all__ = ["READERS", "DumpFile", "Reader", "Settings"]

_ALL: Final = (etcd.READER, kine_sqlite.READER, kine_text.READER, etcdctl.READER, manifests.READER)
READERS: Final = {each.form: each for each in _ALL}
"""By form, in the order in which they are tried: databases are detected without the readers of texts."""
