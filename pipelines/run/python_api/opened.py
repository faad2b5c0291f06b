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
from typing import TYPE_CHECKING, Any, Final, overload

import pyarrow as pa

from auditor.base.errors import PlanError, SelectorError
from auditor.base.machine import processors
from auditor.base.wording import counted, first_of
from auditor.plan.options import AuditOptions
from auditor.printing.discovery import UnknownResource
from auditor.printing.get.server_errors import StatusError
from auditor.program.program import AuditProgram
from auditor.releases import find_release, running_as
from auditor.server.dump import DumpStore, Query
from auditor.server.fleet_store import FleetStore, own_kind
from auditor.server.object_reader import ReadMode
from auditor.server.report import read_manifest
from auditor.shards.upgrade import UpgradeOptions
from auditor.sources.files.work_folder import temporary_folder
from auditor.sql.engine import run_statement
from auditor.sql.kind_views import NEEDS_DUMP
from auditor.sql.opened import views_of
from auditor.sql.report_views import ReportTables
from auditor.sql.table_files import is_tables
from auditor.store.manifest import MANIFEST
from pipelines.run.fleet import clusters_of, run_anywhere
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.python_api.closing import Closing
from pipelines.run.python_api.given import (
    chosen_columns,
    kind_text,
    option_value,
    paths,
    point,
    statement_text,
    text,
    warn,
)
from pipelines.run.python_api.opened_tables import OpenedTables
from pipelines.run.python_api.stored_object import StoredObject
from pipelines.run.query import open_dumps, open_stores
from pipelines.run.upgrade import run_upgrade

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from auditor.base.records import Finding
    from auditor.printing.discovery import Resource
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


class _Opened(Closing):
    """What an opened dump and an opened report have in common."""

    def __init__(self, options: QueryOptions, clusters: Mapping[str, Sequence[str]] | None = None) -> None:
        """Open it.

        Args:
            options: What is opened, and how it is read.
            clusters: The dumps of each cluster, instead of one target; those of an empty name are of one cluster.
        """
        self._options = options
        stack, context = ExitStack(), copy_context()
        context.run(stack.enter_context, running_as(options.kubernetes))
        self._context: Context = context
        try:
            opening = open_stores(options, warn) if clusters is None else open_dumps(options, clusters, warn)
            self._opened = context.run(stack.enter_context, opening)
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
        try:
            return self._store.discovery.resolve(kind_text(kind))
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
        names = chosen_columns(schema.names, columns, kind)
        batches = self._run(lambda: [batch.select(names) for batch in kinds.read(resource, names)])
        self._warn_of_unread()
        return pa.Table.from_batches(batches, pa.schema([schema.field(name) for name in names]))

    def sql(self, statement: str) -> pa.Table:
        """Return the answer to a statement of SQL; see the guide on SQL.

        Raises:
            SqlError: It is refused, or fails.
            PlanError: DuckDB is not installed.
        """
        asked = statement_text(statement)
        table: pa.Table = self._run(lambda: run_statement(self._asked[0], asked).table())
        self._warn_of_unread()
        return table

    def _warn_of_unread(self) -> None:
        """Warn of objects that the last answer has without values."""
        kinds = self._asked[1]
        for note in kinds.notes():
            warn(note)
        kinds.unread.clear()


class OpenedDump(_Opened):
    """An opened dump, or several. `auditor.open` makes one."""

    def __init__(self, options: QueryOptions, dumps: Sequence[str] = (), cluster_name: str = "") -> None:
        self._dumps = tuple(dumps) or (options.target,)
        self._cluster_name = cluster_name
        clusters = {each.name: each.dumps for each in clusters_of(AuditOptions(self._dumps, cluster=cluster_name))}
        self._is_expanded, self._is_fleet = bool(clusters), len(clusters) > 1
        if not self._is_fleet and (clusters or len(self._dumps) > 1):  # all are of one cluster
            clusters = {"": tuple(dump for several in clusters.values() for dump in several) or self._dumps}
        super().__init__(options, clusters or None)

    def _shown(self) -> str:
        stores = [one for one in self._opened.stores.values() if isinstance(one, DumpStore)]
        sources = [source for store in stores for source in store.plan.sources]
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
        return self._reported(report, options, run_anywhere)

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
        if self._is_fleet:
            raise PlanError("upgrade", "these are dumps of several clusters", "the dump of one")
        upgrade = UpgradeOptions(new_crds=paths(new_crds, "new_crds"), to_kubernetes=to_kubernetes)
        return self._reported(report, options, lambda made: run_upgrade(made, upgrade))

    def _reported(
        self, report: str | os.PathLike[str], options: dict[str, Any], run: Callable[[AuditOptions], Any]
    ) -> OpenedReport:
        known = {field.name: field for field in fields(AuditOptions) if "option" in field.metadata}
        asked = self._options
        if asked.as_of is not None:
            raise PlanError("as_of", "is of an earlier state, which cannot be audited", "the dump without as_of")
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
                dumps=self._dumps,
                cluster=self._cluster_name,
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
            opened = OpenedReport(
                replace(asked, target=folder, dumps=() if self._is_expanded else self._dumps, crds=(), kubernetes="")
            )
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


def open(  # noqa: A001 - it is `auditor.open`
    path: Paths,
    *,
    crds: Paths = (),
    dumps: Paths = (),
    clusters: Sequence[str] = (),
    cluster_name: str = "",
    as_of: int | str | datetime.datetime | datetime.timedelta | None = None,
    etcd_prefix: str = "/registry",
    encryption_config: str = "",
    kms_decryptor: str = "",
    convert_with: str = "",
    kubernetes: str = "",
    show_secrets: bool = False,
) -> OpenedDump | OpenedReport | OpenedTables:
    """Open dumps, the report of an audit or an upgrade, or a folder of typed tables.

    Args:
        path: A file, folder or pattern that `auditor audit` takes, or a list of these; the folder of a report, or one
            that `auditor tables` wrote. Dumps that match a pattern are of a cluster each.
        crds: Definitions that replace those of the dump by name: files or folders.
        dumps: Where the dumps of a report are now; empty if they are where they were.
        clusters: Only these clusters of the report of a fleet; empty for all.
        cluster_name: The name of each dump's cluster, with ``{1}`` for what a wildcard stood for, ``{name}`` or
            ``{parent}``; empty for what the wildcards stood for.
        as_of: The state after a revision, at a time, or so long before the newest time; None for the newest.
        etcd_prefix: Prefix of the API server's keys.
        encryption_config: The EncryptionConfiguration of the API server.
        kms_decryptor: Command that unwraps KMS data keys.
        convert_with: Command to run instead of conversion webhooks.
        kubernetes: The release whose behaviour is reproduced; empty for that of a report, or the default.
        show_secrets: Show the values of Secrets, which are redacted otherwise.

    Raises:
        AuditorError: It is none of these, or it cannot be read.
    """
    given = paths(path, "path")
    if not given:
        raise PlanError("path", "an empty list is given", "a path, or a list of paths")
    options = QueryOptions(
        given[0] if len(given) == 1 else "",
        dumps=paths(dumps, "dumps"),
        crds=paths(crds, "crds"),
        clusters=paths(clusters, "clusters"),
        as_of=point(as_of),
        etcd_prefix=etcd_prefix,
        encryption_config=os.fspath(encryption_config),
        kms_decryptor=kms_decryptor,
        convert_with=convert_with,
        kubernetes=text(kubernetes, "kubernetes"),
        mode=ReadMode(streamed=True, show_secrets=show_secrets),
    )
    others = [each for each in given if (Path(each) / MANIFEST).exists() or is_tables(Path(each))]
    if others and len(given) > 1:
        raise PlanError("path", f"{others[0]} is a report or typed tables", "dumps alone, or one of these")
    if others and text(cluster_name, "cluster_name"):
        raise PlanError("cluster_name", f"{others[0]} is a report or typed tables", "dumps")
    if others and is_tables(Path(given[0])):
        return OpenedTables(options)
    if others and options.as_of is None:
        return OpenedReport(options)
    return OpenedDump(options, given, cluster_name)
