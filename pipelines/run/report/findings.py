"""`auditor summary` and `auditor findings`: the causes of a stored report, local or in an object store."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from auditor.base.errors import PlanError
from auditor.causes.filters import Filters
from auditor.causes.model import FindingsModel
from auditor.causes.severity import UPGRADE
from auditor.causes.table import CAUSES_FILE
from auditor.causes.upgrade_causes import is_of_definition
from auditor.output.formats.chosen import of_clusters
from auditor.output.views.data import written
from auditor.output.views.layout import Line, painted, undivided
from auditor.output.views.listing import cause_lines, listing_lines
from auditor.output.views.summary import LINES, summary_lines
from auditor.output.views.upgrade_view import answer_lines, definition_lines, end_lines
from auditor.sources.files.work_folder import temporary_folder
from auditor.sources.stores.locations import is_remote, local_path, shown_url
from auditor.sources.stores.store_folder import joined, read_file
from auditor.store.manifest import MANIFEST
from pipelines.console import UNBOUNDED, terminal_width
from pipelines.run.remote import reports_here
from pipelines.streams import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from auditor.causes.topics import Cause


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """Options for showing a report.

    Attributes:
        report: Folder or URL of the report.
        output: One of `auditor.printing.print_rows.FORMS`.
        color: auto, always or never.
        lines: Largest number of lines; 0 for all.
        filters: Filters of causes and findings.
    """

    report: str
    output: str = "table"
    color: str = "auto"
    lines: int = LINES
    filters: Filters = field(default_factory=Filters)


@contextmanager
def opened(report: str, clusters: Sequence[str] = ()) -> Iterator[FindingsModel]:
    """Yield the model of a report, which may be in an object store."""
    with reports_here(report) as (local,):
        yield FindingsModel.open(local, shown=shown_url(report), clusters=clusters)


def has_color(color: str) -> bool:
    """Return whether output is coloured: `auto` means on a terminal, unless NO_COLOR is set or TERM is dumb."""
    if color != "auto":
        return color == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _print(lines: Iterable[Line], color: str) -> None:
    """Print lines; their content is already escaped, so only our own colours are control characters.

    Paths and commands are wrapped only for a terminal, where they can be copied as one; in a pipe they stay whole.
    """
    sys.stdout.flush()
    lines = lines if sys.stdout.isatty() else undivided(lines)
    stream = plain(sys.stdout)
    stream.write(painted(lines, color=has_color(color)))
    stream.flush()


def _write(parts: Iterable[str]) -> None:
    for part in parts:
        sys.stdout.write(part)


def run_summary(options: ViewOptions) -> int:
    """Print the summary of a report."""
    with opened(options.report, options.filters.clusters) as whole:
        model = of_clusters(whole, options.filters.clusters)
        if options.output in ("table", "wide"):
            _print_summary(model, options.color, options.lines)
        else:
            _write(written(model, model.causes, None, options.output))
    return 0


def print_end(report: str) -> None:
    """Print the summary of a report that a run has just written; from a store, only the needed files are read."""
    named = local_path(report) or report
    with ExitStack() as stack:
        folder = Path(named)
        if is_remote(named):
            folder = Path(stack.enter_context(temporary_folder("summary")))
            for name in (MANIFEST, CAUSES_FILE):
                (folder / name).write_bytes(read_file(joined(named, name)) or b"")
        _print_summary(FindingsModel.open(folder, shown=shown_url(report)))


def _print_summary(model: FindingsModel, color: str = "auto", lines: int = LINES) -> None:
    _print(summary_lines(model, terminal_width(), lines or UNBOUNDED), color)


def run_changes(report: str, kind: str, output: str) -> int:
    """Print the answer of an upgrade and each of its causes, whole.

    Args:
        report: Its report.
        kind: Only the causes of a kind, a plural or the name of a definition; empty for all.
        output: One of `auditor.printing.print_rows.FORMS`.

    Raises:
        PlanError: It is no report of an upgrade, or no definition is called so.
    """
    with opened(report) as model:
        if "upgrade" not in model.manifest:
            raise PlanError(report, "is not a report of `auditor upgrade`", "its --report folder")
        causes = [cause for cause in model.causes if cause.impact == UPGRADE]
        definitions = model.manifest["upgrade"]["definitions"]
        if kind:
            definitions = [one for one in definitions if kind.lower() in _names_of(one)]
            if not definitions:
                expected = "a kind, a plural or the name of a definition"
                raise PlanError(kind, "the upgrade concerns no such kind", expected)
            causes = [cause for cause in causes if any(is_of_definition(cause, one) for one in definitions)]
        if output not in ("table", "wide"):  # their causes are whole
            _write(written(model, causes, None, output))
            return 0
        answer = [] if kind else [*answer_lines(model), Line("")]
        lines = [*answer, *definition_lines(definitions, UNBOUNDED)]
        for cause in causes:
            rows = model.objects(Filters(causes=(cause.digest,)))
            lines += [Line(""), *cause_lines(model, cause, rows, UNBOUNDED, 0)]
        _print([*lines, *end_lines(model)], "auto")
    return 0


def _names_of(definition: dict[str, Any]) -> set[str]:
    """Return what a user may call a definition, in small letters."""
    name, kind = definition["name"], definition["kind"]
    return {spelling.lower() for spelling in (name, name.partition(".")[0], kind, f"{kind}.{definition['group']}")}


def run_findings(options: ViewOptions, cause: str) -> int:
    """Print the causes of a report, or one cause with its objects."""
    filters = options.filters
    with opened(options.report, filters.clusters) as model:
        topic = model.topic(cause)
        if cause and topic is None:
            chosen = model.cause(cause)
            _show_cause(model, chosen, replace(filters, causes=(chosen.digest,)), options)
            return 0
        causes = [cause for cause in model.filtered(filters) if topic is None or cause.topic == topic.id]
        if filters.needs_rows and any(one.impact == UPGRADE for one in causes):
            text = "what an upgrade does is not counted by namespace or owner: its causes are those of all objects"
            click.echo(text, err=True)
        if options.output in ("table", "wide"):
            is_wide = options.output == "wide"
            _print(listing_lines(model, causes, terminal_width(), options.lines, wide=is_wide), options.color)
        else:
            _write(written(model, causes, None, options.output))
    return 0


def _show_cause(model: FindingsModel, cause: Cause, filters: Filters, options: ViewOptions) -> None:
    wanted = replace(
        filters, severities=(), changes=tuple(change for change in filters.changes if change in ("new", "same"))
    )
    rows: Iterator[dict[str, Any]]
    rows = model.objects(wanted) if cause.impact else model.findings(wanted, distinct=True)
    if options.output in ("table", "wide"):
        is_wide = options.output == "wide"
        _print(cause_lines(model, cause, rows, terminal_width(), options.lines, wide=is_wide), options.color)
    else:
        _write(written(model, [cause], rows, options.output))
