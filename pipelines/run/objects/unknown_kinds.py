"""Whether a dump was read whole, and whether a kind that is unknown may have a definition that was not readable."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from auditor.base.wording import counted, first_of
from auditor.plan.run_plan import look_again
from auditor.server.dump import DumpStore
from auditor.server.fleet_store import FleetStore, stores_of
from auditor.server.index_only import IndexOnlyStore
from pipelines.streams import TextWriter

if TYPE_CHECKING:
    from auditor.server.fleet_store import AnyStore, OneStore


MAY_BE_LOST: Final = "part of the dump could not be read, and the definition of a kind may have been there"
"""What is said where a kind is unknown, and the dump is not whole."""
_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
_SHOWN: Final = 3


def is_incomplete(store: AnyStore) -> bool:
    """Return whether part of a dump could not be read, or objects were left out, which changes the exit code."""
    return _is_damaged(store) or bool(store.left_out)


def _is_damaged(store: AnyStore) -> bool:
    """Return whether part of a dump could not be read."""
    if isinstance(store, FleetStore):
        return any([store.has_unread, *map(_is_damaged, store.stores.values())])
    if isinstance(store, IndexOnlyStore):
        return any(source["damage"] for source in store.manifest["inputs"])
    TextWriter(sys.stderr)(look_again(store.plan))
    return any(source.damage for source in store.plan.sources)


def lost_definitions(store: AnyStore) -> str:
    """Return which part of a dump cannot be read and may have the definition of an unknown kind; empty if none.

    The parts that are damaged were named when the dump was opened.
    """
    if _is_damaged(store):
        return MAY_BE_LOST
    names = [f"{cluster and f'{cluster} '}{name}" for cluster, one in stores_of(store).items() for name in _unread(one)]
    if not names:
        return ""
    shown = first_of(names, _SHOWN)
    return f"{counted(len(names), 'definition')} of the dump cannot be read, and the kind may be defined there: {shown}"


def _unread(store: OneStore) -> list[str]:
    """Return the keys of the definitions of a dump that are torn, or encrypted without a key for them.

    A whole one that no server decodes defines no kind there either.
    """
    if not isinstance(store, DumpStore):
        return []
    resource = store.discovery.resolve(_DEFINITIONS)
    return [store.rows.place(row) for row in store.rows.of(resource) if not store.reader.is_whole(resource, row)]
