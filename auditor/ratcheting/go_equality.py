"""Equality of JSON values as Go's reflect.DeepEqual sees it: the Go type counts, so 1, 1.0 and true are three values.

Python's ``==`` calls them equal, also deep inside lists and maps. Both functions use a stack instead of recursion:
values under fields without a schema may be nested thousands deep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


def deep_equal(left: Any, right: Any) -> bool:
    """Return whether two JSON values are deeply equal: numbers by type and value, maps in any order.

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
    """Return whether any two items of a list are deeply equal, in linear time."""
    texts = _texts(items)
    return len(set(texts)) < len(texts)


def _texts(values: Sequence[Any]) -> Sequence[Hashable]:
    """Return a text for each value that is equal exactly if the values are; written by orjson if its text qualifies."""
    try:
        texts = [orjson.dumps(value, option=orjson.OPT_SORT_KEYS) for value in values]
    except (orjson.JSONEncodeError, UnicodeEncodeError):  # deeply nested, or with lone surrogates
        return list(map(canonical_text, values))
    return list(map(canonical_text, values)) if any(_MINUS_ZERO in text for text in texts) else texts


def canonical_text(value: Any) -> str:
    """Return a text that is equal for two values exactly if they are deeply equal."""
    parts: list[str] = []
    stack = [value]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is dict:
            names = sorted(node)
            parts.append(f"{{{names!r}")
            stack.extend(node[name] for name in names)
        elif kind is list:
            parts.append(f"[{len(node)}")
            stack.extend(node)
        elif kind is float:
            parts.append(repr(node or 0.0))  # 0 and -0 are equal in Go
        else:
            parts.append(repr(node))
    return "\n".join(parts)


_MINUS_ZERO: Final = b"-0.0"
