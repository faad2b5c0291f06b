"""What a run that repeats needs beside the audit itself: a folder of dated reports with a lock and a record of runs.

`roots` knows the reports below a folder or a prefix of a store; `lock` keeps two runs apart; `last_run` writes how the
last run ended; `job` puts them around one audit.
"""

from pipelines.run.job.job import JobOptions, plan_job, planned_lines, run_job

__all__ = ["JobOptions", "plan_job", "planned_lines", "run_job"]
