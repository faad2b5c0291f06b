"""The objects of a dump as a server would return them: the store behind `auditor query`, `show` and others.

A kind is a range of keys (or, in an export, the objects that name it). An object is read when it is requested, at the
requested version. An object that cannot be read is reported on standard error; with --as-server it makes the whole
list fail, as on a server (`live_list`).

Source: apiserver pkg/storage/etcd3/{store,errors}.go, pkg/storage/cacher, pkg/registry/generic/registry/store.go.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import proxy

from auditor.base.errors import PlanError
from auditor.base.progress import tell
from auditor.base.records import name_of, namespace_of
from auditor.base.visible import visible
from auditor.printing.discovery import stored_kinds
from auditor.printing.get.server_errors import OF_THE_COMMAND, NotShown, StatusError, left_out, not_found
from auditor.selectors.where import Failures, unparse
from auditor.server.catalog import Catalog, resource_name
from auditor.server.dump_rows import DumpRows, ListRequest, RowToRead
from auditor.server.live_list import Selection, corrupt_value, in_cache_order, live_list, table_order
from auditor.server.not_read import CorruptObjects, NotRead
from auditor.server.object_reader import ObjectReader, SealedObject, UndecodedObject, with_names_only
from auditor.server.printer import Printer, deprecation_warning
from auditor.sources.registry_key import printable_key
from auditor.sources.storage_value import ENCRYPTED_PREFIX
from auditor.storage_read.read import answer_to_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from auditor.base.records import JsonObject
    from auditor.plan.run_plan import Plan
    from auditor.printing.discovery import Discovery, Resource
    from auditor.printing.printer_columns import Cell
    from auditor.printing.tables import ColumnHeader
    from auditor.selectors.grammar import FieldRequirement, LabelRequirement
    from auditor.server.dump_rows import ReadAhead, RowRead, StoredRow
    from auditor.server.not_read import LeftOut
    from auditor.server.object_reader import ReadMode


_ROWS_BETWEEN = 256
"""Rows between two words about the progress."""


@dataclass(frozen=True, slots=True)
class Query:
    """What a command asks for, beside kinds and selectors.

    Attributes:
        where: Predicate on objects; empty if there is none.
        max_scan: Largest number of rows of a kind that may be scanned; None for no limit.
        names_only: The names of objects are enough.
        count_by: JSONPath whose values are counted; empty if none are.
    """

    where: str = ""
    max_scan: int | None = None
    names_only: bool = False
    count_by: str = ""


@dataclass(slots=True)
class Steps:
    """How many objects of a kind remained after each step.

    Attributes:
        rows: The rows of the kind, in the dump or in the partition of the index.
        scanned: Rows of the index that were read; None if there is no index.
        read: Objects that were read.
        fitted: Objects that match namespace, labels and fields.
        kept: Objects that match the predicate, too.
    """

    rows: int = 0
    scanned: int | None = None
    read: int = 0
    fitted: int = 0
    kept: int = 0


def _none_ahead(_: ListRequest, rows: Iterator[RowToRead]) -> Iterator[tuple[RowToRead, RowRead | None]]:
    return ((row, None) for row in rows)


class DumpStore:
    """The store over a plan: all dumps that it opened, and all definitions.

    Attributes:
        catalog: The kinds.
        rows: The live keys, and the objects of exports.
        reader: Reads objects.
        corrupt_objects: Reports objects that no server can read.
        selection: Selects objects.
        query: What the command asks for.
        steps: How many objects remained after each step, by kind.
        read_ahead: Reads the rows of a LIST by workers, if there are any.
        make_rows: Makes the rows of a plan.
    """

    def __init__(
        self,
        plan: Plan,
        mode: ReadMode,
        warn: Callable[[str], None],
        rows: Callable[[Plan, Catalog], DumpRows] = DumpRows,
        catalog: Catalog | None = None,
    ) -> None:
        self.warn = warn
        self.catalog = catalog or Catalog(plan)
        self.make_rows = rows
        self.rows = rows(plan, self.catalog)
        self.reader = ObjectReader(plan, self.catalog, self.rows, mode)
        self.corrupt_objects = CorruptObjects(self.reader.left_out, warn)
        self.selection = Selection(self.catalog, mode)
        self.query = Query()
        self.steps: dict[str, Steps] = {}
        self.read_ahead: ReadAhead = _none_ahead
        self._printer = Printer(self.catalog)
        own = proxy(self)  # a circle of references would keep the files of a dump open
        self.discovery.count = lambda resource: own.objects_of(resource)  # noqa: PLW0108 - the method alone would keep it
        self.discovery.undefined = lambda name: own._undefined(name)  # noqa: PLW0108, SLF001 - likewise

    def ask(self, query: Query) -> None:
        """Set what the next requests ask for."""
        self.query = query
        self.selection = Selection(self.catalog, self.mode, query.where, query.count_by)

    @property
    def mode(self) -> ReadMode:
        """How objects are read."""
        return self.reader.mode

    @property
    def plan(self) -> Plan:
        """The plan: dumps and definitions."""
        return self.rows.plan

    @property
    def discovery(self) -> Discovery:
        """The kinds in discovery order."""
        return self.catalog.discovery

    @property
    def left_out(self) -> LeftOut:
        """How many objects are left out of the answers."""
        return self.reader.left_out

    @property
    def where_failures(self) -> dict[Resource, Failures]:
        """The objects on which the evaluation of the predicate failed, by kind."""
        return self.selection.failures

    def list_objects(self, resource: Resource, namespace: str, labels: str, fields: str) -> Iterator[JsonObject]:
        """Yield the selected objects of a kind in the order of a server, in the form that is printed."""
        if self.mode.as_server:
            self.catalog.check_served(resource)
        wanted_labels, wanted_fields = self.selection.parsed(resource, labels, fields)
        cached = self._is_cached(resource)
        if self.mode.as_server:
            return live_list(
                self.rows,
                self.reader,
                self.selection,
                resource,
                namespace,
                wanted_labels,
                wanted_fields,
                self.warn,
                cached=cached,
            )
        objects = self._selected(resource, namespace, wanted_labels, wanted_fields)
        if self.mode.streamed or not cached:
            return (obj for _, obj in objects)
        return in_cache_order(objects, resource, one_each=False)

    def table_order(self, resource: Resource, objects: Sequence[JsonObject]) -> Sequence[JsonObject]:
        """Return the objects of a LIST in the order of the rows that a server prints."""
        return table_order(resource, objects)

    def warning_of(self, resource: Resource) -> str:
        """Return the deprecation warning of a version; empty if there is none."""
        return deprecation_warning(self.catalog.definition(resource), resource)

    def _selected(
        self,
        resource: Resource,
        namespace: str,
        labels: tuple[LabelRequirement, ...],
        fields: Sequence[FieldRequirement],
    ) -> Iterator[tuple[int, JsonObject]]:
        namespace = namespace if resource.namespaced else ""
        notes = NotRead(resource, self.reader.left_out, lambda row: self._is_in(namespace, resource, row))
        steps = self.steps[resource_name(resource)] = Steps()
        if self.query.max_scan is not None:
            self.refuse_scan(resource, sum(1 for _ in self.rows.of(resource)))
        request = ListRequest(resource, namespace, labels, fields)
        for (row, *_), known in self.read_ahead(request, map(RowToRead, self._rows_read(resource, namespace))):
            if not steps.rows % _ROWS_BETWEEN:
                tell("reading", steps.rows, None, "objects")
            steps.rows += 1
            steps.read += 1
            try:
                obj = self.answer(request, row, notes, steps) if known is None else self._known(request, known, steps)
                if obj is not None:
                    yield row.source, obj
            except UndecodedObject as error:
                if notes.is_requested(row):
                    self.corrupt_objects.add(self.rows.place(row), str(error), resource)
            except Exception as error:  # noqa: BLE001 - it is left out
                self.leave_out(self.rows.place(row), error)
        notes.note(self.warn)

    def answer(
        self, request: ListRequest, row: StoredRow, notes: NotRead, steps: Steps, *, is_tested: bool = True
    ) -> JsonObject | None:
        """Return the object of a row in the form that is printed; None if it is not selected, or sealed.

        Raises:
            Exception: A server cannot read it, or this program fails on it.
        """
        resource, names_only = request.resource, self.query.names_only
        are_enough = names_only and not (request.labels or request.fields or self.query.where or self.mode.stored)
        obj = self.reader.read_or_stored(resource, row, notes, names_only=are_enough)
        if obj is None or not self._is_in(request.namespace, resource, row, obj):
            return None
        if not self.selection.matches(resource, obj, request.labels, request.fields):
            return None
        steps.fitted += 1
        obj = self.reader.in_form(resource, row, obj)
        if is_tested and not self.selection.passes(resource, obj):
            return None
        steps.kept += 1
        shown = self.reader.concealed(resource, obj)
        return with_names_only(shown) if names_only else shown

    def _known(self, request: ListRequest, known: RowRead, steps: Steps) -> JsonObject | None:
        """Count a row that a worker read as `answer` does; return its object."""
        steps.fitted += known.fits
        steps.kept += known.object is not None
        if known.fits and self.query.where:
            self.where_failures.setdefault(request.resource, Failures()).tried += 1
        return known.object

    def _rows_read(self, resource: Resource, namespace: str) -> Iterator[StoredRow]:
        """Return the rows that may be in a namespace; the watch cache goes by the objects, which may name another."""
        return self.rows.of(resource, "" if self._is_cached(resource) else namespace)

    def namespace_at(self, resource: Resource, row: StoredRow, obj: JsonObject | None = None) -> str:
        """Return the namespace in which a LIST finds an object: of one that cannot be read that of its key."""
        if not resource.namespaced:
            return ""
        if obj is not None and self._is_cached(resource):
            own: object = namespace_of(obj)
            return own if type(own) is str else ""  # a read drops it
        return (self.rows.place_in(resource, row) or ("", ""))[0]

    def _is_in(self, namespace: str, resource: Resource, row: StoredRow, obj: JsonObject | None = None) -> bool:
        """Return whether a LIST of a namespace has an object, or could have one that cannot be read; empty for all."""
        where = self.namespace_at(resource, row, obj) if namespace else ""
        return where == namespace or (obj is None and not where)

    def stored_objects(
        self, kinds: Iterable[Resource], namespace: str = "", containing: bytes = b"", *, as_read: bool = False
    ) -> Iterator[tuple[Resource, StoredRow, JsonObject | None]]:
        """Yield the rows of some kinds, each with its object as stored; None if it cannot be read, which is reported.

        Args:
            kinds: The kinds.
            namespace: Only objects in this namespace; empty for all.
            containing: Only rows whose value has these bytes, or may have lost them.
            as_read: Yield custom resources as read if they can be: with defaults, which may have these bytes, too.
        """
        for resource in kinds:
            if namespace and not resource.namespaced:
                continue
            notes = NotRead(resource, self.reader.left_out)
            definition = self.catalog.definition(resource) if as_read else None
            is_default = definition is not None and containing.decode("utf-8", "replace") in repr(definition.document)
            wanted = b"" if is_default else containing
            for row in self._rows_read(resource, namespace):
                stored = self.rows.stored_bytes(row) if wanted else b""
                obj, unread = None, None
                try:
                    is_sealed = stored.startswith(ENCRYPTED_PREFIX)
                    if not (wanted in stored or is_sealed) and self.reader.is_whole(resource, row):
                        continue
                    obj = (self.reader.as_read if as_read else self.reader.as_stored_if_read)(resource, row)
                except Exception as error:  # noqa: BLE001 - it is left out
                    unread = error
                if not self._is_in(namespace, resource, row, obj):
                    continue
                if isinstance(unread, SealedObject):
                    notes.add(row, unread.count)
                elif isinstance(unread, UndecodedObject):
                    self.corrupt_objects.add(self.rows.place(row), str(unread))
                elif unread is not None:
                    self.leave_out(self.rows.place(row), unread)
                yield resource, row, obj
            notes.note(self.warn)

    def leave_out(self, place: str, error: Exception) -> None:
        """Report an object on which this program failed; errors that end a command are raised again."""
        if isinstance(error, (*OF_THE_COMMAND, StatusError)):
            raise error
        self.reader.left_out.failed += 1
        self.warn(left_out(place, error))

    def place_of(self, resource: Resource, obj: JsonObject) -> str:
        """Return the key of an object, or a description of its position in an export."""
        name = f"{namespace_of(obj)}/{name_of(obj)}" if resource.namespaced else name_of(obj)
        is_export = all(source.is_export for source in self.plan.sources)
        return f"{resource.group_resource} {name}" if is_export else f"{self.catalog.key_prefix(resource)}{name}"

    def refuse_scan(self, resource: Resource, rows: int) -> None:
        """Refuse to scan more rows than --max-scan allows.

        Raises:
            PlanError: There are more; the message has the plan of the scan.
        """
        if self.query.max_scan is not None and rows > self.query.max_scan:
            raise PlanError(
                "",
                f"{rows} rows of {resource.group_resource} would be scanned, --max-scan allows {self.query.max_scan}\n"
                f"{self.plan_of(resource)}",
                "",
                "select by indexed fields (see `auditor explain DUMP KIND`), or give a report instead of its dump",
            )

    def plan_of(self, resource: Resource) -> str:
        """Return the plan for the rows of a kind, as text."""
        name = visible(f"{resource.group_resource} {resource.version}")
        lines = [f"{name}: every object is read, then namespace, labels, fields"]
        lines += [f"  object: {visible(unparse(part))}" for part in self.selection.parts_of(resource)]
        return "\n".join(lines) + "\n"

    def explain(self) -> str:
        """Return what was done for each kind that was listed, and how many rows remained after each step."""
        out = []
        for resource in self.discovery.resources:
            steps = self.steps.get(resource_name(resource))
            if steps is not None:
                out.append(self.plan_of(resource) + _steps_text(steps, self.where_failures.get(resource)))
        return "".join(out)

    def _is_cached(self, resource: Resource) -> bool:
        """Whether the watch cache answers a LIST; every kind but Event has a watch cache."""
        return self.mode.watch_cache and not self._is_event(resource)

    def _is_event(self, resource: Resource) -> bool:
        """Whether it is Event, the one kind that a server does not cache."""
        return resource.kind == "Event" and self.catalog.definition(resource) is None

    def get_object(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """Return the object at a key; an empty namespace of a namespaced kind means the first one that has it."""
        if self.mode.as_server:
            self.catalog.check_served(resource)
        known = bool(namespace) or not resource.namespaced
        rows = self.rows.of(resource, namespace, name) if known else self.rows.anywhere(resource, name)
        for row in rows:
            notes = NotRead(resource, self.reader.left_out)
            try:
                obj = self._got(resource, row, notes)
                notes.note(self.warn)
                return self.reader.shown(resource, row, obj)
            except UndecodedObject as error:
                key = (printable_key(row.key) if row.key is not None else "").removeprefix(self.catalog.prefix)
                raise StatusError(500, *answer_to_one(corrupt_value(key, row, error))) from None
            except Exception as error:  # noqa: BLE001 - it is left out
                self.leave_out(place := self.rows.place(row), error)
                raise NotShown(f"{place} is not shown") from None
        raise not_found(resource, name)

    def _got(self, resource: Resource, row: StoredRow, notes: NotRead) -> JsonObject:
        """Return the object of a row as the answer to a GET.

        A server treats a custom resource with an array `items` as a list, and fails to encode it as one.

        Source: apiserver pkg/endpoints/handlers/response.go, transformResponseObject.
        """
        obj = self.reader.read_or_stored(resource, row, notes)
        if obj is None:
            raise notes.error(printable_key(row.key or b"").rpartition("/")[2])
        if self.catalog.definition(resource) is not None and isinstance(obj.get("items"), list):
            raise StatusError(500, "", "*unstructured.Unstructured is not a list: no Items field in this object")
        return obj

    def objects_of(self, resource: Resource) -> int:
        """Return how many objects of a kind there are, whether they can be read or not."""
        return sum(1 for _ in self.rows.of(resource))

    def _undefined(self, name: str) -> dict[str, int]:
        """Return where values are that could be of a kind of this name, though no definition has it."""
        places = Counter(map(self.rows.kind_place, self.rows.outside(stored_kinds(self.discovery))))
        wanted = name.lower().removesuffix("s")

        def is_wanted(place: str) -> bool:
            own = place.rstrip("/").rpartition("/")[2] if "/" in place else place.partition(".")[0]
            return own.lower().removesuffix("s") == wanted

        return {place: count for place, count in places.items() if is_wanted(place)}

    def namespaces(self) -> set[str]:
        """Return the names of the Namespaces that the dump holds; none if part of it could not be read."""
        if any(source.damage for source in self.plan.sources):
            return set()
        resource = self.discovery.resolve("namespaces.")
        places = (self.rows.place_in(resource, row) for row in self.rows.of(resource))
        return {place[1] for place in places if place is not None}

    def fields_of(self, resource: Resource, obj: JsonObject) -> dict[str, str]:
        """Return what field selectors see of an object; raises StatusError."""
        return self.selection.fields_of(resource, obj)

    def through(self, resource: Resource, obj: JsonObject, subresource: str) -> tuple[Resource, JsonObject]:
        """Return a subresource of an object, and the kind of the subresource; raises StatusError."""
        return self._printer.through(resource, obj, subresource)

    def headers(self, resource: Resource) -> Sequence[ColumnHeader]:
        """Return the columns of a kind."""
        return self._printer.headers(resource)

    def cells(
        self, resource: Resource, objects: Sequence[JsonObject], now: float, *, listed: bool
    ) -> list[Sequence[Cell]]:
        """Return the cells of objects."""
        rows, given_up = self._printer.cells(resource, objects, now, listed=listed)
        if given_up:
            self.reader.left_out.failed += 1
            self.warn(given_up)
        return rows


def _steps_text(steps: Steps, failures: Failures | None) -> str:
    failed = f", evaluation failed for {failures.failed}" if failures is not None and failures.failed else ""
    scanned = "" if steps.scanned is None else f", {steps.scanned} scanned in the index"
    matching = f"{steps.fitted} match{failed}"
    return f"  {steps.rows} rows{scanned}, {steps.read} objects read, {matching}, {steps.kept} returned\n"
