"""``--sort-by``: sorts by a path into the objects, as kubectl compares them.

Source: kubectl pkg/cmd/get/sorter.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.cel.library.quantity import QuantityError, parse_quantity
from auditor.golang import sorting
from auditor.golang.go_text import type_name
from auditor.printing.jsonpath import JsonPathError, compile_template

if TYPE_CHECKING:
    from collections.abc import Sequence


class FieldNotFound(Exception):
    """No object has the field; the text is kubectl's."""

    def __init__(self, path: str) -> None:
        super().__init__(f'couldn\'t find any field with path "{path}" in the list of objects')


class Unsortable(Exception):
    """The values have types without an order; kubectl ends at once."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"unsortable type: {reason}" if reason != "interface" else "unsortable interface: interface")
        self.path = path


def order_by(objects: Sequence[Any], path: str, *, is_table: bool = False) -> list[int]:
    """Return positions of the objects in the order of the values of a JSONPath template.

    Missing values come first, then null. Texts that are both quantities are compared as quantities. Equal values
    have the order in which Go's sort leaves them.

    Args:
        objects: The objects.
        path: The template.
        is_table: They are rows of a table: kubectl finds all values first. Otherwise it finds those of two objects when
            it compares them, so another error may come before that of a path that fails on one.

    Raises:
        JsonPathError: The path does not parse or fails.
        FieldNotFound: No object has the field.
        Unsortable: The values have types without an order.
    """
    template = compile_template(path)
    values: list[Any] = []
    is_known = False
    for obj in objects:
        try:
            values.append(next(iter(template.find(obj)), []))
        except JsonPathError as error:
            if is_table or not is_known:
                raise
            values.append(error)
        is_known = is_known or bool(values[-1])
    if not is_known:
        raise FieldNotFound(path)

    def less(left: int, right: int) -> bool:
        for position in (left, right):
            if isinstance(values[position], JsonPathError):
                raise values[position]
        if not values[left]:
            return True
        return bool(values[right]) and _less(path, values[left][0], values[right][0])

    order = list(range(len(objects)))
    sorting.sort(order, less)
    return order


def _less(path: str, left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is None and right is not None
    kind = type(left)
    if kind not in (str, int, float):
        raise Unsortable(path, type_name(left))
    if type(right) is not kind:
        raise Unsortable(path, "interface")
    if kind is not str:
        return bool(left < right)
    try:
        return parse_quantity(left).compare(parse_quantity(right)) < 0
    except QuantityError:
        return bool(left.encode("utf-8", "surrogatepass") < right.encode("utf-8", "surrogatepass"))
