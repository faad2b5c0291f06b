"""Finds the field of a finding in its object, and its last writer by metadata.managedFields.

Fields are printed in two ways (``spec.m.k.x[3]`` and ``spec.m[k.x][3]``) and keys may have dots, so that a path can
only be parsed along the object.

Source: structured-merge-diff fieldpath/serialize-pe.go (``f:`` a field, ``k:`` the keys of an item, ``v:`` a value of a
set, ``i:`` an index; ``{}`` owns everything below).
"""

from __future__ import annotations

from contextlib import suppress
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from auditor.ratcheting import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from auditor.base.records import JsonObject


class Manager(NamedTuple):
    """An entry of managedFields; absent texts are empty.

    Attributes:
        time: In RFC 3339.
        fields: The set of fields that it owns, as stored.
    """

    manager: str
    operation: str
    subresource: str
    time: str
    fields: Any


def managers_of(obj: JsonObject) -> list[Manager]:
    """Return the entries of managedFields of an object, in their order."""
    metadata = obj.get("metadata")
    entries = metadata.get("managedFields") if type(metadata) is dict else None
    return [
        Manager._make([*(str(entry.get(name) or "") for name in Manager._fields[:-1]), entry.get("fieldsV1")])
        for entry in (entries if type(entries) is list else ())
        if type(entry) is dict
    ]


def owned_paths(fields: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of a set of fields that have none below: ``spec.ports[port=80].name``."""
    below = [name for name in fields if name != "."] if type(fields) is dict else []
    for name in below:
        sort, _, text = name.partition(":")
        step = (
            f".{text}"
            if sort == "f" and not {".", "/"} & {*text}
            else f"[{text!r}]"
            if sort == "f"
            else f"[{text.strip(chr(34))}]"
        )
        if sort == "k":
            with suppress(orjson.JSONDecodeError, AttributeError):
                step = f"[{','.join(f'{key}={value}' for key, value in orjson.loads(text).items())}]"
        yield from owned_paths(fields[name], path + step)
    if path and not below:
        yield path.removeprefix(".")


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


_FEW: Final = 8
"""Up to so many managers, each one is searched for a name."""
_MOST_KEYS: Final = 64
"""Combinations of keys that distinguish the items of one list; a schema allows one, more are ignored."""

_Writer = tuple[str, str]
"""Time and name of a manager."""
_Name = tuple[int, int, str]
"""The number of a manager, and the position and text of a name in its set."""


def owned_roots(obj: JsonObject) -> set[str]:
    """Return the names of the root's fields that some manager owns in part."""
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
    """Return manager and time (RFC 3339, None if unknown) of the last write to a place; see `Writers`."""
    return Writers(obj).last(steps)


class Writers:
    """The managers of an object.

    Their sets of fields are walked together, each step once, because an object may have thousands of managers and
    thousands of looked-up places.

    Args:
        obj: The object; it must not change.
    """

    def __init__(self, obj: JsonObject) -> None:
        metadata = obj.get("metadata")
        entries = metadata.get("managedFields") if type(metadata) is dict else None
        self._obj = obj
        self._root = _Owned(
            [
                ((str(entry.get("time") or ""), str(entry.get("manager") or "")), entry.get("fieldsV1"))
                for entry in (entries if type(entries) is list else ())
                if type(entry) is dict
            ]
        )

    def last(self, steps: Sequence[str | int]) -> tuple[str, str | None] | None:
        """Return manager and time (RFC 3339, None if unknown) of the last write to a field, or None if it is not known.

        That is the last writer among the managers that own the field or, if there are none, the nearest place above it.
        A manager whose set ends above the place with `{}` owns everything below.

        Args:
            steps: The steps of an existing place.
        """
        node, value = self._root, self._obj
        owners: list[_Writer | None] = []
        nearest: _Writer | None = None
        for depth, step in enumerate(steps):
            below, left = node.below(step, value)
            if depth:
                nearest = left or nearest
            node, value = below, value[step]  # type: ignore[index]
            owners.append(node.any if depth + 1 == len(steps) else node.whole)
        best = max(filter(None, owners), default=nearest)
        return None if best is None else (best[1], best[0] or None)


class _Owned:
    """The managers that own something at one place.

    Args:
        members: Each of them, with its set of fields below the place.

    Attributes:
        any: The last writer among them.
        whole: The last writer among those that own everything below.
    """

    __slots__ = ("_below", "_items", "_names", "_some", "any", "whole")

    def __init__(self, members: list[tuple[_Writer, Any]]) -> None:
        whole = [writer for writer, owned in members if type(owned) is dict and not owned]
        self.any: _Writer | None = max(members, key=itemgetter(0))[0] if members else None
        self.whole: _Writer | None = max(whole) if whole else None
        self._some = [member for member in members if type(member[1]) is dict and member[1]]
        if len(self._some) > 1:
            self._some.sort(key=itemgetter(0), reverse=True)
        self._below: dict[str | int, tuple[_Owned, _Writer | None]] = {}
        self._names: dict[str, list[int]] | None = None
        self._items: _Items | None = None

    def below(self, step: str | int, value: Any) -> tuple[_Owned, _Writer | None]:
        """Return the owners one step below, and the last writer among those that own nothing there.

        Args:
            step: A key or an index.
            value: The value that the step leads into.
        """
        owned = self._below.get(step)
        if owned is None:
            names = dict.fromkeys(self._having(f"f:{step}"), f"f:{step}") if type(step) is str else {}
            if type(step) is int:
                if self._items is None:
                    self._items = _Items([owned for _, owned in self._some])
                names = dict.fromkeys(self._having(f"i:{step}"), f"i:{step}") | self._items.names(value[step])
            members = [(self._some[number][0], self._some[number][1][name]) for number, name in names.items()]
            left = next((writer for number, (writer, _) in enumerate(self._some) if number not in names), None)
            owned = self._below[step] = (_Owned(members), left)
        return owned

    def _having(self, name: str) -> list[int]:
        """Return which managers own a name."""
        if len(self._some) <= _FEW:
            return [number for number, (_, owned) in enumerate(self._some) if name in owned]
        if self._names is None:
            self._names = {}
            for number, (_, owned) in enumerate(self._some):
                for each in owned:
                    self._names.setdefault(each, []).append(number)
        return self._names.get(name, [])


class _Items:
    """The items of a list that managers own by their keys or by their value.

    Args:
        sets: The set of fields of each manager.
    """

    def __init__(self, sets: list[JsonObject]) -> None:
        self._by_keys: dict[tuple[str, ...], dict[str, list[_Name]]] = {}
        self._by_value: dict[str, list[_Name]] = {}
        for number, owned in enumerate(sets):
            for position, name in enumerate(owned):
                with suppress(orjson.JSONDecodeError):
                    self._add(name, (number, position, name))

    def _add(self, name: str, whose: _Name) -> None:
        if name.startswith("v:"):
            self._by_value.setdefault(canonical_text(orjson.loads(name[2:])), []).append(whose)
        elif name.startswith("k:"):
            keys = orjson.loads(name[2:])
            if type(keys) is dict:
                known = tuple(sorted(keys))
                if known in self._by_keys or len(self._by_keys) < _MOST_KEYS:
                    items = self._by_keys.setdefault(known, {})
                    items.setdefault(canonical_text([keys[key] for key in known]), []).append(whose)

    def names(self, item: Any) -> dict[int, str]:
        """Return the name by which each manager owns an item, by number; the first name of its set counts."""
        names: list[_Name] = []
        if self._by_value:
            names += self._by_value.get(canonical_text(item), ())
        if type(item) is dict:
            for keys, items in self._by_keys.items():
                names += items.get(canonical_text([item.get(key) for key in keys]), ())
        return {number: name for number, _, name in sorted(names, reverse=True)}
