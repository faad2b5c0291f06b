"""Code for ``==``, ``!=`` and ``in``: Python's operator if it agrees with CEL's, else the interpreter's function."""

from __future__ import annotations

from typing import Final

from auditor.cel.emit.shapes import BOOL, Form, is_exact
from auditor.cel.emit.value import UNKNOWN, CodeWriter, NotEmittable, Value
from auditor.cel.operations.equality import equal
from auditor.releases import changes

__all__ = ["emit_equality", "emit_membership"]

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
    one, other = left.shape, right.shape
    total = left.total and right.total
    if Form.NULL in (one.form, other.form):
        # Null is never a value here, so a side is null only if it is a literal.
        return Value(
            f"(({left.code} is None) {'is not' if negated else 'is'} ({right.code} is None))", BOOL, total=total
        )
    if one.form is other.form and one.form in _SAME:
        return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
    if {one.form, other.form} <= _TEXT_OR_NUMBER:
        return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
    if one.form is Form.DOUBLE and other.form is Form.DOUBLE:
        return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
    if one.form is other.form and one.form in (Form.LIST, Form.MAP, Form.OBJECT):
        return _containers(left, right, word, total=total, is_variable=is_variable)
    if one.form is Form.OPTIONAL and other.form is Form.OPTIONAL and _optionals_compare(left, right):
        return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
    if one.form is Form.LIBRARY and other.form is Form.LIBRARY and one.name == other.name:
        same = f"_true_or_false({emitter.slot(equal)}({left.code}, {right.code}))"
        return Value(f"(not {same})" if negated else same, BOOL)
    raise NotEmittable(f"equality of {one.form.name} and {other.form.name}")


def _optionals_compare(left: Value, right: Value) -> bool:
    """Return whether Python compares two optionals as CEL does, which depends on their values."""
    if "_NO" in (left.code, right.code):
        return True
    items = {each.shape.item.form for each in (left, right) if each.shape.item is not None}
    return len(items) == 1 and items <= _SAME


def _containers(left: Value, right: Value, word: str, *, total: bool, is_variable: bool) -> Value:
    one, other = left.shape, right.shape
    if is_exact(one) and is_exact(other):
        return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
    items = one.item, other.item
    if one.form is Form.LIST and all(item is not None and item.form in _SAME and is_exact(item) for item in items):
        if one.list_type == "set":
            if is_variable and not changes.LISTS_KEEP_ITEMS.holds:
                raise NotEmittable("equality of a set that another expression may have changed")
            name = "_same_items" if changes.LISTS_KEEP_ITEMS.holds else "_holds_items"
            same = f"{name}({left.code}, {right.code})"
            return Value(f"(not {same})" if word == "!=" else same, BOOL, total=total)
        if not one.list_type:
            return Value(f"({left.code} {word} {right.code})", BOOL, total=total)
    raise NotEmittable(f"equality of {one.form.name}s")


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
    if shape.form is not Form.LIST or shape.item is None:
        raise NotEmittable("in dyn")
    if container.constant == () and container.constant is not UNKNOWN:
        raise NotEmittable("in an empty list")
    item = shape.item.present
    pair = {value.shape.form, item.form}
    if item.convert is not None or not ((len(pair) == 1 and pair <= _SAME) or pair <= _TEXT_OR_NUMBER):
        raise NotEmittable(f"{value.shape.form.name} in a list of {item.form.name}")
    if container.constant is not UNKNOWN:
        return Value(f"({value.code} in {emitter.slot(frozenset(container.constant))})", BOOL, total=total)
    return Value(f"({value.code} in {container.code})", BOOL, total=total)
