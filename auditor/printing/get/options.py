"""Options of `kubectl get`, and the store that it reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Discovery, Resource
    from auditor.printing.printer_columns import Cell
    from auditor.printing.tables import ColumnHeader

    Text = Callable[[str], None]


class Store(Protocol):
    """A store of objects."""

    @property
    def discovery(self) -> Discovery:
        """The kinds of the store."""

    def list_objects(self, resource: Resource, namespace: str, labels: str, fields: str) -> Iterable[JsonObject]:
        """Return the objects of a kind in key order; an empty namespace means all. Raises StatusError."""

    def get_object(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """Return one object. Raises StatusError."""

    def namespaces(self) -> set[str]:
        """Return the names of the namespaces that exist; none if they are not known."""

    def table_order(self, resource: Resource, objects: Sequence[JsonObject]) -> Sequence[JsonObject]:
        """Return the objects of a LIST in the order of the rows that a server prints."""

    def warning_of(self, resource: Resource) -> str:
        """Return the deprecation warning of a version; empty if there is none."""

    def through(self, resource: Resource, obj: JsonObject, subresource: str) -> tuple[Resource, JsonObject]:
        """Return a subresource of an object, and the kind of the subresource. Raises StatusError."""

    def headers(self, resource: Resource) -> Sequence[ColumnHeader]:
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


@dataclass(slots=True)
class Found:
    """Objects of one kind from one answer."""

    resource: Resource
    objects: Sequence[JsonObject]
    listed: bool


@dataclass(slots=True)
class GetOptions:
    """Options; names are those of kubectl's flags.

    Attributes:
        template: The value of ``--template``.
        subresource: The subresource that is requested; empty if there is none.
        across: Whether ``-A`` was given, which excludes names.
        answer: Prints an answer about the objects in place of them, from the objects, the options, and where to print;
            returns how many values it could not read.
        every_kind: All kinds are asked for: those without objects are not printed.
        count_by: JSONPath of the values whose objects are counted; empty prints the objects.
        hints: Add suggestions to errors.
        usage_code: Exit code for arguments that kubectl refuses before it asks a server.
        for_terminal: The output goes to a terminal: control characters print as escapes, even where kubectl prints them
            unchanged.
        now_is: What the time in `now` is, in words; empty if the user named it.
        extra_formats: More output formats: name to a function that takes the objects and returns a printer.
        redacted: The text in place of redacted values; empty if no values are.
        place: Returns a description of where an object is.
        why_absent: Returns an advice about an object that does not exist, by kind, namespace and name; it may be empty.
        why_unknown: Returns what may have the definition of a kind that is unknown, and was not readable; may be empty.
        clusters: The objects are of several clusters, and tables say which; None if there is only one cluster.
    """

    args: Sequence[str] = ()
    namespace: str = "default"
    all_namespaces: bool = False
    across: bool = False
    labels: str = ""
    fields: str = ""
    output: str = ""
    template: str = ""
    subresource: str = ""
    label_columns: Sequence[str] = ()
    show_labels: bool = False
    show_kind: bool = False
    headers: bool = True
    sort_by: str = ""
    ignore_not_found: bool = False
    server_print: bool = True
    allow_missing: bool = True
    show_managed_fields: bool = False
    limit: int | None = None
    count: bool = False
    every_kind: bool = False
    count_by: str = ""
    answer: Callable[[Iterator[Found], GetOptions, Text, Text], int] | None = None
    hints: bool = False
    usage_code: int = 1
    for_terminal: bool = False
    now: float | None = None
    now_is: str = ""
    extra_formats: dict[str, Callable[[list[tuple[Resource, JsonObject]]], Callable[[], None]]] = field(
        default_factory=dict
    )
    redacted: str = ""
    place: Callable[[Resource, JsonObject], str] | None = None
    why_absent: Callable[[Resource, str, str], str] = lambda *_: ""
    why_unknown: Callable[[], str] = str
    clusters: Clusters | None = None
