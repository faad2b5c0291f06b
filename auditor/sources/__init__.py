"""Dumps: from bytes with objects to a live table that workers cut values out of.

Input: a path, a URL or ``-``: an etcd snapshot or data directory, kine's table, ``etcdctl get -w json``, manifests, a
backup of a tool, any of them compressed, or a folder, tar or zip of these (dump_formats.py lists them). Output: a
`SourcePlan` with the file to map, and an Arrow file with one row for each live key, in key order, with the position of
its value. No value is copied between processes.

The format is detected from the content, the most specific first: a bolt file, compression (then the format of the
unpacked bytes), formats that are refused by name, etcdctl's JSON, manifests. A folder has one plan if it is a data
directory or has only manifests; otherwise it has one plan for each dump and each manifest (opening.py).

Nothing here knows schemas or definitions. Memory is bounded: no Python object per key lives longer than a batch. Damage
is reported and skipped; only a dump with nothing readable raises.
"""

from __future__ import annotations

from auditor.sources.files.compression import Limits
from auditor.sources.opening import open_source
from auditor.sources.source_plan import Damage, SourcePlan

__all__ = ["Damage", "Limits", "SourcePlan", "open_source"]
