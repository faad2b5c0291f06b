"""Code of single functions, and the sizes of their results. The records of functions refer to these."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from auditor.cel.emit.bounds import ONE, constant
from auditor.cel.emit.value import UNKNOWN, CodeWriter, Extent, NotEmittable, Value
from auditor.cel.emit.value_shapes import BOOL, INT, STRING, Form, ValueShape, optional_shape
from auditor.golang.regex.compiled import GoRegexError, compile_pattern

if TYPE_CHECKING:
    from collections.abc import Callable


_SIZED: Final = frozenset({Form.STRING, Form.BYTES, Form.LIST, Form.MAP})
_TEXTS: Final = frozenset({Form.STRING, Form.DYN})
_LONGEST_SIZE: Final = 2**40
_LONGEST_RANGE: Final = 1000


def size_code(_: CodeWriter, args: list[Value]) -> Value | None:
    """Write ``len()``."""
    if args[0].shape.form is Form.DYN:
        return Value(f"len(_sized({args[0].code}))", replace(INT, low=0, high=_LONGEST_SIZE))
    if args[0].shape.form not in _SIZED:
        return None
    return Value(f"len({args[0].code})", replace(INT, low=0, high=_LONGEST_SIZE), total=args[0].total)


def text_method_code(method: str) -> Callable[[CodeWriter, list[Value]], Value | None]:
    """Return the writer of a method of texts."""

    def emit(_: CodeWriter, args: list[Value]) -> Value | None:
        if any(each.shape.form not in _TEXTS for each in args):
            return None
        text, part = map(_text, args)
        return Value(f"{text.code}.{method}({part.code})", BOOL, total=text.total and part.total)

    return emit


def contains_code(_: CodeWriter, args: list[Value]) -> Value | None:
    """Write ``in`` of texts."""
    if any(each.shape.form not in _TEXTS for each in args):
        return None
    text, part = map(_text, args)
    return Value(f"({part.code} in {text.code})", BOOL, total=text.total and part.total)


def _text(value: Value) -> Value:
    """Return a value whose code has a text, or raises."""
    return value if value.shape.form is Form.STRING else replace(value, code=f"_is_str({value.code})", total=False)


def matches_code(emitter: CodeWriter, args: list[Value]) -> Value | None:
    """Write the match of a constant pattern; results are cached."""
    pattern = args[1].constant
    if type(pattern) is not str or args[0].shape.form not in (Form.STRING, Form.INT_OR_STRING, Form.DYN):
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


def dyn_code(_: CodeWriter, args: list[Value]) -> Value | None:
    """Write ``dyn(x)``, which changes nothing."""
    if args[0].shape.form in (Form.INT_OR_STRING, Form.DYN):
        return args[0]
    raise NotEmittable("dyn()")


def has_value_code(_: CodeWriter, args: list[Value]) -> Value | None:
    """Write the test of an optional."""
    return Value(f"({args[0].code} is not _NO)", BOOL, total=args[0].total) if _is_optional(args[0]) else None


def _is_optional(value: Value) -> bool:
    return value.shape.form is Form.OPTIONAL


def value_code(_: CodeWriter, args: list[Value]) -> Value | None:
    """Write the value of an optional."""
    if not _is_optional(args[0]) or args[0].shape.item is None:
        return None
    return Value(f"_value({args[0].code})", args[0].shape.item, args[0].extent)


def or_value_code(emitter: CodeWriter, args: list[Value]) -> Value | None:
    """Write ``orValue``."""
    if not _is_optional(args[0]) or args[0].shape.item is None:
        return None
    inner = Value(args[0].code, args[0].shape.item, args[0].extent)
    other = args[1]
    shape, extent = emitter.joined([inner, other])
    return Value(f"_or({args[0].code}, {other.code})", shape, extent, total=args[0].total and other.total)


def or_code(emitter: CodeWriter, args: list[Value]) -> Value | None:
    """Write ``or`` of optionals."""
    if not all(map(_is_optional, args)):
        return None
    shape, extent = emitter.joined(args)
    return Value(f"_or({args[0].code}, {args[1].code})", shape, extent, total=args[0].total and args[1].total)


def of_code(_: CodeWriter, args: list[Value]) -> Value | None:
    """Write an optional that has a value."""
    if args[0].shape.form in (Form.OPTIONAL, Form.NULL, Form.DYN):
        raise NotEmittable("optional of an optional or of null")
    code = f"_value({args[0].code})"  # so that the code never has ``1 is not _NO``
    return replace(args[0], code=code, shape=optional_shape(args[0].shape), path=None, constant=UNKNOWN)


def of_non_zero_code(_: CodeWriter, args: list[Value]) -> Value | None:
    """Refuse values whose zero value depends on their origin."""
    if args[0].shape.form not in (Form.STRING, Form.INT, Form.BOOL, Form.DOUBLE, Form.BYTES):
        raise NotEmittable("whether a list or map is zero")  # values of a schema are never zero
    return None


def range_code(_: CodeWriter, args: list[Value]) -> Value | None:
    """Write a range of constant length."""
    if type(args[0].constant) is not int or not 0 <= args[0].constant <= _LONGEST_RANGE:
        raise NotEmittable("a range of unknown length")
    item = replace(INT, low=0, high=_LONGEST_RANGE)
    extent = Extent(constant(args[0].constant), Extent(ONE))
    return Value(f"list(range({args[0].code}))", ValueShape(Form.LIST, item=item), extent, total=True)


def none_code(_: CodeWriter, _args: list[Value]) -> Value | None:
    """Write the optional without a value."""
    return Value("_NO", optional_shape(STRING), total=True)


def string_code(_: CodeWriter, args: list[Value]) -> Value | None:
    """Refuse timestamps: the code does not have their zone."""
    if args[0].shape.form is Form.TIMESTAMP:
        raise NotEmittable("the zone of a timestamp")
    return None


# -- sizes of results --------------------------------------------------------------------------------------------------


def same_extent(args: list[Value]) -> Extent:
    """Return the size of the first argument."""
    return args[0].extent


def first_item_extent(args: list[Value]) -> Extent:
    """Return the size of an item of the first argument."""
    return args[0].extent.item or Extent(ONE)


def parts_extent(args: list[Value]) -> Extent:
    """Return the size of a list of parts of the first argument."""
    own = args[0].extent.own
    return Extent(own + ONE, Extent(own))


def shown_extent(args: list[Value]) -> Extent:
    """Return the size of a value's text."""
    form = args[0].shape.form
    if form is Form.STRING or form is Form.BYTES:
        return args[0].extent
    return Extent(args[0].extent.own + constant(400))
