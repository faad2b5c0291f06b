"""Defaults worked out beforehand: what a default looks like once it is in an object, and whether it is valid there.

Inserting a default, filling it up with the defaults below it, pruning it and checking it is the same work for every
object. It is done once, when the code is written, by the reference. What remains is to make a fresh value.

Source: apiextensions-apiserver pkg/apiserver/schema/defaulting/algorithm.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.fastpath.dicts.scope import has_default
from auditor.schema.defaulting.reference import copy_json, default, drop_nulls
from auditor.schema.objectmeta.reference import has_embedded
from auditor.schema.pruning.reference import prune_below
from auditor.schema.structural import StructuralSchema
from auditor.validation.listtype import compile_list_types

if TYPE_CHECKING:
    from auditor.base.records import Finding
    from auditor.codegen import Module

__all__ = ["Expansion", "defaults_below", "display", "expand", "repeats"]

_MAX_DISPLAY = 24
"""Values that a default may hold and still be written out."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """A default as an object holds it after the read.

    Attributes:
        value: With everything below it defaulted.
        stable: The read leaves it as it is; otherwise only the reference knows what comes of it.
    """

    value: Any
    stable: bool


def expand(schema: StructuralSchema) -> Expansion:
    """Return what the default of a node becomes when it is put into an object."""
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
    """Equal, with 1 and 1.0 and true apart."""
    return repr(one) == repr(other)


def display(module: Module, value: Any) -> str:
    """Return an expression that makes the value afresh."""
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
    """Say whether a node or anything below it has a default."""
    children = [*schema.properties.values(), schema.items, schema.additional_properties]
    return has_default(schema) or any(
        defaults_below(child) for child in children if isinstance(child, StructuralSchema)
    )


def repeats(value: Any, schema: StructuralSchema) -> bool:
    """Say whether a set or map list in a value holds something twice."""
    found: list[Finding] = []
    lists = compile_list_types(schema)
    if lists is not None:
        lists.check(value, None, found)
    return bool(found)
