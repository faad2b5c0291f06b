"""The finding that rules were not checked follows from others of its object, and is a note beside the first of them.

The server adds it under ``<nil>`` to the list of errors; what is to be repaired is the error that kept it from rules.
Tables of a report have it as the server says it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence


FOLLOWS: Final = "some validation rules were not checked because the object was invalid"
"""Beginning of its detail; its message has the field and the value before it."""
BLOCKING: Final = (
    *("FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany"),
    "FieldValueTypeInvalid",
)
"""Types of the findings that keep a server from checking rules."""
_NOTE: Final = "some validation rules were not checked because of this"


def follows(finding: dict[str, Any]) -> bool:
    """Return whether a finding says that rules were not checked."""
    return str(finding.get("field")) == "<nil>" and FOLLOWS in (finding.get("message") or "")


def with_notes(findings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the findings of one object without those that follow from others; these others get a `note`.

    Args:
        findings: With `field`, `type` and `message`, and `request` where they are of several requests. If each of them
            follows from others, which are not among them, they are returned as they are.
    """
    own = [finding for finding in findings if not follows(finding)]
    if not own or len(own) == len(findings):
        return list(findings)
    blocking = [finding for finding in own if finding["type"] in BLOCKING] or own
    noted_ones = {id(_same_request(finding, blocking)) for finding in findings if follows(finding)}
    return [{**finding, "note": _NOTE} if id(finding) in noted_ones else finding for finding in own]


def _same_request(finding: dict[str, Any], blocking: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return next((blocker for blocker in blocking if blocker.get("request") == finding.get("request")), blocking[0])


def noted(finding: dict[str, Any]) -> str:
    """Return the message of a finding with its note."""
    note = finding.get("note")
    return f"{finding['message']} ({note})" if note else finding["message"] or ""
