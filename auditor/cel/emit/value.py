"""One piece of generated code: an expression and the properties of its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from auditor.cel.emit.bounds import ONE, SIZE, Bound, constant
from auditor.cel.emit.value_shapes import Form, ValueShape
from auditor.cel.syntax.ast import Call, Select

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.cel.emit.bounds import Length
    from auditor.cel.syntax.ast import Expr


class NotEmittable(Exception):
    """There is no code for an expression; the interpreter runs it.

    Args:
        reason: What has no code, for the count of such rules.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Extent:
    """Limits of the size of a value.

    Attributes:
        own: Characters, items or entries; 1 for values without a size.
        item: The extent of list items, of map values, or of the value of an optional.
    """

    own: Bound
    item: Extent | None = None


UNKNOWN: Final = object()
"""The value of code that is not constant."""

_PLAIN: Final = Extent(ONE)


def extent_of(shape: ValueShape) -> Extent:
    """Return the extent of a value in the object: its texts and lists are part of the object's text."""
    if shape.form in (Form.STRING, Form.BYTES, Form.INT_OR_STRING, Form.LIBRARY):
        return Extent(SIZE if shape.size is None else constant(shape.size))
    if shape.form in (Form.LIST, Form.MAP):
        assert shape.item is not None
        return Extent(most_items(shape), extent_of(shape.item))
    if shape.form is Form.OPTIONAL and shape.item is not None:
        return extent_of(shape.item)
    if shape.form is Form.DYN:
        return Extent(SIZE)
    if shape.form is Form.OBJECT:
        return Extent(constant(len(shape.fields) + 1) if not shape.open else SIZE)
    return _PLAIN


def most_items(shape: ValueShape) -> Bound:
    """Return the largest number of items or entries of a list or map in the object."""
    if shape.size is not None:
        return constant(shape.size)
    assert shape.item is not None
    # Between brackets are the items and their commas; in a map, each value has a key.
    least = shape.item.least + (4 if shape.form is Form.MAP else 1)
    return SIZE.scaled(1 / least) + ONE


@dataclass(slots=True)
class Value:
    """An expression.

    Attributes:
        code: Python, in brackets where it needs them.
        shape: The shape of its value.
        extent: The extent of its value.
        path: The keys that lead to it from `self`, if only field names do.
        total: Whether it cannot raise.
        constant: The value, if it is known.
    """

    code: str
    shape: ValueShape
    extent: Extent = _PLAIN
    path: Length | None = None
    total: bool = False
    constant: Any = UNKNOWN


_LINKS: Final = frozenset({"_[_]", "_[?_]", "_?._", "_?_:_"})
_WITH_SCHEMA: Final = frozenset({Form.OBJECT, Form.LIST, Form.MAP, Form.LIBRARY})


def loses_schema(expr: Expr, value: Value) -> bool:
    """Return whether servers before `changes.OPTIONALS_KEEP_SCHEMA` may read the value of an optional as plain JSON.

    They do if the optional is not part of a chain of fields and indices: a variable, or the result of a function.
    """
    if value.shape.form is not Form.OPTIONAL or value.shape.item is None or value.code == "_NO":
        return False
    is_chain = isinstance(expr, Select) or (isinstance(expr, Call) and expr.function in _LINKS)
    return not is_chain and value.shape.item.form in _WITH_SCHEMA


class CodeWriter(Protocol):
    """What writers of special code ask of the emitter (`auditor.cel.emit.emitter`).

    Attributes:
        slot: Binds a value to a global and returns its name.
        remember: Returns the name of the memo of a function of one text; equal keys share it.
    """

    slot: Callable[[object], str]
    remember: Callable[[object, Callable[[Any], Any]], str]

    def joined(self, items: list[Value]) -> tuple[ValueShape, Extent]:
        """Return shape and extent of a value that is one of several."""
