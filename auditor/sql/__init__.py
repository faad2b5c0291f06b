"""SQL over a dump, a report or typed tables, by DuckDB: a statement reads only the kinds and columns that it names.

- `views` has what a statement can name: each kind, and the tables of a report or a dump;
- `statements` accepts statements that read, and nothing else;
- `engine` runs one: DuckDB works in a thread of its own, and objects are read in the thread of the caller.
"""

from auditor.sql.engine import Answer, run_statement
from auditor.sql.views import View, Views

__all__ = ["Answer", "View", "Views", "run_statement"]
