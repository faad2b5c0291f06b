"""Engines: ways to run one function over many shards. They know nothing of Kubernetes.

An engine takes a picklable `setup()` that gives a callable `work(shard) -> result`, and yields results in any order as
they come. `inline` runs them here; `processes` in worker processes of our own.
"""

from pipelines.engines.inline import run_inline
from pipelines.engines.processes import expect_processes, run_in_background, run_processes

__all__ = ["expect_processes", "run_in_background", "run_inline", "run_processes"]
