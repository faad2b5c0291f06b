"""The objects of a dump as a server would return them: the store behind `auditor query`, `show` and others.

A kind is a range of keys (or, in an export, the objects that name it). An object is read when it is requested, at the
requested version. An object that cannot be read is reported on standard error; with --as-server it makes the whole
list fail, as on a server.

Source: apiserver pkg/storage/etcd3/{store,errors}.go, pkg/storage/cacher, pkg/registry/generic/registry/store.go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from auditor.base.errors import AuditorError, PlanError, SelectorError
from auditor.base.visible import visible
from auditor.builtin.columns import builtin_cells, builtin_headers
from auditor.builtin.events import event_at
from auditor.builtin.judge import is_proven
from auditor.builtin.kinds import BUILTIN_KINDS, REQUEST_KINDS, builtin_kind, group_rank
from auditor.builtin.protobuf import MAGIC, WireError, decode_stored, top_level_fields
from auditor.builtin.scheme import target_of
from auditor.builtin.selectable import builtin_selectable, rules_of
from auditor.builtin.stored import UndecodableError, stored_object
from auditor.crds.as_v1 import as_v1
from auditor.crds.definition import parse_definition
from auditor.golang.text import quote
from auditor.plan.plan import cut_value, open_live, open_values
from auditor.printing.columns import age_of, custom_resource_columns, custom_resource_row
from auditor.printing.discovery import Discovery, Resource
from auditor.printing.get import NotShown, StatusError, not_found
from auditor.printing.jsonpath import Visits
from auditor.printing.left_out import OF_THE_COMMAND, given_up_cells, left_out
from auditor.printing.tables import Header
from auditor.program.conversion_command import ConversionCommand
from auditor.program.impact import cache_key_fault
from auditor.selectors.fields import field_text, selectable
from auditor.selectors.grammar import parse_field_selector, parse_label_selector
from auditor.selectors.where import check_names, compile_where, conjuncts, unparse
from auditor.server.deprecations import deprecation_warning
from auditor.server.listing import in_cache_order, table_order
from auditor.server.not_read import NotRead
from auditor.server.subresources import SCALE, SCALE_HEADERS, has_subresource, scale_cells, scale_of
from auditor.sources.encryption import make_unsealer
from auditor.sources.manifests.rows import read_header
from auditor.sources.registry_key import printable_key
from auditor.storage_read.read import NO_METADATA, ReadError, decode_value, read_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from auditor.base.records import JsonObject
    from auditor.cel.syntax.ast import Expr
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.plan.plan import Plan
    from auditor.printing.columns import Cell
    from auditor.selectors.grammar import FieldRequirement, LabelRequirement
    from auditor.selectors.where import Where

__all__ = ["DumpStore", "ReadMode", "Steps", "StoredRow", "Unreadable", "name_of"]

_MOST_CORRUPT = 100
"""Errors that a server gathers before it gives a list up."""
_TOLD = 10


class StoredRow(NamedTuple):
    """One live key, or one object of an export (then without key and revisions)."""

    source: int
    key: bytes | None
    create_revision: int | None
    mod_revision: int | None
    key_version: int | None
    offset: int
    length: int
    encoding: int


@dataclass(slots=True)
class ReadMode:
    """How objects are read and what becomes of those that cannot be.

    Attributes:
        stored: Show objects as they are stored, not as they are read.
        as_server: Fail whole lists as a live server would.
        watch_cache: Whether that server has its watch cache, as all do by default.
        streamed: Give objects one after another in key order, as those who need only some of them want.
        any_field: Take every path as a field label.
        show_secrets: Print the values of Secrets.
    """

    stored: bool = False
    as_server: bool = False
    watch_cache: bool = True
    streamed: bool = False
    any_field: bool = False
    show_secrets: bool = False


@dataclass(slots=True)
class Steps:
    """How many objects of a kind each step kept.

    Attributes:
        rows: The rows of the kind, in the dump or in the partition of the index.
        scanned: Rows of the index that were looked at; None: there is no index.
        read: Objects that were read.
        fitted: Those that fit namespace, labels and fields.
        kept: Those that fit the predicate too.
    """

    rows: int = 0
    scanned: int | None = None
    read: int = 0
    fitted: int = 0
    kept: int = 0


class Unreadable(Exception):
    """An object that the server cannot decode; the text is its reason."""

    closed = False
    lacks_key = False
    needs_webhook = False


class _Closed(Unreadable):
    """A value that it cannot even decrypt."""

    closed = True


class _Sealed(_Closed):
    """A value that no key was given for."""

    lacks_key = True


class _Unconverted(Unreadable):
    """An object that only a conversion webhook can read at a version."""

    needs_webhook = True


class DumpStore:
    """The store over a plan: all dumps that it opened, all definitions."""

    def __init__(self, plan: Plan, mode: ReadMode, warn: Callable[[str], None]) -> None:
        self.plan = plan
        self.mode = mode
        self.warn = warn
        self.prefix = "/" + plan.options.etcd_prefix.strip("/") if plan.options.etcd_prefix.strip("/") else ""
        self.unsealer = make_unsealer(plan.options.encryption_config, plan.options.kms_decryptor)
        command = plan.options.convert_with
        self.converter = ConversionCommand(command) if command else None
        self.definitions: dict[tuple[str, str], CustomResourceDefinition] = {}
        self.broken: dict[str, str] = {}
        for entry in plan.entries:
            self._add(entry)
        self.discovery = Discovery.sorted_by_priority(self._resources(), group_rank)
        self._columns: dict[tuple[str, str, str], Any] = {}
        self._sources: dict[int, tuple[Any, Any]] = {}
        self.where = ""
        self.max_scan: int | None = None
        self.steps: dict[str, Steps] = {}
        self._wheres: dict[Resource, Where] = {}
        self.sealed = 0
        """Objects left out of the answer, which no key was given for."""
        self.failed = 0
        """Objects left out because this program failed on them."""
        self.corrupt = 0
        """Objects left out because no server reads them."""
        self._by_kind: dict[int, dict[tuple[str, str], list[tuple[str, int]]]] = {}

    # ---- kinds

    def _add(self, entry: DefinitionEntry) -> None:
        document = self.plan.definitions_file.document(entry)
        try:
            definition = parse_definition(document, stored=entry.stored)
        except AuditorError as error:
            self.broken[entry.name] = str(error)
            return
        if self.converter is not None and definition.conversion == "Webhook":
            definition = replace(definition, webhook=self.converter)
        if definition.established:
            self.definitions[(definition.group, definition.plural)] = definition
        else:
            self.broken[entry.name] = "not established"

    def _resources(self) -> Iterator[Resource]:
        for kind in BUILTIN_KINDS:
            yield Resource(
                kind.group,
                kind.version,
                kind.kind,
                kind.plural,
                kind.singular,
                kind.short_names,
                kind.categories,
                kind.namespaced,
            )
        for kind in REQUEST_KINDS:
            yield Resource(
                kind.group,
                kind.version,
                kind.kind,
                kind.plural,
                kind.singular,
                kind.short_names,
                namespaced=kind.namespaced,
                verbs=("get", "list") if kind.kind == "ComponentStatus" else ("create",),
            )
        for definition in self.definitions.values():
            for version in definition.served_versions:
                yield Resource(
                    definition.group,
                    version.name,
                    definition.kind,
                    definition.plural,
                    definition.singular,
                    definition.short_names,
                    definition.categories,
                    definition.namespaced,
                    version.printer_columns,
                )

    def definition(self, resource: Resource) -> CustomResourceDefinition | None:
        """Return the definition of a resource, or None if it is built in."""
        return self.definitions.get((resource.group, resource.plural))

    # ---- rows

    def source(self, number: int) -> tuple[Any, Any]:
        """Return the mapped (live table, values) of a source."""
        found = self._sources.get(number)
        if found is None:
            plan = self.plan.sources[number]
            found = self._sources[number] = (open_live(plan), open_values(plan))
        return found

    def rows(self, resource: Resource, namespace: str = "", name: str = "") -> Iterator[StoredRow]:
        """Yield the rows of a kind in key order, those of one namespace or one object where asked."""
        prefix = self.key_prefix(resource)
        if namespace and resource.namespaced:
            prefix += f"{namespace}/"
        for number, source in enumerate(self.plan.sources):
            if source.is_export:
                yield from self._export_rows(number, resource, namespace, name)
            else:
                yield from self._key_rows(number, prefix + name, exact=bool(name))

    def key_prefix(self, resource: Resource) -> str:
        """Return what the keys of a kind start with."""
        if self.definition(resource) is not None:
            return f"{self.prefix}/{resource.group}/{resource.plural}/"
        kind = builtin_kind(resource.group, resource.version, resource.plural)
        return f"{self.prefix}/{kind.prefix if kind is not None else resource.plural}/"

    def _key_rows(self, number: int, prefix: str, *, exact: bool) -> Iterator[StoredRow]:
        table, _ = self.source(number)
        if not table.num_rows:
            return
        wanted = prefix.encode("utf-8", "surrogateescape")
        keys = table["key"]
        mask = pc.equal(keys, wanted) if exact else pc.starts_with(keys, wanted)
        yield from self.taken(number, np.flatnonzero(mask.to_numpy(zero_copy_only=False)))

    def all_rows(self, number: int) -> Iterator[StoredRow]:
        """Yield every row of a source."""
        table, _ = self.source(number)
        return self.taken(number, np.arange(table.num_rows))

    def exact_rows(self, number: int, key: bytes) -> Iterator[StoredRow]:
        """Yield the row of one key, if it is there."""
        table, _ = self.source(number)
        mask = pc.equal(table["key"], key).to_numpy(zero_copy_only=False)
        return self.taken(number, np.flatnonzero(mask))

    def is_key_of(self, resource: Resource, key: bytes) -> bool:
        """Whether a request for an object can ask for a key below the prefix of a kind; a LIST reads them all."""
        return key.count(b"/") == self.key_prefix(resource).count("/") + (1 if resource.namespaced else 0)

    def taken(self, number: int, positions: Any) -> Iterator[StoredRow]:
        """Yield rows of a live table by position, a batch at a time."""
        table, _ = self.source(number)
        for start in range(0, len(positions), 4096):
            part = table.take(positions[start : start + 4096])
            columns = [part[name].to_pylist() for name in StoredRow._fields[1:]]
            for values in zip(*columns, strict=True):
                yield StoredRow(number, *values)

    def _export_rows(self, number: int, resource: Resource, namespace: str, name: str) -> Iterator[StoredRow]:
        kinds = self._by_kind.get(number)
        if kinds is None:
            kinds = self._by_kind[number] = self._read_headers(number)
        groups = {resource.group}
        if resource.kind == "Event" and groups <= {"", "events.k8s.io"}:
            groups = {"", "events.k8s.io"}  # one storage
        found = sorted(at for group in groups for at in kinds.get((group, resource.kind), ()))
        wanted = [
            at
            for key, at in found
            if (not namespace or key.startswith(f"{namespace}/")) and (not name or key.partition("/")[2] == name)
        ]
        yield from self.taken(number, np.array(wanted, dtype=np.int64))

    def _read_headers(self, number: int) -> dict[tuple[str, str], list[tuple[str, int]]]:
        kinds: dict[tuple[str, str], list[tuple[str, int]]] = {}
        table, _ = self.source(number)
        for at, row in enumerate(self.taken(number, np.arange(table.num_rows))):
            header = read_header(self.stored_bytes(row))
            if header is not None:
                place = kinds.setdefault((header.group, header.kind), [])
                place.append((f"{header.namespace}/{header.name}", at))
        return kinds

    def stored_bytes(self, row: StoredRow) -> bytes:
        """Return the bytes of a row as the dump has them."""
        _, values = self.source(row.source)
        return cut_value(values, row.offset, row.length, row.encoding)

    def plain_bytes(self, row: StoredRow, resource: Resource) -> bytes:
        """Return the bytes of a row, decrypted.

        Raises:
            StatusError: They cannot be.
        """
        data = self.stored_bytes(row)
        if row.key is None:
            return data
        opened = self.unsealer.open(row.key, (resource.group, resource.plural), data)
        if opened.data is None:
            if opened.lacks_key and self.mode.as_server:  # the answer is that of a server with the keys given here
                raise _Closed("identity transformer tried to read encrypted data")
            raise (_Sealed if opened.lacks_key else _Closed)(opened.reason or "encrypted")
        return opened.data

    # ---- objects

    def read(self, resource: Resource, row: StoredRow) -> JsonObject:
        """Return the object of a row at the version of the resource.

        Raises:
            Unreadable: The server has none.
        """
        data = self.plain_bytes(row, resource)
        definition = self.definition(resource)
        if definition is None:
            obj = as_v1(event_at(_builtin_object(resource, data), resource.group))
        else:
            result = read_object(definition, resource.version, data)
            if result.object is None:
                raise (_Unconverted if result.needs_conversion else Unreadable)(result.unreadable or "")
            obj = result.object
        metadata = obj.get("metadata")
        if row.mod_revision is not None and type(metadata) is dict:
            metadata["resourceVersion"] = str(row.mod_revision)
        return obj

    def read_or_stored(self, resource: Resource, row: StoredRow, notes: NotRead) -> JsonObject | None:
        """Return the object of a row as `read` does, or as it is stored where a webhook would have to read it.

        Args:
            resource: The kind at a version.
            row: The row of the object.
            notes: Counts what was not read.

        Returns:
            None where no key for its value was given.

        Raises:
            Unreadable: The server has none.
        """
        try:
            return self.read(resource, row)
        except _Sealed:
            notes.sealed += 1
            self.sealed += 1
            return None
        except _Unconverted:
            if self.mode.as_server:  # whose webhook does not answer
                raise
            notes.unconverted += not self.mode.stored
        except Unreadable:
            if not self.mode.stored:
                raise
        return self.as_stored(resource, row)

    def as_stored(self, resource: Resource, row: StoredRow) -> JsonObject:
        """Return the object of a row as it is stored."""
        data = self.plain_bytes(row, resource)
        try:
            return decode_stored(data) if data.startswith(MAGIC) else decode_value(data)
        except (ReadError, WireError) as error:
            raise Unreadable(str(error)) from None

    def shown(self, resource: Resource, row: StoredRow, obj: JsonObject) -> JsonObject:
        """Return what is printed of an object that was selected."""
        if self.mode.stored:
            obj = self.as_stored(resource, row)
        return self.concealed(resource, obj)

    def concealed(self, resource: Resource, obj: JsonObject) -> JsonObject:
        """Return an object without the values of a Secret, unless they are to be shown."""
        if resource.kind == "Secret" and not resource.group and not self.mode.show_secrets:
            return _without_secrets(obj)
        return obj

    def labels_of(self, resource: Resource) -> list[str]:
        """Return the labels that field selectors on a kind can use and that have values."""
        definition = self.definition(resource)
        if definition is None:
            rules = rules_of(resource.group, resource.kind)
            return ["metadata.name", *(["metadata.namespace"] if rules.metadata_namespace else []), *rules.values]
        names = ["metadata.name", "metadata.namespace"] if definition.namespaced else ["metadata.name"]
        return names + [path.removeprefix(".") for path in definition.versions[resource.version].selectable_fields]

    # ---- the store

    def check_fields(self, resource: Resource, requirements: Sequence[FieldRequirement]) -> list[FieldRequirement]:
        """Return requirements whose labels are those of the object.

        Raises:
            StatusError: The server refuses a label.
        """
        if self.mode.any_field:
            return list(requirements)
        definition = self.definition(resource)
        if definition is None:
            rules = rules_of(resource.group, resource.kind)
            try:
                return [type(r)(rules.resolve(r.label), r.value, r.negated) for r in requirements]
            except SelectorError as error:
                raise StatusError(400, "BadRequest", error.found) from None
        known = {path.removeprefix(".") for path in definition.versions[resource.version].selectable_fields}
        known |= {"metadata.name", "metadata.namespace"} if definition.namespaced else {"metadata.name"}
        for requirement in requirements:
            if requirement.label not in known:
                raise StatusError(400, "BadRequest", f"field label not supported: {requirement.label}")
        return list(requirements)

    def fields_of(self, resource: Resource, obj: JsonObject) -> dict[str, str]:
        """Return what field selectors see of an object.

        Raises:
            StatusError: They fail on it.
        """
        definition = self.definition(resource)
        if definition is None:
            return builtin_selectable(resource.group, resource.kind, obj)
        try:
            return selectable(definition.versions[resource.version], obj, definition.namespaced)
        except SelectorError as error:
            raise StatusError(500, "InternalError", f"Internal error occurred: {error.found}") from None

    def parsed(
        self, resource: Resource, labels: str, fields: str
    ) -> tuple[tuple[LabelRequirement, ...], list[FieldRequirement]]:
        """Return the requirements of both selectors.

        Raises:
            StatusError: The server refuses one.
        """
        try:
            wanted_labels = parse_label_selector(labels)
            wanted_fields = parse_field_selector(fields)
        except SelectorError as error:
            raise StatusError(400, "BadRequest", error.found) from None
        return wanted_labels, self.check_fields(resource, wanted_fields)

    def matches(
        self,
        resource: Resource,
        obj: JsonObject,
        labels: Iterable[LabelRequirement],
        fields: Sequence[FieldRequirement],
    ) -> bool:
        """Whether an object is selected: labels first, then fields, as the server does it."""
        metadata = obj.get("metadata")
        found = metadata.get("labels") if type(metadata) is dict else None
        if not all(requirement.matches(found if type(found) is dict else {}) for requirement in labels):
            return False
        if not fields:
            return True
        seen = self.fields_of(resource, obj)
        if self.mode.any_field:
            seen |= {r.label: field_text(r.label, obj) for r in fields if r.label not in seen}
        return all(requirement.matches(seen) for requirement in fields)

    def list_objects(self, resource: Resource, namespace: str, labels: str, fields: str) -> Iterator[JsonObject]:
        """Yield the selected objects of a kind in the order of a server, as they are to be shown."""
        wanted_labels, wanted_fields = self.parsed(resource, labels, fields)
        answer = self._as_server if self.mode.as_server else self._selected
        found = answer(resource, namespace, wanted_labels, wanted_fields)
        if self.mode.streamed or not self._is_cached(resource):
            return (obj for _, obj in found)
        return in_cache_order(found, one_each=self.mode.as_server)

    def table_order(self, resource: Resource, objects: Sequence[JsonObject]) -> Sequence[JsonObject]:
        """Return the objects of a LIST in the order of the rows that a server prints."""
        return table_order(resource, objects)

    def warning_of(self, resource: Resource) -> str:
        """Return what a server says of a version that is going away; empty: nothing."""
        return deprecation_warning(self.definition(resource), resource)

    def _selected(
        self,
        resource: Resource,
        namespace: str,
        labels: tuple[LabelRequirement, ...],
        fields: Sequence[FieldRequirement],
    ) -> Iterator[tuple[int, JsonObject]]:
        told = 0
        notes = NotRead(resource, self.unsealer)
        steps = self.steps[name_of(resource)] = Steps()
        if self.max_scan is not None:
            self.refuse_scan(resource, sum(1 for _ in self.rows(resource)))
        cached = self._is_cached(resource)
        for row in self.rows(resource, "" if cached else namespace):
            steps.rows += 1
            steps.read += 1
            try:
                obj = self.read_or_stored(resource, row, notes)
                if obj is None or (cached and namespace and _namespace(obj) != namespace):
                    continue
                if self.matches(resource, obj, labels, fields):
                    steps.fitted += 1
                    if self.passes(resource, obj):
                        steps.kept += 1
                        yield row.source, self.shown(resource, row, obj)
            except Unreadable as error:
                told += 1
                if told <= _TOLD:
                    self.warn(f"500: corrupt object {_place(row, self.plan)}: {_short(str(error))}\n")
            except Exception as error:  # noqa: BLE001 - it is left out
                self.leave_out(_place(row, self.plan), error)
        self.corrupt += told
        if told > _TOLD:
            self.warn(f"500: and {told - _TOLD} more corrupt objects\n")
        if told:
            self.warn(f"a live server answers no LIST of {resource.group_resource}; --as-server shows what it says\n")
        notes.note(self.warn)

    def leave_out(self, place: str, error: Exception) -> None:
        """Report an object that this program failed on; what ends a command is raised again."""
        if isinstance(error, (*OF_THE_COMMAND, StatusError)):
            raise error
        self.failed += 1
        self.warn(left_out(place, error))

    def place_of(self, resource: Resource, obj: JsonObject) -> str:
        """Return the key of an object, or the words for where it is in an export."""
        name = f"{_namespace(obj)}/{_name(obj)}" if resource.namespaced else _name(obj)
        is_export = all(source.is_export for source in self.plan.sources)
        return f"{resource.group_resource} {name}" if is_export else f"{self.key_prefix(resource)}{name}"

    def passes(self, resource: Resource, obj: JsonObject) -> bool:
        """Whether an object fits the predicate that was asked for."""
        return not self.where or self.where_of(resource).test(obj)

    def where_of(self, resource: Resource) -> Where:
        """Return the predicate for a kind.

        Raises:
            SelectorError: It is none, or names a field that the kind does not have.
        """
        found = self._wheres.get(resource)
        if found is None:
            definition = self.definition(resource)
            schema = None if definition is None else definition.versions[resource.version].structural
            if schema is not None:
                names: Iterable[str] = schema.properties
            else:
                names = top_level_fields(resource.group, resource.version, resource.kind)
            found = self._wheres[resource] = compile_where(self.where, names)
            check_names(found, schema)
        return found

    def refuse_scan(self, resource: Resource, rows: int) -> None:
        """Refuse to look at more rows than --max-scan allows.

        Raises:
            PlanError: There are more; it says what was to be done with them.
        """
        if self.max_scan is not None and rows > self.max_scan:
            raise PlanError(
                "",
                f"{rows} rows of {resource.group_resource} would be scanned, --max-scan allows {self.max_scan}\n"
                f"{self.plan_of(resource)}",
                "",
                "select by indexed fields (see `auditor fields`), or give a report instead of its dump",
            )

    def plan_of(self, resource: Resource) -> str:
        """Return what is done with the rows of a kind, as text."""
        name = visible(f"{resource.group_resource} {resource.version}")
        lines = [f"{name}: every object is read, then namespace, labels, fields"]
        lines += [f"  object: {visible(unparse(part))}" for part in self.parts_of(resource)]
        return "\n".join(lines) + "\n"

    def parts_of(self, resource: Resource) -> list[Expr]:
        """Return the parts of the predicate that && joins."""
        return conjuncts(self.where_of(resource).root) if self.where else []

    def explain(self) -> str:
        """Return what was done for each kind that was listed, and how many rows each step kept."""
        out = []
        for resource in self.discovery.resources:
            steps = self.steps.get(name_of(resource))
            if steps is not None:
                out.append(self.plan_of(resource) + _steps_text(steps))
        return "".join(out)

    def _as_server(
        self,
        resource: Resource,
        namespace: str,
        labels: tuple[LabelRequirement, ...],
        fields: Sequence[FieldRequirement],
    ) -> Iterator[tuple[int, JsonObject]]:
        """Answer as a live server does: through the watch cache all of a kind must be readable, without it a range."""
        cached = self._is_cached(resource)
        name = "" if cached else _only_name(fields)
        if name and (namespace or not resource.namespaced):
            rows = self.rows(resource, namespace, name)
        else:
            rows = self.rows(resource, "" if cached else namespace)
        objects: list[tuple[StoredRow, JsonObject]] = []
        corrupt: list[tuple[str, str]] = []
        notes = NotRead(resource, self.unsealer)
        for row in rows:
            key = printable_key(row.key) if row.key is not None else _place(row, self.plan)
            try:
                obj = self.read_or_stored(resource, row, notes)
                if obj is not None:
                    objects.append((row, obj))
            except Unreadable as error:
                if str(error) == NO_METADATA:
                    raise StatusError(
                        503, "ServiceUnavailable", f"the API server process ends when it reads {key}: {error}"
                    ) from None
                corrupt.append((key, _corrupt(key, row, error)))
                if len(corrupt) == _MOST_CORRUPT:
                    break
        notes.note(self.warn)
        if corrupt:
            raise self._list_error(resource, corrupt, cached=cached)
        for _, obj in objects if cached else ():
            problem = cache_key_fault(obj, namespaced=resource.namespaced)
            if problem:
                raise StatusError(
                    429,
                    "TooManyRequests",
                    f"storage is (re)initializing: unable to sync list result: couldn't compute key: {problem}",
                    {"retryAfterSeconds": 1},
                )
        for row, obj in objects:
            if cached and namespace and _namespace(obj) != namespace:
                continue
            if self.matches(resource, obj, labels, fields) and self.passes(resource, obj):
                yield row.source, self.shown(resource, row, obj)

    def _is_cached(self, resource: Resource) -> bool:
        """Whether the watch cache answers a LIST; every kind but events has one."""
        return self.mode.watch_cache and not self._is_event(resource)

    def _is_event(self, resource: Resource) -> bool:
        """Whether it is the one kind that a server keeps no watch cache of."""
        return resource.kind == "Event" and self.definition(resource) is None

    def _list_error(self, resource: Resource, corrupt: list[tuple[str, str]], *, cached: bool) -> StatusError:
        more = f" (and {len(corrupt) - 1} more)" if len(corrupt) > 1 else ""
        text = f"failed to read one or more {resource.group_resource} from the storage: {corrupt[0][1]}{more}"
        if cached:
            return StatusError(
                429,
                "TooManyRequests",
                f"storage is (re)initializing: failed to list <unspecified>: {text}",
                {"retryAfterSeconds": 1},
            )
        causes = [{"field": key, "message": said, "reason": "UnexpectedServerResponse"} for key, said in corrupt]
        details = {"causes": causes, "group": resource.group, "kind": resource.plural, "name": "list"}
        return StatusError(500, "StorageReadError", text, details)

    def get_object(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """Return the object at a key; an empty namespace of a namespaced kind means the first one that has it."""
        known = bool(namespace) or not resource.namespaced
        rows = self.rows(resource, namespace, name) if known else self.rows_anywhere(resource, name)
        for row in rows:
            notes = NotRead(resource, self.unsealer)
            try:
                obj = self._got(resource, row, notes)
                notes.note(self.warn)
                return self.shown(resource, row, obj)
            except Unreadable as error:
                key = (printable_key(row.key) if row.key is not None else "").removeprefix(self.prefix)
                message = f"Internal error occurred: {_corrupt(key, row, error)}"
                raise StatusError(500, "InternalError", message) from None
            except Exception as error:  # noqa: BLE001 - it is left out
                self.leave_out(place := _place(row, self.plan), error)
                raise NotShown(f"{place} is not shown") from None
        raise not_found(resource, name)

    def _got(self, resource: Resource, row: StoredRow, notes: NotRead) -> JsonObject:
        """Return the object of a row as the answer to a GET, which a list in its place cannot be."""
        obj = self.read_or_stored(resource, row, notes)
        if obj is None:
            raise notes.error(printable_key(row.key or b"").rpartition("/")[2])
        definition = self.definition(resource)
        if definition is not None and obj.get("kind") == definition.list_kind:
            raise StatusError(500, "", "*unstructured.Unstructured is not a list: no Items field in this object")
        return obj

    def rows_anywhere(self, resource: Resource, name: str) -> Iterator[StoredRow]:
        """Yield the rows of a name in all namespaces."""
        for row in self.rows(resource):
            if row.key is not None and self.is_key_of(resource, row.key) and row.key.endswith(f"/{name}".encode()):
                yield row
            elif row.key is None:
                header = read_header(self.stored_bytes(row))
                if header is not None and header.name == name:
                    yield row

    def has_namespace(self, name: str) -> bool:
        """Whether the dump holds that Namespace, or, of an export without Namespaces, any at all."""
        resource = next(one for one in self.discovery.resources if one.plural == "namespaces" and not one.group)
        if any(True for _ in self.rows(resource, "", name)):
            return True
        return not any(True for _ in self.rows(resource))

    def through(self, resource: Resource, obj: JsonObject, subresource: str) -> tuple[Resource, JsonObject]:
        """Return an object as a subresource has it, and the kind of that.

        Raises:
            StatusError: The kind has no such subresource.
        """
        definition = self.definition(resource)
        if not has_subresource(definition, resource, subresource):
            raise StatusError(404, "NotFound", "the server could not find the requested resource")
        if subresource == "status":
            return resource, obj
        found = scale_of(definition, resource, obj)
        if found is None:
            path = definition.versions[resource.version].scale if definition is not None else None
            text = (
                f"Internal error occurred: the spec replicas field {quote(path.spec_replicas_path)} does not exist"
                if path
                else ""
            )
            raise StatusError(500, "InternalError", text)
        return SCALE, found

    # ---- printing

    def columns(self, resource: Resource) -> Any:
        """Return the compiled columns of a custom resource."""
        key = (resource.group, resource.version, resource.plural)
        found = self._columns.get(key)
        if found is None:
            found = self._columns[key] = custom_resource_columns(resource.columns)
        return found

    def headers(self, resource: Resource) -> Sequence[Header]:
        """Return the columns of a kind."""
        if resource == SCALE:
            return SCALE_HEADERS
        if self.definition(resource) is None:
            return builtin_headers(resource.group, resource.kind)
        return [
            Header("Name", is_name=True),
            *(Header(column.name, wide=column.priority != 0) for column, _ in self.columns(resource)),
        ]

    def cells(
        self, resource: Resource, objects: Sequence[JsonObject], now: float, *, listed: bool
    ) -> list[Sequence[Cell]]:
        """Return the cells of objects."""
        if resource == SCALE:
            return [scale_cells(one, age_of(_metadata(one).get("creationTimestamp") or "", now)) for one in objects]
        if self.definition(resource) is None:
            return builtin_cells(resource.group, resource.kind, objects, now, listed=listed)
        columns, visits = self.columns(resource), Visits()
        given_up: list[str] = []
        rows: list[Sequence[Cell]] = [
            [_name(one), *custom_resource_row(columns, one, now, visits, given_up)] for one in objects
        ]
        if given_up:
            self.failed += 1
            self.warn(given_up_cells(given_up))
        return rows


def name_of(resource: Resource) -> str:
    """Return plural.version.group."""
    return f"{resource.plural}.{resource.version}.{resource.group}"


def _steps_text(steps: Steps) -> str:
    scanned = "" if steps.scanned is None else f", {steps.scanned} scanned in the index"
    return f"  {steps.rows} rows{scanned}, {steps.read} objects read, {steps.fitted} match, {steps.kept} returned\n"


def _metadata(obj: JsonObject) -> JsonObject:
    metadata = obj.get("metadata")
    return metadata if type(metadata) is dict else {}


def _namespace(obj: JsonObject) -> str:
    return _metadata(obj).get("namespace") or ""


def _name(obj: JsonObject) -> str:
    return _metadata(obj).get("name") or ""


def _place(row: StoredRow, plan: Plan) -> str:
    if row.key is not None:
        return printable_key(row.key)
    return f"{plan.sources[row.source].name} at byte {row.offset}"


def _corrupt(key: str, row: StoredRow, error: Unreadable) -> str:
    where = f"StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
    if error.closed:
        return f"{where}data from the storage is not transformable revision=0: {error}"
    return f"{where}object not decodable revision={row.mod_revision}: {error}"


def _short(text: str) -> str:
    return text if len(text) <= 300 else text[:297] + "..."


def _only_name(fields: Sequence[FieldRequirement]) -> str:
    """Return the name that a selector asks for and no other; then a server reads that key alone."""
    return next((r.value for r in fields if r.label == "metadata.name" and not r.negated and r.value), "")


def _builtin_object(resource: Resource, data: bytes) -> JsonObject:
    target = target_of(resource.group, resource.kind)
    try:
        if target is None:
            return decode_stored(data)
        return stored_object(target, data, proven=is_proven(target, data))
    except (UndecodableError, WireError) as error:
        raise Unreadable(str(error)) from None


def _without_secrets(obj: JsonObject) -> JsonObject:
    """Return a Secret with its values redacted, also in annotations."""
    out = dict(obj)
    for key in ("data", "stringData"):
        values = obj.get(key)
        if type(values) is dict:
            out[key] = dict.fromkeys(values, "***")
    metadata = _metadata(obj)
    annotations = metadata.get("annotations")
    applied = "kubectl.kubernetes.io/last-applied-configuration"
    if type(annotations) is dict and applied in annotations:
        out["metadata"] = {**metadata, "annotations": {**annotations, applied: "***"}}
    return out
