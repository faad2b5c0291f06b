"""Options of `kubectl get`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource
    from auditor.printing.get.store import Clusters

__all__ = ["GetOptions"]


@dataclass(slots=True)
class GetOptions:
    """Options; names are those of kubectl's flags.

    Attributes:
        template: The value of ``--template``.
        subresource: The subresource that is requested; empty if there is none.
        across: Whether ``-A`` was given, which excludes names.
        status_objects: Print the server's Status if ``-o json`` meets an error.
        hints: Add suggestions to errors.
        usage_code: Exit code for requests that no server could answer.
        for_terminal: The output goes to a terminal: control characters print as escapes, even where kubectl prints them
            unchanged.
        extra_formats: More output formats: name to a function that takes the objects and returns a printer.
        place: Returns a description of where an object is.
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
    status_objects: bool = False
    hints: bool = False
    usage_code: int = 1
    for_terminal: bool = False
    now: float | None = None
    extra_formats: dict[str, Callable[[list[tuple[Resource, JsonObject]]], Callable[[], None]]] = field(
        default_factory=dict
    )
    place: Callable[[Resource, JsonObject], str] | None = None
    clusters: Clusters | None = None
