"""Runs the stages of an audit in turn; the stages never call each other.

Workers count the causes of the shards that they write. Parts in which something is new since an earlier report are
counted again at the end, from the tables: many by worker processes.
"""

from __future__ import annotations

import datetime
import time
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import PlanError, ReportNotWritable, is_environment
from auditor.base.progress import tell
from auditor.base.statuses import Impact, Status
from auditor.crds.definitions_file import FILE
from auditor.plan.limits import bound_worker
from auditor.plan.options import FAIL_ON
from auditor.releases import running_as
from auditor.sources.dump_formats import HAS_HISTORY
from auditor.sources.files.helpers import NO_HELPERS
from auditor.sources.files.work_folder import clear_dead_folders, work_folder
from pipelines.engines import PRELOAD, expect_workers, helping, run_in_background, run_processes, run_shards
from pipelines.log import LOG
from pipelines.run.report_target import check_target, inputs_of, list_files, mode_of, put_in_place, set_modes, target_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from auditor.causes.counting import PartCounts
    from auditor.crds.usable import UsableDefinitions
    from auditor.plan.options import AuditOptions
    from auditor.plan.run_plan import Given, Plan, SourceShard
    from auditor.shards.result import ShardResult
    from auditor.sources.source_plan import Damage, SourcePlan


def run_audit(
    options: AuditOptions, run: Callable[..., list[Any]] | None = None, rules: dict[str, Any] | None = None
) -> tuple[int, dict[str, Any]]:
    """Run one audit; write the report whole or not at all.

    Args:
        options: The options of the run.
        run: Runs its shards, as `run_shards`; None means that does.
        rules: For a cluster of a fleet what `rules_of_workers` returns for the fleet: workers count causes by them.

    Returns:
        (exit code, manifest), the code as `exit_code` returns it.
    Raises:
        AuditorError: A dump cannot be read as a whole, or the report cannot be written where it was asked for.
    """
    with running_as(options.kubernetes):
        return _run(options, run or run_shards, rules)


def _run(
    options: AuditOptions, run: Callable[..., list[Any]], rules: dict[str, Any] | None
) -> tuple[int, dict[str, Any]]:
    expected = expect_workers(options.dumps, engine=options.engine, jobs=options.jobs)
    from auditor.causes.build import causes_by_workers, note_causes, rules_of_workers  # noqa: PLC0415
    from auditor.causes.parts import ShardCounter  # noqa: PLC0415
    from auditor.plan.cut import cut_shards  # noqa: PLC0415
    from auditor.plan.run_plan import look_again, make_plan  # noqa: PLC0415
    from auditor.shards.gates import check_plan  # noqa: PLC0415 - heavy imports only when work is done
    from auditor.sources.files.digest import LateDigests  # noqa: PLC0415
    from auditor.store.check import check_report  # noqa: PLC0415
    from auditor.store.manifest import merge, write_empty_parts, write_manifest, write_versions  # noqa: PLC0415
    from pipelines.run.report.lifecycle import note_lifecycle  # noqa: PLC0415

    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    clock = time.monotonic()
    with new_report(options) as (spool, parts), new_tables_of(options) as tables:
        digests = LateDigests(is_wanted=options.verify_digest)
        with _from_files(options, apart=expected) as from_files:
            helpers = helping(options.jobs - 1) if expected else NO_HELPERS
            plan = make_plan(options, spool, from_files, go_on=True, digests=digests, helpers=helpers)
        check_plan(plan)
        _check_version(plan)
        _log_sources(plan)
        rules = rules if options.in_fleet else rules_of_workers(options)
        count: Callable[..., None] | None = None if rules is None else ShardCounter(plan.definitions, rules)
        if options.tables:
            from auditor.server.tables.shard_tables import ShardTables  # noqa: PLC0415 - only when asked

            count = ShardTables(count)
        lost = partial(_lost, plan=plan, parts=str(parts), count=count)
        ready = partial(_ready, plan, str(parts), _usable(options, spool), count)
        total = merge(run(ready, cut_shards(plan), options, lost, spool))
        write_empty_parts(plan, parts, "objects", "findings")
        versions = write_versions(plan, total, parts)
        for source, damage in digests.settle(plan.sources):
            _log_damage(source, damage)
        look_again(plan)
        code = exit_code(options, plan.sources, total)
        seconds = time.monotonic() - clock
        manifest = write_manifest(
            plan, total, parts, started=started, seconds=seconds, exit_code=code, versions=versions
        )
        note_lifecycle(plan, manifest, parts, deleting=total.deleting)
        check_report(options, parts, manifest, total)
        _note_last_good(plan, manifest)
        if not options.in_fleet:
            from auditor.compare.presence import note_presence  # noqa: PLC0415

            note_presence(options, manifest)
            code = manifest["exit_code"]
        fresh: list[str] = []
        if options.diff:
            from pipelines.run.diff import write_difference  # noqa: PLC0415

            code, fresh = write_difference(options, parts, manifest)
        Path(plan.definitions).replace(parts / FILE)  # settings that queries of the report use
        if options.redact:
            from auditor.store.redact import redact_report  # noqa: PLC0415

            redact_report(parts, manifest)
        if not options.in_fleet:
            counted = None
            if rules is not None:
                counted = causes_by_workers(parts, manifest, rules, count_anew(options, parts, manifest, fresh))
            code = note_causes(options, parts, manifest, counted)
        if tables is not None:
            from pipelines.run.audit_tables import note_tables, take_tables  # noqa: PLC0415 - only when asked

            note_tables(options, take_tables(parts, tables).values(), tables)
        list_files(parts, manifest)
    return code, manifest


def new_tables_of(options: AuditOptions) -> AbstractContextManager[Path | None]:
    """Return a context manager that yields a new folder for the typed rows of the run, or None without --tables.

    Raises:
        PlanError: It is in the folder of the report, or the other way round; or the values are to be redacted.
    """
    if not options.tables or options.in_fleet:
        return nullcontext()
    if options.redact:
        found = "writes the values of objects, which --redact takes out"
        raise PlanError("--tables", found, "one of them", "objects/ of the report has the rest")
    from pipelines.run.audit_tables import new_tables  # noqa: PLC0415 - only when asked

    report, tables = target_of(options.report).resolve(), target_of(options.tables).resolve()
    if report.is_relative_to(tables) or tables.is_relative_to(report):
        raise PlanError("--tables", f"{options.tables} and the report {options.report} are not apart", "two folders")
    return new_tables(options.tables, *options.dumps)


def _usable(options: AuditOptions, spool: Path) -> UsableDefinitions | None:
    """Return where workers note which definitions they have read; None for a worker alone."""
    if options.jobs == 1 or options.engine == "inline":
        return None
    from auditor.crds.usable import UsableDefinitions  # noqa: PLC0415

    folder = spool / "usable"
    folder.mkdir()
    return UsableDefinitions(folder.absolute())


def _ready(
    plan: Plan, parts: str, usable: UsableDefinitions | None, count: Callable[..., None] | None
) -> Callable[[SourceShard], ShardResult]:
    """Prepare a worker with `auditor.shards.shard_audit.setup`, which loads the modules that audit objects."""
    from auditor.shards.shard_audit import setup  # noqa: PLC0415

    return setup(plan, parts, usable, count)


def _lost(
    item: SourceShard, error: Exception, *, plan: Plan, parts: str, count: Callable[..., None] | None
) -> ShardResult:
    """Audit a shard whose worker died twice in smaller ones, or write rows that say so."""
    from auditor.shards.shard_audit import lost_shard  # noqa: PLC0415
    from pipelines.lost_shards import audit_smaller  # noqa: PLC0415

    if plan.options.engine == "processes":
        later = audit_smaller(item, plan=plan, parts=parts, preload=PRELOAD, count=count)
        if later is not None:
            return later
    return lost_shard(item, error, plan=plan, parts=parts, count=count)


def _note_last_good(plan: Plan, manifest: dict[str, Any]) -> None:
    has_history = any(source.format in HAS_HISTORY for source in plan.sources)
    if has_history and any(kind["breaking"] for kind in manifest["kinds"]):
        from pipelines.run.report.last_good import note_last_good  # noqa: PLC0415 - rarely needed

        note_last_good(plan, manifest)


def _log_sources(plan: Plan) -> None:
    """Log the opened dumps, and the parts of them that could not be read."""
    for source in plan.sources:
        text = f"{source.name}: {source.format}, revision {source.revision}"
        LOG.debug("source", text, name=source.name, format=source.format, revision=source.revision)
        for damage in source.damage:
            _log_damage(source, damage)
    LOG.debug("phase", f"{len(plan.entries)} definitions read, judging the objects", phase="judge")


def _log_damage(source: SourcePlan, damage: Damage) -> None:
    text = f"{source.name}: {damage.where}: {damage.reason}"
    LOG.debug("damage", text, name=source.name, where=damage.where)


def _check_version(plan: Plan) -> None:
    """Refuse an --at that is a version of no definition: everything would be audited at the storage version."""
    from auditor.crds.outline import outline  # noqa: PLC0415

    version = plan.options.at
    if version in ("stored", "storage", "served") or not plan.entries:
        return
    known = {version.name for entry in plan.entries for version in outline(plan.definitions_file.document(entry))}
    if version not in known:
        expected = f"stored, storage, served, or one of {', '.join(sorted(known))}"
        raise PlanError("--at", f"no definition has the version {version}", expected)


def _from_files(options: AuditOptions, *, apart: bool) -> AbstractContextManager[Callable[[], Given]]:
    """Return a context manager that yields a function returning the definitions in files.

    Args:
        options: The options of the run.
        apart: Read them in a process that is needed later in any case, while this one opens the dumps.
    """
    from auditor.plan.definition_paths import render_of  # noqa: PLC0415
    from auditor.plan.run_plan import read_definitions  # noqa: PLC0415

    read = partial(read_definitions, options.crds, render_of(options))
    return run_in_background(read, PRELOAD) if apart and options.crds and "-" not in options.crds else nullcontext(read)


@contextmanager
def new_report(options: AuditOptions, *inputs: str) -> Iterator[tuple[Path, Path]]:
    """Yield (spool, parts): two new folders; parts becomes the report if the block ends without an error.

    Args:
        options: The options of the run.
        inputs: Further paths that the run reads, beside those in its options.

    Raises:
        PlanError: The report cannot be written where it was asked for.
    """
    _check_texts(astuple(options))
    report = target_of(options.report)
    clear_dead_folders(report.parent, ".")
    read = inputs_of(options, *inputs) if report.exists() else []
    check_target(report, force=options.force, inputs=read)
    with ExitStack() as stack:
        try:
            report.parent.mkdir(parents=True, exist_ok=True)
            workdir = stack.enter_context(work_folder(report.parent, f".{report.name}", report.name))
        except OSError as error:
            reason = f"cannot be written: {error.strerror}"
            kind = ReportNotWritable if is_environment(error) else PlanError
            raise kind(str(report), reason, "a path in a writable folder", "give another --report") from error
        spool, parts = workdir / "spool", workdir / "report"
        spool.mkdir()
        (parts / "objects").mkdir(parents=True)
        (parts / "findings").mkdir()
        yield spool, parts
        set_modes(parts, mode_of(options, parts))
        check_target(report, force=options.force, inputs=read)  # another run may have created one meanwhile
        put_in_place(parts, report, force=options.force)


def _check_texts(values: tuple[Any, ...]) -> None:
    """Refuse texts that cannot be written to a table or a manifest."""
    for value in values:
        if type(value) is tuple:
            _check_texts(value)
        elif type(value) is str:
            try:
                value.encode()
            except UnicodeEncodeError:
                from auditor.sources.registry_key import printable_name  # noqa: PLC0415 - only on failure

                shown, advice = printable_name(value), "rename it, or give a link to it"
                raise PlanError(shown, "is not UTF-8", "names that a report can hold", advice) from None


def exit_code(options: AuditOptions, sources: Any, total: ShardResult) -> int:
    """Return the exit code of an audit.

    2: there was no object, or none that could be read; 3: part of a dump could not be read, or rules exceeded their
    limits, or the answer to a change is not known, or the command of --kms-decryptor failed; 1: --fail-on is reached.
    """
    statuses = {Status(status) for _, status in total.statuses}
    if statuses <= {Status.OTHER} and not total.out_of_scope:
        return 3 if total.lost else 2
    has_failed = any(count.error for count in total.encrypted)  # the command that gives keys
    is_judged = not (total.lost or total.given_up or total.unanswered or has_failed)
    if options.old and any(source.is_export for source in sources):  # manifests without a definition are not answered
        is_judged &= statuses.isdisjoint((Status.ORPHANED, Status.UNSERVED))
    if any(source.damage for source in sources) or not is_judged:
        return 3
    if options.fail_on_sealed and Status.SEALED in statuses:
        return 1
    impacts = {Impact(impact) for _, impact in total.impacts}
    unread = {Status.UNREADABLE, *((Status.NEEDS_CONVERSION,) if options.at not in ("storage", "stored") else ())}
    reached = {
        "unreadable": bool(statuses & unread) or any(impact.is_breaking for impact in impacts),
        "blocked": any(impact.blocks or impact.is_breaking for impact in impacts),
        "data-loss": not impacts.isdisjoint((Impact.LOSES_DATA, Impact.IS_DELETED)),
        "invalid": Status.INVALID in statuses,
    }
    levels = FAIL_ON[1 : FAIL_ON.index(options.fail_on) + 1] if options.fail_on in FAIL_ON else ()
    return 1 if any(reached[level] for level in levels) else 0


_LEAST_PARTS: Final = 24
"""Parts with causes from which on several processes count them in less time than one."""
_ITEMS_A_WORKER: Final = 6
"""Items of a worker: few, as each is waited for; several, as parts differ."""


def count_anew(
    options: AuditOptions, report: Path, manifest: dict[str, Any], names: list[str]
) -> dict[str, PartCounts]:
    """Return the counts of some parts of a report, by the names of their files; workers count many.

    Args:
        options: The options of the run.
        report: Folder of the report, whose other tables are complete.
        manifest: Its manifest.
        names: The names.
    """
    if not names:
        return {}
    from auditor.causes.build import rules_of  # noqa: PLC0415 - heavy

    manifest = manifest | {"options": manifest["options"] | rules_of(options)}
    ready = partial(_counter_ready, options, report, manifest)
    jobs = options.jobs if options.engine == "processes" and len(names) >= _LEAST_PARTS else 1
    if jobs == 1:
        return ready()(names)
    size = -(-len(names) // (jobs * _ITEMS_A_WORKER))
    items = [names[begin : begin + size] for begin in range(0, len(names), size)]
    on_lost = lambda item, _: ready()(item)  # noqa: E731 - counts it here
    counted: dict[str, PartCounts] = {}
    for parts in run_processes(ready, items, jobs=min(jobs, len(items)), on_lost=on_lost, preload=PRELOAD):
        counted |= parts
        tell("writing", len(counted), len(names), "parts")
    return counted


def _counter_ready(
    options: AuditOptions, report: Path, manifest: dict[str, Any]
) -> Callable[[list[str]], dict[str, PartCounts]]:
    """Make a worker ready that counts parts, given by the names of their files."""
    from auditor.causes.parts import PartCounter  # noqa: PLC0415 - heavy

    bound_worker(options.memory, options.jobs)
    counter = PartCounter(report, manifest)

    def work(names: list[str]) -> dict[str, PartCounts]:
        with running_as(options.kubernetes):
            return {name: counter.count(name) for name in names}

    return work
