"""Engines: ways to run one function on many shards. They know nothing of Kubernetes.

An engine takes a picklable `setup()` that returns a callable `work(shard) -> result`, and yields results in any order.
`inline` runs them in this process, `processes` in worker processes, `ray` on a Ray cluster.
"""

from pipelines.engines.inline import run_inline
from pipelines.engines.processes import expect_processes, run_in_background, run_processes

__all__ = ["expect_processes", "run_in_background", "run_inline", "run_processes"]
