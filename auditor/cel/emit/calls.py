"""Code for calls and comparisons: Python's own operations if they agree with CEL's, else those of the interpreter."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from auditor.cel.cel_errors import CelError
from auditor.cel.emit.bounds import ONE, constant
from auditor.cel.emit.support import NAMES
from auditor.cel.emit.value import UNKNOWN, CodeWriter, Extent, NotEmittable, Value, extent_of
from auditor.cel.emit.value_shapes import BOOL, DOUBLE, INT, STRING, Form, ValueShape, is_exact, shape_of_type
from auditor.cel.operations.dispatch import choose
from auditor.cel.operations.equality import compare, equal
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.cel.cel_types import Type
    from auditor.cel.check.checked import Reference
    from auditor.cel.declarations import Declarations
    from auditor.cel.operations.dispatch import Declaration
    from auditor.cel.syntax.ast import Call


_SAME: Final = frozenset({
    Form.BOOL, Form.INT, Form.STRING, Form.INT_OR_STRING, Form.DURATION, Form.TIMESTAMP, Form.BYTES,
})  # fmt: skip
"""Forms whose values are equal in Python exactly when they are in CEL."""
_TEXT_OR_NUMBER: Final = frozenset({Form.INT_OR_STRING, Form.INT, Form.STRING})


def emit_equality(emitter: CodeWriter, left: Value, right: Value, *, negated: bool, is_variable: bool) -> Value:
    """Return the code of ``left == right``, or of ``left != right``.

    Args:
        emitter: Writes the expression.
        left: The code of the left side.
        right: The code of the right side.
        negated: Whether it is ``!=``.
        is_variable: Whether the left side is a variable: other expressions then use the same list.
    """
    word = "!=" if negated else "=="
    shape, other = left.shape, right.shape
    total = left.total and right.total
    if Form.NULL in (shape.form, other.form):
        if any(each.constant not in (UNKNOWN, None) for each in (left, right)):
            raise NotEmittable("null beside a constant")  # Python warns where a constant is compared by `is`
        # Null is never a value of a schema, so there a side is null only if it is a literal.
        return Value(
            f"(({left.code} is None) {'is not' if negated else 'is'} ({right.code} is None))", BOOL, total=total
        )
    if Form.DYN in (shape.form, other.form):
        if Form.STRING in (shape.form, other.form):  # a text equals texts alone
            return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
        same = f"_true_or_false({emitter.slot(equal)}({argument(left)}, {argument(right)}))"
        return Value(f"(not {same})" if negated else same, BOOL)
    if shape.form is other.form and shape.form in _SAME:
        return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
    if {shape.form, other.form} <= _TEXT_OR_NUMBER:
        return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
    if shape.form is Form.DOUBLE and other.form is Form.DOUBLE:
        return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
    if shape.form is other.form and shape.form in (Form.LIST, Form.MAP, Form.OBJECT):
        return _containers(left, right, word, total=total, is_variable=is_variable)
    if shape.form is Form.OPTIONAL and other.form is Form.OPTIONAL and _optionals_compare(left, right):
        return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
    if shape.form is Form.LIBRARY and other.form is Form.LIBRARY and shape.name == other.name:
        same = f"_true_or_false({emitter.slot(equal)}({left.code}, {right.code}))"
        return Value(f"(not {same})" if negated else same, BOOL)
    raise NotEmittable(f"equality of {shape.form.name} and {other.form.name}")


def _optionals_compare(left: Value, right: Value) -> bool:
    """Return whether Python compares two optionals as CEL does, which depends on their values."""
    if "_NO" in (left.code, right.code):
        return True
    items = {each.shape.item.form for each in (left, right) if each.shape.item is not None}
    return len(items) == 1 and items <= _SAME


def _containers(left: Value, right: Value, word: str, *, total: bool, is_variable: bool) -> Value:
    shape, other = left.shape, right.shape
    if is_exact(shape) and is_exact(other):
        return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
    items = shape.item, other.item
    if shape.form is Form.LIST and all(item is not None and item.form in _SAME and is_exact(item) for item in items):
        if shape.list_type == "set":
            if is_variable and not changes.LISTS_KEEP_ITEMS.holds:
                raise NotEmittable("equality of a set that another expression may have changed")
            name = "_same_items" if changes.LISTS_KEEP_ITEMS.holds else "_holds_items"
            same = f"{name}({left.code}, {right.code})"
            return Value(f"(not {same})" if word == "!=" else same, BOOL, total=total)
        if not shape.list_type:
            return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
    raise NotEmittable(f"equality of {shape.form.name}s")


def emit_membership(emitter: CodeWriter, value: Value, container: Value) -> Value:
    """Return the code of ``value in container``."""
    shape = container.shape
    total = value.total and container.total
    if shape.form is Form.MAP:
        if value.shape.form is not Form.STRING:
            raise NotEmittable("key that is dyn")
        if shape.item is not None and shape.item.convert is not None and shape.item.form is not Form.DOUBLE:
            raise NotEmittable("key of a value that may be unreadable, which is an error")
        return Value(f"({value.code} in {container.code})", BOOL, total=total)
    if shape.form is Form.DYN and value.shape.form is Form.STRING:
        return Value(f"({value.code} in _each({container.code}))", BOOL)
    if shape.form is not Form.LIST or shape.item is None:
        raise NotEmittable("in dyn")
    if container.constant == () and container.constant is not UNKNOWN:
        raise NotEmittable("in an empty list")
    item = shape.item.present
    if value.shape.form is Form.DYN and container.constant is not UNKNOWN and item.form in (Form.STRING, Form.INT):
        guard = "_is_str" if item.form is Form.STRING else "_is_int"
        return Value(f"({guard}({value.code}) in {emitter.slot(frozenset(container.constant))})", BOOL)
    pair = {value.shape.form, item.form}
    if item.convert is not None or not ((len(pair) == 1 and pair <= _SAME) or pair <= _TEXT_OR_NUMBER):
        raise NotEmittable(f"{value.shape.form.name} in a list of {item.form.name}")
    if container.constant is not UNKNOWN:
        return Value(f"({value.code} in {emitter.slot(frozenset(container.constant))})", BOOL, total=total)
    return Value(f"({value.code} in {container.code})", BOOL, total=total)


_WORDS: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_SIGNS: Final = {"_+_": "+", "_-_": "-", "_*_": "*"}
_ORDERED: Final = frozenset({Form.BOOL, Form.INT, Form.STRING, Form.BYTES, Form.DURATION, Form.TIMESTAMP})
_EXACT_DOUBLE: Final = 2**53


class CallWriter(CodeWriter, Protocol):
    """What the code of calls asks of the emitter (`auditor.cel.emit.emitter`)."""

    environment: Declarations
    types: dict[int, Type]
    references: dict[int, Reference]

    def literal(self, value: Any) -> Value:
        """Return the code of a constant."""


def emit_call(emitter: CallWriter, expr: Call, name: str, args: list[Value]) -> Value:
    """Return the code of the call of a function or operator."""
    if name in _WORDS:
        return _ordering(emitter, _WORDS[name], args[0], args[1])
    if name in _SIGNS:
        code = _arithmetic(_SIGNS[name], args[0], args[1])
        if code is not None:
            return code
    declaration = emitter.environment.function(name)
    assert declaration is not None, "the checker found it"
    if declaration.code.write is not None:
        code = declaration.code.write(emitter, args)
        if code is not None:
            return code
    return _invoke(emitter, expr, declaration, args)


def _ordering(emitter: CallWriter, word: str, left: Value, right: Value) -> Value:
    forms = {left.shape.form, right.shape.form}
    total = left.total and right.total
    if len(forms) == 1 and forms <= _ORDERED:
        return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
    if Form.INT_OR_STRING in forms:
        other = next(iter(forms - {Form.INT_OR_STRING}), None)
        if other in (Form.INT, Form.STRING):
            guard = "_is_int" if other is Form.INT else "_is_str"
            codes = [
                f"{guard}({each.code})" if each.shape.form is Form.INT_OR_STRING else each.code
                for each in (left, right)
            ]
            return Value(f"({codes[0]} {word} {codes[1]})", BOOL)
    if Form.DYN in forms:
        return Value(f"({emitter.slot(compare)}({argument(left)}, {argument(right)}) {word} 0)", BOOL)
    if forms <= {Form.INT, Form.DOUBLE}:
        if all(_is_plain_number(each) for each in (left, right)):
            return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
        return Value(f"({emitter.slot(compare)}({left.code}, {right.code}) {word} 0)", BOOL)
    raise NotEmittable(f"order of {' and '.join(sorted(form.name for form in forms))}")


def _is_plain_number(value: Value) -> bool:
    """Return whether Python compares a number as CEL does: no NaN, and no integer beyond the precision of a double."""
    if value.shape.form is Form.DOUBLE:
        return value.constant is not UNKNOWN or value.path is not None
    return value.shape.low >= -_EXACT_DOUBLE and value.shape.high <= _EXACT_DOUBLE


def _arithmetic(sign: str, left: Value, right: Value) -> Value | None:
    form = left.shape.form
    if form is not right.shape.form:
        return None
    code = f"({left.code} {sign} {right.code})"
    total = left.total and right.total
    if form is Form.INT:
        work_out = {"+": operator.add, "-": operator.sub, "*": operator.mul}[sign]
        ends = [
            work_out(bound, other)
            for bound in (left.shape.low, left.shape.high)
            for other in (right.shape.low, right.shape.high)
        ]
        low, high = min(ends), max(ends)
        if INT.low <= low and high <= INT.high:
            return Value(code, replace(INT, low=low, high=high), total=total)
        return Value(f"_int{code}", INT)
    if form is Form.DOUBLE:
        return Value(code, DOUBLE, total=total)
    if sign != "+":
        return None
    if form is Form.STRING:
        return Value(code, STRING, Extent(left.extent.own + right.extent.own), total=total)
    return _concatenated(code, left, right) if form is Form.LIST else None


def _concatenated(code: str, left: Value, right: Value) -> Value | None:
    """Return the code of ``left + right`` for lists; sets and map lists need the interpreter."""
    item, other = left.shape.item, right.shape.item
    if item is None or other is None or left.shape.list_type or right.shape.list_type:
        return None
    if item.form is not other.form or item.form not in (Form.STRING, Form.INT, Form.BOOL):
        return None
    if not (is_exact(item) and is_exact(other)):
        return None
    inner = (left.extent.item or extent_of(item)).own + (right.extent.item or extent_of(other)).own
    extent = Extent(left.extent.own + right.extent.own, Extent(inner))
    return Value(code, ValueShape(Form.LIST, item=ValueShape(item.form)), extent, total=left.total and right.total)


# -- functions of the interpreter --------------------------------------------------------------------------------------


def _invoke(emitter: CallWriter, expr: Call, declaration: Declaration, args: list[Value]) -> Value:
    kind = emitter.types[expr.id]
    shape = shape_of_type(kind)
    if shape is None:
        raise NotEmittable(f"{declaration.name}() of {kind}")
    reference = emitter.references[expr.id]
    overload = reference.overloads[0] if len(reference.overloads) == 1 else ""
    call = choose(declaration, overload, len(args)).call
    unpacked = _unpacked(shape, call)
    extent = _result_extent(declaration, shape, args)
    only = args[0] if args else None
    code = declaration.code
    of_text = code.is_remembered and not (code.makes_width and _sees_width(emitter))
    if of_text and only is not None and only.shape.form is Form.DYN and shape.form in (Form.DURATION, Form.TIMESTAMP):
        return Value(f"{emitter.remember((declaration.name, overload), unpacked)}[{only.code}]", shape, extent)
    if of_text and len(args) == 1 and only is not None and only.shape.form is Form.STRING:
        if type(only.constant) is str:
            return _computed(emitter, unpacked, only.constant, shape, extent)
        answer = f"{emitter.remember((declaration.name, overload), unpacked)}[{only.code}]"
        return Value(answer, shape, extent, total=only.total and code.is_total)
    arguments = ", ".join(map(argument, args))
    return Value(f"{emitter.slot(unpacked)}({arguments})", shape, extent)


def _sees_width(emitter: CallWriter) -> bool:
    """Return whether a function of the expression depends on the representation of a quantity.

    Comparing may change the representation from 64 bits to a big decimal. If no function depends on it, a quantity is
    parsed once and reused; otherwise it is parsed for each use.
    """
    for reference in emitter.references.values():
        declaration = emitter.environment.function(reference.name) if reference.overloads else None
        if declaration is not None and declaration.code.shows_width:
            return True
    return False


def _unpacked(shape: ValueShape, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with its result converted to the form that code uses."""
    if shape.form in (Form.DURATION, Form.TIMESTAMP):
        return lambda *values: call(*values).nanos
    if shape.form is Form.OPTIONAL:
        return lambda *values: NAMES["_from_optional"](call(*values))
    return call


def _computed(emitter: CallWriter, call: Callable[..., Any], text: str, shape: ValueShape, extent: Extent) -> Value:
    try:
        value = call(text)
    except CelError as error:
        raise NotEmittable(f"constant that fails: {error.text}") from None
    if type(value) in (bool, int):
        written = emitter.literal(value)
        return replace(written, shape=written.shape if shape.form is written.shape.form else shape)
    return Value(emitter.slot(value), shape, extent, total=True)


def argument(value: Value) -> str:
    """Return the code of a value in the form that the functions of the libraries take."""
    form = value.shape.form
    if form is Form.DURATION:
        return f"_Duration({value.code})"
    if form is Form.TIMESTAMP:
        return f"_Timestamp({value.code})"
    item = value.shape.item
    if form is Form.LIST and item is not None and item.form is Form.DOUBLE and item.convert is not None:
        return f"[float(each) for each in {value.code}]"
    if not _is_value(value.shape):
        raise NotEmittable(f"{form.name} as an argument")
    return value.code


def _is_value(shape: ValueShape) -> bool:
    """Return whether a value has the same form in the code as in the interpreter."""
    if shape.convert is not None or shape.nullable or shape.form in (Form.DURATION, Form.TIMESTAMP, Form.OPTIONAL):
        return False
    if shape.form is Form.OBJECT or shape.list_type == "map":
        return is_exact(shape)
    if shape.form in (Form.LIST, Form.MAP):
        return shape.item is not None and _is_value(shape.item) and (not shape.list_type or is_exact(shape.item))
    return True


_PLAIN_RESULTS: Final = frozenset({Form.BOOL, Form.INT, Form.DOUBLE, Form.DURATION, Form.TIMESTAMP})


def _result_extent(declaration: Declaration, shape: ValueShape, args: list[Value]) -> Extent:
    if shape.form in _PLAIN_RESULTS:
        return Extent(ONE)
    if declaration.code.extent is not None:
        return declaration.code.extent(args)
    if shape.form is Form.LIBRARY:
        return Extent(constant(64))
    raise NotEmittable(f"size of {declaration.name}()")
