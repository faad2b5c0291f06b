"""Where the field of a finding stands in an object: its text, walked along the object that it was said of.

Fields are printed in two ways (``spec.m.k.x[3]`` and ``spec.m[k.x][3]``) and keys may hold dots, so that only the
object tells them apart.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["locate"]


def locate(obj: Any, field: str) -> tuple[list[str | int], str]:
    """Follow a field as far as the object goes.

    Args:
        obj: What the finding was said of.
        field: As printed; ``<nil>`` or empty is the root.
    Returns:
        The steps (keys, indexes) that are there, and what is left of the field, empty where all of it is there.
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
        longest = max((key for key in value if rest.startswith(f"[{key}]")), key=len, default=None)
        return None if longest is None else (longest, rest[len(longest) + 2 :])
    text = rest.removeprefix(".")
    dot, bracket_at = text.find("."), text.find("[")
    end = dot if bracket_at < 0 or 0 <= dot < bracket_at else bracket_at
    if end < 0:
        return (text, "") if text in value else None
    found = text[:end] if text[:end] in value else None
    if text[: end + 1] not in "\n".join(value):
        return None if found is None else (found, text[end:])
    for key in value:  # a longer one may hold the character
        if len(key) > end and text.startswith(key) and text[len(key) : len(key) + 1] in _ENDS:
            found, end = key, len(key)
    return None if found is None else (found, text[end:])


_ENDS: Final = ("", ".", "[")
