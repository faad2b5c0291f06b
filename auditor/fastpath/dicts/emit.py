"""The emitter: one structural schema to Python source, for the three programs of `scope.Mode`.

The fused pass does at each node the steps of the storage read, which has four walks: prune, drop nulls, default from
the top down; then it checks the result. Nested objects are written in place (`objects`, `lists`); a large or deeply
nested node becomes a separate function, compiled when an object first needs it (`codegen.Module`).

Source: apiextensions-apiserver pkg/apiserver/schema/{pruning,defaulting,listtype}/algorithm.go; kube-openapi
pkg/validation/validate/schema.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.codegen import FunctionWriter, Module
from auditor.fastpath.dicts import support
from auditor.fastpath.dicts.branches import DECORATION, accepts_everything, logical_conditions
from auditor.fastpath.dicts.list_code import list_sizes, write_list
from auditor.fastpath.dicts.map_code import object_sizes, write_object
from auditor.fastpath.dicts.scalars import (
    Checks,
    bool_conditions,
    enum_conditions,
    float_conditions,
    int_conditions,
    str_conditions,
)
from auditor.fastpath.dicts.scope import (
    CodeScope,
    Condition,
    Lines,
    Mode,
    SchemaNotEmittable,
    chain,
    given,
    indented,
    schema_types,
)
from auditor.schema.defaulting import copy_json
from auditor.schema.structural import ABSENT, ListType, StructuralSchema

if TYPE_CHECKING:
    from collections.abc import Callable


LOCALS: Final = "type=type, str=str, dict=dict, list=list, int=int"
"""Parameters that no caller passes: a local name is faster than a builtin one."""

INLINE_FUSED: Final = 60
"""Largest number of nodes written in place when reading; a larger tree becomes a function."""

INLINE_PROVE: Final = 12
"""The same when proving; the provers of all parent nodes share these functions."""

MAX_LOOPS: Final = 12
"""Largest number of nested loops in one function; CPython 3.11 allows 20 blocks."""

MAX_DEPTH: Final = 60
"""Deepest indentation in one function; CPython allows 100."""

_KINDS: Final = {
    ("string",): ("str",),
    ("integer",): ("int",),
    ("boolean",): ("bool",),
    ("number",): ("float", "int"),
    ("integer", "string"): ("int", "str"),
}


class ModuleEmitter:
    """Writes the functions of one module.

    Args:
        module: Takes the functions.
        prunes: Whether unknown fields and nulls are dropped (the definition has no preserveUnknownFields).
        defaults: Whether defaults are filled in; a read after a conversion does not.
        embedded: The fused pass calls it with every embedded resource; returns whether that is valid.
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
            Refused=support.NotProven,
            _unless=support.unless,
            _exact=support.exact_json,
            _exact_rest=support.exact_rest,
            _bare=support.bare,
            _prune=support.prune_unknown,
            _drop_nulls=support.drop_nulls,
            _drop_these_nulls=support.drop_these_nulls,
            _distinct=support.distinct,
            _distinct_by=support.distinct_by,
            _copy=copy_json,
            _embedded=embedded,
        )

    # -- functions --------------------------------------------------------------------------------------------------

    def prover(self, schema: StructuralSchema) -> str:
        """Return the name of a function that says whether a value (or null) is proven valid."""
        return self._function(schema, CodeScope(Mode.PROVE))

    def reader(self, schema: StructuralSchema) -> str:
        """Return the name of a function that reads a value (not null) in place and says whether it is proven valid.

        It takes the value, a `Log` and the site of the value (`site`).
        """
        return self._function(schema, CodeScope(Mode.FUSED))

    def branch(self, schema: StructuralSchema, mode: Mode) -> str:
        """Return the name of the function of a branch, for values that are not null."""
        return self._function(schema, CodeScope(mode))

    def _function(self, schema: StructuralSchema, scope: CodeScope) -> str:
        key = (id(schema), scope.mode, scope.keep, scope.frozen)
        name = self._functions.get(key)
        if name is None:
            self._schemas.append(schema)  # keep the object with this id alive
            inside = scope.inside()
            name = self._functions[key] = self.module.function(lambda name: self._write(name, schema, inside))
        return name

    def _write(self, name: str, schema: StructuralSchema, scope: CodeScope) -> str:
        w = FunctionWriter()
        if scope.fused:
            with w.block(f"def {name}(o, log, above, {LOCALS}):"):
                try:
                    self.value(w, schema, "o", scope, in_place=True)
                except SchemaNotEmittable as error:
                    return f"def {name}(o, log, above):\n raise Refused({str(error)!r})\n"
                w.line("return True")
            return w.source
        with w.block(f"def {name}(o, {LOCALS}):"):
            if scope.mode is Mode.EXACT:
                self._write_proof(w, schema, scope)
            else:  # it may call an exact branch, which may not know
                with w.block("try:"):
                    self._write_proof(w, schema, scope)
                w.lines(("except Refused:", " return False"))
        return w.source

    def _write_proof(self, w: FunctionWriter, schema: StructuralSchema, scope: CodeScope) -> None:
        """Write the body of a function that changes nothing."""
        if schema.nullable or not schema_types(schema):
            w.line("if o is None:")
            w.line(f" return {not schema.enum}")
        self.value(w, schema, "o", scope, in_place=True)
        w.line("return True")

    def _size(self, schema: StructuralSchema) -> int:
        """Return how many nodes are written in place for this one, without those in separate functions."""
        size = self._sizes.get(id(schema))
        if size is None:
            children = [*schema.properties.values(), schema.items, schema.additional_properties]
            below = (self._size(child) for child in children if isinstance(child, StructuralSchema))
            size = 1 + sum(size_below if size_below <= INLINE_FUSED else 1 for size_below in below)
            self._sizes[id(schema)] = size
            self._schemas.append(schema)
        return size

    def _is_apart(self, w: FunctionWriter, schema: StructuralSchema, scope: CodeScope) -> bool:
        if schema.type not in ("object", "array") and not has_structure(schema):
            return False
        limit = INLINE_FUSED if scope.fused else INLINE_PROVE
        return self._size(schema) > limit or scope.loops >= MAX_LOOPS or w.depth > MAX_DEPTH

    # -- values -----------------------------------------------------------------------------------------------------

    def value(
        self,
        w: FunctionWriter,
        schema: StructuralSchema,
        x: str,
        scope: CodeScope,
        *,
        null: Lines | None = None,
        in_place: bool = False,
    ) -> None:
        """Write the code for a value.

        Args:
            w: The writer.
            schema: The schema of the value.
            x: The variable that holds it.
            scope: Its position.
            null: Statement for a null value, when reading. None if it cannot be null, or if null has simply the wrong
                type.
            in_place: Whether to write in place even if it is large.
        """
        if not scope.fused and accepts_everything(schema) and not in_place:
            return
        if schema.legacy is not None:
            if scope.fused:
                raise SchemaNotEmittable("keywords that no structural schema has")
            w.line(scope.mode.doubt)
            return
        if not in_place and self._is_apart(w, schema, scope):
            self._call(w, schema, x, scope, null)
            return
        types = schema_types(schema)
        if types == ("object",):
            self._container(w, schema, x, "dict", scope, null)
        elif types == ("array",):
            self._container(w, schema, x, "list", scope, null)
        elif types in _KINDS:
            self._scalar(w, schema, x, _KINDS[types], scope, null)
        elif types:
            w.lines((scope.mode.doubt,) if not scope.fused else self._otherwise(schema, x, scope, null))
        elif null is None:
            self._untyped(w, schema, x, scope)
        else:
            with w.block(f"if {x} is None:"):
                w.lines(null)
            with w.block("else:"):
                self._untyped(w, schema, x, scope)

    @staticmethod
    def is_plain_object(schema: StructuralSchema) -> bool:
        """Return whether a node requires only that a value is a map."""
        return schema.type == "object" and given(schema) <= {"type", *DECORATION}

    def element(self, w: FunctionWriter, schema: StructuralSchema, y: str, scope: CodeScope) -> None:
        """Write the code for a list item, a map value or an existing property; it may be null.

        When reading, this is for items and map values, which are never dropped.
        """
        is_defaulted = self.defaults and scope.fused and not schema.nullable and schema.default is not ABSENT
        may_be_null = schema.nullable or not schema_types(schema)
        if not scope.fused and may_be_null:
            if schema.enum:
                w.lines((f"if {y} is None:", f" {scope.mode.bad}"))
            with w.block(f"if {y} is not None:"):
                self.value(w, schema, y, scope)
            return
        null: Lines | None = None
        if is_defaulted:
            null = ("raise Refused('null in place of a value with a default')",)
        elif may_be_null:
            null = (scope.mode.bad if schema.enum else "pass",)
        self.value(w, schema, y, scope, null=null)

    def _call(self, w: FunctionWriter, schema: StructuralSchema, x: str, scope: CodeScope, null: Lines | None) -> None:
        name = self._function(schema, scope)
        arguments = f"{x}, log, {self.site(scope)}" if scope.fused else x
        failed = (f"not {name}({arguments})", scope.mode.bad)
        w.lines(chain([failed] if null is None else [(f"{x} is None", null), failed]))

    def site(self, scope: CodeScope) -> str:
        """Return an expression for the site of the current value (see `support.Log`)."""
        if not scope.template:
            return "None" if scope.root else "above"
        template: Any = (scope.template, scope.kinds) if "i" in scope.kinds else scope.template
        if scope.root and not scope.holes:
            return self.shared((None, template))
        above = "None" if scope.root else "above"
        shown = self.shared(template) if type(template) is tuple else repr(template)
        return f"({above}, {shown}{''.join(f', {hole}' for hole in scope.holes)})"

    def shared(self, value: Any) -> str:
        """Return the slot of a hashable constant; equal constants share it."""
        return self.module.slot(self._interned.setdefault((type(value), value), value))

    @staticmethod
    def _other(schema: StructuralSchema, x: str, scope: CodeScope) -> str:
        """Return the statement for a value whose type is not one of the schema's."""
        if scope.mode is Mode.EXACT:
            if "integer" in schema_types(schema):  # a float without fraction is an integer for the server
                return f"return _unless({x}, float)"
            if schema.format and schema.type == "string":  # a list is accepted as a string with a format
                return f"return _unless({x}, list)"
        return "return False"

    def _otherwise(self, schema: StructuralSchema, x: str, scope: CodeScope, null: Lines | None) -> Lines:
        """Return the lines for a value that is null or has another type than the schema."""
        other = self._other(schema, x, scope)
        return (other,) if null is None else (f"if {x} is None:", *indented(null), "else:", f" {other}")

    def conditions(self, schema: StructuralSchema, x: str, kind: str, mode: Mode) -> list[Condition]:
        """Return all conditions on a value of a kind, apart from children and sizes."""
        return self._own_conditions(schema, x, kind, mode) + logical_conditions(self, schema, x, kind, mode)

    def _own_conditions(self, schema: StructuralSchema, x: str, kind: str, mode: Mode) -> list[Condition]:
        if kind == "str":
            return str_conditions(schema, x, mode, self.checks)
        if kind == "int":
            return int_conditions(schema, x, mode, self.checks)
        if kind == "float":
            return float_conditions(schema, x, mode, self.checks)
        if kind == "bool":
            return bool_conditions(schema, x, mode, self.checks)
        return enum_conditions(schema, x, kind, mode, self.checks)

    # -- by type ----------------------------------------------------------------------------------------------------

    def _scalar(
        self,
        w: FunctionWriter,
        schema: StructuralSchema,
        x: str,
        kinds: tuple[str, ...],
        scope: CodeScope,
        null: Lines | None,
    ) -> None:
        """Write the code for scalars of one or two types."""
        otherwise = self._otherwise(schema, x, scope, null)
        memo = self.remembered_text(schema) if scope.fused and kinds == ("str",) else None
        if memo is not None:
            w.lines(chain([(f"type({x}) is not str", otherwise), (memo.format(x), scope.mode.bad)]))
            return
        by_kind = {kind: self.conditions(schema, x, kind, scope.mode) for kind in kinds}
        if len(kinds) == 1:
            w.lines(chain([(f"type({x}) is not {kinds[0]}", otherwise), *by_kind[kinds[0]]]))
            return
        if not any(by_kind.values()):
            w.lines(chain([(" and ".join(f"type({x}) is not {kind}" for kind in kinds), otherwise)]))
            return
        for index, (kind, position) in enumerate(by_kind.items()):
            with w.block(f"{'elif' if index else 'if'} type({x}) is {kind}:"):
                w.lines(chain(position))
        with w.block("else:"):
            w.lines(otherwise)

    def remembered_text(self, schema: StructuralSchema) -> str | None:
        """Return the check of the strings of a schema, as `Checks` has them; None if it has no such check."""
        said = given(schema) - DECORATION - {"type"}
        if schema.enum and said == {"enum"} and all(type(value) is str for value in schema.enum):
            return f"{{0}} not in {self.shared(frozenset(schema.enum))}"
        if said & {"pattern", "format"} and said <= {"enum", "pattern", "format", "min_length", "max_length"}:
            return self.checks.text(schema)
        return None

    def _container(
        self, w: FunctionWriter, schema: StructuralSchema, x: str, kind: str, scope: CodeScope, null: Lines | None
    ) -> None:
        write = write_object if kind == "dict" else write_list
        if scope.fused:
            with w.block(f"if type({x}) is {kind}:"):
                write(self, w, schema, x, scope)
                w.lines(chain(self.conditions(schema, x, kind, scope.mode)))
            if null is not None:
                with w.block(f"elif {x} is None:"):
                    w.lines(null)
            with w.block("else:"):
                w.lines(self._otherwise(schema, x, scope, None))
        else:
            w.lines(chain([(f"type({x}) is not {kind}", self._other(schema, x, scope))]))
            write(self, w, schema, x, scope)
            w.lines(chain(self.conditions(schema, x, kind, scope.mode)))

    def _untyped(self, w: FunctionWriter, schema: StructuralSchema, x: str, scope: CodeScope) -> None:
        """Write the code for a node without a type: each type of value is checked by its keywords."""
        containers = scope.fused or has_structure(schema)
        if scope.fused and not has_structure(schema) and (schema.preserve_unknown_fields or scope.keep or scope.frozen):
            w.line(f"_exact({x})")
            containers = False
        kinds = ("str", "int", "float", "bool", "dict", "list")
        conditions = {kind: self.conditions(schema, x, kind, scope.mode) for kind in kinds}
        if schema.format and self.checks.format(schema):
            for kind in ("int", "float", "bool", "dict"):
                conditions[kind] = [("True", scope.mode.bad)]
        sizes = {"dict": object_sizes, "list": list_sizes}
        word = "if"
        for kind in kinds:
            structure = containers and kind in sizes
            checks = conditions[kind]
            if kind in sizes and not structure:
                checks = [*sizes[kind](schema, x, scope.mode), *checks]
            if not (structure or checks):
                continue
            with w.block(f"{word} type({x}) is {kind}:"):
                if structure:
                    (write_object if kind == "dict" else write_list)(self, w, schema, x, scope)
                w.lines(chain(checks))
            word = "elif"


def has_structure(schema: StructuralSchema) -> bool:
    """Return whether a node restricts the inside of a value."""
    return bool(
        schema.properties
        or schema.items is not None
        or schema.additional_properties is not None
        or schema.required
        or schema.list_type not in (None, ListType.ATOMIC)
        or schema.embedded_resource
    )
