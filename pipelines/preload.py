"""What workers need, loaded once: a process that has imported this is what they are forked from.

What is loaded on first use elsewhere, so that a start is short, is loaded here for all of them. Nothing of it is ever
thrown away: the collector need not look at it, and its pages stay shared.
"""

import gc
import importlib
from typing import Final

from pipelines.deep import allow_depth

MODULES: Final = (
    "pipelines.cli.main",  # the main module, which each worker looks up
    "auditor.shards.audit",
    "auditor.plan.options",  # from it the plan that each of them gets is made
    "auditor.cel.check.checker",
    "auditor.cel.emit.emitter",
    "auditor.cel.emit.prices",
    "auditor.cel.library",
    "auditor.cel.syntax.parser",
    "auditor.cel.run.interpreter",
    "auditor.cel.validators",
    "auditor.fastpath.records.typed",
    "auditor.validation.rules.adapters",
    "auditor.validation.rules.values",
    "multiprocess.popen_forkserver",  # by which they begin
    "pyarrow.compute",
    "pyarrow.parquet",
)

gc.disable()  # what is loaded lives until the end
allow_depth()  # what is started anew, not forked from a command, has Python's own limit
for _name in MODULES:
    importlib.import_module(_name)
gc.freeze()
gc.enable()
