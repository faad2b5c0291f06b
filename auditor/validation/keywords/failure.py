"""Failures of the keyword walk: each is four values, which become text only if the failure is reported.

Most failures below anyOf and oneOf are dropped, and an update drops those of unchanged nodes. So a check appends
(describe, trail, value, parameter) to the sink; `describe` turns it into a Complaint once the walk is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from auditor.base.errors import TooMuchToReport
from auditor.base.trail import Trail
from auditor.releases import changes
from auditor.validation.field_errors import INVALID, TOO_FEW, TOO_MANY, too_few_detail, too_many_detail

if TYPE_CHECKING:
    from auditor.base.longtext import LongText
    from auditor.ratcheting import CorrelatedObject


MOST_FINDINGS: Final = 250_000
"""Most findings of one object. An object with more (such as 3,000 missing names in each of 3,000 items) is not judged.
"""
MOST_FAILURES: Final = 600_000
"""Most failures of a walk; many of them may be equal."""


class Complaint(NamedTuple):
    """A failure in the words of the validator.

    Attributes:
        name: The path at which the finding is reported; None for the root, then only the detail has the path.
        type: The server's cause.
        bad_value: As JSON data.
        detail: As in the finding.
        text: The text by which complaints of one run are compared: equal texts are reported once.
    """

    name: str | None
    type: str
    bad_value: Any
    detail: str
    text: str | LongText


Describe = Callable[[str, Any, Any], Complaint]
Failure = tuple[Describe, Trail, Any, Any]
Sink = list[Failure]
Check = Callable[[Any, Trail, Sink, "CorrelatedObject | None"], int]
"""(value, trail, sink, correlated) -> match count of nested checks; appends failures to the sink."""


class NodeChecks(Protocol):
    """The compiled checks of one schema position, which the checks of maps, lists and branches run for their parts.

    `auditor.validation.node.SchemaNode` says what the attributes mean.
    """

    kinds: dict[type, tuple[int, tuple[Check, ...]]]

    def run(self, value: Any, trail: Trail, sink: Sink, twin: CorrelatedObject | None) -> int:
        """Check one value, append its failures to the sink, and return the match count."""


def too_many_failures() -> TooMuchToReport:
    """Return the error of an object with more than `MOST_FINDINGS` findings."""
    return TooMuchToReport(f"it has more than {MOST_FINDINGS:,} findings")


def composite(text: str) -> Complaint:
    """Return a complaint without a field: the server reports it at the root with an empty value."""
    return Complaint(None, INVALID, "", text, text)


def size_complaints(members: str) -> tuple[Describe, Describe]:
    """Return what describes too few and too many members, which are ``items`` or ``properties``."""
    has_own_type = changes.TOO_FEW.holds

    def too_few(path: str, size: Any, limit: int) -> Complaint:
        text = f"{path} in body should have at least {limit} {members}"
        if has_own_type:
            return Complaint(path, TOO_FEW, size, too_few_detail(limit), text)
        return Complaint(path, INVALID, size, text, text)

    def too_many(path: str, size: Any, limit: int) -> Complaint:
        text = f"{path} in body should have at most {limit} {members}"
        return Complaint(path, TOO_MANY, size, too_many_detail(limit), text)

    return too_few, too_many
