"""Reads older revisions of keys while the dump is open, as a server would read them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from auditor.base.statuses import KeyClass
from auditor.server.dump import DumpStore
from auditor.server.dump_rows import StoredRow
from auditor.server.object_reader import ReadMode, UndecodedObject
from auditor.sources.registry_key import classify, split_key
from pipelines.log import LOG
from pipelines.run.objects.row_kind import resource_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from auditor.plan.older_rows import OlderRow
    from auditor.plan.run_plan import Plan


_REACHED: Final = (KeyClass.CUSTOM, KeyClass.BUILTIN, KeyClass.DEFINITION)


class OlderValues:
    """Reads older revisions of some keys.

    Args:
        plan: The plan of the run.
        keys: The keys.
    """

    def __init__(self, plan: Plan, keys: Iterable[bytes]) -> None:
        self._prefix = plan.options.etcd_prefix
        self._store = DumpStore(_narrowed(plan, keys), ReadMode(), lambda text: LOG.debug("last-good", text.rstrip()))

    def newest_read(self, source: int, rows: Iterable[OlderRow]) -> dict[str, Any] | None:
        """Return revision and time of the first of some revisions of a key that can be read; None if there is none.

        Args:
            source: The number of the dump.
            rows: The revisions, newest first.
        """
        store = self._store
        for older in rows:
            row = StoredRow(source, older.key, older.revision, older.offset, older.length, 0)
            place = classify(split_key(older.key, self._prefix), store.catalog.scopes)
            resource, _ = resource_of(store, row, self._prefix)
            if resource is None or place.status not in _REACHED:
                return None
            try:
                return {"revision": older.revision, "written": _written(store.reader.read(resource, row))}
            except UndecodedObject:
                continue
        return None


def _narrowed(plan: Plan, keys: Iterable[bytes]) -> Plan:
    """Return the plan with the definitions of the kinds of some keys alone: the others need not be parsed."""
    texts = [key.decode("utf-8", "replace") for key in keys]
    needed = (entry for entry in plan.entries if any(f"/{entry.group}/{entry.plural}/" in text for text in texts))
    return replace(plan, entries=tuple(needed))


def _written(obj: dict[str, Any]) -> str | None:
    """Return the newest time in the metadata of an object; None if there is none."""
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    managers = metadata.get("managedFields")
    times = (
        [manager.get("time") for manager in managers if isinstance(manager, dict)] if isinstance(managers, list) else []
    )
    texts = [text for text in (metadata.get("creationTimestamp"), *times) if isinstance(text, str)]
    return max(texts, default=None)
