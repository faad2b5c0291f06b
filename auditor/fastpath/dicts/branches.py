"""Code for anyOf, oneOf, allOf and not: Boolean expressions.

A branch becomes an expression about the value: written in place if the branch has few keywords and the kind of the
value is known (`required`, an enum), else the call of a separate function. Only the validity of each branch matters
here, not how well a failing branch matches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.fastpath.dicts.scalars import int_conditions, str_conditions
from auditor.fastpath.dicts.scope import Condition, Mode, given, schema_types

if TYPE_CHECKING:
    from auditor.fastpath.dicts.emit import ModuleEmitter
    from auditor.schema.structural import StructuralSchema


DECORATION = {
    "nullable",
    "default",
    "preserve_unknown_fields",
    "embedded_resource",
    "list_type",
    "list_map_keys",
    "map_type",
    "rules",
}
"""Attributes that do not affect whether a value (other than null) is valid in a branch."""

_LOGICAL = {"all_of", "any_of", "one_of", "not_"}
_KEYWORDS = {
    "dict": {"required"},
    "str": {"enum", "max_length", "min_length", "pattern", "format"},
    "int": {"maximum", "minimum", "exclusive_maximum", "exclusive_minimum"},
}


def accepts_everything(schema: StructuralSchema) -> bool:
    """Return whether any value is valid, including null."""
    said = given(schema) - DECORATION
    return not said or (said == {"properties"} and all(map(accepts_everything, schema.properties.values())))


def logical_conditions(
    emitter: ModuleEmitter, schema: StructuralSchema, x: str, kind: str | None, mode: Mode
) -> list[Condition]:
    """Return the conditions of the four keywords on a value.

    Args:
        emitter: Writes functions for branches.
        schema: The node with the keywords.
        x: The value.
        kind: Its Python type, if known.
        mode: The mode of the code that contains the conditions.
    """
    if not (schema.all_of or schema.any_of or schema.one_of or schema.not_ is not None):
        return []
    conditions: list[Condition] = []
    inner = Mode.EXACT if mode is Mode.EXACT else Mode.PROVE
    for branch in schema.all_of:
        test = _expression(emitter, branch, x, kind, inner)
        if test != "True":
            conditions.append((f"not {test}", mode.bad))
    if schema.any_of and not _int_or_string_idiom(schema, kind):
        tests = [_expression(emitter, branch, x, kind, inner) for branch in schema.any_of]
        if "True" not in tests:
            conditions.append((f"not ({' or '.join(tests)})", mode.bad))
    if schema.one_of:
        tests = [_expression(emitter, branch, x, kind, Mode.EXACT) for branch in schema.one_of]
        conditions.append((f"{' + '.join(tests)} != 1", mode.bad))
    if schema.not_ is not None:
        conditions.append((_expression(emitter, schema.not_, x, kind, Mode.EXACT), mode.bad))
    return conditions


def _int_or_string_idiom(schema: StructuralSchema, kind: str | None) -> bool:
    """Whether it is the anyOf of integer and string below x-kubernetes-int-or-string, which the type check covers."""
    return (
        schema.int_or_string
        and kind in ("int", "str")
        and {branch.type for branch in schema.any_of} >= {"integer", "string"}
        and all(given(branch) <= {"type"} for branch in schema.any_of)
    )


def _expression(emitter: ModuleEmitter, schema: StructuralSchema, x: str, kind: str | None, mode: Mode) -> str:
    """Return an expression, in brackets if needed: whether a value that is not null is valid."""
    if accepts_everything(schema):
        return "True"
    if kind is not None:
        inline = _inline(emitter, schema, x, kind)
        if inline is not None:
            return inline
    return f"{emitter.branch(schema, mode)}({x})"


def _inline(emitter: ModuleEmitter, schema: StructuralSchema, x: str, kind: str) -> str | None:
    """Return an exact expression about a value of a kind, or None if a function is better."""
    said = given(schema) - DECORATION
    if "properties" in said and all(map(accepts_everything, schema.properties.values())):
        said.discard("properties")
    if kind not in _KEYWORDS or said - _LOGICAL - _KEYWORDS[kind] - {"type"}:
        return None
    if (
        schema.type
        and schema_types(schema)[0]
        not in {
            "dict": ("object",),
            "str": ("string",),
            "int": ("integer", "number"),
        }[kind]
    ):
        return "False"
    if kind == "dict":
        parts = [f"{name!r} in {x}" for name in schema.required]
    else:
        conditions = (str_conditions if kind == "str" else int_conditions)(schema, x, Mode.EXACT, emitter.checks)
        if any(statement != Mode.EXACT.bad for _, statement in conditions):
            return None
        parts = [f"not ({test})" for test, _ in conditions]
    for branch in schema.all_of:
        parts.append(_or_function(emitter, branch, x, kind))
    if schema.any_of:
        parts.append("(" + " or ".join(_or_function(emitter, branch, x, kind) for branch in schema.any_of) + ")")
    if schema.one_of:
        tests = [_or_function(emitter, branch, x, kind) for branch in schema.one_of]
        parts.append(f"({' + '.join(tests)} == 1)")
    if schema.not_ is not None:
        parts.append(f"(not {_or_function(emitter, schema.not_, x, kind)})")
    return f"({' and '.join(parts)})" if parts else "True"


def _or_function(emitter: ModuleEmitter, schema: StructuralSchema, x: str, kind: str) -> str:
    return _expression(emitter, schema, x, kind, Mode.EXACT)
