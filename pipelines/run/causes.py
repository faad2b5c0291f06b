"""Counts the causes of a large report in worker processes, which have nothing else to do at the end of an audit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from auditor.base.progress import tell
from auditor.plan.limits import bound_worker
from auditor.releases import running_as
from pipelines.workers import PRELOAD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from auditor.causes.counting import PartCounts
    from auditor.plan.options import AuditOptions

__all__ = ["count_in_workers", "is_worth_workers"]

_LEAST: Final = 24
"""Parts with causes from which on several processes count them in less time than one."""
_ITEMS: Final = 6
"""Items of a worker: few, as each is waited for; several, as parts differ."""


def is_worth_workers(options: AuditOptions, report: Path, manifest: dict[str, Any]) -> bool:
    """Return whether workers count the causes of a report sooner than one process, and in the same way.

    Args:
        options: The options of the run.
        report: Folder of the report, whose other tables are complete.
        manifest: Its manifest.
    """
    if options.engine != "processes" or options.jobs == 1 or options.accept or options.redact or options.in_fleet:
        return False
    from auditor.causes.build import parts_to_count  # noqa: PLC0415 - heavy

    return len(parts_to_count(report, manifest)) >= _LEAST


def count_in_workers(
    options: AuditOptions, report: Path, manifest: dict[str, Any], meanwhile: Callable[[], None]
) -> list[dict[str, Any]]:
    """Return what `count_causes` returns for a report, counted in workers.

    Args:
        options: The options of the run.
        report: Folder of the report, whose other tables are complete.
        manifest: Its manifest.
        meanwhile: Called once while they count.
    """
    from auditor.causes.build import count_causes, parts_to_count  # noqa: PLC0415 - heavy
    from auditor.causes.outcome import rules_of  # noqa: PLC0415 - heavy
    from pipelines.engines import run_processes  # noqa: PLC0415 - only where there are workers

    manifest = manifest | {"options": manifest["options"] | rules_of(options)}
    names = parts_to_count(report, manifest)
    size = -(-len(names) // (options.jobs * _ITEMS))
    items = [(at, names[at : at + size]) for at in range(0, len(names), size)]
    ready = partial(_ready, options, report, manifest)
    pool = run_processes(
        ready,
        items,
        jobs=min(options.jobs, len(items)),
        on_lost=lambda item, _: ready()(item),  # counts it here
        preload=PRELOAD,
        meanwhile=meanwhile,
    )
    counted: dict[int, list[PartCounts]] = {}
    for first, parts in pool:
        counted[first] = parts
        tell("writing", sum(map(len, counted.values())), len(names), "parts")
    return count_causes(report, manifest, None, (part for at, _ in items for part in counted.pop(at)))


_Item = tuple[int, list[str]]


def _ready(options: AuditOptions, report: Path, manifest: dict[str, Any]) -> Callable[[_Item], Any]:
    """Make a worker ready that counts parts, given with the position of the first of them."""
    from auditor.causes.build import PartCounter  # noqa: PLC0415 - heavy

    bound_worker(options.memory, options.jobs)
    counter = PartCounter(report, manifest)

    def work(item: _Item) -> tuple[int, list[PartCounts]]:
        with running_as(options.kubernetes):
            return item[0], [counter.count(name) for name in item[1]]

    return work
