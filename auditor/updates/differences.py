"""Differences of two values of a built-in kind, as a client sends it and as it is stored: field by field.

A client leaves out what the server sets, and spells amounts in its own way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.updates.immutable_fields import DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Iterator

EMPTY: Final[tuple[Any, ...]] = (None, "", 0, False, {}, [])
_QUANTITIES: Final = frozenset({"requests", "limits", "capacity", "hard", "max", "min", "default", "podFixed"})
"""Maps of amounts, which are equal in several spellings."""


class Difference(NamedTuple):
    """A field whose value differs; `path` has ``[]`` for items of lists, `is_certain` whether the server sees it so."""

    path: str
    new: Any
    old: Any
    is_certain: bool


def differences(new: Any, old: Any, path: str = "") -> Iterator[Difference]:
    """Yield the fields that differ.

    Args:
        new: A value of a client, in which fields may be left out that a server sets.
        old: The stored value.
        path: Their path.
    """
    if _is_equal(new, old):
        return
    name = path.rpartition(".")[2].removesuffix("[]")
    if type(new) is dict and type(old) is dict:
        for key in sorted({*new, *old}):
            yield from differences(new.get(key), old.get(key), f"{path}.{key}" if path else key)
    elif type(new) is list and type(old) is list and len(new) == len(old):
        for ours, theirs in zip(new, old, strict=True):
            yield from differences(ours, theirs, f"{path}[]")
    elif new in EMPTY:
        if old in EMPTY:
            is_default = new is None and any(_is_equal(old, default) for default in DEFAULTS.get(name, ()))
            # Zero, and an empty object that is sent, are not the same as nothing for every field.
            if ({type(new), type(old)} & {int, bool} or (new == {} and old is None)) and not is_default:
                yield Difference(path, new, old, is_certain=False)
        elif new not in (None, "") or not any(_is_equal(old, default) for default in DEFAULTS.get(name, ())):
            yield Difference(path, new, old, is_certain=False)
    elif old in EMPTY or type(new) is type(old):
        parent = path.rpartition(".")[0].rpartition(".")[2]
        if parent not in _QUANTITIES or not _is_equal_amount(new, old):
            yield Difference(path, new, old, is_certain=True)
    elif not _is_equal_amount(new, old):
        yield Difference(path, new, old, is_certain=False)


def _is_equal(new: Any, old: Any) -> bool:
    return new == old and type(new) is type(old)


def _is_equal_amount(new: Any, old: Any) -> bool:
    from auditor.cel.library.quantity import QuantityError, parse_quantity  # noqa: PLC0415 - loads all of CEL

    try:
        return parse_quantity(str(new)) == parse_quantity(str(old))
    except QuantityError:
        return False
