"""`python -m pipelines` is the command `auditor`.

Python itself searches modules in the current directory before this runs: in an untrusted folder, use `python -P -m`.
"""

from pipelines.import_path import leave_out_current_folder

leave_out_current_folder()

from pipelines.cli.main import main  # noqa: E402 - nothing is loaded from the current directory

main()
