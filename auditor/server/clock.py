"""The time at which a snapshot or a backup was taken, estimated from its newest times; ages are relative to it."""

from __future__ import annotations

import datetime
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from auditor.builtin.protobuf import MAGIC, WireError, decode_stored
from auditor.golang import jsontext
from auditor.golang.times import GoTime, format_rfc3339, unix_seconds
from auditor.sources.encryption import resource_of
from auditor.sources.registry_key import classify, split_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.server.dump import DumpStore


_BACKUPS: Final = ("velero", "rancher", "must-gather", "cluster-info")
"""Formats of exports that a tool makes of a cluster at one time."""
_WRITTEN: Final = re.compile(
    rb'"(?:creationTimestamp|lastTimestamp|lastHeartbeatTime|lastTransitionTime|renewTime)": ?'
    rb'"(\d{4}-\d\d-\d\dT[0-2]\d:[0-5]\d:[0-5]\d)[.\d]*Z"'
)
"""Times at which a cluster wrote an object, and that are never in its future."""
LOOKED_AT: Final = 256
"""How many of the objects that were written last are read; a control plane renews a Lease every ten seconds."""


def newest_time(store: DumpStore) -> float | None:
    """Return the newest time in the objects that were written last, in seconds since 1970.

    In backups of other tools, which have no revisions, it is the newest time of all objects.

    Returns:
        None for other exports, whose files may be of any time, and if no readable object has a time. A time in the
        future counts as now.
    """
    times: list[float] = []
    for number, source in enumerate(store.plan.sources):
        if not source.is_export:
            times += _of(store, number)
        elif source.format in _BACKUPS:
            times += _of_backup(store, number)
    return min(max(times), datetime.datetime.now(datetime.UTC).timestamp()) if times else None


def _of(store: DumpStore, number: int) -> Iterator[float]:
    table, _ = store.rows.source(number)
    if not table.num_rows:
        return
    revisions = table["mod_revision"].to_numpy(zero_copy_only=False)
    last = np.argsort(revisions, kind="stable")[-LOOKED_AT:]
    for row in store.rows.take(number, last):
        key = row.key or b""
        resource = resource_of(classify(split_key(key, store.catalog.prefix), store.catalog.scopes))
        yield from stored_times(store.reader.unsealer.open(key, resource, store.rows.stored_bytes(row)).data or b"")


def stored_times(data: bytes) -> Iterator[float]:
    """Yield the times that a value carries, in seconds since 1970; none if it cannot be decoded."""
    with suppress(WireError, ValueError, RecursionError):
        yield from write_times(decode_stored(data) if data.startswith(MAGIC) else jsontext.decode(data))


def _of_backup(store: DumpStore, number: int) -> Iterator[float]:
    newest = max(
        (text for row in store.rows.all(number) for text in _WRITTEN.findall(store.rows.stored_bytes(row))), default=b""
    )
    if newest:
        yield datetime.datetime.fromisoformat(f"{newest.decode()}+00:00").timestamp()


def write_times(obj: Any) -> Iterator[float]:
    """Yield the times at which an object was created, written and asked to be deleted, in seconds since 1970."""
    metadata = obj.get("metadata") if type(obj) is dict else None
    if type(metadata) is not dict:
        return
    fields = metadata.get("managedFields")
    spec = obj.get("spec") if obj.get("kind") == "Lease" else None
    times = [metadata.get("creationTimestamp")]
    times += [field.get("time") for field in fields if type(field) is dict] if type(fields) is list else []
    times += [spec.get("renewTime")] if type(spec) is dict else []
    seconds = (*map(unix_seconds, times), deletion_time(metadata))
    yield from (time for time in seconds if time is not None)


def deletion_time(metadata: dict[str, Any]) -> float | None:
    """Return when a client asked to delete an object, in seconds since 1970; None if no client did.

    Its deletionTimestamp is later by the grace period.
    """
    time, grace = unix_seconds(metadata.get("deletionTimestamp")), metadata.get("deletionGracePeriodSeconds")
    return None if time is None else time - (grace if type(grace) is int else 0)


def reference_time(store: DumpStore, now: float | None) -> float:
    """Return the time that ages are relative to: `now` if it is given, else the newest time, or that of the clock."""
    newest = newest_time(store) if now is None else now
    return datetime.datetime.now(datetime.UTC).timestamp() if newest is None else newest


def time_text(seconds: float) -> str:
    """Return a time as objects have it, to the second."""
    return format_rfc3339(GoTime(int(seconds // 1)))
