"""The store over a report of a fleet: each cluster answers by its own definitions; each object knows its cluster."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import proxy

from auditor.builtin.builtin_kinds import group_rank
from auditor.printing.discovery import Discovery, kinds_named
from auditor.printing.get.server_errors import StatusError, not_found
from auditor.server.dump import DumpStore
from auditor.server.index_only import IndexOnlyStore
from auditor.server.report import ReportStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource
    from auditor.printing.printer_columns import Cell
    from auditor.printing.tables import ColumnHeader
    from auditor.server.dump import Query


OneStore = DumpStore | IndexOnlyStore
"""The store of one dump, or of the report of one."""


class FleetStore:
    """The stores of some clusters of a fleet as one."""

    def __init__(self, stores: dict[str, OneStore], warn: Callable[[str], None], *, has_unread: bool = False) -> None:
        self.stores = stores
        self.warn = warn
        self.has_unread = has_unread
        resources = dict.fromkeys(resource for store in stores.values() for resource in store.discovery.resources)
        self.discovery = Discovery.sorted_by_priority(resources, group_rank)
        own = proxy(self)
        self.discovery.count = lambda resource: own._count(resource)  # noqa: PLW0108, SLF001 - no circle
        self.refused = 0
        """Clusters that refused the request."""
        self.has_versions = False
        """Whether the request named a version."""
        self._clusters: dict[int, tuple[str, JsonObject]] = {}

    def ask(self, query: Query, args: Sequence[str]) -> None:
        """Pass the request on to the store of each cluster.

        Args:
            query: The request.
            args: Kinds and names; a kind may name its version.
        """
        versions = {resource.version for resource in self.discovery.resources}
        kinds = [kind.split(".") for arg in args for kind in arg.partition("/")[0].split(",")]
        self.has_versions = any(len(parts) > 1 and parts[1] in versions for parts in kinds)
        for store in self.stores.values():
            store.ask(query)

    def note_clusters(self) -> None:
        """Note on standard error that objects printed without a cluster come from several."""
        seen = dict.fromkeys(name for name, _ in self._clusters.values())
        if len(seen) > 1:
            names = ", ".join(seen)
            self.warn(f"note: objects of {len(seen)} clusters ({names}), without their names; --cluster chooses one\n")

    @property
    def left_out(self) -> bool:
        """Whether the answer lacks objects, or all those of a cluster."""
        return self.refused > 0 or any(store.left_out for store in self.stores.values())

    def place_of(self, resource: Resource, obj: JsonObject) -> str:
        """Return a description of where an object is, with its cluster."""
        cluster = self.cluster_of(obj)
        store, own = self.stores[cluster], self.own(cluster, resource) or resource
        metadata = obj.get("metadata")
        name = metadata.get("name") if type(metadata) is dict else None
        place = f"{own.group_resource} {name}" if isinstance(store, IndexOnlyStore) else store.place_of(own, obj)
        return f"cluster {cluster}: {place}"

    def serving(self, resource: Resource) -> tuple[OneStore, Resource]:
        """Return the first store that serves a kind, and the kind as it serves it."""
        for name, store in self.stores.items():
            if (own := self.own(name, resource)) is not None:
                return store, own
        raise not_found(resource, "")

    def own(self, cluster: str, resource: Resource) -> Resource | None:
        """Return a kind as a cluster serves it: at the same version, or at its preferred one if none was requested."""
        same = kinds_named(self.stores[cluster].discovery.resources, resource)
        at_version = [candidate for candidate in same if candidate.version == resource.version]
        return next(iter(at_version or ([] if self.has_versions else same)), None)

    def list_objects(self, resource: Resource, namespace: str, labels: str, fields: str) -> Iterator[JsonObject]:
        """Yield the objects of a kind, cluster by cluster.

        Raises:
            StatusError: All clusters refuse the request; if only some do, they are named on standard error.
        """
        errors: list[StatusError] = []
        for name in self._serving(resource):
            own = self.own(name, resource)
            if own is None:
                continue
            try:
                for obj in self.stores[name].list_objects(own, namespace, labels, fields):
                    yield self._noted(name, obj)
            except StatusError as error:
                errors.append(error)
                self._refused(name, error)
        if errors and len(errors) == len(self.stores):
            raise errors[0]

    def get_objects(self, resource: Resource, namespace: str, name: str) -> list[JsonObject]:
        """Return the objects of a name, at most one from each cluster.

        Raises:
            StatusError: No cluster has one.
        """
        answers, errors = [], []
        for cluster in self._serving(resource):
            own = self.own(cluster, resource)
            if own is None:
                continue
            try:
                answers.append(self._noted(cluster, self.stores[cluster].get_object(own, namespace, name)))
            except StatusError as error:
                errors.append(error)
                if error.code != 404:
                    self._refused(cluster, error)
        if not answers:
            raise next((error for error in errors if error.code != 404), not_found(resource, name))
        return answers

    def get_object(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """Return the object of a name from the first cluster that has one."""
        return self.get_objects(resource, namespace, name)[0]

    def _count(self, resource: Resource) -> int:
        served = ((store, self.own(name, resource)) for name, store in self.stores.items())
        return sum(store.discovery.count(own) for store, own in served if own is not None)

    def _serving(self, resource: Resource) -> list[str]:
        lacking = [name for name in self.stores if self.own(name, resource) is None]
        for name in lacking:
            suffix = f" at {resource.version}" if self.has_versions else ""
            self.warn(f"note: cluster {name} does not serve {resource.group_resource}{suffix}\n")
        return [name for name in self.stores if name not in lacking]

    def _refused(self, cluster: str, error: StatusError) -> None:
        self.refused += 1
        reason = f" ({error.reason})" if error.reason else ""
        self.warn(f"cluster {cluster}: Error from server{reason}: {error.message}\n")

    def _noted(self, cluster: str, obj: JsonObject) -> JsonObject:
        self._clusters[id(obj)] = (cluster, obj)
        return obj

    def copied(self, obj: JsonObject, copy: JsonObject) -> JsonObject:
        """Record that a copy of an object belongs to the same cluster; return the copy."""
        return self._noted(self.cluster_of(obj), copy)

    def cluster_of(self, obj: JsonObject) -> str:
        """Return the cluster of an object that this store returned."""
        return self._clusters[id(obj)][0]

    def namespaces(self) -> set[str]:
        """Return the names of the Namespaces of all clusters; none if those of one are not known."""
        held = [store.namespaces() for store in self.stores.values()]
        return set().union(*held) if all(held) else set()

    def fields_of(self, resource: Resource, obj: JsonObject) -> dict[str, str]:
        """Return what field selectors see of an object that this store returned."""
        cluster = self.cluster_of(obj)
        return self.stores[cluster].fields_of(self.own(cluster, resource) or resource, obj)

    def explain(self) -> str:
        """Return what was done in each cluster."""
        return "".join(
            f"cluster {name}:\n" + "".join(f"  {line}\n" for line in store.explain().splitlines())
            for name, store in self.stores.items()
        )

    def headers(self, resource: Resource) -> Sequence[ColumnHeader]:
        """Return the columns of a kind in the first cluster that serves it."""
        for name, store in self.stores.items():
            own = self.own(name, resource)
            if own is not None:
                return store.headers(own)
        return []

    def cells(
        self, resource: Resource, objects: Sequence[JsonObject], now: float, *, listed: bool
    ) -> list[Sequence[Cell]]:
        """Return the cells of objects, each as its cluster prints it."""
        cells: dict[int, Sequence[Cell]] = {}
        for name, store in self.stores.items():
            own = self.own(name, resource)
            here = [obj for obj in objects if self.cluster_of(obj) == name]
            if own is not None and here:
                row_cells = store.cells(own, here, now, listed=listed)
                cells |= {id(obj): each for obj, each in zip(here, row_cells, strict=True)}
        return [cells[id(obj)] for obj in objects]

    def table_order(self, resource: Resource, objects: Sequence[JsonObject]) -> Sequence[JsonObject]:
        """Return objects as they are: cluster by cluster."""
        del resource
        return objects

    def warning_of(self, resource: Resource) -> str:
        """Return the deprecation warning of the first cluster that serves a version; empty if there is none."""
        for name, store in self.stores.items():
            own = self.own(name, resource)
            if own is not None and isinstance(store, ReportStore):
                return store.warning_of(own)
        return ""

    def through(self, resource: Resource, obj: JsonObject, subresource: str) -> tuple[Resource, JsonObject]:
        """Return a subresource of an object, as its cluster serves it."""
        cluster = self.cluster_of(obj)
        store = self.stores[cluster]
        if isinstance(store, IndexOnlyStore):
            return store.through(resource, obj, subresource)
        answer, body = store.through(self.own(cluster, resource) or resource, obj, subresource)
        return answer, self._noted(cluster, body)

    def tables(self, resource: Resource, objects: Sequence[JsonObject]) -> list[tuple[SameColumns, list[JsonObject]]]:
        """Return objects grouped by the columns that their clusters print: definitions may differ between clusters."""
        columns: dict[str, Sequence[ColumnHeader]] = {}
        for name, store in self.stores.items():
            own = self.own(name, resource)
            with suppress(StatusError):  # a cluster whose index has no object of the kind
                columns[name] = store.headers(own) if own is not None else []
        alike: dict[tuple[Any, ...], list[JsonObject]] = {}
        for obj in objects:
            alike.setdefault(tuple(columns[self.cluster_of(obj)]), []).append(obj)
        return [(SameColumns(self, list(heads)), some) for heads, some in alike.items()]


class SameColumns:
    """Prints objects of clusters that have the same columns."""

    def __init__(self, fleet: FleetStore, heads: Sequence[ColumnHeader]) -> None:
        self.heads = heads
        self.cells = fleet.cells

    def headers(self, resource: Resource) -> Sequence[ColumnHeader]:
        """Return the columns."""
        del resource
        return self.heads


AnyStore = OneStore | FleetStore
"""A store that `query` asks."""


def stores_of(store: AnyStore) -> Mapping[str, OneStore]:
    """Return the stores of a fleet by cluster; any other store under an empty name."""
    return store.stores if isinstance(store, FleetStore) else {"": store}


def own_kind(store: AnyStore, cluster: str, resource: Resource) -> Resource | None:
    """Return a kind as a cluster of `stores_of` serves it; None if it does not."""
    return store.own(cluster, resource) if isinstance(store, FleetStore) else resource
