"""Keywords that no structural schema has: lists of items, patternProperties, dependencies.

Definitions of old servers that preserve unknown fields may still have them, and a server still validates them. `$ref`
is missing here: a server fails on it before any validation.

Source: kube-openapi pkg/validation/validate/slice_validator.go, object_validator.go, schema_props.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.golang.go_text import quote
from auditor.golang.regex.compiled import GoRegexError, compile_pattern
from auditor.validation.keywords.failure import Check, Complaint, NodeChecks, Sink, composite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from auditor.base.trail import Trail
    from auditor.ratcheting import CorrelatedObject


def positional_items(nodes: tuple[NodeChecks, ...], rest: NodeChecks | None, *, closed: bool) -> Check:
    """Return the check of lists whose items have a schema by position.

    Args:
        nodes: One for each of the first items.
        rest: The check of further items; the server skips as many of the last ones as there are `nodes`.
        closed: Whether further items are forbidden (additionalItems: false).
    """
    known = len(nodes)

    def check(value: Any, trail: Trail, sink: Sink, twin: CorrelatedObject | None) -> int:
        count = 0
        for index, (node, item) in enumerate(zip(nodes, value, strict=False)):
            count += node.run(item, (trail, index), sink, None if twin is None else twin.index(index))
        size = len(value)
        if known < size:
            if closed and known:
                sink.append((_no_further_items, trail, None, None))
            if rest is not None:
                for index in range(known, min(size, size - known + 1)):
                    below = None if twin is None else twin.index(index)
                    count += rest.run(value[index], (trail, index), sink, below)
        return count

    return check


def _no_further_items(_path: str, _value: Any, _parameter: Any) -> Complaint:
    return composite("array doesn't allow for additional items")


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test whether a key matches; a pattern that does not compile matches none."""
    try:
        return compile_pattern(pattern).search
    except GoRegexError:
        return lambda _key: False


def any_matcher(matchers: tuple[Callable[[str], bool], ...]) -> Callable[[str], bool]:
    """Return a test whether a key matches any of several patterns."""
    return lambda key: any(matches(key) for matches in matchers)


def pattern_properties(
    nodes: tuple[tuple[Callable[[str], bool], NodeChecks], ...], declared: frozenset[str], *, closed: bool
) -> Check:
    """Return the check of keys by pattern.

    The server runs it up to three times and reports failures once; only the match count depends on that.
    """

    def check(value: Any, trail: Trail, sink: Sink, twin: CorrelatedObject | None) -> int:
        count = 0
        for key, item in value.items():
            times = (0 if closed else 1) + (1 if key in declared else 2)
            for matches, node in nodes:
                if matches(key):
                    below = None if twin is None else twin.key(key)
                    count += times * node.run(item, (trail, key, True), sink, below)
        return count

    return check


def dependencies(schemas: Mapping[str, NodeChecks], names: dict[str, tuple[str, ...]]) -> Check:
    """Return the check of dependencies: a map with a certain key must match a schema or have other keys."""

    def check(value: Any, trail: Trail, sink: Sink, _twin: CorrelatedObject | None) -> int:
        count = 0
        for key in value:
            if key in schemas:
                count += schemas[key].run(value, (trail, key, True), sink, None)
            else:
                sink.extend((_depends, trail, None, name) for name in names.get(key, ()) if name not in value)
        return count

    return check


def _depends(path: str, _value: Any, name: str) -> Complaint:
    return composite(f"{quote(path)} has a dependency on {name}")
