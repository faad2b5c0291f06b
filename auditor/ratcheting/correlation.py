"""CorrelatedObject: a new value and its old counterpart, as the schema correlates them.

Maps correlate by key if the schema knows the key; lists correlate by key tuple if they are of list-type map. Nothing
else has a child node: fields without a schema, items of atomic and set lists. A map with such a field is therefore
never equal to its old value, even if its bytes are; the server behaves so.

Source: apiserver pkg/cel/common/equality.go, maplist.go; apiextensions-apiserver
pkg/apiserver/schema/cel/model/adaptor.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.ratcheting.go_equality import deep_equal
from auditor.schema.structural import ListType, StructuralSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


Faults = dict[str | int, Any]
"""Keys and indexes of a value below which a check fails, each with its faults; None for those that are not known."""


class CorrelatedObject:
    """One node of the tree. Children and the result of the comparison are made at first use and cached.

    Args:
        new: The value being judged.
        old: Its old value.
        schema: The structural schema of both; None if nothing below correlates.

    Attributes:
        dropped: Collects the tolerated findings, with their nodes; None if they are not collected. Children share it.
        faults: Where a create of the same value fails; the walk over keywords skips all other keys and indexes. None
            if that is not known.
    """

    __slots__ = ("_children", "_equal", "_old_items", "dropped", "faults", "new", "old", "schema")

    def __init__(self, new: Any, old: Any, schema: StructuralSchema | None) -> None:
        self.new = new
        self.old = old
        self.schema = schema
        self._children: dict[str | int, CorrelatedObject] | None = None  # most nodes have no child that is used
        self._equal: bool | None = None
        self._old_items: MapListKeys | None = None
        self.dropped: list[tuple[Any, list[Any]]] | None = None
        self.faults: Faults | None = None

    def key(self, name: str) -> CorrelatedObject | None:
        """Return the node of a field or map key, or None if it has no counterpart."""
        children = self._children
        if children is None:
            children = self._children = {}
        child = children.get(name)
        if child is not None:
            return child
        schema, new, old = self.schema, self.new, self.old
        if schema is None or type(new) is not dict or type(old) is not dict or name not in new or name not in old:
            return None
        below = schema.properties.get(name)
        if below is None:
            extra = schema.additional_properties
            if type(extra) is not StructuralSchema:
                return None
            below = extra
        child = children[name] = CorrelatedObject(new[name], old[name], below)
        child.dropped = self.dropped
        if self.faults is not None:
            child.faults = self.faults.get(name)
        return child

    def index(self, index: int) -> CorrelatedObject | None:
        """Return the node of an item of the new list, or None if it has no counterpart."""
        children = self._children
        if children is None:
            children = self._children = {}
        child = children.get(index)
        if child is not None:
            return child
        schema, new, old = self.schema, self.new, self.old
        if schema is None or type(new) is not list or type(old) is not list or index >= len(new):
            return None
        if schema.list_type is not ListType.MAP:
            return None
        if self._old_items is None:
            self._old_items = MapListKeys(schema, old)
        match = self._old_items.find(new[index])
        if match is None or schema.items is None:
            return None
        child = children[index] = CorrelatedObject(new[index], match, schema.items)
        child.dropped = self.dropped
        if self.faults is not None:
            child.faults = self.faults.get(index)
        return child

    def is_equal(self) -> bool:
        """Return whether new and old are equal, as far as the schema correlates them."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _compare(self) -> bool:
        new, old = self.new, self.old
        kind = type(new)
        if kind is not dict and kind is not list:
            return deep_equal(new, old)
        if type(old) is not kind or len(new) != len(old):
            return False
        if kind is dict:
            return self._compare_maps(new, old)
        for index in range(len(new)):
            child = self.index(index)
            if child is None:
                # Only a list that was looked up by key tuple stays unequal here; others are compared as a whole.
                return self._old_items is None and deep_equal(new, old)
            if not child.is_equal():
                return False
        return True

    def _compare_maps(self, new: Any, old: Any) -> bool:
        """Compare two maps of the same size: each key needs a schema. Scalars are compared here, without nodes."""
        schema = self.schema
        properties = {} if schema is None else schema.properties
        knows_all = schema is not None and type(schema.additional_properties) is StructuralSchema
        for name, value in new.items():
            if name not in old or not (knows_all or name in properties):
                return False
            kind = type(value)
            if kind is dict or kind is list:
                child = self.key(name)
                if child is None or not child.is_equal():
                    return False
            elif type(old[name]) is not kind or old[name] != value:
                return False
        return True


class MapListKeys:
    """Finds the items of a list of list-type map by key tuple; the first of several with the same tuple counts."""

    __slots__ = ("_items", "_key")

    def __init__(self, schema: StructuralSchema, items: list[Any]) -> None:
        self._items: dict[Hashable, Any] = {}
        self._key: Callable[[dict[str, Any]], Hashable] = _no_key
        if schema.type != "array" or not schema.list_map_keys:
            return
        names = schema.list_map_keys
        self._key = _single_key(names[0]) if len(names) == 1 else _several_keys(names)
        for item in items:
            if type(item) is dict:
                key = self._key(item)
                if key is not None:
                    self._items.setdefault(key, item)

    def find(self, item: Any) -> Any:
        """Return the item with the same key tuple, or None."""
        if type(item) is not dict:
            return None
        key = self._key(item)
        return None if key is None else self._items.get(key)


def _no_key(_item: dict[str, Any]) -> None:
    return None


def _single_key(name: str) -> Callable[[dict[str, Any]], Hashable]:
    def key(item: dict[str, Any]) -> Hashable:
        value = item.get(name)
        kind = type(value)
        # The type is part of the key: 1, 1.0 and true are different keys in Go.
        return None if kind in (dict, list) or value is None else (kind, value)

    return key


def _several_keys(names: tuple[str, ...]) -> Callable[[dict[str, Any]], Hashable]:
    def key(item: dict[str, Any]) -> Hashable:
        parts: list[tuple[bool, str]] = []
        for name in names:
            value: Any = item.get(name)
            kind: type = type(value)
            if kind is str:
                parts.append((True, value))
            elif kind is bool:
                parts.append((False, "true" if value else "false"))
            elif kind is int:
                parts.append((False, str(value)))
            elif kind is float:
                # The server formats floats with six decimals, so floats that differ less are the same key.
                parts.append((False, f"{value:f}"))
            else:
                return None
        return tuple(parts)

    return key
