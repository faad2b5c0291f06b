"""`auditor query`: answers like `kubectl get`, from a dump or from the index of a report."""

from __future__ import annotations

import datetime
import json
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import PlanError, SourceError
from auditor.base.machine import processors
from auditor.base.visible import label
from auditor.crds.definition import document_name
from auditor.crds.definitions_file import DefinitionsFile
from auditor.plan.options import AuditOptions
from auditor.plan.run_plan import damage_text, make_plan
from auditor.printing.get.command import get
from auditor.releases import RELEASES, Release, active, running_as
from auditor.selectors.where import notes_of
from auditor.server.clock import newest_time
from auditor.server.dump import DumpStore, Query
from auditor.server.fleet_store import AnyStore, FleetStore, OneStore, stores_of
from auditor.server.history import deletion, plan_as_of, revision_at
from auditor.server.index_only import IndexOnlyStore
from auditor.server.report import OtherDump, ReportStore, check_dumps, find_dumps, read_manifest, report_plan, scope_of
from auditor.sources.crd_files import no_collector
from auditor.sources.files.work_folder import temporary_folder
from auditor.sources.manifests.export_table import REDACTED_BY_EXPORT
from auditor.sources.manifests.sinks import REDACTED
from auditor.sources.stores.locations import is_remote
from auditor.store.check import check_earlier
from auditor.store.clusters import chosen_clusters, cluster_view, is_fleet
from auditor.store.damage_lines import damage_lines
from auditor.store.manifest import MANIFEST, whole_report
from pipelines.run.objects.chosen_kinds import every_kind, kinds_at_version
from pipelines.run.objects.read_ahead import read_ahead_by
from pipelines.run.objects.unknown_kinds import is_incomplete, lost_definitions
from pipelines.run.query_output import extra_formats
from pipelines.run.remote import query_here
from pipelines.streams import ErrorLines, TextWriter, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from auditor.plan.run_plan import Plan
    from auditor.selectors.where import Failures
    from auditor.server.history import Point
    from pipelines.run.objects.query_options import QueryOptions

_EVERY_KIND: Final = "*"


@contextmanager
def open_store(options: QueryOptions, warn: Callable[[str], None]) -> Iterator[AnyStore]:
    """Open the store of a dump or report; its temporary files exist as long as the context.

    Raises:
        AuditorError: It cannot be read at all, or is not the dump that the report was made from.
    """
    with open_stores(options, warn) as opened:
        yield opened.as_one(warn)


@contextmanager
def open_dump(options: QueryOptions, warn: Callable[[str], None]) -> Iterator[DumpStore]:
    """Open a dump, or a report of one cluster with its dump, as `open_stores` does.

    Raises:
        PlanError: It is the report of several clusters, or its dump is missing.
    """
    with open_stores(options, warn) as opened:
        if opened.has_unread or len(opened.stores) != 1:
            found = f"is the report of several clusters ({', '.join(opened.stores)})"
            raise PlanError(options.target, found, "", "--cluster NAME chooses one")
        [store] = opened.stores.values()
        yield dump_of(store, options.target)


def dump_of(store: OneStore, target: str) -> DumpStore:
    """Return a store that reads a dump.

    Raises:
        PlanError: It has only the index of a report.
    """
    if isinstance(store, DumpStore):
        return store
    raise PlanError(target, "the dump of this report is not here", "", "--dump names it")


@dataclass(slots=True)
class Opened:
    """The stores of the clusters of a fleet by name, or one store with an empty name for anything else.

    Attributes:
        has_unread: Whether a requested cluster could not be read at all.
        report: The local folder of the report; None for a dump, or an earlier state of one.
    """

    stores: dict[str, OneStore]
    is_fleet: bool = False
    has_unread: bool = False
    report: Path | None = None

    def as_one(self, warn: Callable[[str], None]) -> AnyStore:
        """Return the store, or that of all clusters of a fleet."""
        return FleetStore(self.stores, warn, has_unread=self.has_unread) if self.is_fleet else self.stores[""]

    def is_incomplete(self) -> bool:
        """Return whether part of the requested objects could not be read, or was left out."""
        return any([self.has_unread, *map(is_incomplete, self.stores.values())])


@contextmanager
def open_stores(options: QueryOptions, warn: Callable[[str], None]) -> Iterator[Opened]:
    """Open a dump, a report, or each cluster of the report of a fleet.

    Raises:
        AuditorError: As `open_store`; or there is no such cluster, or the report is of another release.
    """
    with query_here(options) as local, ExitStack() as stack:
        report = Path(local.target)
        manifest = read_manifest(report) if (report / MANIFEST).exists() else None
        if manifest is None and options.clusters:
            raise PlanError("--cluster", "a dump is of one cluster", "the report of a fleet")
        if manifest is not None:
            with whole_report(options.target):
                check_earlier(report, manifest, options.target)
                chosen = chosen_clusters(manifest, options.clusters)
            stack.enter_context(running_as(_release_of(manifest, chosen, options.kubernetes, warn)))
        whole = report if manifest is not None and options.as_of is None else None
        if manifest is None or not is_fleet(manifest):
            store = stack.enter_context(_open_local(local, warn))
            stack.callback(store.corrupt_objects.end)
            _note_namespace(options, [store], warn)
            yield Opened({"": store}, report=whole)
            return
        folder = Path(stack.enter_context(temporary_folder("fleet")))
        stores = {
            name: stack.enter_context(_open_local(view, _warner_of(name, warn)))
            for name, view in _views(local, manifest, chosen, folder)
        }
        for store in stores.values():
            stack.callback(store.corrupt_objects.end)
        unread = (
            [] if options.clusters else [source for source in manifest["inputs"] if source.get("cluster") not in chosen]
        )
        for source in unread:
            for line in damage_lines(source):
                warn(f"cluster {source.get('cluster')}: {line}\n")
        _note_namespace(options, stores.values(), warn)
        yield Opened(stores, is_fleet=True, has_unread=bool(unread), report=whole)


def _note_namespace(options: QueryOptions, stores: Iterable[OneStore], warn: Callable[[str], None]) -> None:
    """Report a namespace whose Namespace no store has, if all have some."""
    held = [store.namespaces() for store in stores] if options.namespace else []
    if all(held) and (names := set().union(*held)) and options.namespace not in names:
        near = " or ".join(map(label, get_close_matches(options.namespace, sorted(names), 3, 0.65)))
        advice = f" (did you mean {near}?)" if near else ""
        warn(f"note: {label(options.target)} has no Namespace {label(options.namespace)}{advice}\n")


def _release_of(manifest: dict[str, Any], chosen: list[str], asked: str, warn: Callable[[str], None]) -> Release:
    """Return the release that a report was made as, if it is one, and reproduced; else the current one."""
    clusters = (
        [cluster for cluster in manifest.get("clusters", ()) if cluster["name"] in chosen] if is_fleet(manifest) else ()
    )
    versions = sorted({str(cluster.get("kubernetes_release", "")) for cluster in clusters or (manifest,)})
    release = next(
        (release for release in RELEASES if [release.version] == versions and release.is_reproduced), active()
    )
    if asked and release.name != asked:
        named = ", ".join(versions)
        raise PlanError("--kubernetes", f"the report was made as Kubernetes {named}", "the dump, or no --kubernetes")
    if len(versions) > 1:
        warn(
            f"note: these clusters were audited as Kubernetes {', '.join(versions)}; their objects are read as "
            f"{release.version} (--cluster chooses clusters of one release)\n"
        )
    return release


def _warner_of(cluster: str, warn: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that prefixes the notes of one cluster with its name."""
    return lambda text: warn(f"cluster {cluster}: {text}")


def _views(
    options: QueryOptions, manifest: dict[str, Any], chosen: list[str], folder: Path
) -> Iterator[tuple[str, QueryOptions]]:
    """Yield for each cluster the options that query only this cluster."""
    report = Path(options.target)
    if options.dumps and len(options.dumps) != len(chosen):
        reason = f"{len(options.dumps)} dumps for {len(chosen)} clusters ({', '.join(chosen)})"
        raise PlanError("--dump", reason, "one for each cluster, in this order", "--cluster chooses clusters")
    for number, name in enumerate(chosen):
        with whole_report(options.target):
            view = cluster_view(report, manifest, name, folder / f"{number:05d}")
        dumps = options.dumps[number : number + 1]
        if not dumps:
            own = {**manifest, "inputs": [source for source in manifest["inputs"] if source.get("cluster") == name]}
            dumps = tuple(map(str, find_dumps(own, report, ()) or ()))
        yield name, replace(options, target=str(view), dumps=dumps)


@contextmanager
def open_dumps(
    options: QueryOptions, clusters: Mapping[str, Sequence[str]], warn: Callable[[str], None]
) -> Iterator[Opened]:
    """Open several dumps.

    Args:
        options: How they are read; it has no target.
        clusters: The dumps of each cluster; those of an empty name are of one cluster.
        warn: Called with notes for standard error.

    Raises:
        AuditorError: As `open_store`.
    """
    with ExitStack() as stack:
        stores: dict[str, OneStore] = {}
        for name, dumps in clusters.items():
            workdir = stack.enter_context(temporary_folder("query"))
            own_warn = _warner_of(name, warn) if name else warn
            stores[name] = _dump_store(replace(_asked(options), dumps=tuple(dumps)), options, own_warn, workdir)
            stack.callback(stores[name].corrupt_objects.end)
        yield Opened(stores, is_fleet="" not in stores)


def _asked(options: QueryOptions) -> AuditOptions:
    """Return how the target is read."""
    return AuditOptions(
        dumps=(options.target,),
        crds=options.crds,
        etcd_prefix=options.etcd_prefix,
        encryption_config=options.encryption_config,
        kms_decryptor=options.kms_decryptor,
        convert_with=options.convert_with,
    )


def _revisions_at(plan: Plan, point: Point, options: QueryOptions, warn: Callable[[str], None]) -> list[int]:
    """Return the revision of each source at a point; only for a time are objects read, which say when it was."""
    numbers = range(len(plan.sources))
    if isinstance(point, int):
        return [point for _ in numbers]
    store = DumpStore(plan, options.mode, warn)
    revisions = [revision_at(store, number, point) for number in numbers]
    warn(f"note: as of revision {', '.join(map(str, revisions))}, the last one up to that time\n")
    return revisions


@contextmanager
def _open_local(options: QueryOptions, warn: Callable[[str], None]) -> Iterator[OneStore]:
    path = Path(options.target)
    if options.target != "-" and not is_remote(options.target) and not path.exists():
        raise PlanError(options.target, "there is no such file", "a dump, or the --report folder of an audit")
    with temporary_folder("query") as workdir:
        asked = _asked(options)
        if DefinitionsFile(path).exists() and (path / "objects").is_dir():
            read_manifest(path)  # a report without its manifest must not be read as a folder of manifests
        if (path / MANIFEST).exists() and options.as_of is None:
            with whole_report(options.target):
                yield _report_store(path, options, asked, warn, workdir)
            return
        yield _dump_store(_dumps_of(path, options, asked), options, warn, workdir)


def _dump_store(asked: AuditOptions, options: QueryOptions, warn: Callable[[str], None], workdir: Path) -> DumpStore:
    """Return the store of dumps, perhaps of an earlier state of them."""
    plan = make_plan(asked, workdir)
    if options.as_of is not None:
        plan = plan_as_of(plan, _revisions_at(plan, options.as_of, options, warn), workdir)
    for line in damage_text(plan.sources).splitlines():
        warn(f"{line}\n")
    _note_redacted(plan, warn)
    return DumpStore(plan, options.mode, warn)


def _dumps_of(path: Path, options: QueryOptions, asked: AuditOptions) -> AuditOptions:
    """Return options that read the dumps of a report: its index does not have earlier revisions."""
    if not (path / MANIFEST).exists():
        return asked
    manifest = read_manifest(path)
    dumps = find_dumps(manifest, path, options.dumps)
    if dumps is None:
        raise PlanError(str(path), "the dump of this report is not here", "", "--dump names it")
    return replace(asked, dumps=tuple(map(str, dumps)), salvage=_is_salvaged(manifest))


def _is_salvaged(manifest: dict[str, Any]) -> bool:
    """Return whether pages that nothing refers to were read for a report."""
    return any(note.startswith("salvage: ") for source in manifest["inputs"] for note in source["notes"])


def _report_store(
    report: Path, options: QueryOptions, asked: AuditOptions, warn: Callable[[str], None], workdir: Path
) -> ReportStore | IndexOnlyStore:
    manifest = read_manifest(report)
    for source in manifest["inputs"]:
        for line in damage_lines(source):
            warn(f"{line}\n")
    dumps = find_dumps(manifest, report, options.dumps)
    state = "is not here"
    if dumps is not None:
        try:
            return _store_with_dumps(report, manifest, dumps, options, asked, warn, workdir)
        except (OtherDump, SourceError) as error:
            if not options.rows_of_other:
                raise
            state = error.state if isinstance(error, OtherDump) else "cannot be opened"
    names = ", ".join(label(source["name"]) for source in manifest["inputs"])
    warn(f"{names} {state}: showing what the index holds of {manifest['started']} (--dump names the dump)\n")
    if manifest["options"].get("redact"):
        warn("the report was made with --redact and has no index: without the dump only `auditor show` works\n")
    if scope := scope_of(manifest):
        warn(f"the report has only the objects in its scope: {scope}\n")
    return IndexOnlyStore(report, manifest, options.mode, warn)


def _store_with_dumps(
    report: Path,
    manifest: dict[str, Any],
    dumps: list[Path],
    options: QueryOptions,
    asked: AuditOptions,
    warn: Callable[[str], None],
    workdir: Path,
) -> ReportStore:
    """Return the store of a report and its dumps.

    Raises:
        OtherDump: A dump was overwritten since.
    """
    asked = replace(asked, dumps=tuple(map(str, dumps)), etcd_prefix=manifest["options"]["etcd_prefix"])
    asked = replace(asked, salvage=_is_salvaged(manifest))
    if manifest["definitions"]["from_files"] and not asked.crds:
        asked = replace(asked, crds=(str(_from_files(report, manifest, workdir)),))
    plan = report_plan(report, manifest, dumps, asked)
    if plan is None:
        plan = make_plan(asked, workdir)
        check_dumps(plan, manifest)
    _note_redacted(plan, warn)
    return ReportStore(plan, options.mode, warn, report=report, dumps=dumps, workdir=workdir, manifest=manifest)


def _note_redacted(plan: Plan, warn: Callable[[str], None]) -> None:
    """Report how many Secrets of exports of this program have no values."""
    for source in plan.sources:
        for note in source.notes:
            if REDACTED_BY_EXPORT in note:
                warn(f"note: {label(source.name)}: {note}\n")


def _from_files(report: Path, manifest: dict[str, Any], workdir: Path) -> Path:
    """Return a file with the definitions of a report that came from files: the others may not be established."""
    file = DefinitionsFile(report)
    if not file.exists():
        return file.path
    names = set(manifest["definitions"]["from_files"])
    target = workdir / "definitions-from-files.ndjson"
    target.write_bytes(b"".join(line for line in file.lines() if _is_one(line, names)))
    return target


def _is_one(line: bytes, names: set[str]) -> bool:
    try:
        return document_name(json.loads(line)) in names
    except ValueError:
        return True  # its reader reports the error


def run_query(options: QueryOptions) -> int:
    """Answer; return the exit code of `kubectl get`: 0, or 1 if anything requested was refused or not found."""
    out = _output(options)
    err = ErrorLines()
    asked = options.get
    asked.args = options.args
    asked.namespace = options.namespace
    asked.all_namespaces = not options.namespace
    asked.labels, asked.fields, asked.output = options.labels, options.fields, options.output
    if options.output == "table":
        asked.output = ""
    asked.hints = True
    asked.usage_code = 2
    asked.redacted = "" if options.mode.show_secrets else REDACTED
    if options.shown_as == "stored":
        options.mode.stored = True
    if options.save_index:
        _save_index(options, err)
    asked.for_terminal = sys.stdout.isatty()
    with open_store(options, err) as store:
        if options.shown_as not in ("read", "stored"):
            asked.args = kinds_at_version(store, options.args, options.shown_as, err)
        if asked.now is None and (asked.answer or (options.output in ("", "table", "wide") and not asked.template)):
            began = datetime.datetime.now(datetime.UTC).timestamp()
            asked.now = _newest(store)
            is_of_dump = asked.now is not None and asked.now < began  # a time in the future counts as the clock's
            asked.now_is = "the newest time in the dump; --now now is the clock" if is_of_dump else "the clock"
        needs_objects = asked.count_by or asked.answer or options.mode.stored
        if needs_objects and any(isinstance(part, IndexOnlyStore) for part in stores_of(store).values()):
            raise PlanError(options.target, "an index has no whole objects", "", "name its dump with --dump")
        asked.every_kind = options.args == (_EVERY_KIND,)
        if asked.every_kind:
            none = "pods" if asked.answer or options.namespace else "namespaces"  # of these there are none either
            asked.args = (every_kind(store, options, err) or none,)
        names_only = (asked.output == "name" or asked.count) and not asked.sort_by and not asked.count_by
        for part in stores_of(store).values():
            if isinstance(part, DumpStore):
                read_ahead_by(options.jobs, part)
        query = Query(options.where, options.max_scan, names_only, asked.count_by)
        if isinstance(store, FleetStore):
            asked.clusters = store
            store.ask(query, asked.args)
        else:
            store.ask(query)
        asked.why_unknown = partial(lost_definitions, store)
        asked.extra_formats = extra_formats(store, options, out)
        if isinstance(store, (DumpStore, FleetStore)):
            asked.place = store.place_of
        if isinstance(store, DumpStore):
            asked.why_absent = partial(deletion, store)
        with no_collector():
            code = get(store, asked, out, err)
        if isinstance(store, FleetStore):
            code = code or int(store.refused > 0)
            has_names = options.output.partition("=")[0] in ("", "table", "wide", "csv", "parquet") and not asked.count
            if not has_names and not asked.answer:
                store.note_clusters()
        code, has_failed = _tell_failures(store, code, err)
        if options.explain:
            for line in store.explain().removesuffix("\n").split("\n"):
                err(f"{line}\n")
        incomplete = is_incomplete(store) or has_failed
    sys.stdout.flush()
    return 3 if code == 0 and incomplete else code


def _tell_failures(store: AnyStore, code: int, err: Callable[[str], None]) -> tuple[int, bool]:
    """Report the objects on which the evaluation of --where failed.

    Returns:
        The exit code, 1 if it failed for all objects, and whether it failed for any.
    """
    tried: list[Failures] = []
    for cluster, asked in stores_of(store).items():
        lead = f"cluster {cluster}: " if cluster else ""
        failures = {kind.group_resource: failing for kind, failing in asked.where_failures.items() if failing.tried}
        tried += failures.values()
        for note in notes_of(failures):
            err(f"{lead}{note}\n")
    are_all = bool(tried) and all(failing.are_all for failing in tried)
    return code or int(are_all), any(failing.failed for failing in tried)


def _newest(store: AnyStore) -> float | None:
    """Return the newest time in the snapshots of a store, or None if they have none: then the clock counts."""
    times = [newest_time(part) for part in stores_of(store).values() if isinstance(part, DumpStore)]
    return max((time for time in times if time is not None), default=None)


def _output(options: QueryOptions) -> TextWriter:
    """Return a writer to standard output: byte for byte as kubectl unless it is a terminal or a table."""
    name = options.output.partition("=")[0]
    if sys.stdout.isatty() or name in ("", "table", "wide", "name", "csv"):
        return TextWriter(sys.stdout)
    return TextWriter(plain(sys.stdout))


def _save_index(options: QueryOptions, err: Callable[[str], None]) -> None:
    """Audit the dump, and continue with its report."""
    from pipelines.run.audit import run_audit  # noqa: PLC0415 - only where it is asked for

    _, manifest = run_audit(replace(_asked(options), report=options.save_index, jobs=processors(), fail_on="never"))
    files = list((Path(options.save_index) / "index").rglob("*.parquet"))
    size = sum(path.stat().st_size for path in files)
    rows = manifest["counts"]["rows"]
    err(f"index of {rows} rows in {options.save_index}: {size / max(rows, 1):.1f} bytes an object\n")
    options.dumps = options.dumps or (options.target,)
    options.target = options.save_index
