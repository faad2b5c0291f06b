"""Code for functions: Python's own for the common ones, else the function that the interpreter calls."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from auditor.cel.emit.bounds import ONE, Bound, constant
from auditor.cel.emit.shapes import BOOL, DOUBLE, INT, STRING, Form, Shape, is_exact, optional_shape, shape_of_type
from auditor.cel.emit.support import NAMES
from auditor.cel.emit.value import UNKNOWN, Extent, NotEmittable, Value, extent_of
from auditor.cel.errors import CelError
from auditor.cel.operations.dispatch import choose
from auditor.cel.operations.equality import compare
from auditor.golang.regex.compiled import GoRegexError, compile_pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.cel.emit.emitter import Emitter
    from auditor.cel.syntax.ast import Call

__all__ = ["emit_call"]

_WORDS: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_SIGNS: Final = {"_+_": "+", "_-_": "-", "_*_": "*"}
_ORDERED: Final = frozenset({Form.BOOL, Form.INT, Form.STRING, Form.BYTES, Form.DURATION, Form.TIMESTAMP})
_SIZED: Final = frozenset({Form.STRING, Form.BYTES, Form.LIST, Form.MAP})
_LONGEST_SIZE: Final = 2**40
_LONGEST_RANGE: Final = 1000
_EXACT_DOUBLE: Final = 2**53
_OF_TEXT: Final = frozenset({
    "duration", "timestamp", "url", "isURL", "ip", "isIP", "ip.isCanonical", "cidr", "isCIDR", "quantity", "isQuantity",
    "semver", "isSemver", "int", "double", "bool",
})  # fmt: skip
"""Functions of one text whose answers are remembered."""
_WIDTH_SHOWS: Final = frozenset({
    "quantity_get_int", "quantity_is_integer", "quantity_add", "quantity_add_int", "quantity_sub", "quantity_sub_int",
})  # fmt: skip
_TOTAL: Final = frozenset({"isURL", "isIP", "isCIDR", "isQuantity", "isSemver"})


def emit_call(emitter: Emitter, expr: Call, name: str, args: list[Value]) -> Value:
    """Return the code of the call of a function or operator."""
    if name in _WORDS:
        return _ordering(emitter, _WORDS[name], args[0], args[1])
    if name in _SIGNS:
        found = _arithmetic(_SIGNS[name], args[0], args[1])
        if found is not None:
            return found
    own = _OWN.get(name)
    if own is not None:
        found = own(emitter, args)
        if found is not None:
            return found
    return _invoke(emitter, expr, name, args)


def _ordering(emitter: Emitter, word: str, left: Value, right: Value) -> Value:
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
    if forms <= {Form.INT, Form.DOUBLE}:
        if all(_is_plain_number(each) for each in (left, right)):
            return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
        return Value(f"({emitter.slot(compare)}({left.code}, {right.code}) {word} 0)", BOOL)
    raise NotEmittable(f"order of {' and '.join(sorted(form.name for form in forms))}")


def _is_plain_number(value: Value) -> bool:
    """Say whether Python compares a number as CEL does: no NaN, and no integer that a double does not hold."""
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
            work_out(one, other)
            for one in (left.shape.low, left.shape.high)
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
    """Return the code of ``left + right`` of lists; of sets and map lists the interpreter knows more."""
    one, other = left.shape.item, right.shape.item
    if one is None or other is None or left.shape.list_type or right.shape.list_type:
        return None
    if one.form is not other.form or one.form not in (Form.STRING, Form.INT, Form.BOOL):
        return None
    if not (is_exact(one) and is_exact(other)):
        return None
    inner = (left.extent.item or extent_of(one)).own + (right.extent.item or extent_of(other)).own
    extent = Extent(left.extent.own + right.extent.own, Extent(inner))
    return Value(code, Shape(Form.LIST, item=Shape(one.form)), extent, total=left.total and right.total)


# -- functions with code of their own ----------------------------------------------------------------------------------


def _size(_: Emitter, args: list[Value]) -> Value | None:
    if args[0].shape.form not in _SIZED:
        return None
    return Value(f"len({args[0].code})", replace(INT, low=0, high=_LONGEST_SIZE), total=args[0].total)


def _text_method(method: str) -> Callable[[Emitter, list[Value]], Value | None]:
    def emit(_: Emitter, args: list[Value]) -> Value | None:
        if any(each.shape.form is not Form.STRING for each in args):
            return None
        return Value(f"{args[0].code}.{method}({args[1].code})", BOOL, total=args[0].total and args[1].total)

    return emit


def _contains(_: Emitter, args: list[Value]) -> Value | None:
    if any(each.shape.form is not Form.STRING for each in args):
        return None
    return Value(f"({args[1].code} in {args[0].code})", BOOL, total=args[0].total and args[1].total)


def _matches(emitter: Emitter, args: list[Value]) -> Value | None:
    pattern = args[1].constant
    if type(pattern) is not str or args[0].shape.form not in (Form.STRING, Form.INT_OR_STRING):
        return None
    try:
        search = compile_pattern(pattern).matches
    except GoRegexError:
        raise NotEmittable("malformed pattern") from None
    text = args[0].code
    return Value(
        f"{emitter.remember(('matches', pattern), search)}[{text}]",
        BOOL,
        total=args[0].shape.form is Form.STRING and args[0].total,
    )


def _dyn(_: Emitter, args: list[Value]) -> Value | None:
    if args[0].shape.form is Form.INT_OR_STRING:
        return args[0]
    raise NotEmittable("dyn()")


def _has_value(_: Emitter, args: list[Value]) -> Value | None:
    return Value(f"({args[0].code} is not _NO)", BOOL, total=args[0].total) if _is_optional(args[0]) else None


def _is_optional(value: Value) -> bool:
    return value.shape.form is Form.OPTIONAL


def _value(_: Emitter, args: list[Value]) -> Value | None:
    if not _is_optional(args[0]) or args[0].shape.item is None:
        return None
    return Value(f"_value({args[0].code})", args[0].shape.item, args[0].extent)


def _or_value(emitter: Emitter, args: list[Value]) -> Value | None:
    if not _is_optional(args[0]) or args[0].shape.item is None:
        return None
    inner = Value(args[0].code, args[0].shape.item, args[0].extent)
    other = args[1]
    shape, extent = emitter.joined([inner, other])
    return Value(f"_or({args[0].code}, {other.code})", shape, extent, total=args[0].total and other.total)


def _or(emitter: Emitter, args: list[Value]) -> Value | None:
    if not all(map(_is_optional, args)):
        return None
    shape, extent = emitter.joined(args)
    return Value(f"_or({args[0].code}, {args[1].code})", shape, extent, total=args[0].total and args[1].total)


def _of(_: Emitter, args: list[Value]) -> Value | None:
    if args[0].shape.form in (Form.OPTIONAL, Form.NULL):
        raise NotEmittable("optional of an optional or of null")
    code = f"_value({args[0].code})"  # so that nothing is written as ``1 is not _NO``
    return replace(args[0], code=code, shape=optional_shape(args[0].shape), path=None, constant=UNKNOWN)


def _of_non_zero(_: Emitter, args: list[Value]) -> Value | None:
    if args[0].shape.form not in (Form.STRING, Form.INT, Form.BOOL, Form.DOUBLE, Form.BYTES):
        raise NotEmittable("whether a list or map is zero")  # those of a schema never are
    return None


def _range(_: Emitter, args: list[Value]) -> Value | None:
    if type(args[0].constant) is not int or not 0 <= args[0].constant <= _LONGEST_RANGE:
        raise NotEmittable("a range of unknown length")
    item = replace(INT, low=0, high=_LONGEST_RANGE)
    extent = Extent(constant(args[0].constant), Extent(ONE))
    return Value(f"list(range({args[0].code}))", Shape(Form.LIST, item=item), extent, total=True)


def _none(_: Emitter, _args: list[Value]) -> Value | None:
    return Value("_NO", optional_shape(STRING), total=True)


_OWN: Final[dict[str, Callable[[Emitter, list[Value]], Value | None]]] = {
    "size": _size,
    "startsWith": _text_method("startswith"),
    "endsWith": _text_method("endswith"),
    "contains": _contains,
    "matches": _matches,
    "dyn": _dyn,
    "hasValue": _has_value,
    "value": _value,
    "orValue": _or_value,
    "or": _or,
    "optional.of": _of,
    "optional.ofNonZeroValue": _of_non_zero,
    "optional.none": _none,
    "lists.range": _range,
}


# -- functions of the interpreter --------------------------------------------------------------------------------------


def _invoke(emitter: Emitter, expr: Call, name: str, args: list[Value]) -> Value:
    kind = emitter.types[expr.id]
    shape = shape_of_type(kind)
    if shape is None:
        raise NotEmittable(f"{name}() of {kind}")
    if name == "string" and args[0].shape.form is Form.TIMESTAMP:
        raise NotEmittable("the zone of a timestamp")  # the code has lost it
    declaration = emitter.environment.function(name)
    assert declaration is not None, "the checker found it"
    reference = emitter.references[expr.id]
    overload = reference.overloads[0] if len(reference.overloads) == 1 else ""
    call = choose(declaration, overload, len(args)).call
    unpacked = _unpacked(shape, call)
    extent = _result_extent(name, shape, args)
    only = args[0] if args else None
    of_text = name in _OF_TEXT and not (name == "quantity" and _sees_width(emitter))
    if of_text and len(args) == 1 and only is not None and only.shape.form is Form.STRING:
        if type(only.constant) is str:
            return _computed(emitter, unpacked, only.constant, shape, extent)
        code = f"{emitter.remember((name, overload), unpacked)}[{only.code}]"
        return Value(code, shape, extent, total=only.total and name in _TOTAL)
    arguments = ", ".join(map(argument, args))
    return Value(f"{emitter.slot(unpacked)}({arguments})", shape, extent)


def _sees_width(emitter: Emitter) -> bool:
    """Say whether a quantity must be made anew each time: comparing may make it wide, which shows in what it is asked.

    Where nothing of the expression asks it that, one that is remembered does for all.
    """
    return any(not _WIDTH_SHOWS.isdisjoint(reference.overloads) for reference in emitter.references.values())


def _unpacked(shape: Shape, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with its result in the form that code works with."""
    if shape.form in (Form.DURATION, Form.TIMESTAMP):
        return lambda *values: call(*values).nanos
    if shape.form is Form.OPTIONAL:
        return lambda *values: NAMES["_from_optional"](call(*values))
    return call


def _computed(emitter: Emitter, call: Callable[..., Any], text: str, shape: Shape, extent: Extent) -> Value:
    try:
        value = call(text)
    except CelError as error:
        raise NotEmittable(f"constant that fails: {error.text}") from None
    if type(value) in (bool, int):
        found = emitter.literal(value)
        return replace(found, shape=found.shape if shape.form is found.shape.form else shape)
    return Value(emitter.slot(value), shape, extent, total=True)


def argument(value: Value) -> str:
    """Return the code of a value as the functions of the libraries take it."""
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


def _is_value(shape: Shape) -> bool:
    """Say whether a value stands in the code as the interpreter has it."""
    if shape.convert is not None or shape.nullable or shape.form in (Form.DURATION, Form.TIMESTAMP, Form.OPTIONAL):
        return False
    if shape.form is Form.OBJECT or shape.list_type == "map":
        return is_exact(shape)
    if shape.form in (Form.LIST, Form.MAP):
        return shape.item is not None and _is_value(shape.item) and (not shape.list_type or is_exact(shape.item))
    return True


def _same(args: list[Value]) -> Extent:
    return args[0].extent


def _text(bound: Callable[[list[Value]], Bound]) -> Callable[[list[Value]], Extent]:
    return lambda args: Extent(bound(args))


def _split(args: list[Value]) -> Extent:
    own = args[0].extent.own
    return Extent(own + ONE, Extent(own))


def _replaced(args: list[Value]) -> Bound:
    return args[0].extent.own + (args[0].extent.own + ONE) * args[2].extent.own


def _joined(args: list[Value]) -> Bound:
    items = args[0].extent
    assert items.item is not None
    separator = args[1].extent.own if len(args) > 1 else constant(0)
    return items.own * (items.item.own + separator)


def _shown(args: list[Value]) -> Extent:
    form = args[0].shape.form
    if form is Form.STRING or form is Form.BYTES:
        return args[0].extent
    return Extent(args[0].extent.own + constant(400))


def _query(args: list[Value]) -> Extent:
    own = args[0].extent.own + ONE
    return Extent(own, Extent(own, Extent(own)))


def _first_item(args: list[Value]) -> Extent:
    return args[0].extent.item or Extent(ONE)


_COMPLAINTS: Final = Extent(constant(20), Extent(constant(2000)))
_EXTENTS: Final[dict[str, Callable[[list[Value]], Extent]]] = {
    **dict.fromkeys(("lowerAscii", "upperAscii", "trim", "substring", "charAt", "find"), _same),
    **dict.fromkeys(("url", "cidr", "ip", "quantity", "semver"), _same),
    **dict.fromkeys(("getScheme", "getHost", "getHostname", "getPort", "masked", "slice", "reverse", "sort"), _same),
    **dict.fromkeys(("distinct", "add", "sub", "optional.ofNonZeroValue", "format.named"), _same),
    **dict.fromkeys(("first", "last", "min", "max"), _first_item),
    "getEscapedPath": _text(lambda args: args[0].extent.own.scaled(12) + ONE),
    "getQuery": _query,
    "split": _split,
    "findAll": _split,
    "replace": _text(_replaced),
    "join": _text(_joined),
    "string": _shown,
    "bytes": _text(lambda args: args[0].extent.own.scaled(4)),
    "strings.quote": _text(lambda args: args[0].extent.own.scaled(2) + constant(2)),
    "validate": lambda _: _COMPLAINTS,
}
_PLAIN_RESULTS: Final = frozenset({Form.BOOL, Form.INT, Form.DOUBLE, Form.DURATION, Form.TIMESTAMP})


def _result_extent(name: str, shape: Shape, args: list[Value]) -> Extent:
    if shape.form in _PLAIN_RESULTS:
        return Extent(ONE)
    known = _EXTENTS.get(name)
    if known is not None:
        return known(args)
    if shape.form is Form.LIBRARY:
        return Extent(constant(64))
    raise NotEmittable(f"size of {name}()")
