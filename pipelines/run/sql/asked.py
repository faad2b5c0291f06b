"""What statements are asked of: a dump, a report or a folder of typed tables."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.base.errors import PlanError
from auditor.sql.engine import run_statement
from auditor.sql.table_files import has_values, is_tables, table_views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.sql.engine import Answer
    from auditor.sql.kind_views import KindViews
    from auditor.sql.views import Views
    from pipelines.run.objects.query_options import QueryOptions
    from pipelines.run.query import Opened


class Asked:
    """An opened dump, report or folder of tables that statements are asked of.

    Attributes:
        views: What they can name.
    """

    def __init__(self, views: Views, kinds: KindViews | None = None, opened: Opened | None = None) -> None:
        self.views = views
        self._kinds = kinds
        self._opened = opened
        self._named: dict[str, None] = {}

    def answer(self, statement: str) -> Answer:
        """Return the answer to a statement.

        Raises:
            SqlError: It is refused, or fails.
        """
        answer = run_statement(self.views, statement)
        self._named |= dict.fromkeys(view.note for view in self.views.named_in(statement).values() if view.note)
        return answer

    def notes(self) -> list[str]:
        """Return a sentence for each kind that statements have read and that has rows without values."""
        return [*self._named, *(() if self._kinds is None else self._kinds.notes())]

    def lost_definitions(self) -> str:
        """Return what was not readable, so that an unknown kind may have its definition there; empty if nothing is."""
        from pipelines.run.objects.unknown_kinds import MAY_BE_LOST, lost_definitions  # noqa: PLC0415 - as below

        if self._opened is None:
            return MAY_BE_LOST if self.notes() else ""
        return lost_definitions(self._opened.as_one(lambda _: None))

    def is_incomplete(self) -> bool:
        """Whether part of what statements have asked for could not be read."""
        return bool(self.notes()) or (self._opened is not None and self._opened.is_incomplete())


@contextmanager
def open_views(options: QueryOptions, warn: Callable[[str], None]) -> Iterator[Asked]:
    """Open a dump, a report or a folder of typed tables.

    Raises:
        AuditorError: It cannot be read.
    """
    folder = Path(options.target)
    if is_tables(folder):
        for name in ("dumps", "clusters", "crds", "as_of", "kubernetes"):
            if getattr(options, name):
                raise PlanError(f"--{name}", "has no effect on typed tables, which are written", "", "ask the dump")
        for flag, is_given in {"--as stored": options.mode.stored, "--show-secrets": options.mode.show_secrets}.items():
            if is_given and not has_values(folder, flag):
                raise PlanError(
                    flag, "these typed tables were written without it", "", "ask the dump, or write them anew"
                )
        yield Asked(table_views(folder))
        return
    from auditor.sql.opened import views_of  # noqa: PLC0415 - typed tables need no stores of dumps
    from pipelines.run.query import open_stores  # noqa: PLC0415

    with open_stores(options, warn) as opened:
        views, kinds = views_of(opened.as_one(warn), opened.stores, opened.report, options.clusters)
        yield Asked(views, kinds, opened)
