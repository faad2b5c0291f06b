"""items, minItems, maxItems and uniqueItems.

Source: kube-openapi pkg/validation/validate/slice_validator.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.ratcheting import has_equal_pair
from auditor.releases import changes
from auditor.validation.field_errors import INVALID, TOO_FEW, TOO_MANY, too_few_detail, too_many_detail
from auditor.validation.keywords.failure import MOST_FAILURES, Check, Complaint, NodeChecks, Sink, too_many_failures

if TYPE_CHECKING:
    from auditor.base.trail import Trail
    from auditor.ratcheting import CorrelatedObject
    from auditor.schema.structural import StructuralSchema


def items(node: NodeChecks) -> Check:
    """Return the check that walks a list, each item with its correlated old value, if any."""
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
                else:
                    count += node.run(item, below, sink, twin.index(index))
        return count

    return check


def sizes(schema: StructuralSchema) -> Check | None:
    """Return the check of the number of items and of their uniqueness, or None."""
    fewest, most, unique = schema.min_items, schema.max_items, schema.unique_items
    if fewest is None and most is None and not unique:
        return None
    too_few = _too_few if changes.TOO_FEW.holds else _below

    def check(value: Any, trail: Trail, sink: Sink, _twin: CorrelatedObject | None) -> int:
        size = len(value)
        if fewest is not None and size < fewest:
            sink.append((too_few, trail, size, fewest))
        if most is not None and size > most:
            sink.append((_too_many, trail, size, most))
        if unique and has_equal_pair(value):
            sink.append((_repeated, trail, None, None))
        return 0

    return check


def _below(path: str, size: Any, limit: int) -> Complaint:
    detail = f"{path} in body should have at least {limit} items"
    return Complaint(path, INVALID, size, detail, detail)


def _too_few(path: str, size: Any, limit: int) -> Complaint:
    text = f"{path} in body should have at least {limit} items"
    return Complaint(path, TOO_FEW, size, too_few_detail(limit), text)


def _too_many(path: str, size: Any, limit: int) -> Complaint:
    text = f"{path} in body should have at most {limit} items"
    return Complaint(path, TOO_MANY, size, too_many_detail(limit), text)


def _repeated(path: str, _value: Any, _parameter: Any) -> Complaint:
    detail = f"{path} in body shouldn't contain duplicates"
    return Complaint(path, INVALID, "", detail, detail)
