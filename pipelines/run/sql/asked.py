"""What statements are asked of: dumps, reports or folders of typed tables."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from auditor.base.errors import PlanError
from auditor.releases import active, running_as
from auditor.sources.stores.locations import is_remote
from auditor.sql.engine import run_statement
from auditor.sql.inputs import under_release, views_of_inputs
from auditor.sql.table_files import has_values, is_tables, table_views
from auditor.sql.views import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from auditor.sql.engine import Answer
    from auditor.sql.kind_views import KindViews
    from auditor.sql.views import Views
    from pipelines.run.objects.query_options import QueryOptions
    from pipelines.run.query import Opened


_NAMED: Final = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)
_RESERVED: Final = frozenset({"main", "temp", "system", "memory", "information_schema", "pg_catalog"})


class Input(NamedTuple):
    """A dump, report or folder of typed tables.

    Attributes:
        views: What statements can name of it.
        kinds: Its views that are kinds; None for typed tables.
        opened: Its stores; None for typed tables.
        lead: Its name, as it is before notes; empty if it is the only one.
    """

    views: Views
    kinds: KindViews | None = None
    opened: Opened | None = None
    lead: str = ""


class Asked:
    """One or several inputs that statements are asked of.

    Attributes:
        views: What they can name.
    """

    def __init__(self, views: Views, inputs: Sequence[Input]) -> None:
        self.views = views
        self._inputs = inputs
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
        of_kinds = (f"{each.lead}{note}" for each in self._inputs if each.kinds for note in each.kinds.notes())
        return [*self._named, *of_kinds]

    def lost_definitions(self) -> str:
        """Return what was not readable, so that an unknown kind may have its definition there; empty if nothing is."""
        from pipelines.run.objects.unknown_kinds import MAY_BE_LOST, lost_definitions  # noqa: PLC0415 - as below

        opened = [each.opened for each in self._inputs if each.opened is not None]
        lost = (lost_definitions(each.as_one(lambda _: None)) for each in opened)
        return next(filter(None, lost), "") or (MAY_BE_LOST if self._named else "")

    def is_incomplete(self) -> bool:
        """Whether part of what statements have asked for could not be read."""
        opened = [each.opened for each in self._inputs if each.opened is not None]
        return any([bool(self.notes()), *(each.is_incomplete() for each in opened)])


@contextmanager
def open_views(options: QueryOptions, targets: Sequence[str], warn: Callable[[str], None]) -> Iterator[Asked]:
    """Open what statements are asked of.

    Args:
        options: How it is read.
        targets: A dump, report or folder of typed tables, or several, each perhaps as NAME=PATH.
        warn: Called with notes for standard error.

    Raises:
        AuditorError: One cannot be read, or two have the same name.
    """
    named = named_inputs(targets)
    if "" in named:
        with _open_input(replace(options, target=named[""]), warn) as opened:
            yield Asked(opened.views, [opened])
        return
    if options.dumps:
        raise PlanError("--dump", "names the dump of one report", "one report, or several beside their dumps")
    inputs: dict[str, Input] = {}
    with ExitStack() as stack:
        release = active()
        for name, target in named.items():
            stack.enter_context(running_as(release))
            lead = f"{quoted(name)}: "
            opened = stack.enter_context(_open_input(replace(options, target=target), partial(_say, warn, lead)))
            inputs[name] = opened._replace(views=under_release(opened.views, name), lead=lead)
        yield Asked(views_of_inputs({name: each.views for name, each in inputs.items()}), list(inputs.values()))


def _say(warn: Callable[[str], None], lead: str, text: str) -> None:
    warn(lead + text)


def parted(words: Sequence[str]) -> tuple[list[str], str]:
    """Return the inputs among the arguments of a command, and the statement after them; empty if there is none."""
    *first, last = words
    return (list(words), "") if not first or _is_there(last) or _is_there(_named(last)[1]) else (first, last)


def _is_there(path: str) -> bool:
    return path == "-" or is_remote(path) or os.path.exists(path)  # noqa: PTH110 - a statement may be no path at all


def _named(target: str) -> tuple[str, str]:
    """Return the name that an input is given, or none, and its path."""
    match = None if os.path.exists(target) else _NAMED.fullmatch(target)  # noqa: PTH110 - as above
    return ("", target) if match is None else (match[1], match[2])


def named_inputs(targets: Sequence[str]) -> dict[str, str]:
    """Return the path of each input by its name: as given, or that of its file or folder; one alone has none.

    Raises:
        PlanError: Two have the same name, or one has a name of DuckDB's.
    """
    named: dict[str, str] = {}
    for target in targets:
        given, path = _named(target)
        if not given and len(targets) == 1:
            return {"": path}
        name = given or PurePosixPath(path.rstrip("/")).name.partition(".")[0] or "input"
        if name.lower() in map(str.lower, named):
            raise PlanError(target, f"is the second input with the name {name}", "a name for each: NAME=PATH")
        if name.lower() in _RESERVED:
            raise PlanError(target, f"{name} is the name of a schema of DuckDB", "another name: NAME=PATH")
        named[name] = path
    return named


@contextmanager
def _open_input(options: QueryOptions, warn: Callable[[str], None]) -> Iterator[Input]:
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
        yield Input(table_views(folder))
        return
    from auditor.sql.opened import views_of  # noqa: PLC0415 - typed tables need no stores of dumps
    from pipelines.run.query import open_stores  # noqa: PLC0415

    with open_stores(options, warn) as opened:
        views, kinds = views_of(opened.as_one(warn), opened.stores, opened.report, options.clusters)
        yield Input(views, kinds, opened)
