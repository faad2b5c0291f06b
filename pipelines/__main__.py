"""`python -m pipelines` is the command `auditor`."""

from pipelines.cli import main

main()
