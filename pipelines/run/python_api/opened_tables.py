"""A folder of typed tables for Python: its kinds, each as Arrow, and SQL over them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from auditor.base.errors import PlanError
from auditor.sql.engine import run_statement
from auditor.sql.table_files import table_views
from pipelines.run.python_api.closing import Closing
from pipelines.run.python_api.given import chosen_columns, kind_text, statement_text, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.run.objects.query_options import QueryOptions


_KINDS = pa.schema([*((name, pa.string()) for name in ("name", "kind", "group", "version")), ("objects", pa.int64())])

_WITHOUT_EFFECT = (
    *("crds", "dumps", "clusters", "as_of", "encryption_config", "kms_decryptor", "convert_with", "kubernetes"),
)


class OpenedTables(Closing):
    """The typed tables that `auditor tables` or `audit --tables` wrote. `auditor.open` makes one."""

    def __init__(self, options: QueryOptions) -> None:
        values = {name: getattr(options, name) for name in _WITHOUT_EFFECT}
        values["show_secrets"] = options.mode.show_secrets
        for name, value in values.items():
            if value:
                raise PlanError(name, "has no effect on typed tables, which are written", "", "open the dump")
        self._folder = options.target
        self._views = table_views(Path(options.target))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._folder}: {len(self._views.listed)} kinds>"

    def close(self) -> None:
        """Do nothing: there are no temporary files. It is there as dumps and reports have it."""

    def kinds(self) -> pa.Table:
        """Return the kinds that have tables: name, kind, group, version, number of objects."""
        rows = []
        for view in self._views.listed:
            kind, _, api_version = view.about.partition(";")[0].partition(" ")
            group, _, version = api_version.rpartition("/")
            name = view.also[0] if view.also else view.name
            objects = view.files.count_rows()
            rows.append({"name": name, "kind": kind, "group": group, "version": version, "objects": objects})
        return pa.Table.from_pylist(rows, _KINDS)

    def table(self, kind: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the table of a kind.

        Args:
            kind: Its plural, perhaps followed by its group.
            columns: Top-level columns; None for all.

        Raises:
            PlanError: There is no such kind or column.
        """
        view = self._views.find(kind_text(kind))
        if view is None:
            near = self._views.similar(kind)
            advice = f"did you mean {' or '.join(near)}?" if near else ".kinds() lists what there is"
            raise PlanError("kind", f"there is no table of {kind}", "", advice)
        table = view.files.to_table(columns=chosen_columns(view.schema.names, columns, kind))
        if view.note:
            warn(view.note)
        return table

    def sql(self, statement: str) -> pa.Table:
        """Return the answer to a statement of SQL; see the guide on SQL.

        Raises:
            SqlError: It is refused, or fails.
            PlanError: DuckDB is not installed.
        """
        asked = statement_text(statement)
        table = run_statement(self._views, asked).table()
        for view in self._views.named_in(asked).values():
            if view.note:
                warn(view.note)
        return table
