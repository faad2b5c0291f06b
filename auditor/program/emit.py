"""The emitter: one structural schema to Python source, for the three programs of `scope.Mode`.

The fused pass does at each node what the storage read does in four walks: prune, drop nulls, default from the top down, and
then checks what came out. Nested objects are written in place; a large node, or one deep inside others, becomes a
function of its own, compiled when an object first needs it (`codegen.Module`).

Keys are counted instead of walked: an object whose length is the number of known keys seen has no unknown ones.

Source: apiextensions-apiserver pkg/apiserver/schema/{pruning,defaulting,listtype}/algorithm.go; kube-openapi
pkg/validation/validate/schema.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.codegen import Module, Writer
from auditor.program import support
from auditor.program.branches import DECORATION, logical_conditions, says_nothing
from auditor.program.checks import Checks
from auditor.program.counter import KeyCounter
from auditor.program.expand import defaults_below, display, expand, may_repeat
from auditor.program.scalars import (
    bool_conditions,
    enum_conditions,
    float_conditions,
    int_conditions,
    str_conditions,
)
from auditor.program.scope import META_KEYS, Condition, Mode, Scope, chain, given, has_default, schema_types
from auditor.schema.structural import ListType, StructuralSchema

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Emitter", "NotEmittable"]

INLINE_FUSED: Final = 60
"""Nodes that are written in place at most, when reading; more become a function."""

INLINE_PROVE: Final = 12
"""The same when proving: functions are shared by the provers of all nodes above."""

MAX_LOOPS: Final = 12
"""Loops inside each other in one function; CPython 3.11 allows 20 blocks."""

MAX_DEPTH: Final = 60
"""Indentation in one function; CPython allows 100."""


class NotEmittable(Exception):  # noqa: N818 - what it is, not that it is wrong
    """The schema does something that no generated code is made for; the reference reads such objects."""


class Emitter:
    """Writes the functions of one module.

    Args:
        module: Takes the functions.
        prunes: Unknown fields and nulls are dropped (the definition has no preserveUnknownFields).
        defaults: Defaults are filled in; a read after a conversion leaves them out.
        embedded: Is called with every embedded resource by the fused pass and says whether it is valid.
    """

    def __init__(
        self,
        module: Module,
        *,
        prunes: bool = True,
        defaults: bool = True,
        embedded: Callable[[Any], bool] | None = None,
    ) -> None:
        self.module = module
        self.prunes = prunes
        self.defaults = defaults
        self.checks = Checks(module)
        self._functions: dict[tuple[int, Mode, bool, bool], str] = {}
        self._schemas: list[StructuralSchema] = []
        self._sizes: dict[int, int] = {}
        self._interned: dict[Any, Any] = {}
        module.namespace.update(
            Refused=support.Refused,
            _scalar=support.scalar,
            _in_range=support.in_range,
            _unless=support.unless,
            _exact=support.exact_json,
            _exact_rest=support.exact_rest,
            _bare=support.bare,
            _prune=support.prune_unknown,
            _drop_nulls=support.drop_nulls,
            _distinct=support.distinct,
            _distinct_by=support.distinct_by,
            _copy=support.copy_json,
            _embedded=embedded,
        )

    # -- functions --------------------------------------------------------------------------------------------------

    def prover(self, schema: StructuralSchema) -> str:
        """Return the name of a function: whether a value (null too) is proven valid."""
        return self._function(schema, Scope(Mode.PROVE))

    def branch(self, schema: StructuralSchema, mode: Mode) -> str:
        """Return the name of the function of a branch, for values that are not null."""
        return self._function(schema, Scope(mode))

    def _function(self, schema: StructuralSchema, scope: Scope) -> str:
        key = (id(schema), scope.mode, scope.keep, scope.frozen)
        name = self._functions.get(key)
        if name is None:
            self._schemas.append(schema)  # keeps the id taken
            inside = scope.inside()
            name = self._functions[key] = self.module.function(lambda name: self._write(name, schema, inside))
        return name

    def _write(self, name: str, schema: StructuralSchema, scope: Scope) -> str:
        w = Writer()
        with w.block(f"def {name}(o, log, above):" if scope.fused else f"def {name}(o):"):
            if scope.fused:
                w.line("ok = True")
                try:
                    self.value(w, schema, "o", scope, in_place=True)
                except NotEmittable:
                    return f"def {name}(o, log, above):\n raise Refused\n"
                w.line("return ok")
            else:
                if schema.nullable or not schema_types(schema):
                    with w.block("if o is None:"):
                        w.line(f"return {not (schema.enum or (schema_types(schema) and not schema.nullable))}")
                self.value(w, schema, "o", scope, in_place=True)
                w.line("return True")
        return w.source

    def _size(self, schema: StructuralSchema) -> int:
        """Return how many nodes are written where this one is, those in functions of their own not counted."""
        size = self._sizes.get(id(schema))
        if size is None:
            children = [*schema.properties.values(), schema.items, schema.additional_properties]
            below = (self._size(child) for child in children if isinstance(child, StructuralSchema))
            size = 1 + sum(one if one <= INLINE_FUSED else 1 for one in below)
            self._sizes[id(schema)] = size
            self._schemas.append(schema)
        return size

    def _is_apart(self, w: Writer, schema: StructuralSchema, scope: Scope) -> bool:
        if schema.type not in ("object", "array") and not (schema.properties or schema.items):
            return False
        limit = INLINE_FUSED if scope.fused else INLINE_PROVE
        return self._size(schema) > limit or scope.loops >= MAX_LOOPS or w.depth > MAX_DEPTH

    # -- values -----------------------------------------------------------------------------------------------------

    def value(self, w: Writer, schema: StructuralSchema, x: str, scope: Scope, *, in_place: bool = False) -> None:
        """Write the code for a value that is not null (or may be, where null is just of the wrong type)."""
        if not scope.fused and says_nothing(schema) and not in_place:
            return
        if schema.legacy is not None:
            if scope.fused:
                raise NotEmittable("keywords that no structural schema has")
            w.line(scope.mode.doubt)
            return
        if not in_place and self._is_apart(w, schema, scope):
            self._call(w, schema, x, scope)
            return
        types = schema_types(schema)
        if types == ("object",):
            self._container(w, schema, x, "dict", scope)
        elif types == ("array",):
            self._container(w, schema, x, "list", scope)
        elif len(types) == 1 and types[0] in ("string", "integer", "boolean"):
            kind = {"string": "str", "integer": "int", "boolean": "bool"}[types[0]]
            self.lines(w, [self._mismatch(schema, x, kind, scope), *self.conditions(schema, x, kind, scope.mode)])
        elif types:
            kinds = ("int", "str") if len(types) == 2 else ("float", "int") if types == ("number",) else ()
            if not kinds:
                w.line(scope.mode.doubt if not scope.fused else f"ok = _scalar({x})")
                return
            self._by_kind(w, schema, x, kinds, scope, others=self._other(schema, x, scope))
        else:
            self._untyped(w, schema, x, scope)

    @staticmethod
    def is_plain_object(schema: StructuralSchema) -> bool:
        """Say whether a node asks of a value only to be a map."""
        return schema.type == "object" and given(schema) <= {"type", *DECORATION}

    @staticmethod
    def lines(w: Writer, conditions: list[Condition]) -> None:
        """Write conditions as one if-elif chain."""
        for line in chain(conditions):
            w.line(line)

    def _call(self, w: Writer, schema: StructuralSchema, x: str, scope: Scope) -> None:
        name = self._function(schema, scope)
        if scope.fused:
            with w.block(f"if not {name}({x}, log, {self._site(scope)}):"):
                w.line("ok = False")
        else:
            with w.block(f"if not {name}({x}):"):
                w.line("return False")

    def _site(self, scope: Scope) -> str:
        """Return an expression for the site of the present value (see `support.Log`)."""
        if not scope.template:
            return "None" if scope.root else "above"
        if scope.root and not scope.holes:
            return self._shared((None, scope.template))
        above = "None" if scope.root else "above"
        return f"({above}, {self._shared(scope.template)}, {''.join(f'{hole}, ' for hole in scope.holes)})"

    def _shared(self, value: tuple[Any, ...]) -> str:
        interned = self._interned.setdefault(value, value)
        return self.module.slot(interned)

    def _mismatch(self, schema: StructuralSchema, x: str, kind: str, scope: Scope) -> Condition:
        return (f"type({x}) is not {kind}", self._other(schema, x, scope))

    def _other(self, schema: StructuralSchema, x: str, scope: Scope) -> str:
        """Return the statement for a value whose type is not one of the schema's."""
        if scope.fused:
            return f"ok = _scalar({x})"
        if scope.mode is Mode.EXACT:
            if "integer" in schema_types(schema):  # a float without fraction is an integer to the server
                return f"return _unless({x}, float)"
            if schema.format and schema.type == "string":  # a list passes for a string with a format
                return f"return _unless({x}, list)"
        return "return False"

    def conditions(self, schema: StructuralSchema, x: str, kind: str, mode: Mode) -> list[Condition]:
        """Return everything that may be wrong with a value of a kind, apart from its children."""
        found: list[Condition]
        if kind == "str":
            found = str_conditions(schema, x, mode, self.checks)
        elif kind == "int":
            found = int_conditions(schema, x, mode, self.checks)
        elif kind == "float":
            found = float_conditions(schema, x, mode, self.checks)
        elif kind == "bool":
            found = bool_conditions(schema, x, mode, self.checks)
        else:
            found = enum_conditions(schema, x, kind, mode, self.checks)
        return found + logical_conditions(self, schema, x, kind, mode)

    def _by_kind(
        self, w: Writer, schema: StructuralSchema, x: str, kinds: tuple[str, ...], scope: Scope, others: str
    ) -> None:
        """Write the code for scalars of several kinds; `others` is for values of none of them."""
        lines = {kind: chain(self.conditions(schema, x, kind, scope.mode)) for kind in kinds}
        if not any(lines.values()):
            self.lines(w, [(" and ".join(f"type({x}) is not {kind}" for kind in kinds), others)])
            return
        for index, kind in enumerate(kinds):
            with w.block(f"{'elif' if index else 'if'} type({x}) is {kind}:"):
                for line in lines[kind]:
                    w.line(line)
        with w.block("else:"):
            w.line(others)

    def _untyped(self, w: Writer, schema: StructuralSchema, x: str, scope: Scope) -> None:
        """Write the code for a node without a type: each kind of value meets the keywords that are for it."""
        if scope.fused and not self._has_structure(schema) and (schema.preserve_unknown_fields or scope.keep or scope.frozen):
            w.line(f"_exact({x})")
            containers = False
        else:
            containers = scope.fused or self._has_structure(schema)
        conditions = {
            kind: self.conditions(schema, x, kind, scope.mode) for kind in ("str", "int", "float", "bool", "dict", "list")
        }
        if schema.format and self.checks.format(schema):
            for kind in ("int", "float", "bool", "dict"):
                conditions[kind] = [("True", scope.mode.bad)]
        word = "if"
        for kind, found in conditions.items():
            structure = containers and kind in ("dict", "list")
            sizes = self.sizes_of(schema, x, kind, scope.mode) if not structure else []
            if not (structure or found or sizes):
                continue
            with w.block(f"{word} type({x}) is {kind}:"):
                if kind == "dict" and structure:
                    self._object(w, schema, x, scope)
                elif kind == "list" and structure:
                    self._list(w, schema, x, scope)
                self.lines(w, sizes + found)
            word = "elif"

    @staticmethod
    def _has_structure(schema: StructuralSchema) -> bool:
        return bool(
            schema.properties
            or schema.items is not None
            or schema.additional_properties is not None
            or schema.required
            or schema.list_type not in (None, ListType.ATOMIC)
            or schema.embedded_resource
        )

    def _container(self, w: Writer, schema: StructuralSchema, x: str, kind: str, scope: Scope) -> None:
        write = self._object if kind == "dict" else self._list
        if scope.fused:
            with w.block(f"if type({x}) is {kind}:"):
                write(w, schema, x, scope)
                self.lines(w, self.conditions(schema, x, kind, scope.mode))
            with w.block("else:"):
                w.line(self._other(schema, x, scope))
        else:
            self.lines(w, [self._mismatch(schema, x, kind, scope)])
            write(w, schema, x, scope)
            self.lines(w, self.conditions(schema, x, kind, scope.mode))

    # -- lists ------------------------------------------------------------------------------------------------------

    def _list(self, w: Writer, schema: StructuralSchema, x: str, scope: Scope) -> None:
        items = schema.items
        keep = schema.preserve_unknown_fields or scope.keep
        if items is None:
            if scope.fused:
                w.line(f"_exact({x})" if keep or scope.frozen else f"_bare({x})")
        elif scope.fused or not says_nothing(items):
            y = w.variable()
            with w.block(f"for {y} in {x}:"):
                self._element(w, items, y, scope.item(x, y, keep=keep))
        self.lines(w, self.sizes_of(schema, x, "list", scope.mode))
        if scope.fused:
            self._list_type(w, schema, x)

    def _element(self, w: Writer, schema: StructuralSchema, y: str, scope: Scope) -> None:
        """Write the code for a list item or map value, which may be null."""
        if scope.fused and self.defaults and has_default(schema) and not schema.nullable:
            with w.block(f"if {y} is None:"):
                w.line("raise Refused")
        if not schema.nullable and schema_types(schema):
            self.value(w, schema, y, scope)  # null is of the wrong type
            return
        if schema.enum:
            with w.block(f"if {y} is None:"):
                w.line(scope.mode.bad)
            with w.block("else:"):
                self.value(w, schema, y, scope)
        else:
            with w.block(f"if {y} is not None:"):
                self.value(w, schema, y, scope)

    def sizes_of(self, schema: StructuralSchema, x: str, kind: str, mode: Mode) -> list[Condition]:
        """Return conditions on the length of a list or map."""
        found: list[Condition] = []
        if kind == "list":
            least, most = schema.min_items, schema.max_items
        elif kind == "dict":
            least, most = schema.min_properties, schema.max_properties
        else:
            return []
        if most is not None:
            found.append((f"len({x}) > {most}", mode.bad))
        if least is not None and least > 0:
            found.append((f"not {x}" if least == 1 else f"len({x}) < {least}", mode.bad))
        if kind == "list" and schema.unique_items:
            found.append((f"len({x}) > 1", mode.doubt))
        return found

    def _list_type(self, w: Writer, schema: StructuralSchema, x: str) -> None:
        """Write the uniqueness check; items that are the same to Python but not to the server only cost a proof."""
        if schema.list_type is ListType.SET:
            test = f"len(set({x})) != len({x})"
        elif schema.list_type is ListType.MAP and len(schema.list_map_keys) == 1:
            test = f"not _distinct({x}, {schema.list_map_keys[0]!r})"
        elif schema.list_type is ListType.MAP and schema.list_map_keys:
            test = f"not _distinct_by({x}, {self._shared(tuple(schema.list_map_keys))})"
        elif schema.list_type is ListType.MAP:
            test = "True"
        else:
            return
        self.lines(w, [(f"len({x}) > 1 and ok and {test}", "ok = False")])

    # -- objects ----------------------------------------------------------------------------------------------------

    def _object(self, w: Writer, schema: StructuralSchema, x: str, scope: Scope) -> None:
        """Write the code for the keys of a map."""
        embedded = scope.fused and schema.embedded_resource
        if embedded:
            self._embedded(w, schema, x, scope)
        known = frozenset((*schema.properties, *META_KEYS)) if embedded else frozenset(schema.properties)
        counter = KeyCounter(w, scope, schema, embedded=embedded)
        counter.start(x)
        for name, child in schema.properties.items():
            below = scope.property(name, frozen=embedded and name in META_KEYS)
            required = name in schema.required
            if scope.fused:
                self.read_property(w, name, child, x, below, counter, required=required)
            else:
                self._property(w, name, child, x, below, required=required)
        self.rest(w, schema, x, scope, known, counter)
        for name in dict.fromkeys(schema.required):
            if name not in schema.properties:
                self.lines(w, [(f"{name!r} not in {x}", scope.mode.bad)])
        self.lines(w, self.sizes_of(schema, x, "dict", scope.mode))

    def _embedded(self, w: Writer, schema: StructuralSchema, x: str, scope: Scope) -> None:
        for name in META_KEYS:
            child = schema.properties.get(name)
            if child is not None and defaults_below(child):
                raise NotEmittable("defaults in the metadata of an embedded resource")
        self.lines(w, [(f"not _embedded({x})", scope.mode.bad)])

    def _property(
        self, w: Writer, name: str, schema: StructuralSchema, x: str, scope: Scope, *, required: bool
    ) -> None:
        """Write the code for a property of an object that is not being read."""
        if required:
            self.lines(w, [(f"{name!r} not in {x}", scope.mode.bad)])
        if says_nothing(schema):
            return
        y = w.variable()
        if required:
            w.line(f"{y} = {x}[{name!r}]")
            self._element(w, schema, y, scope)
        else:
            with w.block(f"if {name!r} in {x}:"):
                w.line(f"{y} = {x}[{name!r}]")
                self._element(w, schema, y, scope)

    def read_property(
        self,
        w: Writer,
        name: str,
        schema: StructuralSchema,
        x: str,
        scope: Scope,
        counter: KeyCounter,
        *,
        required: bool,
    ) -> None:
        """Write the code for a property of an object that is being read."""
        y = w.variable()
        defaulted = self.defaults and has_default(schema)
        stays = not self.prunes or has_default(schema)
        counter.expect(always=defaulted or required)
        with w.block(f"if {name!r} in {x}:"):
            w.line(f"{y} = {x}[{name!r}]")
            with w.block(f"if {y} is None:"):
                if schema.nullable:
                    counter.seen(always=defaulted or required)
                    if schema.enum:
                        w.line("ok = False")
                elif defaulted:
                    self._insert(w, name, schema, x, scope)
                elif not stays:
                    w.line(f"del {x}[{name!r}]")
                    counter.missed(always=required)
                    if required:
                        w.line("ok = False")
                else:
                    counter.seen(always=required)
                    if schema_types(schema) or schema.enum:
                        w.line("ok = False")
            with w.block("else:"):
                counter.seen(always=defaulted or required)
                self.value(w, schema, y, scope)
        if defaulted:
            with w.block("else:"):
                self._insert(w, name, schema, x, scope)
        elif required:
            with w.block("else:"):
                w.line("ok = False")
                counter.missed(always=True)

    def _insert(self, w: Writer, name: str, schema: StructuralSchema, x: str, scope: Scope) -> None:
        expansion = expand(schema)
        if not expansion.stable:
            w.line("raise Refused")
            return
        w.line(f"{x}[{name!r}] = {display(self.module, expansion.value)}")
        w.line(f"log.defaulted.append({self._site(scope)})")
        if not self.module.compile(self.prover(schema))(expansion.value) or may_repeat(expansion.value, schema):
            w.line("ok = False")

    def rest(
        self, w: Writer, schema: StructuralSchema, x: str, scope: Scope, known: frozenset[str], counter: KeyCounter
    ) -> None:
        """Write the code for keys that are no properties."""
        rest = schema.additional_properties
        if isinstance(rest, StructuralSchema):
            self._additional(w, schema, rest, x, scope, known)
        elif rest is False:
            test = f"not {x}.keys() <= {self._known(known)}" if known else x
            self.lines(w, [(test, "raise Refused" if scope.fused else scope.mode.bad)])
        elif not scope.fused:
            return
        elif rest is True:
            values = f"[{x}[k] for k in {x} if k not in {self._known(known)}]" if known else f"{x}.values()"
            if scope.frozen:
                w.line(f"_exact_rest({x}, {self._known(known)})")
            else:
                w.line(f"_bare({values})")
        elif counter.active:
            keeps = schema.preserve_unknown_fields or scope.keep or scope.frozen
            with w.block(f"if len({x}) != {counter.total()}:"):
                if keeps:
                    w.line(f"_exact_rest({x}, {self._known(known)})")
                else:
                    w.line(f"_prune({x}, {self._known(known)}, log, {self._site(scope)})")

    def _known(self, known: frozenset[str]) -> str:
        interned = self._interned.setdefault(known, known)
        return self.module.slot(interned)

    def _additional(
        self, w: Writer, schema: StructuralSchema, rest: StructuralSchema, x: str, scope: Scope, known: frozenset[str]
    ) -> None:
        """Write the loop over keys with the schema of additionalProperties."""
        if not scope.fused and says_nothing(rest):
            return
        if scope.fused and self.prunes and not rest.nullable and not has_default(rest):
            with w.block(f"if None in {x}.values():"):
                w.line(f"_drop_nulls({x}, {self._known(known)})")
        k, y = w.variable(), w.variable()
        with w.block(f"for {k}, {y} in {x}.items():"):
            if known:
                with w.block(f"if {k} in {self._known(known)}:"):
                    w.line("continue")
            self._element(w, rest, y, scope.key(k))
