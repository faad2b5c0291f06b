"""A LIST as a live server answers it: one object that cannot be read makes the whole request fail.

The watch cache lists by name, etcd by key. Label selectors, field selectors and --where select as in a server.
Source: apiserver pkg/storage/etcd3/{store,errors}.go, pkg/storage/cacher (watch_cache.go, store_btree.go),
pkg/registry/generic/registry/store.go; kubernetes pkg/printers/internalversion/printers.go (printFlowSchemaList).
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from auditor.base.errors import SelectorError, TooMuchToReport
from auditor.base.records import labels_of, namespace_of
from auditor.builtin.scheme import schema_of_kind
from auditor.builtin.selectable import Rules, builtin_selectable, rules_of
from auditor.printing.get.server_errors import NotShown, StatusError
from auditor.printing.jsonpath import JsonPathError, compile_template, relaxed
from auditor.program.impact import cache_key_fault
from auditor.releases import changes
from auditor.selectors.grammar import parse_field_selector, parse_label_selector
from auditor.selectors.selectable_fields import field_text, selectable
from auditor.selectors.where import Failures, check_names, check_path, compile_where, conjuncts, expression_of
from auditor.server.not_read import NotRead
from auditor.server.object_reader import UndecodedObject
from auditor.sources.registry_key import printable_key
from auditor.storage_read.read import NO_METADATA, CorruptValue, described, first_of_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from auditor.base.records import JsonObject
    from auditor.cel.syntax.ast import Expr
    from auditor.printing.discovery import Resource
    from auditor.schema.structural import StructuralSchema
    from auditor.selectors.grammar import FieldRequirement, LabelRequirement
    from auditor.selectors.where import Where
    from auditor.server.catalog import Catalog
    from auditor.server.dump_rows import DumpRows, StoredRow
    from auditor.server.object_reader import ObjectReader, ReadMode


_NAMESPACE = re.compile(r"(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_MOST_CORRUPT = 100
"""How many errors a server collects before it stops a list; before `changes.CORRUPT_OBJECTS` it stops at the first."""


def live_list(
    rows: DumpRows,
    reader: ObjectReader,
    selection: Selection,
    resource: Resource,
    namespace: str,
    labels: tuple[LabelRequirement, ...],
    fields: Sequence[FieldRequirement],
    warn: Callable[[str], None],
    *,
    cached: bool,
) -> Iterator[JsonObject]:
    """Yield the selected objects, as printed, in the order of the server.

    Args:
        rows, reader, selection: Those of the store.
        resource: The kind and version.
        namespace: Only objects in this namespace; empty for all.
        labels, fields: Requirements of the selectors.
        warn: Called with notes for standard error.
        cached: The kind has a watch cache. It answers if it could take in all objects of the kind; if it could not,
            etcd answers a LIST with a limit and without selectors, and no other is answered.

    Raises:
        StatusError: The server answers with an error.
    """
    kind = _Kind(reader, resource, rows)
    refused = None
    if cached:
        objects, refused = kind.cached()
        if refused is not None and (labels or fields or not reader.mode.limit):
            kind.notes.note(warn)
            raise refused
    if refused is not None or not cached:
        cached = False
        objects = kind.stored(_keys_read(rows, resource, namespace, fields))
    kind.notes.note(warn)
    selected = (
        (row.source, reader.concealed(resource, shown))
        for row, obj in objects
        if not (cached and namespace and namespace_of(obj) != namespace)
        and selection.matches(resource, obj, labels, fields)
        and selection.passes(resource, shown := reader.in_form(resource, row, obj))
    )
    if not cached:
        yield from (obj for _, obj in selected)
    else:
        yield from in_cache_order(selected, resource, one_each=True)


def _keys_read(
    rows: DumpRows, resource: Resource, namespace: str, fields: Sequence[FieldRequirement]
) -> Iterator[StoredRow]:
    """Return the rows that a server reads from etcd to answer."""
    if not namespace and resource.namespaced:
        namespace = _only(fields, "metadata.namespace")
        namespace = namespace if _NAMESPACE.fullmatch(namespace) else ""
    is_in_scope = namespace or not resource.namespaced
    return rows.of(resource, namespace, _only(fields, "metadata.name") if is_in_scope else "")


class _Kind:
    """The objects of a kind as a server reads them."""

    def __init__(self, reader: ObjectReader, resource: Resource, rows: DumpRows) -> None:
        self.notes = NotRead(resource, reader.left_out)
        self._reader = reader
        self._resource = resource
        self._rows = rows

    def cached(self) -> tuple[list[tuple[StoredRow, JsonObject]], StatusError | None]:
        """Return the objects in the watch cache, or none and the answer of a server whose cache cannot begin."""
        objects, corrupt = self._read(self._rows.of(self._resource), 0)
        problem = f"failed to list <unspecified>: {_corrupt_text(self._resource, corrupt)[1]}" if corrupt else ""
        for _, obj in () if problem else objects:
            if fault := cache_key_fault(obj, namespaced=self._resource.namespaced):
                problem = f"unable to sync list result: couldn't compute key: {fault}"
                break
        if not problem:
            return objects, None
        self.notes = NotRead(self._resource, self._reader.left_out)
        text = f"storage is (re)initializing: {problem}"
        return [], StatusError(429, "TooManyRequests", text, {"retryAfterSeconds": 1})

    def stored(self, rows: Iterator[StoredRow]) -> list[tuple[StoredRow, JsonObject]]:
        """Return the objects of some rows.

        Raises:
            StatusError: A server fails on one of them.
        """
        objects, corrupt = self._read(rows, self._reader.mode.limit)
        if not corrupt:
            return objects
        reason, text, details = _corrupt_text(self._resource, corrupt)
        text = f"Internal error occurred: {text}" if reason == "InternalError" else text
        raise StatusError(500, reason, text, details)

    def _read(
        self, rows: Iterator[StoredRow], limit: int
    ) -> tuple[list[tuple[StoredRow, JsonObject]], list[CorruptValue]]:
        """Return the objects, and the values that cannot be decoded; of these only those of the first page with some.

        Args:
            rows: Where they are stored.
            limit: Objects of a page; 0 for one page.

        Raises:
            StatusError: The server ends, or one of the objects has more than this program can hold.
        """
        most = _MOST_CORRUPT if changes.CORRUPT_OBJECTS.holds else 1
        objects: list[tuple[StoredRow, JsonObject]] = []
        corrupt: list[CorruptValue] = []
        page = 0
        for row in rows:
            page_of_row = len(objects) // limit if limit else 0
            if len(corrupt) == most or (corrupt and page_of_row > page):
                break
            page = page_of_row
            key = printable_key(row.key) if row.key is not None else self._rows.place(row)
            try:
                obj = self._reader.read_or_stored(self._resource, row, self.notes)
                if obj is not None:
                    objects.append((row, obj))
            except UndecodedObject as error:
                if str(error) == NO_METADATA:
                    raise StatusError(
                        503, "ServiceUnavailable", f"the API server process ends when it reads {key}: {error}"
                    ) from None
                corrupt.append(corrupt_value(key, row, error))
            except TooMuchToReport as error:  # a server reads it
                self._reader.left_out.failed += 1
                place = self._rows.place(row)
                raise NotShown(
                    f"{place} cannot be read here, and what a server answers is not known: {error}"
                ) from None
        return objects, corrupt


def _corrupt_text(resource: Resource, corrupt: list[CorruptValue]) -> tuple[str, str, JsonObject | None]:
    """Return the reason, the text and the details of the answer to a LIST that reads some corrupt values."""
    if not changes.CORRUPT_OBJECTS.holds:
        return (*first_of_list(corrupt[0]), None)
    more = f" (and {len(corrupt) - 1} more)" if len(corrupt) > 1 else ""
    text = f"failed to read one or more {resource.group_resource} from the storage: {described(corrupt[0])}{more}"
    causes = [{"field": row.key, "message": described(row), "reason": "UnexpectedServerResponse"} for row in corrupt]
    details = {"causes": causes, "group": resource.group, "kind": resource.plural, "name": "list"}
    return "StorageReadError", text, details


def corrupt_value(key: str, row: StoredRow, error: UndecodedObject) -> CorruptValue:
    """Return a row that a server cannot decode."""
    return CorruptValue(key, row.mod_revision or 0, str(error), error.closed)


def _only(fields: Sequence[FieldRequirement], label: str) -> str:
    """Return the one value that a selector requires of a label; a server narrows the range of keys by it."""
    return next((r.value for r in fields if r.label == label and not r.negated and r.value), "")


class Selection:
    """The selectors that the kinds of a catalog accept, and whether objects match.

    Args:
        catalog: The kinds.
        mode: Whether every path is a field label, and whether the predicate is about objects as stored.
        where: Predicate on objects; empty if there is none.
        count_by: JSONPath to a field that a kind must have; empty if there is none.
    """

    def __init__(self, catalog: Catalog, mode: ReadMode, where: str = "", count_by: str = "") -> None:
        self.where = where
        try:
            self._path = compile_template(relaxed(count_by)).fields if count_by else []
        except JsonPathError as error:
            raise SelectorError("--count-by", str(error)) from None
        self._catalog = catalog
        self._mode = mode
        self._wheres: dict[Resource, Where] = {}
        self._last: tuple[Resource, Where, Failures] | None = None
        self.failures: dict[Resource, Failures] = {}
        """The objects on which the evaluation of the predicate failed, by kind."""

    def labels_of(self, resource: Resource) -> list[str]:
        """Return the labels that field selectors on a kind can use and that have values."""
        definition = self._catalog.definition(resource)
        if definition is None:
            rules = rules_of(resource.group, resource.kind)
            return ["metadata.name", *(["metadata.namespace"] if rules.metadata_namespace else []), *rules.values]
        names = ["metadata.name", "metadata.namespace"] if definition.namespaced else ["metadata.name"]
        return names + [path.removeprefix(".") for path in definition.versions[resource.version].selectable_fields]

    # ---- the store

    def check_fields(self, resource: Resource, requirements: Sequence[FieldRequirement]) -> list[FieldRequirement]:
        """Return requirements with the labels of a selector replaced by the labels of the object.

        Raises:
            StatusError: The server refuses a label.
        """
        if self._mode.any_field:
            return list(requirements)
        definition = self._catalog.definition(resource)
        if definition is None:
            rules = rules_of(resource.group, resource.kind)
        else:
            own = [path.removeprefix(".") for path in definition.versions[resource.version].selectable_fields]
            rules = Rules(unmatched=tuple(own), metadata_namespace=definition.namespaced)
        out = []
        for r in requirements:
            try:
                out.append(type(r)(rules.resolve(r.label), r.value, r.negated))
            except SelectorError as error:
                raise StatusError(400, "BadRequest", error.found, hint=_hint(r, self._schema(resource))) from None
        return out

    def fields_of(self, resource: Resource, obj: JsonObject) -> dict[str, str]:
        """Return what field selectors see of an object.

        Raises:
            StatusError: A server fails on the object.
        """
        definition = self._catalog.definition(resource)
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
            SelectorError: The kind does not have the fields of the path.
        """
        if not self._mode.stored:
            with _of_kind(resource):
                check_path(self._path, self._schema(resource) if self._path else None, "--count-by")
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
        labels: Sequence[LabelRequirement],
        fields: Sequence[FieldRequirement],
    ) -> bool:
        """Whether an object is selected: labels first, then fields, as the server does it."""
        if labels and not all(requirement.matches(labels_of(obj)) for requirement in labels):
            return False
        if not fields:
            return True
        seen = self.fields_of(resource, obj)
        if self._mode.any_field:
            seen |= {r.label: field_text(r.label, obj) for r in fields if r.label not in seen}
        return all(requirement.matches(seen) for requirement in fields)

    def passes(self, resource: Resource, obj: JsonObject) -> bool:
        """Whether an object matches the requested predicate."""
        if not self.where:
            return True
        if self._last is None or self._last[0] is not resource:  # hashing one takes longer than many a predicate
            self._last = resource, self.where_of(resource), self.failures.setdefault(resource, Failures())
        return self._last[1].test(obj, self._last[2])

    def where_of(self, resource: Resource) -> Where:
        """Return the predicate for a kind.

        Raises:
            SelectorError: It does not parse, or names a field that the kind does not have.
        """
        condition = self._wheres.get(resource)
        if condition is None:
            schema = self._schema(resource)
            condition = self._wheres[resource] = compile_where(self.where, () if schema is None else schema.properties)
            if not self._mode.stored:  # a stored object has the fields of its version, and those that a read drops
                with _of_kind(resource):
                    check_names(condition, schema)
        return condition

    def _schema(self, resource: Resource) -> StructuralSchema | None:
        """Return the fields of the objects of a kind; None if they are not known."""
        definition = self._catalog.definition(resource)
        if definition is None:
            return schema_of_kind(resource.group, resource.version, resource.kind)
        own, any_pod = definition.versions[resource.version].structural, schema_of_kind("", "v1", "Pod")
        if own is None or any_pod is None:
            return own
        common = {name: any_pod.properties[name] for name in ("apiVersion", "kind", "metadata")}
        return replace(own, properties={**own.properties, **common})

    def parts_of(self, resource: Resource) -> list[Expr]:
        """Return the operands of the predicate's `&&`."""
        return conjuncts(self.where_of(resource).root) if self.where else []


@contextmanager
def _of_kind(resource: Resource) -> Iterator[None]:
    """Let the refusal of a path name the kind: there may be several."""
    try:
        yield
    except SelectorError as error:
        raise SelectorError(error.where, f"{error.found} in {resource.kind}", error.expected, error.advice) from None


def _hint(requirement: FieldRequirement, schema: StructuralSchema | None) -> str:
    """Return what to use in place of a field selector that a server refuses."""
    if example := expression_of(requirement, schema):
        return f"use --where '{example}'"
    try:
        check_path(requirement.label.split("."), schema, "--where")
    except SelectorError as error:
        return str(error).removeprefix("--where: ")
    return "--where takes any field, as CEL"


def in_cache_order(
    found: Iterable[tuple[int, JsonObject]], resource: Resource, *, one_each: bool
) -> Iterator[JsonObject]:
    """Yield objects as the watch cache lists them: by the name in their metadata, and the namespace if the kind has it.

    Args:
        found: Number of the dump and object, dump by dump and in key order.
        resource: Their kind.
        one_each: Yield only the last of several objects with the same namespace and name, as the cache does.
    """
    for _, group in groupby(found, key=lambda pair: pair[0]):
        objects = [obj for _, obj in group]
        keys = [_cache_key(obj, resource) for obj in objects]
        if one_each and len(set(keys)) < len(keys):
            objects = list(dict(zip(keys, objects, strict=True)).values())
            keys = [_cache_key(obj, resource) for obj in objects]
        if any(second < first for first, second in pairwise(keys)):
            order = sorted(range(len(keys)), key=keys.__getitem__)
            objects = [objects[position] for position in order]
        yield from objects


def _cache_key(obj: JsonObject, resource: Resource) -> bytes:
    metadata = obj.get("metadata")
    if type(metadata) is not dict:
        return b""
    namespace, name = metadata.get("namespace"), metadata.get("name")
    text = f"{namespace}/{name}" if namespace and resource.namespaced else str(name or "")
    return text.encode("utf-8", "surrogatepass")


def table_order(resource: Resource, objects: Sequence[JsonObject]) -> Sequence[JsonObject]:
    """Return the objects of a LIST in the order in which the server prints their rows."""
    if (resource.group, resource.kind) != ("flowcontrol.apiserver.k8s.io", "FlowSchema"):
        return objects
    return sorted(objects, key=_precedence)


def _precedence(schema: JsonObject) -> tuple[Any, ...]:
    spec, metadata = schema.get("spec"), schema.get("metadata")
    precedence = spec.get("matchingPrecedence") if type(spec) is dict else None
    name = metadata.get("name") if type(metadata) is dict else None
    return (precedence if type(precedence) is int else 1000, str(name or ""))
