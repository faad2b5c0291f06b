"""Regular expressions as the API server applies them: Go's grammar and errors, RE2's matching.

`syntax` parses every pattern as Go would. Then google-re2 matches, or Python's `re` if `to_stdlib` proves that it gives
the same result and is fast. Each pattern has a cache of texts: a look-up costs about 0.05 us, RE2 costs 0.7 us.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache, partial
from itertools import combinations
from math import inf
from time import thread_time
from typing import TYPE_CHECKING, Any, Final, TypeVar

import re2

from auditor.base.errors import PatternTooSlow
from auditor.golang.regex.syntax import GoRegexError, parse
from auditor.golang.regex.tree import Alternate, Assertion, Chars, Concat, Node, Repeat, normal

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.golang.unicode import Ranges

__all__ = ["MATCH_TIME", "GoRegexError", "MatchTime", "Pattern", "TextCache", "compile_pattern", "to_stdlib"]

_MOST_TEXTS = 20_000
_LONGEST = 512


class TextCache(dict[str, bool]):
    """Caches results by text; computes missing ones, and is emptied when it is full.

    `__getitem__` is the fastest access: a cached text costs one look-up in a dict.

    Args:
        decide: Computes the result for a new text.
    """

    __slots__ = ("decide",)

    def __init__(self, decide: Callable[[str], bool]) -> None:
        super().__init__()
        self.decide = decide

    def __missing__(self, text: str) -> bool:
        answer = self.decide(text)
        if len(text) <= _LONGEST:
            if len(self) >= _MOST_TEXTS:
                self.clear()
            self[text] = answer
        return answer


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
    if not all(_disjoint(chars, other) for chars, other in combinations(firsts, 2)):
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
    ranges: list[tuple[int, int]] = []
    for item in items:
        ranges += _first(item)
        if not _nullable(item):
            return normal(ranges)
    return normal([*ranges, *follow])


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


_LABEL: Final = "[a-z0-9]+(?:-+[a-z0-9]+)*"
_SUBDOMAIN: Final = rf"{_LABEL}(?:\.{_LABEL})*"
_KEY: Final = "(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_NAMES: Final = {
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$": rf"{_LABEL}\Z",
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$": rf"{_SUBDOMAIN}\Z",
    r"^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$": rf"(?:{_SUBDOMAIN})?\Z",
    "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$": r"[a-zA-Z](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?\Z",
    "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$": r"[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?\Z",
    (
        r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
        "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
    ): rf"(?:{_SUBDOMAIN}/)?{_KEY}\Z",
}
"""Common patterns of names, as half of all definitions have them, with equivalent ones for Python's `re`.

If a text does not match, backtracking is short: runs of characters do not overlap, or the run is the last of a text.
"""

_REMEMBERED_PATTERNS = 4096
_LONGEST_PROOF = 1_000
"""Length of the longest pattern for which the proof for Python's `re` is tried: it compares all parts of it."""
_REPLACEMENT = "\ufffd"
_AS_REPLACEMENT = "auditor-no-utf8-replaced"
"""Go's expressions see U+FFFD for every byte that is not UTF-8, which a text holds as "surrogateescape"."""


def _replaced(error: UnicodeError) -> tuple[bytes, int]:
    assert isinstance(error, UnicodeEncodeError)
    return _REPLACEMENT.encode() * (error.end - error.start), error.end


codecs.register_error(_AS_REPLACEMENT, _replaced)

_BETWEEN_BYTES = "\\B"
_SECONDS_A_STEP: Final = 2e-9
"""Seconds for each byte of a text and each instruction of a pattern, if RE2 must follow all instructions at once."""
_MEASURED_FROM: Final = 50_000
"""A match is measured if bytes times instructions exceed this: it may take a tenth of a millisecond."""
_QUICK_SECONDS: Final = 0.1
_SPARE_SECONDS: Final = 1.0
_SHOWN: Final = 60

Found = TypeVar("Found")


class MatchTime:
    """Limits the processor time of RE2 for all patterns of a process, in seconds; a match cannot be stopped.

    So a match that may take longer than the remaining time is not started. After the limit, patterns that were fast so
    far share `_SPARE_SECONDS`. Go is not faster: if this takes seconds, a server takes them for each request.
    """

    def __init__(self) -> None:
        self._left = inf

    def begin(self, seconds: float) -> None:
        """Set the time limit for all later matches together."""
        self._left = seconds

    def may_take(self, seconds: float, spent: float) -> bool:
        """Return whether a match of at most a duration may start.

        Args:
            seconds: The longest duration of the match.
            spent: The time that its pattern took so far.
        """
        is_quick = seconds <= _QUICK_SECONDS and spent <= _QUICK_SECONDS
        return seconds <= self._left or (is_quick and self._left > -_SPARE_SECONDS)

    def took(self, seconds: float) -> None:
        """Count the duration of a match."""
        self._left -= seconds


MATCH_TIME: Final = MatchTime()
"""The limit of this process: none before `begin`."""

_MEMORY_FOR_LARGE = 1 << 30


class Pattern:
    """One compiled pattern.

    Attributes:
        source: The pattern as it was given.
        search: Returns whether the pattern matches anywhere in a text; results are cached.
        matches: The same without a cache.
    """

    __slots__ = ("_re2", "_spent", "_written", "matches", "search", "source")

    source: str
    search: Callable[[str], bool]
    matches: Callable[[str], bool]

    def __init__(self, source: str) -> None:
        syntax = parse(source)
        self.source = source
        self._spent = 0.0
        self._written = syntax.re2
        self._re2: Any | None = None
        known = _NAMES.get(source)
        if known is not None:
            translated: tuple[str, bool] | None = (known, True)
        else:
            translated = to_stdlib(syntax.tree) if len(source) <= _LONGEST_PROOF else None
        if translated is None:
            self._compiled()
            self.matches = self._matches_between_bytes if _BETWEEN_BYTES in source else self._by_re2()
        else:
            self.matches = _by_stdlib(*translated)
        self.search = TextCache(self.matches).__getitem__

    def _compiled(self) -> Any:
        if self._re2 is None:
            self._re2 = _compile_re2(self._written)
        return self._re2

    def _by_re2(self) -> Callable[[str], bool]:
        """Return a function that says whether a text matches."""
        find, size, measured = _finder(self._compiled()), _program_size(self._compiled()), self._measured
        unmeasured = _MEASURED_FROM // size

        def matches(text: str) -> bool:
            data = text.encode("utf-8", _AS_REPLACEMENT)
            return find(data) if len(data) <= unmeasured else measured(find, data, len(data) * size)

        return matches

    def _measured(self, find: Callable[[bytes], Found], data: bytes, steps: int) -> Found:
        """Return the result of a match, if there is time for it.

        Raises:
            PatternTooSlow: It may take longer.
        """
        if not MATCH_TIME.may_take(steps * _SECONDS_A_STEP, self._spent):
            shown = self.source if len(self.source) <= _SHOWN else self.source[:_SHOWN] + "…"
            raise PatternTooSlow(
                f"a pattern of {len(self.source):,} characters takes too long on a text of {len(data):,} bytes: {shown}"
            )
        begun = thread_time()
        length = find(data)
        took = thread_time() - begun
        self._spent += took
        MATCH_TIME.took(took)
        return length

    def _first(self, data: bytes, at: int) -> tuple[int, int] | None:
        r"""Return the leftmost match from `at` on; RE2 also finds a `\B` inside a character, Go does not."""
        compiled = self._compiled()
        size = _program_size(compiled)
        while True:
            steps = (len(data) - at) * size
            if steps > _MEASURED_FROM:
                span = self._measured(partial(compiled.search, pos=at), data, steps)
            else:
                span = compiled.search(data, at)
            if span is None:
                return None
            start, end = span.span()
            if start >= len(data) or data[start] & 0xC0 != 0x80:
                return start, end
            at = start + 1

    def _matches_between_bytes(self, text: str) -> bool:
        return self._first(text.encode("utf-8", _AS_REPLACEMENT), 0) is not None

    def find(self, text: str) -> str | None:
        """Return the text of the leftmost match, or None if there is none.

        Source: regexp.Regexp.FindString, which does not distinguish no match from an empty one.
        """
        data = text.encode("utf-8", _AS_REPLACEMENT)
        span = self._first(data, 0)
        return None if span is None else _part(text, data, *span)

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        """Return the texts of all matches that do not overlap, from the left.

        Args:
            text: The text to search.
            limit: Largest number of matches; negative for all.

        An empty match right after another match does not count.
        Source: regexp.Regexp.FindAllString.
        """
        data = text.encode("utf-8", _AS_REPLACEMENT)
        texts: list[str] = []
        position, last_end = 0, -1
        while position <= len(data) and (limit < 0 or len(texts) < limit):
            match = self._first(data, position)
            if match is None:
                break
            start, end = match
            if end > start or start != last_end:
                texts.append(_part(text, data, start, end))
            # An empty match moves on by one character, not by one byte.
            position = end if end > position else position + _character_length(data, position)
            last_end = end
        return texts

    def __repr__(self) -> str:
        return f"Pattern({self.source!r})"

    def __reduce__(self) -> tuple[Callable[[str], Pattern], tuple[str]]:
        return compile_pattern, (self.source,)


def _part(text: str, data: bytes, start: int, end: int) -> str:
    """Return the part of a text between two byte offsets; invalid UTF-8 is preserved."""
    part = data[start:end].decode()
    if _REPLACEMENT not in part:
        return part
    position = len(data[:start].decode())
    return text[position : position + len(part)]


def _character_length(data: bytes, at: int) -> int:
    length = 1
    while at + length < len(data) and data[at + length] & 0xC0 == 0x80:
        length += 1
    return length


def _finder(compiled: Any) -> Callable[[bytes], bool]:
    """Return a function that says whether a pattern matches."""
    search = compiled.search
    return lambda data: search(data) is not None


def _program_size(compiled: Any) -> int:
    return max(1, int(compiled.programsize))


def _by_stdlib(pattern: str, anchored: bool) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    search = compiled.match if anchored else compiled.search
    return lambda text: search(text) is not None


def _compile_re2(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        return re2.compile(pattern.encode(), options)
    except re2.error:
        options.max_mem = _MEMORY_FOR_LARGE
    try:
        return re2.compile(pattern.encode(), options)
    except re2.error as error:
        raise GoRegexError(f"error parsing regexp: {error.args[0].decode()}") from error


@lru_cache(maxsize=_REMEMBERED_PATTERNS)
def compile_pattern(pattern: str) -> Pattern:
    """Return the compiled pattern; each pattern is compiled once.

    Args:
        pattern: RE2 syntax, as in a schema's `pattern` or in a rule's `matches`.
    Raises:
        GoRegexError: Go does not compile it; the text is that of regexp.Compile.
    """
    return Pattern(pattern)
