"""Documents that tests make of their parts."""

from __future__ import annotations

from typing import Any

__all__ = ["definition_of", "thing_definition"]


def definition_of(schema: dict[str, Any], **version: Any) -> dict[str, Any]:
    """Return a definition of namespaced things, kind X of x.example.com, served and stored at v1.

    Args:
        schema: The schema of the whole object.
        **version: What else the version says.
    """
    one = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "xs.x.example.com"},
        "spec": {
            "group": "x.example.com",
            "scope": "Namespaced",
            "names": {"plural": "xs", "kind": "X"},
            "versions": [one],
        },
    }


def thing_definition(spec: dict[str, Any], *, selectable: str) -> dict[str, Any]:
    """Return the definition of things that have a spec and can be selected by a path in it.

    Args:
        spec: Schema of ``spec``.
        selectable: The path that field selectors see.
    """
    schema = {"type": "object", "properties": {"spec": spec}}
    return definition_of(schema, selectableFields=[{"jsonPath": selectable}])
