"""A batch: one definition with its rules, and objects (or pairs of old and new) on which all of them are run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Batch", "definition", "foo"]

Schema = dict[str, Any]


@dataclass(slots=True)
class Batch:
    """Definition, rules and objects.

    Attributes:
        name: Unique; the group of the definition begins with it.
        crd: The definition.
        rules: Texts of its rules, those of messages among them.
        is_update: Objects are pairs of old and new.
        objects: Lists of one object, or of two.
        is_heavy: Evaluations go up to a limit, which the generated code leaves to the interpreter: that one runs alone.
    """

    name: str
    crd: Schema
    rules: list[str]
    is_update: bool = False
    objects: list[list[Any]] = field(default_factory=list)
    is_heavy: bool = False


def definition(name: str, schema: Schema, *, is_root: bool = False) -> Schema:
    """Return a definition of Foo whose `spec`, or whose root, has a schema."""
    whole = schema if is_root else {"type": "object", "properties": {"spec": schema}}
    group = f"{name}.example.com"
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"foos.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
            "versions": [version],
        },
    }


def foo(name: str, spec: Any, index: int, *, is_root: bool = False) -> dict[str, Any]:
    """Return an object of it."""
    metadata = {"name": f"o{index}", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1}
    head = {"apiVersion": f"{name}.example.com/v1", "kind": "Foo", "metadata": metadata}
    return (spec | head) if is_root else head | {"spec": spec}
