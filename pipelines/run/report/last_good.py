"""The newest older revision of a key that breaks its kind at which its value could be read, while the dump is open."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from auditor.base.statuses import KeyClass
from auditor.server.dump import DumpStore
from auditor.server.history import older_revisions
from auditor.server.object_reader import ReadMode, UndecodedObject
from auditor.sources.dump_formats import HAS_HISTORY
from auditor.sources.registry_key import classify, split_key
from pipelines.log import LOG
from pipelines.run.objects.row_kind import resource_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from auditor.plan.run_plan import Plan
    from auditor.server.history import KeyRevision


_TRIED: Final = 20
"""Revisions of a key that are tried at most."""
_REACHED: Final = (KeyClass.CUSTOM, KeyClass.BUILTIN, KeyClass.DEFINITION)


def note_last_good(plan: Plan, manifest: dict[str, Any]) -> None:
    """Note for the keys that break kinds, in `last_good`, revision and time of their newest value that can be read.

    Args:
        plan: The plan of the run.
        manifest: The manifest of its report; `breaking` of its kinds is changed.
    """
    breaking = {kind["breaking"]["key"].encode("utf-8", "surrogateescape"): kind["breaking"]
                for kind in manifest["kinds"] if kind["breaking"]}  # fmt: skip
    sources = [number for number, source in enumerate(plan.sources) if source.format in HAS_HISTORY]
    if not breaking or not sources:
        return
    try:
        store = DumpStore(_narrowed(plan, breaking), ReadMode(), lambda text: LOG.debug("last-good", text.rstrip()))
        for number in sources:
            for key, older in groupby(older_revisions(plan.sources[number], list(breaking)), key=attrgetter("key")):
                if (good := _last_good(store, number, islice(older, _TRIED))) is not None:
                    breaking[key]["last_good"] = good
    except Exception as error:  # noqa: BLE001 - the report is complete without it
        LOG.warning("last-good", f"older revisions were not searched: {type(error).__name__}: {error}")


def _narrowed(plan: Plan, keys: Iterable[bytes]) -> Plan:
    """Return the plan with the definitions of the kinds of some keys alone: the others need not be parsed."""
    texts = [key.decode("utf-8", "replace") for key in keys]
    needed = (entry for entry in plan.entries if any(f"/{entry.group}/{entry.plural}/" in text for text in texts))
    return replace(plan, entries=tuple(needed))


def _last_good(store: DumpStore, number: int, revisions: Iterable[KeyRevision]) -> dict[str, Any] | None:
    """Return revision and time of the first of some revisions of a key that can be read; None if there is none."""
    etcd_prefix = store.plan.options.etcd_prefix
    for revision in revisions:
        row = revision.row(number)
        place = classify(split_key(revision.key, etcd_prefix), store.catalog.scopes)
        resource, _ = resource_of(store, row, etcd_prefix)
        if resource is None or place.status not in _REACHED:
            return None
        try:
            return {"revision": revision.revision, "written": _written(store.reader.read(resource, row))}
        except UndecodedObject:
            continue
    return None


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
