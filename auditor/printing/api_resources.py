"""``kubectl api-resources``: all kinds, each at its preferred version.

Source: kubectl pkg/cmd/apiresources/apiresources.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import visible
from auditor.printing.print_rows import print_rows
from auditor.printing.tables import align

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.printing.discovery import Resource


_COLUMNS: Final = ("name", "shortNames", "apiVersion", "namespaced", "kind", "verbs", "categories")
_BUILTIN_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_CUSTOM_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


@dataclass(frozen=True, slots=True)
class ResourceFilter:
    """Options that filter and print kinds; the names are those of kubectl's flags.

    Attributes:
        api_group: None: of all groups.
        namespaced: None: both.
    """

    api_group: str | None = None
    namespaced: bool | None = None
    verbs: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    sort_by: str = ""
    output: str = "table"
    headers: bool = True


def resource_lines(resources: Sequence[tuple[Resource, bool]], wanted: ResourceFilter) -> str:
    """Return the printed lines for kinds.

    Args:
        resources: In discovery order, each with whether it comes from a definition.
        wanted: The options.
    """
    preferred: dict[tuple[str, str], tuple[Resource, tuple[str, ...]]] = {}
    for row, is_custom in resources:
        preferred.setdefault((row.group, row.plural), (row, _verbs(row, is_custom=is_custom)))
    kept = [pair for pair in preferred.values() if _fits(*pair, wanted)]
    kept.sort(key=lambda pair: (pair[0].group, pair[0].plural))
    if wanted.sort_by == "name":
        kept.sort(key=lambda pair: pair[0].plural)
    elif wanted.sort_by == "kind":
        kept.sort(key=lambda pair: pair[0].kind)
    if wanted.output == "name":
        return "".join(f"{visible(resource.group_resource)}\n" for resource, _ in kept)
    most = len(_COLUMNS) if wanted.output == "wide" else -2
    if wanted.output not in ("table", "wide"):
        rows = [dict(zip(_COLUMNS, _cells(*pair), strict=True)) for pair in kept]
        return "".join(print_rows(rows, _COLUMNS, wanted.output, headers=wanted.headers))
    lines = [[name.upper() for name in _COLUMNS[:most]]] if wanted.headers else []
    for pair in kept:
        cells = [",".join(cell) if isinstance(cell, tuple) else cell for cell in _cells(*pair)[:most]]
        lines.append([str(cell).lower() if isinstance(cell, bool) else visible(cell) for cell in cells])
    return align("".join("\t".join(line) + "\n" for line in lines))


def _cells(one: Resource, verbs: tuple[str, ...]) -> tuple[Any, ...]:
    return (one.plural, one.short_names, one.api_version, one.namespaced, one.kind, verbs, one.categories)


def _verbs(one: Resource, *, is_custom: bool) -> tuple[str, ...]:
    if one.verbs or is_custom:
        return one.verbs or _CUSTOM_VERBS
    if (one.group, one.plural) == ("", "namespaces"):
        return tuple(verb for verb in _BUILTIN_VERBS if verb != "deletecollection")
    return _BUILTIN_VERBS


def _fits(one: Resource, verbs: tuple[str, ...], wanted: ResourceFilter) -> bool:
    return (
        (wanted.api_group is None or one.group == wanted.api_group)
        and (wanted.namespaced is None or one.namespaced is wanted.namespaced)
        and set(wanted.verbs) <= set(verbs)
        and set(wanted.categories) <= set(one.categories)
    )
