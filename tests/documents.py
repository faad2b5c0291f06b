"""Documents that tests make of their parts."""

from __future__ import annotations

from typing import Any

__all__ = ["thing_definition"]


def thing_definition(spec: dict[str, Any], *, selectable: str) -> dict[str, Any]:
    """Return a definition of namespaced things, kind X of x.example.com, served and stored at v1.

    Args:
        spec: Schema of ``spec``.
        selectable: The path that field selectors see.
    """
    schema = {"type": "object", "properties": {"spec": spec}}
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    version["selectableFields"] = [{"jsonPath": selectable}]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "xs.x.example.com"},
        "spec": {
            "group": "x.example.com",
            "scope": "Namespaced",
            "names": {"plural": "xs", "kind": "X"},
            "versions": [version],
        },
    }
