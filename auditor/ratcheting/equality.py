"""Equality of JSON values as Go's reflect.DeepEqual sees it: the Go type counts, so 1, 1.0 and true are three values.

Python's ``==`` calls them equal, also deep inside lists and maps; hence this module. Both functions walk with a stack
of their own: values under fields without a schema may be nested thousands deep.
"""

from __future__ import annotations

from typing import Any

__all__ = ["deep_equal", "has_equal_pair"]


def deep_equal(left: Any, right: Any) -> bool:
    """Tell whether two JSON values are deeply equal, numbers by type and value, maps in any order.

    Source: Go reflect.DeepEqual on what apimachinery pkg/util/json decodes.
    """
    if left is right:
        return True
    stack = [(left, right)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        kind = type(a)
        if kind is not type(b):
            return False
        if kind is dict:
            if len(a) != len(b):
                return False
            for key, value in a.items():
                if key not in b:
                    return False
                stack.append((value, b[key]))
        elif kind is list:
            if len(a) != len(b):
                return False
            stack.extend(zip(a, b, strict=True))
        elif a != b:
            return False
    return True


def has_equal_pair(items: list[Any]) -> bool:
    """Tell whether two items of a list are deeply equal.

    Scalars are looked up, the rest is compared pairwise, but only within one shape (type and length).
    """
    seen: set[tuple[type, Any]] = set()
    shapes: dict[tuple[type, int], list[Any]] = {}
    for item in items:
        kind = type(item)
        if kind is not dict and kind is not list:
            if (kind, item) in seen:
                return True
            seen.add((kind, item))
            continue
        alike = shapes.setdefault((kind, len(item)), [])
        if any(deep_equal(item, other) for other in alike):
            return True
        alike.append(item)
    return False
