"""`auditor.open`: a dump or a report for Python, such as a notebook.

Everything runs as the release of Kubernetes that the report was made as. That is a variable of the context, so each
call runs in the context in which the dump was opened, and not in that of the caller.
"""

from __future__ import annotations

import os
import weakref
from contextlib import ExitStack
from contextvars import Context, copy_context
from dataclasses import fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, overload

import pyarrow as pa

from auditor.base.errors import PlanError, SelectorError
from auditor.base.machine import processors
from auditor.base.wording import counted, first_of
from auditor.plan.options import AuditOptions
from auditor.printing.discovery import UnknownResource
from auditor.printing.get.server_errors import StatusError
from auditor.program.program import AuditProgram
from auditor.releases import find_release, running_as
from auditor.selectors.where import Failures, compile_where
from auditor.server.dump import DumpStore, Query
from auditor.server.fleet_store import FleetStore, own_kind
from auditor.server.not_read import NotRead
from auditor.server.object_reader import ReadMode
from auditor.server.report import ReportStore, read_manifest
from auditor.shards.upgrade import UpgradeOptions
from auditor.sources.files.work_folder import temporary_folder
from auditor.sql.engine import run_statement
from auditor.sql.kind_views import NEEDS_DUMP
from auditor.sql.opened import views_of
from auditor.sql.report_views import ReportTables
from auditor.store.manifest import MANIFEST
from pipelines.run.audit import run_audit
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.python_api.given import column_names, option_value, paths, text, warn
from pipelines.run.python_api.stored_object import StoredObject
from pipelines.run.query import open_stores
from pipelines.run.upgrade import run_upgrade

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from auditor.base.records import Finding
    from auditor.printing.discovery import Resource
    from auditor.selectors.index_query import IndexedKind
    from auditor.server.dump_rows import StoredRow
    from auditor.server.fleet_store import AnyStore
    from auditor.sql.kind_views import KindViews
    from auditor.sql.views import Views
    from pipelines.run.python_api.given import Paths

_OF_OPEN: Final = frozenset(
    {"dumps", "crds", "report", "etcd_prefix", "encryption_config", "kms_decryptor", "convert_with", "kubernetes"}
)
"""Options of an audit that `open` and `audit` have under a name of their own."""
_KINDS: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("name", "kind", "group", "version")),
        ("namespaced", pa.bool_()),
        ("objects", pa.int64()),
    ]
)


class _Opened:
    """What an opened dump and an opened report have in common; both can be closed, and are context managers."""

    def __init__(self, options: QueryOptions) -> None:
        self._options = options
        stack, context = ExitStack(), copy_context()
        context.run(stack.enter_context, running_as(options.kubernetes))
        self._context: Context = context
        try:
            self._opened = context.run(stack.enter_context, open_stores(options, warn))
            self._store: AnyStore = context.run(self._opened.as_one, warn)
        except BaseException:
            context.run(stack.close)  # a variable of a context is set back there
            raise
        self._stack = stack
        self._close = weakref.finalize(self, context.run, stack.close)
        self._programs: dict[tuple[str, str, str], AuditProgram] = {}
        self._rows: dict[tuple[str, str, str], dict[tuple[str, str], StoredRow]] = {}

    def __repr__(self) -> str:
        shown = self._shown() if self._close.alive else f"{self._options.target} closed"
        return f"<{type(self).__name__} {shown}>"

    def _shown(self) -> str:
        """Return what it is, as `repr` shows it while it is open."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]

    def close(self) -> None:
        """Remove its temporary files; it cannot be asked any more."""
        self._close()

    def _run(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a call returns in the context in which this was opened."""
        if not self._close.alive:
            raise PlanError(self._options.target, "is closed", "", "open it again")
        return self._context.copy().run(call, *arguments)

    @cached_property
    def _asked(self) -> tuple[Views, KindViews]:
        views: tuple[Views, KindViews] = self._run(
            views_of, self._store, self._opened.stores, self._opened.report, self._options.clusters
        )
        return views

    def _resource(self, kind: str) -> Resource:
        """Return the kind of a name, as kubectl takes it.

        Raises:
            PlanError: There is none.
        """
        if not isinstance(kind, str) or not kind:
            given = repr(kind) if isinstance(kind, str) else type(kind).__name__
            raise PlanError(
                "kind", f"{given} is given", "a kind, plural or short name, such as pods or widgets.example.com"
            )
        try:
            return self._store.discovery.resolve(kind)
        except UnknownResource as error:
            near = self._store.discovery.similar(kind)
            advice = f"did you mean {' or '.join(near)}?" if near else ".kinds() lists what there is"
            raise PlanError("kind", str(error), "", advice) from None

    def kinds(self) -> pa.Table:
        """Return the kinds that have objects: name, kind, group, version, namespaced, number of objects."""
        rows = self._run(lambda: [row for row in map(self._counted, self._asked[1].stored_kinds()) if row["objects"]])
        return pa.Table.from_pylist(rows, _KINDS)

    def _counted(self, resource: Resource) -> dict[str, Any]:
        count = self._asked[1].count(resource)
        names = {name: getattr(resource, name) for name in ("kind", "group", "version", "namespaced")}
        return {"name": resource.group_resource, **names, "objects": count}

    def _listed(
        self, kind: str, *, namespace: str = "", selector: str = "", field_selector: str = "", where: str = ""
    ) -> Iterator[StoredObject]:
        if not self._asked[1].can_read():
            raise PlanError(self._options.target, NEEDS_DUMP)
        given = {"namespace": namespace, "selector": selector, "field_selector": field_selector, "where": where}
        for name, value in given.items():
            text(value, name)
        resource = self._resource(kind)
        query = Query(where)
        if isinstance(self._store, FleetStore):
            self._store.ask(query, [kind])
        else:
            self._store.ask(query)
        end = object()
        try:
            objects = self._run(self._store.list_objects, resource, namespace, selector, field_selector)
            while (obj := self._run(next, objects, end)) is not end:
                cluster = self._store.cluster_of(obj) if isinstance(self._store, FleetStore) else ""
                yield StoredObject(obj, resource.kind, cluster, partial(self._judged, cluster, resource))
        except StatusError as error:
            raise SelectorError("", str(error)) from None
        for one in self._opened.stores.values():
            for failures in one.where_failures.values():
                if note := failures.note():
                    warn(note)

    def _judged(self, cluster: str, resource: Resource, obj: StoredObject) -> tuple[Finding, ...]:
        """Return the findings of an object, from its bytes in the dump."""
        store = self._opened.stores[cluster]
        own = own_kind(self._store, cluster, resource) or resource
        definition = store.catalog.definition(own) if isinstance(store, DumpStore) else None
        if not isinstance(store, DumpStore) or definition is None:
            return ()
        place = (cluster, own.group, own.plural)
        if place not in self._programs:
            self._programs[place] = self._run(AuditProgram, definition, definition.versions[own.version])
            found = ((store.rows.place_in(own, row), row) for row in store.rows.of(own))
            self._rows[place] = self._run(lambda: {at: row for at, row in found if at is not None})
        row = self._rows[place][obj.namespace, obj.name]
        data = store.reader.plain_bytes(row, own)
        findings: tuple[Finding, ...] = self._run(self._programs[place].audit, data).findings
        return findings

    def table(self, kind: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the objects of a kind as a table with the columns of its definition; see the guide on SQL.

        Args:
            kind: A kind, plural or short name.
            columns: Top-level columns; None for all. Values of others are not converted.

        Raises:
            PlanError: There is no such kind or column, or only the index of a report is there.
        """
        views, kinds = self._asked
        resource = self._resource(kind)
        if not kinds.can_read():
            raise PlanError(self._options.target, NEEDS_DUMP)
        view = views.find(resource.group_resource)
        schema = self._run(kinds.schema, resource) if view is None else self._run(lambda: view.schema)
        names = schema.names if columns is None else column_names(columns)
        for name in names:
            if name not in schema.names:
                raise PlanError("columns", f"{kind} has no column {name!r}", f"some of {', '.join(schema.names)}")
        batches = self._run(lambda: [batch.select(names) for batch in kinds.read(resource, names)])
        self._warn_of_unread()
        return pa.Table.from_batches(batches, pa.schema([schema.field(name) for name in names]))

    def sql(self, statement: str) -> pa.Table:
        """Return the answer to a statement of SQL; see the guide on SQL.

        Raises:
            SqlError: It is refused, or fails.
            PlanError: DuckDB is not installed.
        """
        if not isinstance(statement, str):
            raise PlanError("statement", f"{type(statement).__name__} is given", "a statement of SQL as text")
        table: pa.Table = self._run(lambda: run_statement(self._asked[0], statement).table())
        self._warn_of_unread()
        return table

    def _warn_of_unread(self) -> None:
        """Warn of objects that the last answer has without values."""
        kinds = self._asked[1]
        for note in kinds.notes():
            warn(note)
        kinds.unread.clear()


class OpenedDump(_Opened):
    """An opened dump. `auditor.open` makes one."""

    def _shown(self) -> str:
        store = self._store
        sources = store.plan.sources if isinstance(store, DumpStore) else ()
        texts = [
            f"{source.name}: {source.format}"
            + (f" at revision {source.revision}" if source.revision is not None else "")
            + f", {counted(source.rows, 'object' if source.is_export else 'key')}"
            for source in sources
        ]
        return first_of(texts, 3) if texts else self._options.target

    def objects(
        self, kind: str, *, namespace: str = "", selector: str = "", field_selector: str = "", where: str = ""
    ) -> Iterator[StoredObject]:
        """Yield the objects of a kind as a server reads them, in key order.

        Args:
            kind: A kind, plural or short name, as kubectl takes it.
            namespace: Only this one; empty for all.
            selector: Label selector.
            field_selector: Field selector.
            where: A CEL predicate over the object: ``spec.replicas > 1 && metadata.namespace == "web"``.

        Raises:
            PlanError: There is no such kind.
            SelectorError: A selector does not parse.
        """
        return self._listed(kind, namespace=namespace, selector=selector, field_selector=field_selector, where=where)

    def audit(self, report: str | os.PathLike[str] = "", **options: Any) -> OpenedReport:
        """Audit the dump, and return its report.

        Args:
            report: The folder of the report; empty for one that is removed when the report is closed.
            **options: Further options of an audit, by the names of `AuditOptions`, such as ``at``, ``diff``, ``force``.

        Raises:
            PlanError: There is no such option, or the report cannot be written there.
        """
        return self._reported(report, options, run_audit)

    def upgrade(
        self, new_crds: Paths, report: str | os.PathLike[str] = "", *, to_kubernetes: str = "", **options: Any
    ) -> OpenedReport:
        """Return a report of what new definitions would do to the objects.

        Args:
            new_crds: Files, folders or charts with the new definitions.
            report: The folder of the report; empty for one that is removed when the report is closed.
            to_kubernetes: Release of the API server after the upgrade.
            **options: As for `audit`.

        Raises:
            PlanError: A path is not there, there is no such option, or the report cannot be written there.
        """
        upgrade = UpgradeOptions(new_crds=paths(new_crds, "new_crds"), to_kubernetes=to_kubernetes)
        return self._reported(report, options, lambda made: run_upgrade(made, upgrade))

    def _reported(
        self, report: str | os.PathLike[str], options: dict[str, Any], run: Callable[[AuditOptions], Any]
    ) -> OpenedReport:
        known = {field.name: field for field in fields(AuditOptions) if "option" in field.metadata}
        asked = self._options
        more: dict[str, Any] = {"jobs": processors(), "fail_on": "never"}
        for name, value in options.items():
            if name not in known or name in _OF_OPEN:
                expected = ", ".join(sorted(known.keys() - _OF_OPEN))
                raise PlanError(name, "is no option of an audit", f"some of {expected}")
            more[name] = option_value(known[name], value)
        with ExitStack() as stack:
            folder = os.fspath(report)
            if not folder:
                folder = str(Path(stack.enter_context(temporary_folder("report"))) / "report")
            made = AuditOptions(
                dumps=(asked.target,),
                crds=asked.crds,
                report=folder,
                kubernetes=find_release(asked.kubernetes).name,
                etcd_prefix=asked.etcd_prefix,
                encryption_config=asked.encryption_config,
                kms_decryptor=asked.kms_decryptor,
                convert_with=asked.convert_with,
                **more,
            )
            self._run(run, made)
            opened = OpenedReport(replace(asked, target=folder, dumps=(asked.target,), crds=(), kubernetes=""))
            opened._stack.push(stack.pop_all())  # noqa: SLF001 - the folder lasts as long as the report is open
        return opened


class OpenedReport(_Opened):
    """An opened report. `auditor.open`, `OpenedDump.audit` and `OpenedDump.upgrade` make one."""

    def _shown(self) -> str:
        manifest = read_manifest(self._folder)
        rows = counted(manifest["counts"]["rows"], "row")
        return f"{self._options.target}: {rows}, made {manifest['started']}"

    @property
    def _folder(self) -> Path:
        assert self._opened.report is not None
        return self._opened.report

    @cached_property
    def _tables(self) -> ReportTables:
        return ReportTables(self._folder, self._options.clusters)

    def findings(self) -> pa.Table:
        """Return the findings, each with its cause."""
        table: pa.Table = self._run(self._tables.whole, "findings")
        return table

    def causes(self) -> pa.Table:
        """Return the causes, worst and new ones first."""
        table: pa.Table = self._run(lambda: self._tables.causes)
        return table

    @overload
    def objects(self) -> pa.Table: ...

    @overload
    def objects(
        self, kind: str, *, namespace: str = "", selector: str = "", field_selector: str = "", where: str = ""
    ) -> Iterator[StoredObject]: ...

    def objects(self, kind: str = "", **selectors: str) -> pa.Table | Iterator[StoredObject]:
        """Return the table of all keys with status, impact and causes; with a kind yield its objects from the dump.

        Args:
            kind: A kind; empty for the table.
            **selectors: As for an opened dump: namespace, selector, field_selector, where.
        """
        if kind or selectors:
            return self._listed(kind, **selectors)
        return self._run(self._tables.whole, "objects")


def decided(report: OpenedReport, place: IndexedKind, where: str, rows: Sequence[dict[str, Any]]) -> list[bool | None]:
    """Return for rows of the index of a report whether a predicate holds for their objects; None if it fails on one.

    Raises:
        PlanError: The dump of the report is not there.
    """
    predicate = compile_where(where)

    def decide(row: dict[str, Any]) -> bool | None:
        stores = report._opened.stores  # noqa: SLF001 - both are of this module
        store = stores.get(row["cluster"] or "") or stores[""]
        if not isinstance(store, ReportStore):
            raise PlanError("where", f"needs the objects, and {NEEDS_DUMP}")
        wanted = (place.group, place.version, place.plural)
        kinds = store.discovery.resources
        resource = next(each for each in kinds if (each.group, each.version, each.plural) == wanted)
        notes, failures = NotRead(resource, store.reader.left_out), Failures()
        obj = store.reader.read_or_stored(resource, store.stored_row(resource, row), notes)
        notes.note(warn)
        fits = obj is not None and predicate.test(obj, failures)
        return None if failures.failed else fits

    found: list[bool | None] = report._run(lambda: list(map(decide, rows)))  # noqa: SLF001 - both are of this module
    return found


def open(  # noqa: A001 - it is `auditor.open`
    path: str | os.PathLike[str],
    *,
    crds: Paths = (),
    dumps: Paths = (),
    clusters: Sequence[str] = (),
    etcd_prefix: str = "/registry",
    encryption_config: str = "",
    kms_decryptor: str = "",
    convert_with: str = "",
    kubernetes: str = "",
    show_secrets: bool = False,
) -> OpenedDump | OpenedReport:
    """Open a dump, or the report of an audit or an upgrade.

    Args:
        path: A file or folder that `auditor audit` takes, or the folder of a report.
        crds: Definitions that replace those of the dump by name: files or folders.
        dumps: Where the dumps of a report are now; empty if they are where they were.
        clusters: Only these clusters of the report of a fleet; empty for all.
        etcd_prefix: Prefix of the API server's keys.
        encryption_config: The EncryptionConfiguration of the API server.
        kms_decryptor: Command that unwraps KMS data keys.
        convert_with: Command to run instead of conversion webhooks.
        kubernetes: The release whose behaviour is reproduced; empty for that of a report, or the default.
        show_secrets: Show the values of Secrets, which are redacted otherwise.

    Raises:
        AuditorError: It is neither, or it cannot be read.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise PlanError("path", f"{type(path).__name__} is given", "the path of a dump or of a report")
    mode = ReadMode(streamed=True, show_secrets=show_secrets)
    options = QueryOptions(
        os.fspath(path),
        dumps=paths(dumps, "dumps"),
        crds=paths(crds, "crds"),
        clusters=paths(clusters, "clusters"),
        etcd_prefix=etcd_prefix,
        encryption_config=os.fspath(encryption_config),
        kms_decryptor=kms_decryptor,
        convert_with=convert_with,
        kubernetes=text(kubernetes, "kubernetes"),
        mode=mode,
    )
    is_report = (Path(options.target) / MANIFEST).exists()
    return OpenedReport(options) if is_report else OpenedDump(options)
