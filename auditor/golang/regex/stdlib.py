"""Decides which patterns Python's own `re` may match: those for which it is provably right, and never slow.

`re` backtracks: with some patterns its time grows without bound with the length of the text. But it is three times as
fast as RE2 called from Python, and most patterns in CRDs are harmless. A pattern qualifies if at every choice (repeat
or continue, this branch or another) the next character alone decides. One exception is common and harmless:
``[-a-z]*[a-z]`` before something that cannot begin with ``[-a-z]``, including the end of the text. Backtracking then
reads every character at most once more. A pattern without an anchor at the start is tried at each position, so it must
be short there.

RE2 handles everything about words and lines. The result is only whether there is a match: `re` and Go may find
different matches.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from auditor.golang.regex.tree import Alternate, Assertion, Chars, Concat, Node, Repeat, normal

if TYPE_CHECKING:
    from auditor.golang.unicode import Ranges

__all__ = ["to_stdlib"]

_MAX_HEIGHT = 40
_MAX_RANGES = 64
_MAX_FLOATING_LENGTH = 64


class _NotTame(Exception):
    """The pattern needs RE2."""


def to_stdlib(tree: Node) -> tuple[str, bool] | None:
    r"""Return a pattern for `re` that accepts the same texts, or None if RE2 must decide.

    Args:
        tree: The pattern, parsed by `syntax.parse`.
    Returns:
        The pattern, and whether it is anchored at the start of the text (use `match`) or not (use `search`).
    """
    if tree.height > _MAX_HEIGHT:
        return None
    items: list[Node] = list(tree.items) if isinstance(tree, Concat) else [tree]
    anchored = bool(items) and items[0] == Assertion("\\A")
    if anchored:
        items = items[1:]
    ended = bool(items) and items[-1] == Assertion("\\z")
    if ended:
        items = items[:-1]
    try:
        text = _sequence(items, ())
        if not anchored and sum(_longest(item) for item in items) > _MAX_FLOATING_LENGTH:
            return None
    except _NotTame:
        return None
    return text + ("\\Z" if ended else ""), anchored


def _sequence(items: list[Node], follow: Ranges) -> str:
    """Write consecutive items, which something that begins with `follow` follows."""
    written = []
    for position, item in enumerate(items):
        after = _first_of(items[position + 1 :], follow)
        if isinstance(item, Repeat) and _gives_back_one(item, items, position, follow):
            assert isinstance(item.item, Chars)
            written.append(_one(item.item) + _times(item))
        else:
            written.append(_write(item, after))
    return "".join(written)


def _gives_back_one(item: Repeat, items: list[Node], position: int, follow: Ranges) -> bool:
    """Whether this is the ``[-a-z]*`` of ``[-a-z]*[a-z]`` before something that cannot begin with ``[-a-z]``."""
    if not isinstance(item.item, Chars) or position + 1 >= len(items) or not isinstance(items[position + 1], Chars):
        return False
    return _disjoint(item.item.ranges, _first_of(items[position + 2 :], follow))


def _write(node: Node, follow: Ranges) -> str:
    if isinstance(node, Chars):
        return _one(node)
    if isinstance(node, Concat):
        return f"(?:{_sequence(list(node.items), follow)})"
    if isinstance(node, Alternate):
        return _branches(node, follow)
    if isinstance(node, Repeat):
        item = node.item
        if _nullable(item):
            raise _NotTame
        first = _first(item)
        if node.least != node.most and not _disjoint(first, follow):
            raise _NotTame
        inner = _write(item, normal([*first, *follow]))
        return f"(?:{inner}){_times(node)}"
    raise _NotTame


def _branches(node: Alternate, follow: Ranges) -> str:
    firsts = [_first(item) for item in node.items]
    if any(_nullable(item) for item in node.items):
        firsts.append(follow)
        if sum(_nullable(item) for item in node.items) > 1:
            raise _NotTame
    if not all(_disjoint(one, other) for one, other in combinations(firsts, 2)):
        raise _NotTame
    return "(?:" + "|".join([_write(item, follow) for item in node.items]) + ")"


def _one(node: Chars) -> str:
    if len(node.ranges) > _MAX_RANGES or not node.ranges:
        raise _NotTame
    return "[" + "".join([f"\\U{low:08x}-\\U{high:08x}" for low, high in node.ranges]) + "]"


def _times(node: Repeat) -> str:
    return f"{{{node.least},{'' if node.most is None else node.most}}}"


# -- first characters of a part ----------------------------------------------------------------------------------------


def _nullable(node: Node) -> bool:
    if isinstance(node, Chars):
        return False
    if isinstance(node, Concat):
        return all(_nullable(item) for item in node.items)
    if isinstance(node, Alternate):
        return any(_nullable(item) for item in node.items)
    if isinstance(node, Repeat):
        return node.least == 0 or _nullable(node.item)
    raise _NotTame


def _first(node: Node) -> Ranges:
    if isinstance(node, Chars):
        return node.ranges
    if isinstance(node, Concat):
        return _first_of(list(node.items), ())
    if isinstance(node, Alternate):
        return normal([both for item in node.items for both in _first(item)])
    if isinstance(node, Repeat):
        return _first(node.item)
    raise _NotTame


def _first_of(items: list[Node], follow: Ranges) -> Ranges:
    found: list[tuple[int, int]] = []
    for item in items:
        found += _first(item)
        if not _nullable(item):
            return normal(found)
    return normal([*found, *follow])


def _disjoint(one: Ranges, other: Ranges) -> bool:
    return not any(low <= high_too and low_too <= high for low, high in one for low_too, high_too in other)


def _longest(node: Node) -> int:
    if isinstance(node, Chars):
        return 1
    if isinstance(node, Concat):
        return sum([_longest(item) for item in node.items])
    if isinstance(node, Alternate):
        return max([_longest(item) for item in node.items])
    if isinstance(node, Repeat):
        if node.most is None:
            raise _NotTame
        return node.most * _longest(node.item)
    raise _NotTame
