"""Computes defaults in advance: the form of a default in an object after the read, and whether it is valid there.

Inserting a default, adding the defaults below it, pruning and checking it is the same for every object. The reference
does it once, when the code is generated. For each object, only a new copy of the value is made.

Source: apiextensions-apiserver pkg/apiserver/schema/defaulting/algorithm.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.fastpath.dicts.scope import has_default
from auditor.schema.defaulting import copy_json, default, drop_nulls
from auditor.schema.objectmeta import has_embedded
from auditor.schema.pruning import prune_below
from auditor.schema.structural import StructuralSchema
from auditor.validation.listtype import compile_list_types

if TYPE_CHECKING:
    from auditor.base.records import Finding
    from auditor.codegen import Module


_MAX_DISPLAY = 24
"""Largest number of values in a default that is written as a literal."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """A default in its form after the read.

    Attributes:
        value: The value, with all defaults below it.
        stable: Whether the read does not change it; otherwise only the reference knows the result.
    """

    value: Any
    stable: bool


def expand(schema: StructuralSchema) -> Expansion:
    """Return the form of a node's default after it is put into an object."""
    value = copy_json(schema.default)
    default(value, schema)
    if type(value) is not dict and type(value) is not list:
        return Expansion(value, stable=True)
    again = copy_json(value)
    prune_below(again, schema)
    drop_nulls(again, schema)
    default(again, schema)
    return Expansion(value, stable=_same(again, value) and not has_embedded(schema))


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are equal, where 1 differs from 1.0 and true."""
    return repr(one) == repr(other)


def display(module: Module, value: Any) -> str:
    """Return an expression that creates a new copy of the value."""
    if type(value) is not dict and type(value) is not list:
        return module.literal(value)
    if _count(value) > _MAX_DISPLAY:
        return f"_copy({module.slot(value)})"
    if type(value) is dict:
        return "{" + ", ".join(f"{key!r}: {display(module, item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(display(module, item) for item in value) + "]"


def _count(value: Any) -> int:
    if type(value) is dict:
        return 1 + sum(map(_count, value.values()))
    if type(value) is list:
        return 1 + sum(map(_count, value))
    return 1


def defaults_below(schema: StructuralSchema) -> bool:
    """Return whether a node or any node below it has a default."""
    children = [*schema.properties.values(), schema.items, schema.additional_properties]
    return has_default(schema) or any(
        defaults_below(child) for child in children if isinstance(child, StructuralSchema)
    )


def repeats(value: Any, schema: StructuralSchema) -> bool:
    """Return whether a set or map list in a value has a duplicate."""
    findings: list[Finding] = []
    lists = compile_list_types(schema)
    if lists is not None:
        lists.check(value, None, findings)
    return bool(findings)
