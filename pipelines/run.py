"""Chains the stages of an audit; the stages never call each other."""

from __future__ import annotations

import datetime
import os
import shutil
import tempfile
import time
from contextlib import contextmanager, nullcontext
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.errors import PlanError
from pipelines.config import FAIL_ON
from pipelines.report import MANIFEST
from pipelines.workers import PRELOAD, expect_workers, lost_later, ready_later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from pipelines.config import AuditOptions
    from pipelines.incremental import Earlier
    from pipelines.plan import Given, Plan, SourceShard
    from pipelines.shard_result import ShardResult

__all__ = ["exit_code", "new_report", "run_audit", "run_shards"]


def run_audit(options: AuditOptions) -> tuple[int, dict[str, Any]]:
    """Run one audit; write the report whole or not at all.

    Returns:
        (exit code, manifest): 0, 1 where --fail-on is reached, 3 where part of a container could not be read.
    Raises:
        AuditorError: A dump cannot be read as a whole, or the report cannot be written where it was asked for.
    """
    expected = expect_workers(options.dumps, engine=options.engine, jobs=options.jobs, since=options.since)
    from pipelines.gated import check_plan  # noqa: PLC0415 - heavy imports only when work is done
    from pipelines.plan import cut_shards, make_plan  # noqa: PLC0415
    from pipelines.report import merge, write_manifest, write_versions  # noqa: PLC0415

    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    clock = time.monotonic()
    with new_report(options) as (spool, parts):
        earlier = None
        if options.since:
            from pipelines.incremental import Earlier, audit_since  # noqa: PLC0415

            earlier = Earlier(options, apart=expected)
        with _from_files(options, earlier, apart=expected) as from_files:
            plan = make_plan(options, spool, from_files)
        check_plan(plan)
        _check_version(plan)
        since: dict[str, Any] | None = None
        if earlier is not None:
            total, since = audit_since(plan, spool, parts, run_shards, earlier)
        else:
            lost = partial(lost_later, plan=plan, parts=str(parts))
            total = merge(run_shards(partial(ready_later, plan, str(parts)), cut_shards(plan), options, lost, spool))
        versions = write_versions(plan, total, parts)
        code = exit_code(options, plan.sources, total)
        seconds = time.monotonic() - clock
        manifest = write_manifest(
            plan, total, parts, started=started, seconds=seconds, exit_code=code, versions=versions, since=since
        )
        if options.diff:
            from pipelines.difference import write_difference  # noqa: PLC0415

            code = write_difference(options, parts, manifest)
        shutil.copyfile(plan.definitions, parts / "definitions.ndjson")  # what a query of the report goes by
    return code, manifest


def _check_version(plan: Plan) -> None:
    """Refuse an --at that no definition has as a version: it would judge everything at the storage version."""
    from auditor.crds.outline import outline  # noqa: PLC0415
    from pipelines.plan import definition_document  # noqa: PLC0415

    at = plan.options.at
    if at in ("stored", "storage", "served") or not plan.entries:
        return
    known = {version.name for entry in plan.entries for version in outline(definition_document(plan, entry))}
    if at not in known:
        expected = f"stored, storage, served, or one of {', '.join(sorted(known))}"
        raise PlanError("--at", f"no definition has a version {at}", expected)


def _from_files(
    options: AuditOptions, earlier: Earlier | None, *, apart: bool
) -> AbstractContextManager[Callable[[], Given]]:
    """Return what yields a call that gives the definitions in files.

    Args:
        options: Of the run.
        earlier: The report whose rows are kept, which may know them.
        apart: They are read in a process that will be needed anyway, while this one opens the dumps.
    """
    from pipelines.engines import begun  # noqa: PLC0415
    from pipelines.plan import read_definitions  # noqa: PLC0415

    known = None if earlier is None else earlier.report.definitions
    read = partial(read_definitions, options.crds, known)
    return begun(read, PRELOAD) if apart and options.crds and "-" not in options.crds else nullcontext(read)


@contextmanager
def new_report(options: AuditOptions) -> Iterator[tuple[Path, Path]]:
    """Yield (spool, parts): two new folders; what is in parts becomes the report where the block ends well.

    Raises:
        PlanError: The report cannot be written where it was asked for.
    """
    _check_texts(astuple(options))
    report = _target(options.report)
    _check_target(report, force=options.force)
    try:
        report.parent.mkdir(parents=True, exist_ok=True)
        workdir = Path(tempfile.mkdtemp(prefix=f".{report.name}.", dir=report.parent))
    except OSError as error:
        found = f"cannot be written: {error.strerror}"
        raise PlanError(
            str(report), found, "a folder in one that can be written to", "give another --report"
        ) from error
    try:
        spool, parts = workdir / "spool", workdir / "report"
        spool.mkdir()
        (parts / "objects").mkdir(parents=True)
        (parts / "findings").mkdir()
        yield spool, parts
        _check_target(report, force=options.force)  # another run may have put one there meanwhile
        _put_in_place(parts, report)
    finally:
        shutil.rmtree(workdir, ignore_errors=True)


def run_shards(
    ready: Any,
    shards: list[SourceShard],
    options: AuditOptions,
    lost: Any,
    spool: Path,
    beside: Callable[[Any], None] | None = None,
) -> list[Any]:
    """Return the answers of all shards, from this process or from workers.

    Args:
        ready: Makes the function that a worker calls with each of its shards; picklable.
        lost: Called with a shard whose worker died twice, and the error; gives its answer.
        spool: Folder of what this run needs while it lasts.
        beside: Takes each answer as it comes, for work that is done here meanwhile: one worker is a process as well.
    """
    from pipelines.engines import run_inline, run_processes  # noqa: PLC0415

    if options.engine == "ray":
        from pipelines.engines.ray import run_ray  # noqa: PLC0415 - only when asked

        answers = run_ray(ready, shards, on_lost=lost, shared=spool, address=options.ray_address, jobs=options.jobs)
    elif options.engine == "inline" or (options.jobs == 1 and beside is None) or len(shards) <= 1:
        answers = run_inline(ready, shards)
    else:
        jobs = min(options.jobs, len(shards))
        answers = run_processes(ready, shards, jobs=jobs, on_lost=lost, preload=PRELOAD)
    if beside is not None:
        answers = _told(answers, beside)
    return _with_progress(answers, shards, show=options.progress)


def _told(answers: Any, beside: Callable[[Any], None]) -> Iterator[Any]:
    for answer in answers:
        beside(answer)
        yield answer


def _with_progress(answers: Any, shards: list[SourceShard], *, show: bool) -> list[Any]:
    if not show:
        return list(answers)
    from tqdm import tqdm  # noqa: PLC0415 - only on a terminal

    out = []
    rows = sum(item.shard.stop - item.shard.start for item in shards)
    with tqdm(total=rows, unit=" objects", unit_scale=True, desc="audit") as bar:
        by_number = {item.shard.number: item.shard for item in shards}
        for answer in answers:
            shard = by_number[answer.number]
            bar.update(shard.stop - shard.start)
            out.append(answer)
    return out


def _check_texts(values: tuple[Any, ...]) -> None:
    """Refuse names and words that no table and no manifest can hold."""
    for value in values:
        if type(value) is tuple:
            _check_texts(value)
        elif type(value) is str:
            try:
                value.encode()
            except UnicodeEncodeError:
                from auditor.sources.registry_key import printable_name  # noqa: PLC0415 - only on failure

                shown, advice = printable_name(value), "rename it, or give a link to it"
                raise PlanError(shown, "is no UTF-8", "names that a report can hold", advice) from None


def _target(given: str) -> Path:
    """Return the folder that a report is to replace: of a link what it leads to, as the link is to stay.

    Raises:
        PlanError: It cannot be replaced, whatever is in it.
    """
    report = Path(given)
    if report.name in {"", ".."}:
        raise PlanError(
            given or "--report", "names no folder that can be replaced", "a folder by its name", "e.g. out/"
        )
    return Path(os.path.realpath(report)) if report.is_symlink() else report


def _check_target(report: Path, *, force: bool) -> None:
    if not report.exists():
        return
    if not report.is_dir():
        raise PlanError(str(report), "is a file", "a folder for the report", "give another --report")
    if not any(report.iterdir()):
        return
    if not (report / MANIFEST).exists():
        raise PlanError(str(report), "holds files but no report", "a new or empty folder", "give another --report")
    if not force:
        raise PlanError(str(report), "holds a report already", "", "give --force to replace it")


def _put_in_place(parts: Path, report: Path) -> None:
    """Rename the finished folder to its name; an old report steps aside first, so that one is always whole."""
    old = parts.parent / "old"
    if report.exists():
        report.rename(old)
    parts.rename(report)


def exit_code(options: AuditOptions, sources: Any, total: ShardResult) -> int:
    """Return 3 where part of a container could not be read, 1 where --fail-on is reached, else 0."""
    if any(source.damage for source in sources) or total.lost:
        return 3
    statuses = {status for _, status in total.statuses}
    impacts = {impact for _, impact in total.impacts}
    reached = {
        "unreadable": bool(statuses & {"unreadable", "needs-conversion"}),
        "blocked": any(impact.startswith("blocks-") or impact == "breaks-list" for impact in impacts),
        "data-loss": "loses-data" in impacts,
        "invalid": "invalid" in statuses,
    }
    levels = FAIL_ON[1 : FAIL_ON.index(options.fail_on) + 1]
    return 1 if any(reached[level] for level in levels) else 0
