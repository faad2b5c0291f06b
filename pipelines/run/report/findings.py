"""`auditor summary` and `auditor findings`: the causes of a stored report, local or in an object store."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from auditor.report.findings.filters import Filters
from auditor.report.findings.model import FindingsModel
from auditor.report.views.data import written
from auditor.report.views.layout import painted
from auditor.report.views.listing import cause_lines, listing_lines
from auditor.report.views.summary import summary_lines
from auditor.sources.stores.locations import shown_url
from pipelines.run.remote import reports_here
from pipelines.streams import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from auditor.report.findings.causes import Cause
    from auditor.report.views.layout import Line

__all__ = ["ViewOptions", "opened", "print_summary", "run_findings", "run_summary", "terminal_width"]

_NARROWEST: Final = 60
_WIDTH: Final = 80


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """How a report is shown.

    Attributes:
        report: Folder or URL of the report.
        output: One of `auditor.report.views.data.OUTPUTS`.
        color: auto, always or never.
        lines: Lines at most; 0: all.
        filters: What is wanted.
    """

    report: str
    output: str = "table"
    color: str = "auto"
    lines: int = 25
    filters: Filters = field(default_factory=Filters)


@contextmanager
def opened(report: str, clusters: Sequence[str] = ()) -> Iterator[FindingsModel]:
    """Yield the model of a report, which may be in an object store."""
    with reports_here(report) as (local,):
        yield FindingsModel.open(local, shown=shown_url(report), clusters=clusters)


def terminal_width() -> int:
    """Return the columns of the terminal, 80 without one; `COLUMNS` overrides it."""
    return max(_NARROWEST, shutil.get_terminal_size((_WIDTH, 24)).columns)


def has_color(color: str) -> bool:
    """Return whether output is coloured: `auto` means on a terminal, unless NO_COLOR is set or TERM is dumb."""
    if color != "auto":
        return color == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _print(lines: Iterable[Line], color: str) -> None:
    """Print lines; their content is visible already, so only our own colours reach the terminal."""
    sys.stdout.flush()
    stream = plain(sys.stdout)
    stream.write(painted(lines, color=has_color(color)))
    stream.flush()


def _write(parts: Iterable[str]) -> None:
    for part in parts:
        sys.stdout.write(part)


def run_summary(options: ViewOptions) -> int:
    """Print the summary of a report."""
    with opened(options.report, options.filters.clusters) as model:
        if options.output in ("table", "wide"):
            print_summary(model, color=options.color, lines=options.lines)
        else:
            _write(written(model, model.causes, None, options.output))
    return 0


def print_summary(model: FindingsModel, *, color: str = "auto", lines: int = 25) -> None:
    """Print the summary of a report; with no bound of lines if that is 0."""
    _print(summary_lines(model, terminal_width(), lines or 1 << 20), color)


def run_findings(options: ViewOptions, cause: str) -> int:
    """Print the causes of a report, or one cause with its objects."""
    filters = options.filters
    with opened(options.report, filters.clusters) as model:
        if cause:
            chosen = model.cause(cause)
            _show_cause(model, chosen, replace(filters, causes=(chosen.digest,)), options)
            return 0
        causes = model.filtered(filters)
        if options.output in ("table", "wide"):
            is_wide = options.output == "wide"
            _print(listing_lines(model, causes, terminal_width(), options.lines, wide=is_wide), options.color)
        else:
            _write(written(model, causes, None, options.output))
    return 0


def _show_cause(model: FindingsModel, cause: Cause, filters: Filters, options: ViewOptions) -> None:
    wanted = replace(filters, severities=(), changes=tuple(one for one in filters.changes if one in ("new", "same")))
    rows: Iterator[dict[str, Any]]
    rows = model.objects(wanted) if cause.impact else model.findings(wanted, distinct=True)
    if options.output in ("table", "wide"):
        is_wide = options.output == "wide"
        _print(cause_lines(model, cause, rows, terminal_width(), options.lines, wide=is_wide), options.color)
    else:
        _write(written(model, [cause], rows, options.output))
