"""What `kubectl get` was asked for."""

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
    """What was asked for; names are those of kubectl's flags.

    Attributes:
        template: What ``--template`` gives.
        subresource: Through which objects are asked for; empty: none.
        across: ``-A`` was given, with which names cannot be.
        status_objects: Print the server's Status where ``-o json`` meets an error.
        hints: Add what a person may have meant to errors.
        usage_code: Exit code of requests that no server could answer.
        for_terminal: A terminal shows the output: content prints as escapes also where kubectl prints it as it is.
        extra_formats: More forms of output: name to what takes the objects and returns what prints them.
        place: Returns the words for where an object is.
        clusters: The objects are of several clusters, and tables say which; None: of one.
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
