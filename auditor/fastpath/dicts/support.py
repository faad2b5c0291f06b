"""What generated functions call at run time: refusing, pruning, comparing, remembering.

A generated function that cannot say exactly what the read makes of an object raises Refused; the caller then
takes the reference path from the original bytes. Helpers that find a mere violation return False: the object is read
exactly all the same, and only its validation is left to the reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "INT64_MAX",
    "LARGE_INTEGER",
    "MEMO_LIMIT",
    "Log",
    "Refused",
    "bare",
    "distinct",
    "distinct_by",
    "drop_nulls",
    "drop_these_nulls",
    "exact_json",
    "exact_rest",
    "in_range",
    "no_list",
    "prune_unknown",
    "pruned_whole",
    "remembering",
    "render_site",
    "scalar",
    "still_distinct",
    "unless",
]

INT64_MAX: Final = 9223372036854775807
MEMO_LIMIT: Final = 20_000
"""Values kept in a memo of accepted strings; a full memo is emptied."""

MEMO_LENGTH: Final = 256
"""Longer strings are not remembered."""


Places: TypeAlias = dict[int, dict[int, int]]
"""The identity of a list to those of its items to their indexes."""

Repeated: TypeAlias = dict[tuple[int, str], dict[int, list[int]]]
"""The identity of a schema and the path of a list to its items: their identities to their indexes."""

_LONG: Final = 32


LARGE_INTEGER: Final = "an integer beyond 64 bits"
_UNEXPECTED_MAP: Final = "a map that no schema describes"


class Refused(Exception):
    """The generated code does not know what the server would do; nothing is said about the object.

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
    """Where a run notes what it pruned and defaulted, as sites; they become paths only when needed.

    And what it could not prove: values that their schema may refuse, as (schema, site, value, whether only what the
    schema says of the map as a whole is in doubt) (`doubts`). Where it is not one value that is in doubt, the keys of
    the object below which it is (`suspects`). The fields of metadata that are not proven (`metadata`, empty if only a
    schema of metadata may find something). And what the read did to the metadata beside pruning (`effect`, see
    `rewritten.rewritten_metadata`).

    A site is ``(above, template, *holes)``: the site that the enclosing function was called for (or None), a format
    string (or that and the kinds of its holes, see `render_site`), and what fills the holes.
    """

    __slots__ = ("_known", "defaulted", "doubts", "effect", "metadata", "pruned", "suspects")

    def __init__(self) -> None:
        self.effect = ""
        self.suspects: list[str] = []
        self.metadata: list[str] = []
        self.doubts: list[tuple[Any, tuple[Any, ...] | None, Any, bool]] = []
        self.pruned: list[tuple[Any, str]] = []
        self.defaulted: list[tuple[Any, ...]] = []
        self._known: dict[tuple[Any, ...], tuple[str, ...]] = {}

    def clear(self) -> None:
        """Forget the last run."""
        self.effect = ""
        self.suspects.clear()
        self.doubts.clear()
        self.metadata.clear()
        self.pruned.clear()
        self.defaulted.clear()

    def doubt(self, schema: Any, site: tuple[Any, ...] | None, value: Any) -> None:
        """Note a value that its schema may refuse."""
        self.doubts.append((schema, site, value, False))

    def doubt_whole(self, schema: Any, site: tuple[Any, ...] | None, value: Any) -> None:
        """Note a map that its schema may refuse for what it is as a whole, whatever its keys hold: once."""
        if self.doubts and (last := self.doubts[-1])[3] and last[2] is value and last[0] is schema:
            return  # each of its required keys that is missing says so
        self.doubts.append((schema, site, value, True))

    def doubtful(self) -> list[tuple[Any, str, Any, bool]]:
        """Return the doubts, each with the dotted path of its value; one that repeats in a list at each of its places.

        Raises:
            Refused: A path begins with a property without a name, which the server leaves out.
        """
        found: list[tuple[Any, str, Any, bool]] = []
        places: Places = {}
        repeated: Repeated = {}
        whole: set[tuple[int, int]] = set()
        for schema, site, value, is_whole in self.doubts:
            if is_whole:
                if (id(schema), id(value)) in whole:
                    continue
                whole.add((id(schema), id(value)))
            if site is not None and site[0] is None and type(site[1]) is str:  # nearly all
                paths: tuple[str, ...] = (site[1] % site[2:],)
            else:
                paths = _paths(schema, site, value, places, repeated)
            for path in paths:
                if path[:2] in (".", ".."):
                    raise Refused("a property without a name")
                found.append((schema, path[1:], value, is_whole))
        return found

    def pruned_paths(self) -> tuple[str, ...]:
        """Return the dotted paths of dropped fields, sorted."""
        places: Places = {}
        return tuple(sorted([f"{render_site(site, places)}.{key}".removeprefix(".") for site, key in self.pruned]))

    def defaulted_paths(self) -> tuple[str, ...]:
        """Return the dotted paths of defaulted fields, sorted; mostly they are what some other object lacked, too."""
        known, sites = self._known, tuple(self.defaulted)
        try:
            paths = known.get(sites)
        except TypeError:  # a place in a list that the list itself names
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
    """Turn a site into a dotted path with a leading dot; the root is empty.

    The template is a format string for the holes, or a pair of it and the kinds of the holes: ``d`` for what is
    filled in as it is, ``i`` for a list and its item, whose index is looked up.

    Args:
        site: The site.
        places: What is known of long lists; shared by the sites of one object.
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


def _paths(
    schema: Any, site: tuple[Any, ...] | None, value: Any, places: Places, repeated: Repeated
) -> tuple[str, ...]:
    """Return the paths of a value; a text or number that repeats in a list is the same object at several places.

    In a long list these are looked up, and returned with the first doubt of a schema about them only.
    """
    if site is not None and type(site[1]) is tuple and site[1][0].endswith("[%d]") and site[1][1].endswith("i"):
        (template, kinds), *holes, items, _ = site[1:]
        if type(value) is not dict and type(value) is not list:
            above = (site[0], (template[: -len("[%d]")], kinds[:-1]), *holes)
            start = render_site(above, places)
            if len(items) < _LONG:
                return tuple([f"{start}[{index}]" for index, other in enumerate(items) if other is value])
            known = repeated.get((id(schema), start))
            if known is None:
                known = repeated[id(schema), start] = {}
                for index, other in enumerate(items):
                    known.setdefault(id(other), []).append(index)
            return tuple([f"{start}[{index}]" for index in known.pop(id(value), ())])
    return (render_site(site, places),)


def _place(items: list[Any], item: Any, places: Places) -> int:
    """Return the index of an item, by identity; the items of a long list are numbered once."""
    if len(items) < _LONG:
        return next(index for index, other in enumerate(items) if other is item)
    known = places.get(id(items))
    if known is None:
        known = places[id(items)] = {id(items[index]): index for index in range(len(items) - 1, -1, -1)}
    return known[id(item)]


def scalar(value: Any) -> bool:
    """Say no to a value of the wrong type; refuse if reading it would change it.

    A scalar that the schema does not expect is read as it is. A map would be pruned by a schema that says nothing about
    it, alone or in a list, and an integer beyond 64 bits is a float to the server.

    Raises:
        Refused: The value is or holds a map with keys, or an integer beyond 64 bits.
    """
    kind = type(value)
    if kind is list:
        bare(value)
    elif kind is dict and value:
        raise Refused(_UNEXPECTED_MAP)
    elif kind is int and value > INT64_MAX:
        raise Refused(LARGE_INTEGER)
    return False


def no_list(value: Any) -> bool:
    """Do as `scalar` where the schema would also say something about the items of a list.

    Raises:
        Refused: The value is a list, or `scalar` refuses it.
    """
    if type(value) is list:
        raise Refused("a list that no schema describes")
    return scalar(value)


def pruned_whole(value: Any, log: Log, site: tuple[Any, ...] | None) -> bool:
    """Return False for a value of the wrong type whose inside the schema does not know, and prune it as the read does.

    Every key of a map goes, also of those in a list.

    Raises:
        Refused: There is an integer beyond 64 bits.
    """
    if type(value) is dict:
        for key in value:
            log.pruned.append((site, key))
        value.clear()
    elif type(value) is list:
        for index, item in enumerate(value):
            pruned_whole(item, log, (site, "[%d]", index))
    elif type(value) is int and value > INT64_MAX:
        raise Refused(LARGE_INTEGER)
    return False


def unless(value: Any, kind: type) -> bool:
    """Say no to a value of the wrong type, unless it is of a kind that the server may take all the same.

    Raises:
        Refused: It is of that kind.
    """
    if type(value) is kind:
        raise Refused("a value of a type that the server may take")
    return False


def in_range(value: int) -> bool:
    """Say no to an integer outside the bounds of its schema; refuse one beyond 64 bits."""
    if value > INT64_MAX:
        raise Refused(LARGE_INTEGER)
    return False


def exact_json(value: Any) -> None:
    """Refuse a value with an integer beyond 64 bits anywhere inside; everything else is read as it is."""
    if type(value) is int:
        if value > INT64_MAX:
            raise Refused(LARGE_INTEGER)
        return
    if type(value) is dict or type(value) is list:
        containers = [value]
        for container in containers:
            for item in container.values() if type(container) is dict else container:
                kind = type(item)
                if kind is dict or kind is list:
                    containers.append(item)
                elif kind is int and item > INT64_MAX:
                    raise Refused(LARGE_INTEGER)


def exact_rest(value: dict[str, Any], known: frozenset[str]) -> None:
    """Do as `exact_json` for the keys that are not known."""
    for key, item in value.items():
        if key not in known:
            exact_json(item)


def bare(values: Iterable[Any]) -> None:
    """Refuse values that a read without any schema would change: below them every key of every map is dropped."""
    for value in values:
        kind = type(value)
        if kind is dict:
            if value:
                raise Refused(_UNEXPECTED_MAP)
        elif kind is list:
            bare(value)
        elif kind is int and value > INT64_MAX:
            raise Refused(LARGE_INTEGER)


def prune_unknown(value: dict[str, Any], known: frozenset[str], log: Log, site: tuple[Any, ...] | None) -> None:
    """Drop the keys that are not known and note them."""
    for key in [key for key in value if key not in known]:
        del value[key]
        log.pruned.append((site, key))


def drop_these_nulls(value: dict[str, Any], droppable: frozenset[str]) -> None:
    """Drop null values whose keys are among the given ones."""
    for key in [key for key, item in value.items() if item is None and key in droppable]:
        del value[key]


def drop_nulls(value: dict[str, Any], known: frozenset[str]) -> None:
    """Drop null values whose keys are not known."""
    for key in [key for key, item in value.items() if item is None and key not in known]:
        del value[key]


def distinct(items: list[dict[str, Any]], key: str) -> bool:
    """Say whether no two items have the same value at a key; unhashable values raise, a missing one is a value."""
    return len({item.get(key, _MISSING) for item in items}) == len(items)


def distinct_by(items: list[dict[str, Any]], keys: tuple[str, ...]) -> bool:
    """Say whether no two items have the same values at all keys."""
    return len({tuple([item.get(key, _MISSING) for key in keys]) for item in items}) == len(items)


def still_distinct(items: list[Any], keys: tuple[str, ...]) -> bool:
    """Say whether items, some of them in doubt, are certainly unlike each other.

    Args:
        items: Those of a list whose items must be.
        keys: What distinguishes maps; none: the items are compared as they are.
    """
    try:
        if not keys:
            return len(set(items)) == len(items)
        return all(type(item) is dict for item in items) and distinct_by(items, keys)
    except TypeError:  # a list or map among what is compared
        return False


def remembering(check: Callable[[str], bool]) -> tuple[set[str], Callable[[str], bool]]:
    """Wrap a check of strings so that accepted ones are remembered.

    Returns:
        The set of remembered strings, to be asked first, and the check that fills it.
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
