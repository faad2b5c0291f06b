"""Code for maps: properties, other keys, sizes.

When an object is read, its known keys are counted: if its length is that number, it has no unknown keys. If many
properties are declared, the loop goes over the existing keys instead, as most of the declared ones are absent.

Source: apiextensions-apiserver pkg/apiserver/schema/{pruning,defaulting}/algorithm.go, defaulting/prunenulls.go;
kube-openapi pkg/validation/validate/object_validator.go.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from auditor.codegen import FunctionWriter
from auditor.fastpath.dicts.branches import accepts_everything
from auditor.fastpath.dicts.expand import defaults_below, display, expand, repeats
from auditor.fastpath.dicts.scope import (
    META_KEYS,
    CodeScope,
    Condition,
    Lines,
    Mode,
    SchemaNotEmittable,
    chain,
    has_default,
    schema_types,
)
from auditor.schema.structural import StructuralSchema

if TYPE_CHECKING:
    from auditor.fastpath.dicts.emit import ModuleEmitter


class KeyCounter:
    """Adds the number of required keys at the start, and counts the optional ones in a local variable.

    Args:
        w: Takes the lines.
        variable: Its name; empty means the number is not needed.
    """

    def __init__(self, w: FunctionWriter, variable: str) -> None:
        self._w = w
        self._fixed = 0
        self._variable = variable

    def start(self, *parts: str) -> None:
        """Write the initial value, the sum of expressions."""
        if self._variable:
            self._w.line(f"{self._variable} = {' + '.join(parts) or '0'}")

    def expect(self, *, always: bool = True) -> None:
        """Count a key that exists in every valid object."""
        self._fixed += always

    def seen(self) -> Lines:
        """Return the lines for an optional key that exists."""
        return (f"{self._variable} += 1",) if self._variable else ()

    def missed(self) -> Lines:
        """Return the lines for a key that was counted and is removed."""
        return (f"{self._variable} -= 1",) if self._variable else ()

    def total(self) -> str:
        """Return an expression for the number of known keys."""
        return f"{self._variable} + {self._fixed}" if self._fixed else self._variable


WIDE: Final = 12
"""Number of optional properties from which on the loop goes over existing keys."""


def object_sizes(schema: StructuralSchema, x: str, mode: Mode) -> list[Condition]:
    """Return conditions on the number of keys."""
    conditions: list[Condition] = []
    if schema.max_properties is not None:
        conditions.append((f"len({x}) > {schema.max_properties}", mode.bad))
    least = schema.min_properties
    if least is not None and least > 0:
        conditions.append((f"not {x}" if least == 1 else f"len({x}) < {least}", mode.bad))
    return conditions


def write_object(emitter: ModuleEmitter, w: FunctionWriter, schema: StructuralSchema, x: str, scope: CodeScope) -> None:
    """Write the code for the keys of a map, and its size."""
    if not scope.fused:
        _prove_object(emitter, w, schema, x, scope)
    elif _is_wide(emitter, schema):
        _read_wide(emitter, w, schema, x, scope)
    else:
        _read_object(emitter, w, schema, x, scope)
    w.lines(chain(object_sizes(schema, x, scope.mode)))


# -- proving ----------------------------------------------------------------------------------------------------------


def _prove_object(
    emitter: ModuleEmitter, w: FunctionWriter, schema: StructuralSchema, x: str, scope: CodeScope
) -> None:
    bad = scope.mode.bad
    for name in dict.fromkeys(schema.required):
        w.lines((f"if {name!r} not in {x}:", f" {bad}"))
    for name, child in schema.properties.items():
        if accepts_everything(child):
            continue
        below = scope.property(name)
        y = below.local("v")
        if name in schema.required:
            w.line(f"{y} = {x}[{name!r}]")
            emitter.element(w, child, y, below)
        else:
            with w.block(f"if {name!r} in {x}:"):
                w.line(f"{y} = {x}[{name!r}]")
                emitter.element(w, child, y, below)
    rest = schema.additional_properties
    known = frozenset(schema.properties)
    if rest is False:
        w.lines(chain([(f"not {x}.keys() <= {emitter.shared(known)}" if known else x, bad)]))
    elif isinstance(rest, StructuralSchema) and not accepts_everything(rest):
        _each_other(emitter, w, rest, x, scope, known)


def _each_other(
    emitter: ModuleEmitter, w: FunctionWriter, rest: StructuralSchema, x: str, scope: CodeScope, known: frozenset[str]
) -> None:
    """Write the loop over keys with the schema of additionalProperties."""
    below = scope.key()
    k, y = below.local("k"), below.local("v")
    with w.block(f"for {k}, {y} in {x}.items():"):
        if known:
            w.lines((f"if {k} in {emitter.shared(known)}:", " continue"))
        emitter.element(w, rest, y, below)


# -- reading ----------------------------------------------------------------------------------------------------------


def _read_object(emitter: ModuleEmitter, w: FunctionWriter, schema: StructuralSchema, x: str, scope: CodeScope) -> None:
    embedded = schema.embedded_resource
    if embedded:
        for name in META_KEYS:
            child = schema.properties.get(name)
            if child is not None and defaults_below(child):
                raise SchemaNotEmittable("defaults in the metadata of an embedded resource")
        w.lines((f"if not _embedded({x}):", " return False"))
    known = frozenset((*schema.properties, *META_KEYS)) if embedded else frozenset(schema.properties)
    counter = KeyCounter(w, scope.local("n") if schema.additional_properties is None else "")
    counter.start(*(f"({name!r} in {x})" for name in META_KEYS if name in known and name not in schema.properties))
    for name, child in schema.properties.items():
        below = scope.property(name, frozen=embedded and name in META_KEYS)
        read_property(emitter, w, name, child, x, below, counter, is_required=name in schema.required)
    read_rest(emitter, w, schema, x, scope, known, counter)
    for name in dict.fromkeys(schema.required):
        if name not in schema.properties:
            w.lines((f"if {name!r} not in {x}:", " return False"))


def read_property(
    emitter: ModuleEmitter,
    w: FunctionWriter,
    name: str,
    schema: StructuralSchema,
    x: str,
    scope: CodeScope,
    counter: KeyCounter,
    *,
    is_required: bool,
) -> None:
    """Write the code for a property of an object that is read.

    Args:
        emitter, w, name, schema, scope: As in `ModuleEmitter.value`, for the property.
        x: The variable that holds the object.
        counter: The counter of its known keys.
        is_required: Whether an object without it is not valid.
    """
    y = scope.local("v")
    is_defaulted = emitter.defaults and has_default(schema)
    always = is_defaulted or is_required
    counter.expect(always=always)
    if is_required and _is_droppable(emitter, schema):
        w.line(f"{y} = {x}.get({name!r})")
        emitter.value(w, schema, y, scope, null=("return False",))
        return
    with w.block(f"if {name!r} in {x}:"):
        w.line(f"{y} = {x}[{name!r}]")
        if not always:
            w.lines(counter.seen())
        null = _null(emitter, name, schema, x, scope)
        emitter.value(w, schema, y, scope, null=null if null is not None else (f"del {x}[{name!r}]", *counter.missed()))
    if is_defaulted:
        with w.block("else:"):
            w.lines(_insertion(emitter, name, schema, x, scope))
    elif is_required:
        with w.block("else:"):
            w.line("return False")


def _is_droppable(emitter: ModuleEmitter, schema: StructuralSchema) -> bool:
    """Return whether the read drops a property that is null."""
    return emitter.prunes and not schema.nullable and not has_default(schema)


def _null(emitter: ModuleEmitter, name: str, schema: StructuralSchema, x: str, scope: CodeScope) -> Lines | None:
    """Return the statement for a property that is null, or None if it is dropped."""
    if schema.nullable:
        return ("return False" if schema.enum else "pass",)
    if emitter.defaults and has_default(schema):
        return _insertion(emitter, name, schema, x, scope)
    if _is_droppable(emitter, schema):
        return None
    return ("return False" if schema_types(schema) or schema.enum else "pass",)


def _insertion(emitter: ModuleEmitter, name: str, schema: StructuralSchema, x: str, scope: CodeScope) -> Lines:
    """Return the lines that insert a default."""
    expansion = expand(schema)
    if not expansion.stable:
        return ("raise Refused('a default that the read may change')",)
    inside = FunctionWriter()
    inside.line(f"{x}[{name!r}] = {display(emitter.module, expansion.value)}")
    inside.line(f"log.defaulted.append({emitter.site(scope)})")
    if not emitter.module.compile(emitter.prover(schema))(expansion.value) or repeats(expansion.value, schema):
        return ("return False",)
    return inside.written


def read_rest(
    emitter: ModuleEmitter,
    w: FunctionWriter,
    schema: StructuralSchema,
    x: str,
    scope: CodeScope,
    known: frozenset[str],
    counter: KeyCounter,
) -> None:
    """Write the code for keys that are not properties, of an object that is read."""
    rest = schema.additional_properties
    names = emitter.shared(known)
    if isinstance(rest, StructuralSchema):
        if _is_droppable(emitter, rest):
            w.lines((f"if None in {x}.values():", f" _drop_nulls({x}, {names})"))
        _each_other(emitter, w, rest, x, scope, known)
    elif rest is False:
        w.lines(
            (
                f"if not {x}.keys() <= {names}:" if known else f"if {x}:",
                " raise Refused('a key that additionalProperties forbids')",
            )
        )
    elif rest is True:
        if scope.frozen:
            w.line(f"_exact_rest({x}, {names})")
        else:
            w.line(f"_bare([{x}[k] for k in {x} if k not in {names}])" if known else f"_bare({x}.values())")
    else:
        w.lines((f"if len({x}) != {counter.total()}:", f" {_unknown(emitter, schema, x, scope, names)}"))


def _unknown(emitter: ModuleEmitter, schema: StructuralSchema, x: str, scope: CodeScope, names: str) -> str:
    """Return the statement for an object that has unknown keys."""
    if schema.preserve_unknown_fields or scope.keep or scope.frozen:
        return f"_exact_rest({x}, {names})"
    return f"_prune({x}, {names}, log, {emitter.site(scope)})"


# -- many properties --------------------------------------------------------------------------------------------------


def _is_wide(emitter: ModuleEmitter, schema: StructuralSchema) -> bool:
    """Return whether to loop over the existing keys."""
    if schema.additional_properties is not None or schema.embedded_resource or not emitter.prunes:
        return False
    optional = [
        name for name, child in schema.properties.items() if name not in schema.required and not has_default(child)
    ]
    return len(optional) > WIDE


def _read_wide(emitter: ModuleEmitter, w: FunctionWriter, schema: StructuralSchema, x: str, scope: CodeScope) -> None:
    """Write a loop over the existing keys: a key has a number, which is found by bisection."""
    properties = schema.properties
    known = emitter.shared(frozenset(properties))
    droppable = frozenset(name for name, child in properties.items() if _is_droppable(emitter, child))
    w.lines((f"if None in {x}.values():", f" _drop_these_nulls({x}, {emitter.shared(droppable)})"))
    if emitter.defaults:
        for name, child in properties.items():
            if has_default(child):
                test = f"{name!r} not in {x}" if child.nullable else f"{x}.get({name!r}) is None"
                with w.block(f"if {test}:"):
                    w.lines(_insertion(emitter, name, child, x, scope.property(name)))
    inside = replace(scope, loops=scope.loops + 1)
    below = inside.property("")
    unknown, number, k, y = scope.local("u"), scope.local("n"), below.local("k"), below.local("v")
    codes: dict[Lines, list[str]] = {}
    for name, child in properties.items():
        part = FunctionWriter()
        null = None if name in droppable else _null(emitter, name, child, x, inside.property(name))
        part.depth = w.depth + 1 + len(properties).bit_length()
        emitter.value(part, child, y, inside.property(name), null=null)
        codes.setdefault(tuple(line[part.depth :] for line in part.written), []).append(name)
    ordered = sorted(codes.items(), key=lambda code: -len(code[1]))
    numbers = {name: index for index, (_, names) in enumerate(ordered) for name in names}
    w.line(f"{unknown} = False")
    with w.block(f"for {k}, {y} in {x}.items():"):
        w.line(f"{number} = {emitter.module.slot(numbers, 'n')}.get({k}, -1)")
        _halve(w, number, [(-1, (f"{unknown} = True",)), *((index, code) for index, (code, _) in enumerate(ordered))])
    w.lines((f"if {unknown}:", f" {_unknown(emitter, schema, x, scope, known)}"))
    for name in dict.fromkeys(schema.required):
        w.lines((f"if {name!r} not in {x}:", " return False"))


def _halve(w: FunctionWriter, number: str, codes: list[tuple[int, Lines]]) -> None:
    """Write the choice of a branch by its number."""
    if len(codes) == 1:
        w.lines(codes[0][1] or ("pass",))
        return
    middle = len(codes) // 2
    with w.block(f"if {number} < {codes[middle][0]}:"):
        _halve(w, number, codes[:middle])
    with w.block("else:"):
        _halve(w, number, codes[middle:])
