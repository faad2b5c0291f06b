"""anyOf, oneOf, allOf and not.

Branches are judged as on a create, also in an update: nothing below them is compared with an old value. If no branch of
anyOf or oneOf fits, the failures of the branch with the highest match count are shown, or of the first of several.

Source: kube-openapi pkg/validation/validate/schema_props.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.golang.go_text import quote
from auditor.validation.keywords.failure import Check, Complaint, NodeChecks, Sink, composite

if TYPE_CHECKING:
    from auditor.base.trail import Trail
    from auditor.ratcheting import CorrelatedObject


def any_of(branches: tuple[NodeChecks, ...]) -> Check:
    """Return the check that at least one branch fits."""

    def check(value: Any, trail: Trail, sink: Sink, _twin: CorrelatedObject | None) -> int:
        best: Sink = []
        highest = -1
        for branch in branches:
            failures: Sink = []
            count = branch.run(value, trail, failures, None)
            if not failures:
                return count
            if count > highest:
                best, highest = failures, count
        sink.append((_none_of_any, trail, None, None))
        sink.extend(best)
        return highest

    return check


def _none_of_any(path: str, _value: Any, _parameter: Any) -> Complaint:
    return composite(f"{quote(path)} must validate at least one schema (anyOf)")


def one_of(branches: tuple[NodeChecks, ...]) -> Check:
    """Return the check that exactly one branch fits."""

    def check(value: Any, trail: Trail, sink: Sink, _twin: CorrelatedObject | None) -> int:
        best: Sink = []
        highest = -1
        fitting = 0
        first = 0
        for branch in branches:
            failures: Sink = []
            count = branch.run(value, trail, failures, None)
            if not failures:
                fitting += 1
                if fitting == 1:
                    first = count
            elif count > highest:
                best, highest = failures, count
        if fitting == 1:
            return first
        sink.append((_not_one, trail, None, fitting))
        if fitting:
            return 0
        sink.extend(best)
        return highest

    return check


def _not_one(path: str, _value: Any, fitting: int) -> Complaint:
    reason = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
    return composite(f"{quote(path)} must validate one and only one schema (oneOf). {reason}")


def all_of(branches: tuple[NodeChecks, ...]) -> Check:
    """Return the check that all branches fit."""

    def check(value: Any, trail: Trail, sink: Sink, _twin: CorrelatedObject | None) -> int:
        total = fitting = 0
        for branch in branches:
            before = len(sink)
            total += branch.run(value, trail, sink, None)
            fitting += len(sink) == before
        if fitting != len(branches):
            sink.append((_not_all, trail, None, fitting))
        return total

    return check


def _not_all(path: str, _value: Any, fitting: int) -> Complaint:
    return composite(f"{quote(path)} must validate all the schemas (allOf){'' if fitting else '. None validated'}")


def not_(branch: NodeChecks) -> Check:
    """Return the check that a branch does not fit."""

    def check(value: Any, trail: Trail, sink: Sink, _twin: CorrelatedObject | None) -> int:
        failures: Sink = []
        branch.run(value, trail, failures, None)
        if not failures:
            sink.append((_fits, trail, None, None))
        return 0

    return check


def _fits(path: str, _value: Any, _parameter: Any) -> Complaint:
    return composite(f"{quote(path)} must not validate the schema (not)")
