"""Audits of the clusters of a fleet: side by side in worker processes, as tasks of Ray, or one after another.

With several workers a cluster is the work of one of them: it opens the dump, judges the objects and writes the report
of the cluster. So a fleet has one start of workers, and what one process does alone for each dump is done by all of
them. A cluster that is so much larger than the others that they would wait for it is audited afterwards by all workers
together, as a single dump is. So is a cluster at which a worker ended: of it only that object is lost.
"""

from __future__ import annotations

import errno
import gc
import os
import shutil
import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.base.errors import AuditorError, PlanError, SourceError
from auditor.base.progress import tell
from auditor.plan.limits import bound_worker
from auditor.sources.files.compression import PACKED_SUFFIXES
from auditor.sources.stores.locations import is_remote, shown_url
from pipelines.engines import PRELOAD, run_processes, run_shards
from pipelines.log import LOG
from pipelines.run.audit import run_audit
from pipelines.run.fleet_settings import ClusterSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from auditor.plan.options import AuditOptions
    from auditor.plan.run_plan import SourceShard


CAUSES: Final = "causes"
"""The key of a manifest of a cluster for its causes."""
_BYTES_A_SECOND: Final = 60e6
_START_SECONDS: Final = 0.4
_ALONE_SHARE: Final = 0.15
"""What an audit costs, about: a worker judges so many bytes a second; workers take so long to start; and so much of the
work is done by one process however many there are."""
_PACKED: Final = 6
"""How many times larger a compressed dump becomes, about."""
_COLLECT_AFTER: Final = 64 << 20
"""Bytes of values after which a worker collects what clusters have left; for a few objects it takes as long as they."""
_OURS: Final = ("/dev/", "/proc/")
"""Where names mean files that are open in this process alone."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster of a fleet: its name, its dumps, and its own options."""

    name: str
    dumps: tuple[str, ...]
    settings: ClusterSettings = field(default_factory=ClusterSettings)

    @property
    def shown(self) -> str:
        """Its dumps for messages, without secrets."""
        return ", ".join(map(shown_url, self.dumps))


class ClusterOutcome(NamedTuple):
    """What an audit of a cluster gave.

    Attributes:
        answer: Its manifest, or why its dump could not be read.
        error: What ends the run; None means nothing does.
        lines: What the worker logged.
    """

    answer: dict[str, Any] | SourceError | None
    error: AuditorError | None = None
    lines: tuple[str, ...] = ()


_Item = tuple[int, Cluster]
Answer = dict[str, Any] | SourceError


def report_of(spool: Path, position: int) -> Path:
    """Return the folder of the report of a cluster, given with its position in the fleet."""
    return spool / f"cluster-{position:05d}"


def audit_clusters(options: AuditOptions, clusters: list[Cluster], spool: Path) -> Iterator[Answer]:
    """Yield the manifest of each cluster, in order, or why its dump could not be read.

    A manifest has the causes of the cluster as well, as `causes_by_workers` returns them, under `CAUSES`; None if only
    the whole report shows them.

    Args:
        options: The options of the fleet.
        clusters: Its clusters.
        spool: Takes their reports (`report_of`).
    """
    items = list(enumerate(clusters))
    if options.engine == "ray":
        by_ray = _by_ray(options, items, spool)
        yield from (by_ray[position] for position, _ in items)
        return
    shared = _shared(options, items)
    by_workers = {position for position, _ in shared}
    work = _auditor_of_clusters(options, spool)
    apart = _auditor_of_clusters(options, spool, partial(run_shards, apart=True))
    answers: dict[int, Answer | None] = {}
    with closing(_by_workers(options, shared, spool, len(items))) as arriving:
        for item in items:
            position = item[0]
            if position not in by_workers:
                answers.update(arriving)  # the rest of them: then all workers are free for this cluster
                yield work(item)[1]
                continue
            while position not in answers:
                answers.update([next(arriving)])
            if (answer := answers.pop(position)) is None:
                shutil.rmtree(report_of(spool, position), ignore_errors=True)
                yield apart(item)[1]
            else:
                yield answer


# -- by workers --------------------------------------------------------------------------------------------------------


def _shared(options: AuditOptions, items: list[_Item]) -> list[_Item]:
    """Return the clusters that are each the work of one worker, the largest first.

    The others are so large that all end earlier if all workers audit each of them together, or can be read by this
    process alone.
    """
    if options.engine != "processes" or options.jobs == 1 or "-" in options.crds:
        return []
    sizes = {item[0]: sum(map(_size, item[1].dumps)) for item in items if all(map(is_open_to_all, item[1].dumps))}
    largest_first = sorted((item for item in items if item[0] in sizes), key=lambda item: (-sizes[item[0]], item[0]))
    seconds = [sizes[position] / _BYTES_A_SECOND for position, _ in largest_first]
    shared = largest_first[_most_even(seconds, options.jobs) :]
    return shared if len(shared) > 1 else []


def _most_even(seconds: list[float], jobs: int) -> int:
    """Return of how many of the longest pieces of work, which come first, each should be done by all workers."""
    best, shortest = _together(seconds, jobs), 0
    before = 0.0
    for number, duration in enumerate(seconds, 1):
        before += _START_SECONDS + duration * (_ALONE_SHARE + (1 - _ALONE_SHARE) / jobs)
        if before >= best:
            break
        if (whole := before + _together(seconds[number:], jobs)) < best:
            best, shortest = whole, number
    return shortest


def _together(seconds: list[float], jobs: int) -> float:
    """Return how long workers take for pieces of work, each done by one of them."""
    return _START_SECONDS + max(seconds[0], sum(seconds) / jobs) if seconds else 0.0


def is_open_to_all(dump: str) -> bool:
    """Return whether a dump can be opened by its name, also by a worker, and more than once."""
    path = Path(dump)
    return is_remote(dump) or (not dump.startswith(_OURS) and (path.is_file() or path.is_dir()))


def _size(dump: str) -> int:
    """Return about how many bytes a dump has once it is unpacked; 0 where that is not known yet."""
    if is_remote(dump):
        return 0
    try:
        path = Path(dump)
        files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
        return sum(file.stat().st_size * (_PACKED if file.suffix in PACKED_SUFFIXES else 1) for file in files)
    except OSError:
        return 0  # the audit says why


def _by_workers(
    options: AuditOptions, items: list[_Item], spool: Path, total: int
) -> Generator[tuple[int, Answer | None], None, None]:
    """Audit clusters in worker processes; yield the position and answer of each as it comes, None if its workers ended.

    Args:
        options: The options of the fleet.
        items: The clusters, the largest first.
        spool: Takes their reports.
        total: The number of all clusters of the fleet.
    """
    if not items:
        return
    jobs = min(options.jobs, len(items))
    dealt = [item for place in range(jobs) for item in items[place::jobs]]  # neighbours go to one worker
    ready = partial(_ready, replace(options, engine="inline", jobs=jobs), spool, LOG.settings)
    began = time.monotonic()
    for count, (position, outcome) in enumerate(
        run_processes(
            ready, dealt, jobs=jobs, on_lost=lambda item, _: (item[0], ClusterOutcome(None)), preload=PRELOAD
        ),
        1,
    ):
        LOG.lines(outcome.lines)
        if outcome.error is not None:
            raise outcome.error
        tell("judging", count, total, "clusters")
        LOG.clusters(count, total, time.monotonic() - began)
        yield position, outcome.answer


def _ready(options: AuditOptions, spool: Path, settings: Any) -> Callable[[_Item], tuple[int, ClusterOutcome]]:
    """Make a worker ready that audits clusters; what is logged goes to the parent process with the answer."""
    LOG.restore(settings)
    bound_worker(options.memory, options.jobs)
    parent = os.getppid()

    def run(ready: Any, shards: list[SourceShard], *rest: Any) -> list[Any]:
        return run_shards(ready, _WhileChildOf(parent, shards), *rest)

    audit = _auditor_of_clusters(options, spool, run)
    since_collect = 0

    def work(item: _Item) -> tuple[int, ClusterOutcome]:
        nonlocal since_collect
        with LOG.collected() as lines:
            try:
                outcome = ClusterOutcome(audit(item)[1])
            except AuditorError as error:
                outcome = ClusterOutcome(None, error)
        since_collect += outcome.answer["counts"]["bytes"] if isinstance(outcome.answer, dict) else _COLLECT_AFTER
        if since_collect >= _COLLECT_AFTER:  # workers run without the collector, and what is left holds cycles
            since_collect = 0
            gc.collect()
        return item[0], outcome._replace(lines=tuple(lines))

    return work


class _WhileChildOf(list["SourceShard"]):
    """Shards; none is begun after the run was killed, which this process sees by its parent."""

    def __init__(self, parent: int, shards: list[SourceShard]) -> None:
        super().__init__(shards)
        self._parent = parent

    def __iter__(self) -> Iterator[SourceShard]:
        for shard in super().__iter__():
            if os.getppid() != self._parent:
                os._exit(0)
            yield shard


# -- by Ray ------------------------------------------------------------------------------------------------------------


def _by_ray(options: AuditOptions, items: Sequence[_Item], spool: Path) -> dict[int, Answer]:
    """Audit clusters as tasks of Ray; return the answer for each position."""
    from pipelines.engines.ray import run_ray  # noqa: PLC0415 - only when asked

    def lost(item: _Item, error: AuditorError) -> tuple[int, Answer]:
        shutil.rmtree(report_of(spool, item[0]), ignore_errors=True)
        return item[0], SourceError(item[1].shown, f"not audited: worker lost ({error.found})")

    ready = partial(_auditor_of_clusters, replace(options, engine="inline", jobs=1), spool)
    return dict(run_ray(ready, items, on_lost=lost, shared=spool, address=options.ray_address, jobs=options.jobs))


# -- one cluster -------------------------------------------------------------------------------------------------------


def _auditor_of_clusters(
    options: AuditOptions, spool: Path, run: Callable[..., list[Any]] | None = None
) -> Callable[[_Item], tuple[int, Answer]]:
    """Return a function that audits one cluster of the fleet, given with its position, into a report in the spool.

    Args:
        options: The options of the fleet.
        spool: Takes the reports.
        run: Runs the shards of a cluster, as `run_shards`; None means that does.
    """

    def work(item: _Item) -> tuple[int, Answer]:
        from auditor.causes.build import causes_by_workers, rules_of_workers  # noqa: PLC0415 - heavy imports

        position, cluster = item
        rules = None if options.diff else rules_of_workers(options)  # only the whole fleet shows what is new
        asked = replace(
            options,
            dumps=cluster.dumps,
            cluster=cluster.name,
            report=str(report_of(spool, position)),
            force=True,  # a task that is run again replaces the files of its first attempt
            diff="",
            only_new=False,
            in_fleet=True,
        )
        asked = cluster.settings.applied_to(asked)
        try:
            manifest = run_audit(asked, run, rules)[1]
        except SourceError as error:
            return position, error
        except PlanError as error:
            if cluster.settings.is_empty:
                raise
            return position, SourceError(cluster.shown, f"not audited: {error}")
        except OSError as error:
            if not any(_is_of_dump(error, dump) for dump in cluster.dumps):
                raise
            return position, SourceError(cluster.shown, f"cannot be read: {error.strerror}")
        causes = None if rules is None else causes_by_workers(report_of(spool, position), manifest, rules)
        return position, manifest | {CAUSES: causes}

    return work


def _is_of_dump(error: OSError, dump: str) -> bool:
    """Return whether the system refused to read this dump: then the other clusters of the fleet are still audited."""
    if error.errno not in (errno.EACCES, errno.EPERM, errno.ENOENT, errno.EIO, errno.ELOOP) or error.filename is None:
        return False
    where, below = Path(os.fsdecode(error.filename)).absolute(), Path(dump).absolute()
    return where == below or below in where.parents
