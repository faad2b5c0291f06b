"""Modules that workers need: the fork server imports this one, so that workers share them.

Modules that are imported at first use elsewhere, for a short start, are imported here for all workers. They are never
freed, so they are excluded from garbage collection and their pages stay shared.
"""

import gc
import importlib
from typing import Final

from pipelines.deep import allow_depth
from pipelines.without_pandas import leave_out_pandas

MODULES: Final = (
    "pipelines.cli.main",  # the main module, which each worker imports
    "pipelines.run.audit",  # it has the function that makes each worker ready
    "auditor.shards.builtin_changes",
    "auditor.shards.shard_audit",
    "auditor.plan.options",  # it unpickles the plan of each worker
    "auditor.cel.check.checker",
    "auditor.cel.emit.emitter",
    "auditor.cel.estimate.call_costs",
    "auditor.cel.library",
    "auditor.cel.syntax.parse",
    "auditor.cel.run.interpreter",
    "auditor.cel.validators",
    "auditor.fastpath.records.typed",
    "auditor.validation.rules.adapters",
    "auditor.validation.rules.schema_values",
    "multiprocess.popen_forkserver",  # the function that each worker runs first
    "pyarrow.compute",
    "pyarrow.parquet",
)

gc.disable()  # loaded modules live until the process ends
allow_depth()  # a process that was not forked from a command has Python's own limit
leave_out_pandas()
for _name in MODULES:
    importlib.import_module(_name)
gc.freeze()
gc.enable()
