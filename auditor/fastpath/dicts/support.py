"""Functions that generated code calls: refusing, pruning, comparing, caching.

A generated function that does not know the exact effect of the read raises Refused; one that finds a violation returns
False. Both mean that the object is not proven.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


INT64_MAX: Final = 9223372036854775807
MEMO_LIMIT: Final = 20_000
"""Number of values in a cache of accepted strings; a full cache is emptied."""

MEMO_LENGTH: Final = 256
"""Longer strings are not cached."""


Places: TypeAlias = dict[int, dict[int, int]]
"""Identity of a list to a map from the identities of its items to their indexes."""


_LONG: Final = 32


LARGE_INTEGER: Final = "an integer beyond 64 bits"
_UNEXPECTED_MAP: Final = "a map that no schema describes"


class NotProven(Exception):
    """The generated code does not know what the server would do; it makes no statement about the object.

    Args:
        detail: The value that is left to the exact path.
        reason: A reason of `fallbacks.Reason`.
    """

    def __init__(self, detail: str = "", reason: str = "value") -> None:
        super().__init__(detail, reason)
        self.detail = detail
        self.reason = reason


_MISSING: Final = object()


class Log:
    """Records what a run pruned and defaulted, as sites; they become paths only when needed.

    `effect` is the effect of the read on metadata beside pruning, see `storage_read.read.rewritten_metadata`.

    A site is ``(above, template, *holes)``: the site of the enclosing function (or None), a format string (or that and
    the kinds of its holes, see `render_site`), and the values for the holes.
    """

    __slots__ = ("_known", "defaulted", "effect", "pruned")

    def __init__(self) -> None:
        self.effect = ""
        self.pruned: list[tuple[Any, str]] = []
        self.defaulted: list[tuple[Any, ...]] = []
        self._known: dict[tuple[Any, ...], tuple[str, ...]] = {}

    def clear(self) -> None:
        """Reset the log for the next run."""
        self.effect = ""
        self.pruned.clear()
        self.defaulted.clear()

    def pruned_paths(self) -> tuple[str, ...]:
        """Return the dotted paths of dropped fields, sorted."""
        places: Places = {}
        return tuple(sorted([f"{render_site(site, places)}.{key}".removeprefix(".") for site, key in self.pruned]))

    def defaulted_paths(self) -> tuple[str, ...]:
        """Return the sorted dotted paths of defaulted fields; they are cached, as other objects often have the same."""
        known, sites = self._known, tuple(self.defaulted)
        try:
            paths = known.get(sites)
        except TypeError:  # an item of a list, whose path has an index
            return self._rendered()
        if paths is None:
            if len(known) >= MEMO_LIMIT:
                known.clear()
            paths = known[sites] = self._rendered()
        return paths

    def _rendered(self) -> tuple[str, ...]:
        paths: list[str] = []
        last, prefix = None, ""
        places: Places = {}
        for site in self.defaulted:
            above, template = site[0], site[1]
            if above is not last:
                last, prefix = above, render_site(above, places)
            text = template % site[2:] if type(template) is str else render_site((None, *site[1:]), places)
            paths.append((prefix + text if prefix else text)[1:])
        paths.sort()
        return tuple(paths)


def render_site(site: tuple[Any, ...] | None, places: Places) -> str:
    """Return a site as a dotted path with a leading dot; the root is empty.

    The template is a format string for the holes, or a pair of it and the kinds of the holes: ``d`` for a value that is
    inserted, ``i`` for a list and its item, whose index is looked up.

    Args:
        site: The site.
        places: Cached indexes of long lists; shared by the sites of one object.
    """
    if site is None:
        return ""
    template = site[1]
    if type(template) is str:
        return render_site(site[0], places) + template % site[2:]
    holes = iter(site[2:])
    filled: list[Any] = []
    for kind in template[1]:
        hole = next(holes)
        if kind == "i":
            item = next(holes)
            hole = _place(hole, item, places)
        filled.append(hole)
    text: str = template[0] % tuple(filled)
    return render_site(site[0], places) + text


def _place(items: list[Any], item: Any, places: Places) -> int:
    """Return the index of an item, by identity; the items of a long list are numbered once."""
    if len(items) < _LONG:
        return next(index for index, other in enumerate(items) if other is item)
    known = places.get(id(items))
    if known is None:
        known = places[id(items)] = {id(items[index]): index for index in range(len(items) - 1, -1, -1)}
    return known[id(item)]


def unless(value: Any, kind: type) -> bool:
    """Return False for a value of the wrong type, unless it has a type that the server may accept.

    Raises:
        Refused: It has that type.
    """
    if type(value) is kind:
        raise NotProven("a value of a type that the server may take")
    return False


def exact_json(value: Any) -> None:
    """Refuse a value with an integer beyond 64 bits anywhere inside; other values are not changed by the read."""
    if type(value) is int:
        if value > INT64_MAX:
            raise NotProven(LARGE_INTEGER)
        return
    if type(value) is dict or type(value) is list:
        containers = [value]
        for container in containers:
            for item in container.values() if type(container) is dict else container:
                kind = type(item)
                if kind is dict or kind is list:
                    containers.append(item)
                elif kind is int and item > INT64_MAX:
                    raise NotProven(LARGE_INTEGER)


def exact_rest(value: dict[str, Any], known: frozenset[str]) -> None:
    """Do as `exact_json` for the unknown keys."""
    for key, item in value.items():
        if key not in known:
            exact_json(item)


def bare(values: Iterable[Any]) -> None:
    """Refuse values that a read without a schema would change: it drops every key of every map below them."""
    for value in values:
        kind = type(value)
        if kind is dict:
            if value:
                raise NotProven(_UNEXPECTED_MAP)
        elif kind is list:
            bare(value)
        elif kind is int and value > INT64_MAX:
            raise NotProven(LARGE_INTEGER)


def prune_unknown(value: dict[str, Any], known: frozenset[str], log: Log, site: tuple[Any, ...] | None) -> None:
    """Drop the unknown keys and record them."""
    for key in [key for key in value if key not in known]:
        del value[key]
        log.pruned.append((site, key))


def drop_these_nulls(value: dict[str, Any], droppable: frozenset[str]) -> None:
    """Drop null values at the given keys."""
    for key in [key for key, item in value.items() if item is None and key in droppable]:
        del value[key]


def drop_nulls(value: dict[str, Any], known: frozenset[str]) -> None:
    """Drop null values at unknown keys."""
    for key in [key for key, item in value.items() if item is None and key not in known]:
        del value[key]


def distinct(items: list[dict[str, Any]], key: str) -> bool:
    """Return whether no two items have the same value at a key; unhashable values raise, a missing one is a value."""
    return len({item.get(key, _MISSING) for item in items}) == len(items)


def distinct_by(items: list[dict[str, Any]], keys: tuple[str, ...]) -> bool:
    """Return whether no two items have the same values at all keys."""
    return len({tuple([item.get(key, _MISSING) for key in keys]) for item in items}) == len(items)


def remembering(check: Callable[[str], bool]) -> tuple[set[str], Callable[[str], bool]]:
    """Wrap a check of strings so that accepted ones are cached.

    Returns:
        The set of accepted strings, to be searched first, and the check that fills it.
    """
    accepted: set[str] = set()

    def check_and_remember(text: str) -> bool:
        if not check(text):
            return False
        if len(text) <= MEMO_LENGTH:
            if len(accepted) >= MEMO_LIMIT:
                accepted.clear()
            accepted.add(text)
        return True

    return accepted, check_and_remember
