"""Definitions: parses documents of v1 or v1beta1 into records of the served versions, and converts objects.

Input: decoded documents. Output: CustomResourceDefinition, CrdCatalog, which lists the documents that no server could
decode. `auditor.crdcheck` says whether a server would accept a definition today. Follows apiextensions-apiserver
pkg/apis/apiextensions and pkg/apiserver/conversion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from auditor.crds.catalog import CrdCatalog
    from auditor.crds.conversion import NEEDS_WEBHOOK, ConversionError, convert, parse_group_version
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition, Scale, parse_definition

__all__ = [
    "NEEDS_WEBHOOK",
    "ConversionError",
    "CrdCatalog",
    "CrdVersion",
    "CustomResourceDefinition",
    "Scale",
    "convert",
    "parse_definition",
    "parse_group_version",
]

_HOMES = ("catalog", "conversion", "definition")


def __getattr__(name: str) -> Any:
    """Import the modules that parse definitions at their first use: an outline does not need them."""
    if name in __all__:
        from importlib import import_module  # noqa: PLC0415

        for home in _HOMES:
            module = import_module(f"auditor.crds.{home}")
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
