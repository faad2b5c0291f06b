"""Repeated runs: a folder of dated reports with a lock and a record of runs.

`roots` finds the reports below a folder or a prefix of a store; `lock` allows one run at a time; `job` adds them to one
audit, and records how the last run ended.
"""

from pipelines.run.job.job import JobOptions, plan_job, planned_lines, run_job

__all__ = ["JobOptions", "plan_job", "planned_lines", "run_job"]
