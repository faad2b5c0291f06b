"""The controller of an object: the entry of its ownerReferences that has `controller: true`.

It is called ``Kind.group/name``, of the core group ``Kind/name``; it is in the namespace of the object, or in none.

Source: apimachinery pkg/apis/meta/v1/controller_ref.go (GetControllerOf: the first such entry).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["controller_in", "controller_of", "controller_of_records"]


@lru_cache(maxsize=1024)
def _kind(api_version: str, kind: str) -> str:
    group, slash, _ = api_version.partition("/")
    return f"{kind}.{group}" if slash and group else kind


def controller_of(owners: Any) -> str | None:
    """Return the controller of an object.

    Args:
        owners: The decoded value of its ownerReferences; anything.
    Returns:
        None if it has none, or one without kind or name.
    """
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, dict) and owner.get("controller") is True:
            api_version, kind, name = (owner.get(one) for one in ("apiVersion", "kind", "name"))
            if isinstance(api_version, str) and isinstance(kind, str) and isinstance(name, str) and kind and name:
                return f"{_kind(api_version, kind)}/{name}"
            return None
    return None


def controller_of_records(owners: Iterable[Any]) -> str | None:
    """Return the controller of an object that was proven from its bytes.

    Args:
        owners: The records of its ownerReferences (`auditor.fastpath.records.metadata.Owner`).
    """
    for owner in owners:
        if owner.controller is True:
            return f"{_kind(owner.api_version, owner.kind)}/{owner.name}"
    return None


def controller_in(data: bytes) -> str | None:
    """Return the controller of a value that no server reads, or that has no definition; None if it is not known.

    Args:
        data: The value; it is decoded only if it may have a controller.
    """
    if b'"ownerReferences"' not in data or b'"controller"' not in data:
        return None
    try:
        metadata = orjson.loads(data)["metadata"]
        return controller_of(metadata.get("ownerReferences"))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
