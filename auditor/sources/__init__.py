"""Dumps: bytes that hold objects -> a live table that workers cut values out of.

What comes in is a path, a URL or ``-``: an etcd snapshot or data directory, kine's table, ``etcdctl get -w json``,
manifests, a backup of a tool, any of them compressed, or a folder, tar or zip of these (formats.py lists them). What
goes out is a `SourcePlan`: which file to map, and an Arrow file with one row a live key, in key order, saying where its
value lies. No value is copied between processes.

Content decides the form, the most specific first: a bolt file, compression (and again what is below it), forms that
are refused by name, etcdctl's JSON, manifests. A folder gives one plan where it is a data directory or holds manifests
alone, and one for each dump and each manifest beside it otherwise (opening.py).

Nothing here knows a schema or a definition. Memory is bounded: no Python object per key lives longer than a batch.
Damage is reported and read around; only a dump without anything that can be read raises.
"""

from __future__ import annotations

from auditor.sources.files.compression import Limits
from auditor.sources.opening import open_source
from auditor.sources.plan import Damage, Progress, SourcePlan

__all__ = ["Damage", "Limits", "Progress", "SourcePlan", "open_source"]
