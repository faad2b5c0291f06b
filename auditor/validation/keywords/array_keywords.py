"""items, minItems, maxItems and uniqueItems.

Source: kube-openapi pkg/validation/validate/slice_validator.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.ratcheting import has_equal_pair
from auditor.validation.field_errors import INVALID
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
    from auditor.base.trail import Trail
    from auditor.ratcheting import CorrelatedObject
    from auditor.schema.structural import StructuralSchema


def items(node: NodeChecks, *, counts: bool = True) -> Check:
    """Return the check that walks a list, each item with its correlated old value, if any.

    Args:
        node: The checks of the items.
        counts: Whether the match count is used.
    """
    kinds = node.kinds

    def check(value: Any, trail: Trail, sink: Sink, twin: CorrelatedObject | None) -> int:
        count = 0
        for index, item in enumerate(value):
            if len(sink) > MOST_FAILURES:
                raise too_many_failures()
            fixed, checks = kinds[type(item)]
            count += fixed
            if checks:
                below = (trail, index)
                if twin is None:
                    for inner in checks:
                        count += inner(item, below, sink, None)
                elif twin.faults is None or index in twin.faults:
                    count += node.run(item, below, sink, twin.index(index))
        return count

    def check_create(value: Any, trail: Trail, sink: Sink, twin: CorrelatedObject | None) -> int:
        if twin is not None:
            return check(value, trail, sink, twin)
        for index, item in enumerate(value):
            if checks := kinds[type(item)][1]:
                if len(sink) > MOST_FAILURES:
                    raise too_many_failures()
                below = (trail, index)
                for inner in checks:
                    inner(item, below, sink, None)
        return 0

    return check if counts else check_create


def sizes(schema: StructuralSchema) -> Check | None:
    """Return the check of the number of items and of their uniqueness, or None."""
    fewest, most, unique = schema.min_items, schema.max_items, schema.unique_items
    if fewest is None and most is None and not unique:
        return None
    too_few, too_many = size_complaints("items")

    def check(value: Any, trail: Trail, sink: Sink, _twin: CorrelatedObject | None) -> int:
        size = len(value)
        if fewest is not None and size < fewest:
            sink.append((too_few, trail, size, fewest))
        if most is not None and size > most:
            sink.append((too_many, trail, size, most))
        if unique and has_equal_pair(value):
            sink.append((_repeated, trail, None, None))
        return 0

    return check


def _repeated(path: str, _value: Any, _parameter: Any) -> Complaint:
    detail = f"{path} in body shouldn't contain duplicates"
    return Complaint(path, INVALID, "", detail, detail)
