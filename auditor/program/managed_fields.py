"""Who last wrote a field: metadata.managedFields, read for one place in the object.

Source: structured-merge-diff fieldpath/serialize-pe.go (``f:`` a field, ``k:`` the keys of an item, ``v:`` a value of a
set, ``i:`` an index; ``{}`` owns everything below).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from auditor.ratcheting import deep_equal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.model import JsonObject

__all__ = ["last_writer", "owned_roots"]


def owned_roots(obj: JsonObject) -> set[str]:
    """Return the names of the root's fields of which some manager is known to own a part."""
    metadata = obj.get("metadata")
    entries = metadata.get("managedFields") if type(metadata) is dict else None
    owned: set[str] = set()
    for entry in entries if type(entries) is list else ():
        fields = entry.get("fieldsV1") if type(entry) is dict else None
        if type(fields) is dict:
            for name in fields:
                if name.startswith("f:"):
                    owned.add(name[2:])
    return owned


def last_writer(obj: JsonObject, steps: Sequence[str | int]) -> tuple[str, str | None] | None:
    """Return manager and time (RFC 3339, None: not known) of the last write to a place, or None: nobody is known.

    The steps are those of a place that is there. Of the managers that own it, or where none does the nearest place
    above it, the one that wrote last.
    """
    metadata = obj.get("metadata")
    entries = metadata.get("managedFields") if type(metadata) is dict else None
    if type(entries) is not list or not steps:
        return None
    best: tuple[int, str, str] | None = None
    for entry in entries:
        if type(entry) is not dict:
            continue
        depth = _depth(entry.get("fieldsV1"), obj, steps)
        if depth:
            known = (depth, str(entry.get("time") or ""), str(entry.get("manager") or ""))
            best = known if best is None else max(best, known)
    return None if best is None else (best[2], best[1] or None)


def _depth(owned: Any, value: Any, steps: Sequence[str | int]) -> int:
    """Return how many steps of a place lie in a set of fields; all of them where it owns a part above it whole."""
    for depth, step in enumerate(steps):
        if type(owned) is not dict:
            return 0
        if not owned:
            return len(steps) if depth else 0
        name = f"f:{step}" if type(step) is str else _item(owned, value[step], step)
        if name not in owned:
            return depth
        owned, value = owned[name], value[step]
    return len(steps)


def _item(owned: JsonObject, item: Any, index: str | int) -> str:
    """Return the name of a list item in a set of fields."""
    for name in owned:
        try:
            if name.startswith("k:"):
                keys = orjson.loads(name[2:])
                if type(item) is dict and all(deep_equal(item.get(key), keys[key]) for key in keys):
                    return name
            elif name.startswith("v:") and deep_equal(orjson.loads(name[2:]), item):
                return name
        except orjson.JSONDecodeError:
            continue
    return f"i:{index}"
