"""Documents that tests make of their parts."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["definition_of", "etcdctl_text", "export_of", "named_definition", "thing_definition"]


def export_of(path: Path, *objects: dict[str, Any]) -> str:
    """Write objects to a file as ``kubectl get -o json`` prints them, and return its path."""
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return str(path)


def etcdctl_text(values: dict[str, Any], *, cut: int = 0, revision: int = 9) -> str:
    """Return what ``etcdctl get --prefix /registry -w json`` prints of a store.

    Args:
        values: The objects by key, without /registry/.
        cut: How many more keys it claims to have than it has.
        revision: Revision of the store.
    """
    pairs = [
        {"key": b64encode(f"/registry/{key}".encode()).decode(), "create_revision": 2, "mod_revision": 2, "version": 1,
         "value": b64encode(json.dumps(value).encode()).decode()}
        for key, value in sorted(values.items())
    ]  # fmt: skip
    return json.dumps({"header": {"revision": revision}, "kvs": pairs, "count": len(pairs) + cut})


def named_definition(
    name: str, kind: str, schema: dict[str, Any], *, scope: str = "Namespaced", **version: Any
) -> dict[str, Any]:
    """Return a definition with one version, v1, which is served and stored.

    Args:
        name: Plural and group: ``things.example.com``.
        kind: The kind; the names of one object and of a list follow from it.
        schema: The schema of the whole object.
        scope: ``Namespaced`` or ``Cluster``.
        **version: What else the version says.
    """
    plural, _, group = name.partition(".")
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    one = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [one]},
    }


def definition_of(schema: dict[str, Any], **version: Any) -> dict[str, Any]:
    """Return a definition of namespaced things, kind X of x.example.com, that says only what it must.

    Args:
        schema: The schema of the whole object.
        **version: What else the version says.
    """
    found = named_definition("xs.x.example.com", "X", schema, **version)
    for name in ("singular", "listKind"):
        del found["spec"]["names"][name]
    return found


def thing_definition(spec: dict[str, Any], *, selectable: str) -> dict[str, Any]:
    """Return the definition of things that have a spec and can be selected by a path in it.

    Args:
        spec: Schema of ``spec``.
        selectable: The path that field selectors see.
    """
    schema = {"type": "object", "properties": {"spec": spec}}
    return definition_of(schema, selectableFields=[{"jsonPath": selectable}])
