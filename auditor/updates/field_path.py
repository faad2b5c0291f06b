"""Finds the field of a finding in its object, by walking the printed path along the object.

Fields are printed in two ways (``spec.m.k.x[3]`` and ``spec.m[k.x][3]``) and keys may have dots, so that a path can
only be parsed along the object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["locate"]


def locate(obj: Any, field: str) -> tuple[list[str | int], str]:
    """Follow a field as far as the object goes.

    Args:
        obj: The object of the finding.
        field: As printed; ``<nil>`` or empty is the root.
    Returns:
        The steps (keys, indexes) that exist, and the rest of the field, empty if all of it exists.
    """
    steps: list[str | int] = []
    rest = "" if field == "<nil>" else field
    while rest:
        step = _step(obj, rest)
        if step is None:
            break
        key, rest = step
        steps.append(key)
        obj = obj[key]
    return steps, rest.removeprefix(".")


def _step(value: Any, rest: str) -> tuple[str | int, str] | None:
    if type(value) is list:
        inside, bracket, after = rest.removeprefix("[").partition("]")
        if not bracket or rest[0] != "[" or not inside.isdecimal() or int(inside) >= len(value):
            return None
        return int(inside), after
    if type(value) is not dict:
        return None
    if rest[0] == "[":
        inside, bracket, after = rest[1:].partition("]")
        if bracket and inside in value:
            return inside, after
        longest = max((at for at in _places(rest, "]") if rest[1:at] in value), default=0)
        return (rest[1:longest], rest[longest + 1 :]) if longest else None
    text = rest.removeprefix(".")
    ends = [*_places(text, "."), *_places(text, "["), len(text)]  # a key may have such characters: the longest counts
    end = max((at for at in ends if text[:at] in value), default=-1)
    return None if end < 0 else (text[:end], text[end:])


def _places(text: str, character: str) -> Iterator[int]:
    at = text.find(character)
    while at >= 0:
        yield at
        at = text.find(character, at + 1)
