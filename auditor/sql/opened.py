"""What can be asked of an opened dump or report: its kinds and its tables, as one set of views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.server.dump import DumpStore
from auditor.sql.dump_views import NO_KEYS, dump_views
from auditor.sql.kind_views import NEEDS_DUMP, KindViews
from auditor.sql.report_views import ReportTables
from auditor.sql.views import Views

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from auditor.server.fleet_store import AnyStore, OneStore
    from auditor.sql.views import View


_NEEDS_REPORT: Final = "it is a table of a report (auditor audit DUMP --report DIR), and this is a dump"


def views_of(
    store: AnyStore, stores: Mapping[str, OneStore], report: Path | None, clusters: Sequence[str] = ()
) -> tuple[Views, KindViews]:
    """Return the views of a dump or a report, and the part of them that are kinds.

    Args:
        store: Its store.
        stores: The store of each cluster.
        report: The folder of the report; None for a dump.
        clusters: The clusters that were chosen; empty for all.
    """
    absent: dict[str, str] = {}
    tables: list[View] = []
    if report is not None:
        tables = ReportTables(report, clusters).views()
    else:
        dumps = {name: one for name, one in stores.items() if isinstance(one, DumpStore)}
        tables = dump_views(dumps)
        absent = dict.fromkeys(("findings", "causes"), _NEEDS_REPORT) | {"keys": NO_KEYS}
    kinds = KindViews(store)
    names = [view.name for view in tables]
    of_kinds = kinds.views(names)
    if not kinds.can_read():
        absent |= {name.lower(): NEEDS_DUMP for view in of_kinds for name in (view.name, *view.also)}
        of_kinds = []
    return Views([*tables, *of_kinds], absent), kinds
