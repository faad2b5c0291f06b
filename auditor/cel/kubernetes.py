"""The environment in which the server compiles validation rules, by compatibility version.

Source: k8s.io/apiserver pkg/cel/environment/base.go.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from auditor.cel.environment import Environment, Libraries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from auditor.cel.types import ObjectType, Type

__all__ = ["LATEST", "Version", "kubernetes_environment", "kubernetes_libraries"]

Version = tuple[int, int]
LATEST: Version = (1, 37)
"""Rules that are stored are run with all libraries of the server."""
_CROSS_TYPE_COMPARISONS: Version = (1, 28)
_CHECKS_LITERALS: Version = (1, 29)


@lru_cache(maxsize=8)
def kubernetes_libraries(compatibility: Version = LATEST) -> Libraries:
    """Return the functions of the server, made once per version."""
    from auditor.cel import library  # noqa: PLC0415 - with the first rule
    from auditor.cel.library.standard import STANDARD  # noqa: PLC0415

    return Libraries((*STANDARD, *library.functions(compatibility)), library.type_names(compatibility).values())


def kubernetes_environment(
    variables: Mapping[str, Type], object_types: Iterable[ObjectType] = (), compatibility: Version = LATEST
) -> Environment:
    """Return the environment of a rule.

    Args:
        variables: ``self``, ``oldSelf`` and their types.
        object_types: The object types that these refer to, at any depth.
        compatibility: Major and minor of the Kubernetes version.
    """
    return Environment(
        variables,
        kubernetes_libraries(compatibility),
        object_types,
        cross_type_comparisons=compatibility >= _CROSS_TYPE_COMPARISONS,
        checks_literals=compatibility >= _CHECKS_LITERALS,
    )
