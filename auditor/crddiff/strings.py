"""Texts that fit patterns, formats and lengths: from the tree of a pattern, samples of formats, a few plain words."""

from __future__ import annotations

from functools import cache
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Final

from auditor.golang.regex.compiled import compile_pattern
from auditor.golang.regex.syntax import GoRegexError, parse
from auditor.golang.regex.tree import Alternate, Assertion, Chars, Concat, Repeat
from auditor.validation.string_formats import FORMATS, accepts, is_known, normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from auditor.golang.regex.tree import Node


LONGEST: Final = 100_000
"""Characters of the longest text that is made."""
WORDS: Final = ("a", "b", "1", "A", "a-b", "a.b", "a/b", "a b", "-", "é", "https://a.example/b", "")
_SAMPLES: Final = (
    "2020-01-01T00:00:00Z", "2020-01-01", "1h", "10.0.0.1", "::1", "10.0.0.0/8", "YQ==", "a@b.example", "https://a.example/b",
    "a.example", "550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-31d4-a716-446655440000",
    "550e8400-e29b-51d4-a716-446655440000", "00:00:5e:00:53:01", "#fff", "rgb(1,2,3)", "0306406152", "9780306406157",
    "4111111111111111", "123-45-6789", "507f1f77bcf86cd799439011",
)  # fmt: skip
_LIKED: Final = "a0A-._/:bz1Z @"
_ROUNDS: Final = 24
_REPEATS: Final = (0, 1, 2, 7)


def texts(
    patterns: Sequence[str], formats: Sequence[str], least: int = 0, most: int | None = None, seed: int = 0
) -> list[str]:
    """Return texts that fit, simple ones first; empty if none was found.

    Args:
        patterns: Patterns that each text matches.
        formats: String formats that it fits; unknown ones are ignored, as by the server.
        least: Least number of characters.
        most: Largest number; None for no limit.
        seed: Seed of the choices in patterns.
    """
    return list(_texts(tuple(patterns), tuple(filter(is_known, formats)), least, most, seed))


@cache
def _texts(
    patterns: tuple[str, ...], formats: tuple[str, ...], least: int, most: int | None, seed: int
) -> tuple[str, ...]:
    if least > LONGEST:
        return ()
    given: list[str] = []
    for pattern in patterns:
        given += of_pattern(pattern, least, seed)
    known = [name for name in formats if normalise(name) in FORMATS]
    given += _SAMPLES if known else ()
    given += [word + word[-1:] * (least - len(word)) or "a" * least for word in WORDS]
    if most is not None and most <= LONGEST:
        given.append("a" * most)
    return tuple(text for text in dict.fromkeys(given) if _fits(text, patterns, known, least, most))


def _fits(text: str, patterns: Iterable[str], formats: Iterable[str], least: int, most: int | None) -> bool:
    if len(text) < least or (most is not None and len(text) > most):
        return False
    return all(accepts(name, text) for name in formats) and all(_matches(pattern, text) for pattern in patterns)


def _matches(pattern: str, text: str) -> bool:
    try:
        return compile_pattern(pattern).matches(text)
    except GoRegexError:
        return False


@cache
def of_pattern(pattern: str, least: int = 0, seed: int = 0) -> tuple[str, ...]:
    """Return texts that a pattern probably matches, short ones first; empty for one that Go does not compile.

    Args:
        pattern: In the syntax of RE2.
        least: Number of characters that some of them should have.
        seed: Seed of the choices.
    """
    try:
        tree = parse(pattern).tree
    except GoRegexError:
        return ()
    random = Random(seed)  # noqa: S311 - no secret
    more = (*_REPEATS, least) if least <= LONGEST else _REPEATS
    made = [_made(tree, None, extra) for extra in more]
    made += ["".join(islice(_drawn(tree, random, random.choice(more)), LONGEST)) for _ in range(_ROUNDS)]
    return tuple(dict.fromkeys(made))


def _made(tree: Node, random: Random | None, extra: int) -> str:
    return "".join(islice(_drawn(tree, random, extra), LONGEST))


def _drawn(node: Node, random: Random | None, extra: int) -> Iterator[str]:
    """Yield characters; without `random` those of the first branch and the plainest character of each class."""
    if isinstance(node, Chars):
        yield _character(node, random)
    elif isinstance(node, Concat):
        for item in node.items:
            yield from _drawn(item, random, extra)
    elif isinstance(node, Alternate):
        yield from _drawn(node.items[0] if random is None else random.choice(node.items), random, extra)
    elif isinstance(node, Repeat):
        times = node.least + extra
        times = times if node.most is None else min(times, node.most)
        for _ in range(times):
            yield from _drawn(node.item, random, extra if extra in _REPEATS else 0)
    else:
        assert isinstance(node, Assertion)


def _character(node: Chars, random: Random | None) -> str:
    liked = [letter for letter in _LIKED if any(low <= ord(letter) <= high for low, high in node.ranges)]
    if random is not None:
        liked += [chr(code) for low, high in node.ranges[:8] for code in (low, high) if 32 <= code < 0xD800]
        return random.choice(liked) if liked else ""
    return liked[0] if liked else next((chr(low) for low, _ in node.ranges if low >= 32), "\n")
