"""What `auditor.open` and `auditor.open_index` return: dumps, reports and indexes for Python, such as a notebook.

The package `auditor` has these under its own name, although they are made of what commands run: opening a dump or a
report is theirs. `auditor/__init__.py` loads this package when one is asked for; nothing else of `auditor` knows it.
"""

from pipelines.run.python_api.opened import OpenedDump, OpenedReport, open  # noqa: A004 - it is `auditor.open`
from pipelines.run.python_api.opened_tables import OpenedTables
from pipelines.run.python_api.stored_object import StoredObject
from pipelines.run.python_api.whole_index import open_index

__all__ = ["OpenedDump", "OpenedReport", "OpenedTables", "StoredObject", "open", "open_index"]
