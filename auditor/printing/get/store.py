"""What `kubectl get` needs of a store: kinds, objects, columns, and the clusters of objects."""

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
    """Where the objects are."""

    @property
    def discovery(self) -> Discovery:
        """The kinds there are."""

    def list_objects(self, resource: Resource, namespace: str, labels: str, fields: str) -> Iterable[JsonObject]:
        """Return the objects of a kind in key order; an empty namespace means all. Raises StatusError."""

    def get_object(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """Return one object. Raises StatusError."""

    def has_namespace(self, name: str) -> bool:
        """Whether there is such a namespace."""

    def table_order(self, resource: Resource, objects: Sequence[JsonObject]) -> Sequence[JsonObject]:
        """Return the objects of a LIST in the order of the rows that a server prints."""

    def warning_of(self, resource: Resource) -> str:
        """Return what a server says of a version that is going away; empty: nothing."""

    def through(self, resource: Resource, obj: JsonObject, subresource: str) -> tuple[Resource, JsonObject]:
        """Return an object as a subresource has it, and the kind of that. Raises StatusError."""

    def headers(self, resource: Resource) -> Sequence[Header]:
        """Return the columns of a kind, NAME included."""

    def cells(
        self, resource: Resource, objects: Sequence[JsonObject], now: float, *, listed: bool
    ) -> list[Sequence[Cell]]:
        """Return the rows of objects under those columns; `listed`: they are the whole answer to a list."""


class Clusters(Protocol):
    """Names the cluster that an object of a store belongs to."""

    def get_objects(self, resource: Resource, namespace: str, name: str) -> list[JsonObject]:
        """Return the objects of a name, at most one of each cluster. Raises StatusError."""

    def cluster_of(self, obj: JsonObject) -> str:
        """Return the cluster of an object."""

    def copied(self, obj: JsonObject, copy: JsonObject) -> JsonObject:
        """Note that a copy is of the same cluster; return the copy."""

    def tables(self, resource: Resource, objects: Sequence[JsonObject]) -> Sequence[tuple[Any, list[JsonObject]]]:
        """Return objects by the columns that their clusters have, with what has `headers` and `cells` for them."""
