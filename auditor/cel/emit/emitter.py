"""Expressions to Python: operators, names, selections and macros; functions are in `calls`.

The code evaluates from left to right as the interpreter does, and raises wherever the interpreter has an error. So it
may prove less than the interpreter (if logic absorbs the error), but never the opposite. Two consequences: no step that
could fail may be skipped (`exists_one` looks at all items), and operations that Python allows and CEL does not are
guarded (a negative index, an integer beyond 64 bits, null).

Source: cel-go interpreter/interpretable.go, parser/macro.go.

Over 500 lines: one walk over the nodes of an expression, whose cases share its state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from auditor.cel.cel_values import UInt
from auditor.cel.emit.bounds import ZERO, Bound, constant, greater
from auditor.cel.emit.calls import emit_call, emit_equality, emit_membership
from auditor.cel.emit.value import Extent, NotEmittable, Value, extent_of, loses_schema, most_items
from auditor.cel.emit.value_shapes import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    NULL,
    STRING,
    Form,
    ValueShape,
    list_shape,
    optional_shape,
    shape_of_type,
    unified,
)
from auditor.cel.syntax.ast import Call, Comprehension, Expr, Ident, ListLiteral, Literal, MapLiteral, Select
from auditor.cel.syntax.macros import ACCUMULATOR
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.cel.check.checked import CheckedExpression
    from auditor.cel.declarations import Declarations
    from auditor.cel.emit.bounds import Length
    from auditor.cel.emit.value_shapes import Field


_DEEPEST: Final = 60
"""Nested brackets in one expression; CPython allows 200, and a node may take three."""
_MOST_INSIDE: Final = 10
"""Comprehensions inside each other; about twenty crash the compiler of CPython 3.12 and 3.13."""


class ExpressionEmitter:
    """Writes the code of one expression.

    Args:
        environment: The environment in which it was checked.
        checked: The expression.
        slot: Binds a value to a global and returns its name.
        remember: Returns the name of the memo of a function of one text; equal keys share it.

    Attributes:
        values: Number of a node to its code, for all nodes that the code evaluates.
        counts: Number of a comprehension to its largest number of iterations.
        most: Path to a bound of the length at its end.
    """

    def __init__(
        self,
        environment: Declarations,
        checked: CheckedExpression,
        slot: Callable[[object], str],
        remember: Callable[[object, Callable[[Any], Any]], str],
    ) -> None:
        self.environment = environment
        self.types = checked.types
        self.references = checked.references
        self.slot = slot
        self.remember = remember
        self.values: dict[int, Value] = {}
        self.counts: dict[int, Bound] = {}
        self.most: dict[Length, Bound] = {}
        self._scopes: list[dict[str, Value]] = [{}]
        self._tested: dict[int, str] = {}
        self._known: frozenset[str] = frozenset()
        self._names = 0
        self._depth = 0
        self._inside = 0
        self._lose_schema = not changes.OPTIONALS_KEEP_SCHEMA.holds

    def define(self, name: str, value: Value) -> None:
        """Give a variable of the environment its code."""
        self._scopes[0][name] = value

    def emit(self, expr: Expr) -> Value:
        """Return the code of a node.

        Raises:
            NotEmittable: There is no code for it.
        """
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NotEmittable("depth")
        value = self._emit(expr)
        if self._lose_schema and loses_schema(expr, value):
            raise NotEmittable("what an optional holds, read as plain JSON")
        self._depth -= 1
        self.values[expr.id] = value
        return value

    def _emit(self, expr: Expr) -> Value:
        match expr:
            case Literal():
                return self.literal(expr.value)
            case Ident():
                return self._name(expr)
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListLiteral():
                return self._list(expr)
            case MapLiteral():
                return self._map(expr)
            case Comprehension():
                return self._comprehension(expr)
        raise NotEmittable(type(expr).__name__)

    # -- names and literals -------------------------------------------------------------------------------------------

    def literal(self, value: Any) -> Value:
        """Return the code of a constant."""
        kind = type(value)
        if value is None:
            return Value("None", NULL, total=True, constant=None)
        if kind is bool:
            return Value(repr(value), BOOL, total=True, constant=value)
        if kind is int:
            shape = replace(INT, low=value, high=value)
            return Value(repr(value) if value >= 0 else f"({value!r})", shape, total=True, constant=value)
        if kind is float:
            return Value(self.slot(value), DOUBLE, total=True, constant=value)
        if kind is str:
            return Value(repr(value), STRING, Extent(constant(len(value))), total=True, constant=value)
        if kind is bytes:
            return Value(repr(value), BYTES, Extent(constant(len(value))), total=True, constant=value)
        raise NotEmittable("uint" if kind is UInt else kind.__name__)

    def fresh(self, letter: str) -> str:
        """Return an unused name."""
        self._names += 1
        return f"{letter}{self._names}"

    def _name(self, expr: Ident | Select) -> Value:
        reference = self.references[expr.id]
        if reference.value is not None:
            return self.literal(reference.value)
        if reference.is_type:
            raise NotEmittable("a type as a value")
        for scope in reversed(self._scopes):
            variable = scope.get(reference.name)
            if variable is not None:
                return variable
        raise NotEmittable(f"variable {reference.name}")

    def read(
        self, code: str, shape: ValueShape, extent: Extent, path: Length | None = None, *, total: bool = False
    ) -> Value:
        """Return the code that converts a stored value to a CEL value."""
        if shape.nullable:
            code, total = f"_not_null({code})", False
        if shape.convert is not None:
            code = (
                f"float({code})"
                if shape.form is Form.DOUBLE
                else f"{self.remember(shape.convert, shape.convert)}[{code}]"
            )
            total = total and shape.form is Form.DOUBLE
        if shape.form in (Form.LIST, Form.MAP) and path is not None:
            self.most[path] = most_items(shape)
            extent = Extent(Bound({(path,): 1.0}), extent.item)
        return Value(code, shape.converted, extent, path, total)

    # -- selection ----------------------------------------------------------------------------------------------------

    def _select(self, expr: Select) -> Value:
        if expr.id in self.references:
            return self._name(expr)
        operand = self.emit(expr.operand)
        if operand.shape.form is Form.OPTIONAL:
            field = self.optional_field(operand, expr.field)
            return Value(f"({field.code} is not _NO)", BOOL, total=field.total) if expr.test_only else field
        if operand.shape.form is Form.DYN:
            if expr.test_only:
                return Value(f"({expr.field!r} in _is_dict({operand.code}))", BOOL)
            return Value(f"{operand.code}[{expr.field!r}]", DYN, extent_of(DYN))
        if not expr.test_only:
            return self._field(operand, expr.field)
        if operand.shape.form is Form.OBJECT:
            self._tested[expr.id] = _place(operand, operand.shape.fields[expr.field])
        return self._presence(operand, expr.field)

    def _presence(self, operand: Value, name: str) -> Value:
        shape = operand.shape
        if shape.form is Form.MAP:
            known = f"({name!r} in {operand.code})"
            return self._readable(known, self._field(operand, name), shape.item, total=operand.total)
        if shape.form is not Form.OBJECT:
            raise NotEmittable("has() of dyn")
        field = shape.fields[name]
        if field.attribute:
            place = f"{operand.code}.{field.attribute}"
            # A field that always exists must still be reached.
            tests = [f"{place} is not {each}" for each in field.missing] or [f"{operand.code} is not None"]
            known = f"({' and '.join(tests)})"
            return self._readable(known, self._field(operand, name), field.shape, total=operand.total)
        if field.shape.convert is not None and field.shape.form is not Form.DOUBLE:
            code = f"({operand.code}.get({field.key!r}) is not None)"
            return self._readable(code, self._field(operand, name), field.shape, total=operand.total)
        if field.shape.nullable:
            return Value(f"({operand.code}.get({field.key!r}) is not None)", BOOL, total=operand.total)
        return Value(f"({field.key!r} in {operand.code})", BOOL, total=operand.total)

    @staticmethod
    def _readable(known: str, read: Value, shape: ValueShape | None, *, total: bool) -> Value:
        """Return the code of ``has()``, which fails in the server if the value exists and cannot be read."""
        if shape is None or shape.convert is None or shape.form is Form.DOUBLE:
            return Value(known, BOOL, total=total)
        return Value(f"({known} and ({read.code}) is not None)", BOOL)

    def _field(self, operand: Value, name: str) -> Value:
        shape = operand.shape
        if shape.form is Form.MAP and shape.item is not None:
            item = operand.extent.item or extent_of(shape.item)
            path = None if operand.path is None else (*operand.path, name)
            return self.read(f"{operand.code}[{name!r}]", shape.item, item, path)
        if shape.form is not Form.OBJECT:
            raise NotEmittable("field of dyn")
        field = shape.fields[name]
        path = None if operand.path is None else (*operand.path, field.attribute or field.key)
        place = code = _place(operand, field)
        is_there = field.always or place in self._known
        if field.attribute and not is_there:
            code = f"_there({place})"
        kind = field.shape.present if field.attribute or is_there else field.shape
        return self.read(code, kind, extent_of(kind), path, total=operand.total and is_there)

    def optional_field(self, operand: Value, name: str) -> Value:
        """Return the code of ``operand.?name``, for an object, a map, or an optional of these."""
        inner = operand.shape.item if operand.shape.form is Form.OPTIONAL else operand.shape
        assert inner is not None
        if inner.form is Form.OBJECT:
            field = inner.fields[name]
            key, shape, read = field.key, field.shape, "_get"
            if field.attribute:
                key, read = field.attribute, "_get_attribute"
            extent = extent_of(shape)
        elif inner.form is Form.MAP and inner.item is not None:
            key, shape, read = name, inner.item, "_get_entry"
            extent = operand.extent.item or extent_of(shape)
        else:
            raise NotEmittable("field of dyn")
        return self._optional(operand, read, repr(key), shape, extent, total=operand.total and read != "_get_entry")

    def _optional(
        self, operand: Value, read: str, key: str, shape: ValueShape, extent: Extent, *, total: bool = False
    ) -> Value:
        if shape.convert is not None:
            raise NotEmittable("optional of what is to be converted")
        is_optional = operand.shape.form is Form.OPTIONAL
        code = f"_further({operand.code}, {read}, {key})" if is_optional else f"{read}({operand.code}, {key})"
        return Value(code, optional_shape(shape.present), extent, total=total)

    def index(self, operand: Value, index: Value, *, optional: bool) -> Value:
        """Return the code of ``operand[index]`` or ``operand[?index]``."""
        is_optional = operand.shape.form is Form.OPTIONAL
        shape = operand.shape.item if is_optional else operand.shape
        if operand.shape.form is Form.DYN and not optional and index.shape.form in (Form.STRING, Form.INT, Form.DYN):
            return Value(f"_part({operand.code}, {index.code})", DYN, extent_of(DYN))
        if shape is None or shape.item is None or shape.form not in (Form.LIST, Form.MAP):
            raise NotEmittable("index of dyn")
        if index.shape.form is not (Form.INT if shape.form is Form.LIST else Form.STRING):
            raise NotEmittable("index that is dyn")
        item = operand.extent.item or extent_of(shape.item)
        if optional or is_optional:
            read = "_get_item" if shape.form is Form.LIST else "_get_entry"
            return self._optional(operand, read, index.code, shape.item, item)
        if shape.form is Form.MAP or index.shape.low >= 0:
            return self.read(f"{operand.code}[{index.code}]", shape.item, item)
        return self.read(f"_item({operand.code}, {index.code})", shape.item, item)

    # -- literals with parts ------------------------------------------------------------------------------------------

    def _list(self, expr: ListLiteral) -> Value:
        if expr.optional:
            raise NotEmittable("optional element")
        items = [self.emit(each) for each in expr.elements]
        if not items:
            kind = self.types[expr.id].parameters[0]
            item = shape_of_type(kind) or BOOL
            return Value("[]", list_shape(item), Extent(ZERO, extent_of(item)), total=True, constant=())
        shape, extent = self.joined(items)
        value = Value(
            f"[{', '.join(each.code for each in items)}]",
            list_shape(shape),
            Extent(constant(len(items)), extent),
            total=all(each.total for each in items),
        )
        if all(isinstance(each, Literal) for each in expr.elements):
            value.constant = tuple(each.constant for each in items)
        return value

    def joined(self, items: list[Value]) -> tuple[ValueShape, Extent]:
        """Return shape and extent of a value that is one of several."""
        shape: ValueShape | None = items[0].shape
        extent = items[0].extent
        for each in items[1:]:
            assert shape is not None
            shape = unified(shape, each.shape)
            if shape is None:
                raise NotEmittable("values of different shapes")
            extent = _either(extent, each.extent)
        assert shape is not None
        return shape, extent

    def _map(self, expr: MapLiteral) -> Value:
        if any(each.optional for each in expr.entries):
            raise NotEmittable("optional entry")
        keys = [self.emit(each.key) for each in expr.entries]
        items = [self.emit(each.value) for each in expr.entries]
        if not items or any(each.shape.form is not Form.STRING for each in keys):
            raise NotEmittable("map literal")
        shape, extent = self.joined(items)
        code = ", ".join(f"{key.code}: {item.code}" for key, item in zip(keys, items, strict=True))
        made = ValueShape(Form.MAP, item=shape)
        return Value(
            f"{{{code}}}", made, Extent(constant(len(items)), extent), total=all(x.total for x in keys + items)
        )

    # -- operators ----------------------------------------------------------------------------------------------------

    def _call(self, expr: Call) -> Value:
        reference = self.references[expr.id]
        name = reference.name
        parts = expr.args if reference.is_global else expr.operands
        if name in ("_&&_", "_||_"):
            word = " and " if name == "_&&_" else " or "
            tests = self._in_turn(parts, goes_on=name == "_&&_")
            return Value(f"({word.join(each.code for each in tests)})", BOOL, total=all(each.total for each in tests))
        if name == "!_":
            operand = self.test(parts[0])
            return Value(f"(not {operand.code})", BOOL, total=operand.total)
        if name == "_?_:_":
            return self._conditional(parts)
        if name in ("_==_", "_!=_"):
            tested = self._type_test(parts, negated=name == "_!=_")
            if tested is not None:
                return tested
        args = [self.emit(each) for each in parts]
        if name in ("_==_", "_!=_"):
            of_variable = isinstance(parts[0], Ident)
            return emit_equality(self, args[0], args[1], negated=name == "_!=_", is_variable=of_variable)
        if name == "@in":
            return emit_membership(self, args[0], args[1])
        if name in ("_[_]", "_[?_]"):
            return self.index(args[0], args[1], optional=name == "_[?_]")
        if name == "_?._":
            return self.optional_field(args[0], args[1].constant)
        return emit_call(self, expr, name, args)

    def _type_test(self, parts: tuple[Expr, ...], *, negated: bool) -> Value | None:
        """Return the code of ``type(x) == string`` and the like, for values that may be an integer or a string."""
        for part, other in (parts, parts[::-1]):
            reference = self.references.get(other.id)
            if not (isinstance(part, Call) and part.function == "type" and part.target is None and len(part.args) == 1):
                continue
            if not isinstance(other, Ident) or reference is None or not reference.is_type:
                continue
            value = self.emit(part.args[0])
            name = {"string": "str", "int": "int"}.get(reference.name)
            if value.shape.form is not Form.INT_OR_STRING or name is None:
                raise NotEmittable("type of a value")
            return Value(f"(type({value.code}) {'is not' if negated else 'is'} {name})", BOOL, total=value.total)
        return None

    def test(self, expr: Expr) -> Value:
        """Return the code of an operand of logic: it must be a bool."""
        value = self.emit(expr)
        if value.shape.form is Form.DYN:
            return Value(f"_true_or_false({value.code})", BOOL)
        if value.shape.form is not Form.BOOL:
            raise NotEmittable("logic on dyn")
        return value

    def _in_turn(self, parts: tuple[Expr, ...], *, goes_on: bool) -> list[Value]:
        """Return the code of operands of logic. Each is evaluated only if those before it are `goes_on`."""
        before = self._known
        tests = []
        for each in parts:
            tests.append(self.test(each))
            self._known |= self._implied(each, goes_on)
        self._known = before
        return tests

    def _implied(self, expr: Expr, outcome: bool) -> frozenset[str]:
        """Return the fields that exist if a test with code has a result."""
        if isinstance(expr, Select):
            return frozenset((self._tested[expr.id],)) if outcome and expr.id in self._tested else frozenset()
        if not isinstance(expr, Call):
            return frozenset()
        reference = self.references.get(expr.id)
        if reference is None:
            return frozenset()
        parts = expr.args if reference.is_global else expr.operands
        if reference.name == "!_":
            return self._implied(parts[0], not outcome)
        if reference.name == ("_&&_" if outcome else "_||_"):
            return frozenset().union(*(self._implied(each, outcome) for each in parts))
        return frozenset()

    def _conditional(self, parts: tuple[Expr, ...]) -> Value:
        condition = self.test(parts[0])
        before = self._known
        branches = []
        for each, outcome in ((parts[1], True), (parts[2], False)):
            self._known = before | self._implied(parts[0], outcome)
            branches.append(self.emit(each))
        self._known = before
        yes, no = branches
        optional = {Form.OPTIONAL: optional_shape}
        if yes.shape.form in optional and no.shape.form in optional:
            shape, extent = self._either_optional(yes, no)
        else:
            shape, extent = self.joined(branches)
        total = condition.total and yes.total and no.total
        return Value(f"({yes.code} if {condition.code} else {no.code})", shape, extent, total=total)

    def _either_optional(self, yes: Value, no: Value) -> tuple[ValueShape, Extent]:
        """Return shape and extent of one of two optionals; one may be the empty optional, whose type is unknown."""
        if yes.code == "_NO":
            return no.shape, no.extent
        if no.code == "_NO":
            return yes.shape, yes.extent
        return self.joined([yes, no])

    # -- macros -------------------------------------------------------------------------------------------------------

    def _comprehension(self, expr: Comprehension) -> Value:
        if expr.variable == ACCUMULATOR:
            raise NotEmittable("variable that hides what is collected")
        if expr.accumulator != ACCUMULATOR:
            return self._binding(expr)
        range_ = self.emit(expr.range)
        self.counts[expr.id] = range_.extent.own
        head, scope = self._head(expr, range_)
        self._enter(scope)
        code = self._macro(expr, range_, head)
        self._leave()
        return code

    def _enter(self, scope: dict[str, Value]) -> None:
        self._inside += 1
        if self._inside > _MOST_INSIDE:
            raise NotEmittable("comprehensions inside each other")
        self._scopes.append(scope)

    def _leave(self) -> None:
        self._scopes.pop()
        self._inside -= 1

    def _binding(self, expr: Comprehension) -> Value:
        """Write a comprehension over an empty range, which only binds a name to a value."""
        if not (isinstance(expr.range, ListLiteral) and not expr.range.elements):
            raise NotEmittable("comprehension")
        bound = self.emit(expr.init)
        name = self.fresh("b")
        self.counts[expr.id] = ZERO
        self._enter({expr.accumulator: replace(bound, code=name, total=True, path=None)})
        code = self.emit(expr.result)
        self._leave()
        return replace(code, code=f"[{code.code} for {name} in ({bound.code},)][0]", path=None)

    def _head(self, expr: Comprehension, range_: Value) -> tuple[str, dict[str, Value]]:
        """Return the ``for`` of a comprehension, and the values of its variables."""
        shape = range_.shape
        if shape.form is Form.DYN and expr.variable2 is None:
            first = self.fresh("i")
            return f"for {first} in _each({range_.code})", {
                expr.variable: Value(first, DYN, extent_of(DYN), total=True)
            }
        if shape.form not in (Form.LIST, Form.MAP) or shape.item is None:
            raise NotEmittable("range that is dyn")
        first = self.fresh("i")
        extent = range_.extent.item or extent_of(shape.item)
        key = Value(first, STRING, Extent(extent_of(STRING).own), total=True)
        if expr.variable2 is None:
            item = self.read(first, shape.item, extent, total=True) if shape.form is Form.LIST else key
            return f"for {first} in {range_.code}", {expr.variable: item}
        second = self.fresh("j")
        item = self.read(second, shape.item, extent, total=True)
        if shape.form is Form.MAP:
            return f"for {first}, {second} in {range_.code}.items()", {expr.variable: key, expr.variable2: item}
        index = Value(first, replace(INT, low=0, high=2**40), total=True)
        return f"for {first}, {second} in enumerate({range_.code})", {expr.variable: index, expr.variable2: item}

    def _macro(self, expr: Comprehension, range_: Value, head: str) -> Value:
        init, step = expr.init, expr.step
        assert isinstance(step, Call)
        if isinstance(init, Literal) and step.function in ("_&&_", "_||_"):
            body = self.test(step.args[1])
            total = range_.total and body.total
            if init.value is True:
                return Value(f"(False not in [{body.code} {head}])", BOOL, total=total)
            if total:
                return Value(f"(True in [{body.code} {head}])", BOOL, total=True)
            return Value(f"any({body.code} {head})", BOOL)
        if isinstance(init, Literal):
            body = self.test(step.args[0])
            total = range_.total and body.total
            return Value(f"([{body.code} {head}].count(True) == 1)", BOOL, total=total)
        if isinstance(init, ListLiteral):
            return self._collected(step, range_, head)
        return self._entries(step, range_, head)

    def _filtered(self, step: Call) -> tuple[Call, Value | None]:
        """Return what a step adds, and the condition on which it does; None if it always does."""
        if step.function != "_?_:_":
            return step, None
        inner = step.args[1]
        assert isinstance(inner, Call)
        return inner, self.test(step.args[0])

    def _collected(self, step: Call, range_: Value, head: str) -> Value:
        step, condition = self._filtered(step)
        made = step.args[1]
        assert isinstance(made, ListLiteral)
        item = self.emit(made.elements[0])
        tail = "" if condition is None else f" if {condition.code}"
        total = range_.total and item.total and (condition is None or condition.total)
        extent = Extent(range_.extent.own, item.extent)
        return Value(f"[{item.code} {head}{tail}]", list_shape(item.shape), extent, total=total)

    def _entries(self, step: Call, range_: Value, head: str) -> Value:
        step, condition = self._filtered(step)
        if len(step.args) != 3 or range_.shape.form is not Form.MAP:
            raise NotEmittable("a map is made")
        key, item = self.emit(step.args[1]), self.emit(step.args[2])
        tail = "" if condition is None else f" if {condition.code}"
        made = ValueShape(Form.MAP, item=item.shape)
        extent = Extent(range_.extent.own, item.extent)
        return Value(f"{{{key.code}: {item.code} {head}{tail}}}", made, extent)


def _place(operand: Value, field: Field) -> str:
    """Return the code that reads a field of an object, whether it exists or not."""
    return f"{operand.code}.{field.attribute}" if field.attribute else f"{operand.code}[{field.key!r}]"


def _either(one: Extent, other: Extent) -> Extent:
    item = None
    if one.item is not None and other.item is not None:
        item = _either(one.item, other.item)
    return Extent(greater(one.own, other.own), item)
