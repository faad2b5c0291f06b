"""The functions that the server adds to the CEL language, one file for each library of cel-go or Kubernetes.

Input: CEL values (`auditor.cel.cel_values`). Output: CEL values, or a `CelError` with the server's message. Nothing
here parses or checks an expression. Each file has `functions()`, the `Function` records of its library; the interpreter
chooses the overload and counts the cost (an `Overload` has `costs` only if the server has them for exactly that
overload). The parser expands macros.

Source: k8s.io/apiserver pkg/cel/library and pkg/cel/environment/base.go; cel-go v0.29.2 ext/ and cel/library.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.cel.library import (
    authz,
    cel_lists,
    cidr,
    ip,
    lists,
    named_formats,
    optionals,
    quantity,
    regex,
    semver,
    sets,
    strings,
    urls,
)
from auditor.cel.library.cidr import CIDR
from auditor.cel.library.ip import IP
from auditor.cel.library.optionals import TWO_VARIABLE_COMPREHENSIONS
from auditor.releases import active, changes

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.cel.cel_types import Type
    from auditor.cel.function import Function, Version

__all__ = ["LIBRARIES", "functions", "type_names"]

_ALWAYS: Version = (1, 0)
_NEVER: Version = (1, 1 << 30)

LIBRARIES: tuple[tuple[str, Version, Version, Callable[[], tuple[Function, ...]]], ...] = (
    ("kubernetes.urls", _ALWAYS, _NEVER, urls.functions),
    ("kubernetes.regex", _ALWAYS, _NEVER, regex.functions),
    ("kubernetes.lists/0", _ALWAYS, changes.LISTS_INCLUDE.version, lists.functions),
    ("kubernetes.authz", (1, 27), _NEVER, authz.functions),
    ("optional", (1, 28), _NEVER, optionals.functions),
    ("kubernetes.quantity", (1, 28), _NEVER, quantity.functions),
    ("cel.lib.ext.strings", _ALWAYS, _NEVER, strings.functions),
    ("cel.lib.ext.sets", (1, 29), _NEVER, sets.functions),
    ("kubernetes.net.ip", (1, 30), _NEVER, ip.functions),
    ("kubernetes.net.cidr/0", (1, 30), changes.CIDR_MASK.version, cidr.functions),
    ("kubernetes.format", (1, 31), _NEVER, named_formats.functions),
    ("kubernetes.authzSelectors", (1, 31), _NEVER, authz.selector_functions),
    ("cel.lib.ext.comprev2", (1, 32), _NEVER, lambda: TWO_VARIABLE_COMPREHENSIONS),
    ("kubernetes.Semver/1", changes.SEMVER.version, _NEVER, semver.functions),
    ("cel.lib.ext.lists/3", changes.LISTS_HAVE_FUNCTIONS.version, _NEVER, cel_lists.functions),
    ("kubernetes.lists/1", changes.LISTS_INCLUDE.version, _NEVER, lists.functions),
    ("kubernetes.net.cidr/1", changes.CIDR_MASK.version, _NEVER, cidr.functions),
)
"""Name, first compatibility version, first version without it, functions; in the order of the server."""

_TYPE_NAMES: tuple[tuple[Version, Type], ...] = (((1, 30), IP), ((1, 30), CIDR))


def functions(compatibility: Version | None = None) -> tuple[Function, ...]:
    """Return the functions of all libraries; a name may occur several times, with overloads that belong together.

    Args:
        compatibility: Major and minor of the Kubernetes version. Stored rules are run with all libraries of the server
            (None); an older version matters when a new rule is admitted.
    """
    compatibility = compatibility or (1, active().minor)
    return tuple(
        [
            each
            for _, first, end, made in LIBRARIES
            if first <= compatibility < end
            for each in made()
            if each.since <= compatibility
        ]
    )


def type_names(compatibility: Version) -> dict[str, Type]:
    """Return the types of the libraries whose names are expressions (``type(x) == net.IP``); some have no such name."""
    return {kind.name: kind for first, kind in _TYPE_NAMES if first <= compatibility}
