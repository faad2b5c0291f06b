"""The environment in which the server compiles validation rules, by compatibility version.

Source: k8s.io/apiserver pkg/cel/environment/base.go.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from auditor.cel.declarations import Libraries
from auditor.cel.environment import Environment
from auditor.releases import Release, active

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from auditor.cel.cel_types import ObjectType, Type


Version = tuple[int, int]
_CROSS_TYPE_COMPARISONS: Version = (1, 28)
_CHECKS_LITERALS: Version = (1, 29)
_PAIRS: Version = (1, 32)


def latest() -> Version:
    """Return the version of the libraries for stored rules: the server's own, with all libraries."""
    return (1, active().minor)


def of_new_rules() -> Version:
    """Return the version of the libraries for new rules: one before the server's own."""
    return (1, active().minor - 1)


def kubernetes_libraries(compatibility: Version | None = None) -> Libraries:
    """Return the functions of the server, made once per release and version (default: `latest`)."""
    return _libraries(active(), compatibility or latest())


@lru_cache(maxsize=32)
def _libraries(_release: Release, compatibility: Version) -> Libraries:
    from auditor.cel import library  # noqa: PLC0415 - with the first rule
    from auditor.cel.library.standard import standard  # noqa: PLC0415

    return Libraries((*standard(), *library.functions(compatibility)), library.type_names(compatibility).values())


def kubernetes_environment(
    variables: Mapping[str, Type], object_types: Iterable[ObjectType] = (), compatibility: Version | None = None
) -> Environment:
    """Return the environment of a rule.

    Args:
        variables: ``self``, ``oldSelf`` and their types.
        object_types: The object types that these refer to, at any depth.
        compatibility: Major and minor of the Kubernetes version; None: `latest`.
    """
    compatibility = compatibility or latest()
    return Environment(
        variables,
        kubernetes_libraries(compatibility),
        object_types,
        cross_type_comparisons=compatibility >= _CROSS_TYPE_COMPARISONS,
        checks_literals=compatibility >= _CHECKS_LITERALS,
        has_pairs=compatibility >= _PAIRS,
    )
