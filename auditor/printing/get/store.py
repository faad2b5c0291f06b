"""The interface of a store for `kubectl get`: kinds, objects, columns, and the clusters of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from auditor.base.records import JsonObject
    from auditor.printing.columns import Cell
    from auditor.printing.discovery import Discovery, Resource
    from auditor.printing.tables import Header

__all__ = ["Clusters", "Store"]


class Store(Protocol):
    """A store of objects."""

    @property
    def discovery(self) -> Discovery:
        """The kinds of the store."""

    def list_objects(self, resource: Resource, namespace: str, labels: str, fields: str) -> Iterable[JsonObject]:
        """Return the objects of a kind in key order; an empty namespace means all. Raises StatusError."""

    def get_object(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """Return one object. Raises StatusError."""

    def has_namespace(self, name: str) -> bool:
        """Whether such a namespace exists."""

    def table_order(self, resource: Resource, objects: Sequence[JsonObject]) -> Sequence[JsonObject]:
        """Return the objects of a LIST in the order of the rows that a server prints."""

    def warning_of(self, resource: Resource) -> str:
        """Return the deprecation warning of a version; empty if there is none."""

    def through(self, resource: Resource, obj: JsonObject, subresource: str) -> tuple[Resource, JsonObject]:
        """Return a subresource of an object, and the kind of the subresource. Raises StatusError."""

    def headers(self, resource: Resource) -> Sequence[Header]:
        """Return the columns of a kind, NAME included."""

    def cells(
        self, resource: Resource, objects: Sequence[JsonObject], now: float, *, listed: bool
    ) -> list[Sequence[Cell]]:
        """Return the cells of objects under those columns; `listed` if they are the whole answer to a LIST."""


class Clusters(Protocol):
    """Tells the cluster of each object of a store."""

    def get_objects(self, resource: Resource, namespace: str, name: str) -> list[JsonObject]:
        """Return the objects with a name, at most one of each cluster. Raises StatusError."""

    def cluster_of(self, obj: JsonObject) -> str:
        """Return the cluster of an object."""

    def copied(self, obj: JsonObject, copy: JsonObject) -> JsonObject:
        """Record that a copy of an object belongs to the same cluster; return the copy."""

    def tables(self, resource: Resource, objects: Sequence[JsonObject]) -> Sequence[tuple[Any, list[JsonObject]]]:
        """Return objects by the columns of their clusters, with the store that has `headers` and `cells` for them."""
