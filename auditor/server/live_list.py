"""A LIST as a live server answers it: one object that cannot be read makes the whole request fail.

Source: apiserver pkg/storage/etcd3/{store,errors}.go, pkg/storage/cacher, pkg/registry/generic/registry/store.go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from auditor.base.records import namespace_of
from auditor.printing.get.errors import StatusError
from auditor.program.impact import cache_key_fault
from auditor.releases import changes
from auditor.server.not_read import NotRead
from auditor.server.reader import Unreadable
from auditor.sources.registry_key import printable_key
from auditor.storage_read.corrupt import CorruptValue, described, first_of_list
from auditor.storage_read.read import NO_METADATA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource
    from auditor.selectors.grammar import FieldRequirement, LabelRequirement
    from auditor.server.reader import ObjectReader
    from auditor.server.rows import Rows, StoredRow
    from auditor.server.selection import Selection

__all__ = ["corrupt_value", "live_list"]

_NAMESPACE = re.compile(r"(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_MOST_CORRUPT = 100
"""How many errors a server collects before it stops a list; before `changes.CORRUPT_OBJECTS` it stops at the first."""


def live_list(
    rows: Rows,
    reader: ObjectReader,
    selection: Selection,
    resource: Resource,
    namespace: str,
    labels: tuple[LabelRequirement, ...],
    fields: Sequence[FieldRequirement],
    warn: Callable[[str], None],
    *,
    cached: bool,
) -> Iterator[tuple[int, JsonObject]]:
    """Yield the number of the dump, and the object, of each selected row.

    Args:
        rows, reader, selection: Those of the store.
        resource: The kind and version.
        namespace: Only objects in this namespace; empty for all.
        labels, fields: Requirements of the selectors.
        warn: Called with notes for standard error.
        cached: The watch cache answers, so all objects of the kind must be readable, not only the requested ones.

    Raises:
        StatusError: The server answers with an error.
    """
    if not cached and not namespace and resource.namespaced:
        namespace = _only(fields, "metadata.namespace")
        namespace = namespace if _NAMESPACE.fullmatch(namespace) else ""
    name = "" if cached else _only(fields, "metadata.name")
    if name and (namespace or not resource.namespaced):
        found = rows.of(resource, namespace, name)
    else:
        found = rows.of(resource, "" if cached else namespace)
    objects: list[tuple[StoredRow, JsonObject]] = []
    corrupt: list[CorruptValue] = []
    most = _MOST_CORRUPT if changes.CORRUPT_OBJECTS.holds else 1
    notes = NotRead(resource, reader.unsealer)
    for row in found:
        key = printable_key(row.key) if row.key is not None else rows.place(row)
        try:
            obj = reader.read_or_stored(resource, row, notes)
            if obj is not None:
                objects.append((row, obj))
        except Unreadable as error:
            if str(error) == NO_METADATA:
                raise StatusError(
                    503, "ServiceUnavailable", f"the API server process ends when it reads {key}: {error}"
                ) from None
            corrupt.append(corrupt_value(key, row, error))
            if len(corrupt) == most:
                break
    notes.note(warn)
    if corrupt:
        raise _list_error(resource, corrupt, cached=cached)
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
        if cached and namespace and namespace_of(obj) != namespace:
            continue
        if selection.matches(resource, obj, labels, fields) and selection.passes(resource, obj):
            yield row.source, reader.shown(resource, row, obj)


def _list_error(resource: Resource, corrupt: list[CorruptValue], *, cached: bool) -> StatusError:
    if changes.CORRUPT_OBJECTS.holds:
        more = f" (and {len(corrupt) - 1} more)" if len(corrupt) > 1 else ""
        kind = resource.group_resource
        text = f"failed to read one or more {kind} from the storage: {described(corrupt[0])}{more}"
        reason = "StorageReadError"
        causes = [
            {"field": one.key, "message": described(one), "reason": "UnexpectedServerResponse"} for one in corrupt
        ]
        details = {"causes": causes, "group": resource.group, "kind": resource.plural, "name": "list"}
    else:
        reason, text = first_of_list(corrupt[0])
        details = {}
    if cached:
        return StatusError(
            429,
            "TooManyRequests",
            f"storage is (re)initializing: failed to list <unspecified>: {text}",
            {"retryAfterSeconds": 1},
        )
    text = f"Internal error occurred: {text}" if reason == "InternalError" else text
    return StatusError(500, reason, text, details or None)


def corrupt_value(key: str, row: StoredRow, error: Unreadable) -> CorruptValue:
    """Return a row that a server cannot decode."""
    return CorruptValue(key, row.mod_revision or 0, str(error), error.closed)


def _only(fields: Sequence[FieldRequirement], label: str) -> str:
    """Return the one value that a selector requires of a label; a server narrows the range of keys by it."""
    return next((r.value for r in fields if r.label == label and not r.negated and r.value), "")
