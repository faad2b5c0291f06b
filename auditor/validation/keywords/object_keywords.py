"""properties, additionalProperties, required, minProperties and maxProperties.

Source: kube-openapi pkg/validation/validate/object_validator.go; ratcheting of fields as in apiextensions-apiserver
pkg/apiserver/validation/ratcheting.go (SubPropertyValidator).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.validation.field_errors import INVALID, REQUIRED
from auditor.validation.keywords.failure import (
    MOST_FAILURES,
    Check,
    Complaint,
    NodeChecks,
    Sink,
    size_complaints,
    too_many_failures,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from auditor.base.trail import Trail
    from auditor.ratcheting import CorrelatedObject
    from auditor.schema.structural import StructuralSchema


_TYPE_META: Final = frozenset({"apiVersion", "kind"})


def fields(
    nodes: Mapping[str, NodeChecks],
    extra: NodeChecks | None,
    *,
    closed: bool,
    matches: Callable[[str], bool] | None = None,
    counts: bool = True,
) -> Check:
    """Return the check that walks the existing keys of a map.

    Args:
        nodes: The checks of the declared properties.
        extra: The check of all other keys, or None.
        closed: Whether other keys are forbidden (additionalProperties: false).
        matches: Test for the other keys that patternProperties covers.
        counts: Whether the match count is used.
    """
    find = {name: (node, node.kinds) for name, node in nodes.items()}.get
    rest = None if extra is None else (extra, extra.kinds)

    def check(value: Any, trail: Trail, sink: Sink, twin: CorrelatedObject | None) -> int:
        count = 0
        for key, item in value.items():
            if len(sink) > MOST_FAILURES:
                raise too_many_failures()
            known = find(key)
            if known is None:
                if matches is not None and matches(key):
                    continue
                if closed:
                    sink.append((_forbidden, trail, key, None))
                if rest is None:
                    continue
                node, kinds = rest
            else:
                node, kinds = known
            fixed, checks = kinds[type(item)]
            count += fixed
            if checks:
                faults = None if twin is None else twin.faults
                if faults is not None and key not in faults:
                    continue
                below = (trail, key, True) if known is None else (trail, key)
                if twin is None or (faults is None and (trail is None or trail[0] is None)):
                    before = len(sink)
                    for inner in checks:
                        count += inner(item, below, sink, None)
                    if twin is None or len(sink) == before:
                        continue  # a walk without the old object takes less time; near the root it is often enough
                    del sink[before:]
                # At the root of the walk these two are never compared with the old object.
                correlated = None if trail is None and key in _TYPE_META else twin.key(key)
                count += node.run(item, below, sink, correlated)
        return count

    return check if counts else _fields_of_create(nodes, extra, closed, matches, check)


def _fields_of_create(
    nodes: Mapping[str, NodeChecks],
    extra: NodeChecks | None,
    closed: bool,
    matches: Callable[[str], bool] | None,
    check_update: Check,
) -> Check:
    """Return the check of `fields` that counts nothing and, on a create, passes values without checks at once.

    Args:
        nodes, extra, closed, matches: As of `fields`.
        check_update: The check for an update.
    """
    find = {name: node.kinds for name, node in nodes.items()}.get
    rest = None if extra is None else extra.kinds
    unchecked: dict[str, type] = {}
    kind_of = unchecked.get  # a type of value that has no checks, by declared property

    def check(value: Any, trail: Trail, sink: Sink, twin: CorrelatedObject | None) -> int:
        if twin is not None:
            return check_update(value, trail, sink, twin)
        for key, item in value.items():
            kind = type(item)
            if kind_of(key) is kind:
                continue
            kinds = find(key)
            if kinds is None:
                if len(sink) > MOST_FAILURES:
                    raise too_many_failures()
                if matches is not None and matches(key):
                    continue
                if closed:
                    sink.append((_forbidden, trail, key, None))
                if rest is None:
                    continue
                for inner in rest[kind][1]:
                    inner(item, (trail, key, True), sink, None)
            elif checks := kinds[kind][1]:
                below = trail, key
                for inner in checks:
                    inner(item, below, sink, None)
            else:
                unchecked[key] = kind
        if len(sink) > MOST_FAILURES:
            raise too_many_failures()
        return 0

    return check


def _forbidden(path: str, key: Any, _parameter: Any) -> Complaint:
    detail = f"{path}.{key} in body is a forbidden property"
    return Complaint(path, INVALID, key, detail, detail)


def sizes(schema: StructuralSchema) -> Check | None:
    """Return the check of required keys and of the number of keys, or None."""
    needed, fewest, most = schema.required, schema.min_properties, schema.max_properties
    if not needed and fewest is None and most is None:
        return None
    too_few, too_many = size_complaints("properties")

    def check(value: Any, trail: Trail, sink: Sink, _twin: CorrelatedObject | None) -> int:
        for name in needed:
            if name not in value:
                sink.append((_missing, trail, None, name))
        if len(sink) > MOST_FAILURES:
            raise too_many_failures()
        size = len(value)
        if fewest is not None and size < fewest:
            sink.append((too_few, trail, size, fewest))
        if most is not None and size > most:
            sink.append((too_many, trail, size, most))
        return 0

    return check


def _missing(path: str, _value: Any, name: str) -> Complaint:
    field = f"{path}.{name}"
    return Complaint(field, REQUIRED, "", "", f"{field} in body is required")
