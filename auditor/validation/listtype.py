"""x-kubernetes-list-type: items of sets and keys of maps are unique.

Compiled to a tree of only the positions that lead to such a list, so that most objects are not walked at all.

Source: apiextensions-apiserver pkg/apiserver/schema/listtype/validation.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.trail import Trail, structured
from auditor.golang.jsontext import encode
from auditor.schema.structural import ListType, folded
from auditor.validation.field_errors import duplicate, invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.base.records import Finding
    from auditor.schema.structural import StructuralSchema


_MISSING: Final = object()
"""Placeholder for a key that an item does not have: equal to itself, different from any value."""


class ListTypes:
    """One schema position on the way to a set or map list."""

    __slots__ = ("_extra", "_items", "_keys", "_own", "_properties")

    def __init__(
        self,
        own: ListType | None,
        keys: tuple[str, ...],
        properties: dict[str, ListTypes],
        extra: ListTypes | None,
        items: ListTypes | None,
    ) -> None:
        self._own = own
        self._keys = keys
        self._properties = properties
        self._extra = extra
        self._items = items

    def check(self, value: Any, trail: Trail, found: list[Finding]) -> None:
        """Check a value and all values below it; append to `found`."""
        if type(value) is dict:
            extra = self._extra
            if extra is not None:
                for key, item in value.items():
                    extra.check(item, (trail, key, True), found)
            for name, node in self._properties.items():
                if name in value:
                    node.check(value[name], (trail, name), found)
        elif type(value) is list:
            # These checks are for values inside the object: the object itself is never a list.
            if self._own is ListType.SET:
                found.extend(duplicate("list-type", structured((trail, i)), value[i]) for i in _repeated(value))
            elif self._own is ListType.MAP:
                found.extend(_check_map(value, self._keys, trail))
            node_of_items = self._items
            if node_of_items is not None:
                for index, item in enumerate(value):
                    node_of_items.check(item, (trail, index), found)


def compile_list_types(schema: StructuralSchema | None) -> ListTypes | None:
    """Compile the list types of a structural schema, or return None if there is nothing to check."""
    return folded(schema, _compiled)


def _compiled(
    schema: StructuralSchema, properties: dict[str, ListTypes | None], rest: ListTypes | None, items: ListTypes | None
) -> ListTypes | None:
    below = {name: node for name, node in properties.items() if node is not None}
    own = schema.list_type if schema.list_type is not ListType.ATOMIC else None
    if own is None and not below and rest is None and items is None:
        return None
    return ListTypes(own, schema.list_map_keys, below, rest, items)


def _repeated(items: Sequence[Any]) -> list[int]:
    """Return the positions at which a value occurs for the second time; further repeats are not reported.

    Scalars compare by Go type and value, lists and maps by their JSON.
    """
    if len(items) <= 1:
        return []
    kinds = set(map(type, items))
    if kinds == {str} and len(set(items)) == len(items):
        return []
    times: dict[Any, int] = {}
    second: list[int] = []
    for index, item in enumerate(items):
        kind = type(item)
        key = (dict, encode(item)) if kind is dict or kind is list else (kind, item)
        before = times.get(key, 0)
        times[key] = before + 1
        if before == 1:
            second.append(index)
    return second


def _check_map(items: list[Any], names: tuple[str, ...], trail: Trail) -> list[Finding]:
    for index, item in enumerate(items):
        if item is not None and type(item) is not dict:
            detail = "must be an object for an array of list-type map"
            return [invalid("list-type", structured((trail, index)), item, detail)]
    if len(items) <= 1:
        return []
    if len(names) == 1:
        name = names[0]
        keys = [_MISSING if item is None else item.get(name, _MISSING) for item in items]
        return [
            duplicate("list-type", structured((trail, i)), {} if keys[i] is _MISSING else {name: keys[i]})
            for i in _repeated(keys)
        ]
    tuples = [{} if item is None else {name: item[name] for name in names if name in item} for item in items]
    return [duplicate("list-type", structured((trail, i)), tuples[i]) for i in _repeated(tuples)]
