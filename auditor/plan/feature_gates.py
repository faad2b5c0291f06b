"""Parses feature gates of the server (--feature-gates); only CRDValidationRatcheting changes the checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.base.errors import PlanError
from auditor.releases import changes

if TYPE_CHECKING:
    from auditor.releases import Release


_RATCHETING: Final = "CRDValidationRatcheting"
_SELECTORS: Final = "CustomResourceFieldSelectors"


def parse_feature_gates(text: str) -> bool:
    """Return whether CRDValidationRatcheting is on.

    CustomResourceFieldSelectors may be named as well; every release that is known has it locked to true.

    Args:
        text: ``Name=true,Name=false``: feature gates of the server, as on its command line.
    Raises:
        PlanError: The text has another form, or names a gate that changes no check, is locked or no longer exists.
    """
    ratcheting = True
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, value = part.partition("=")
        stops = "a server that is started with it stops"
        if name in (_RATCHETING, _SELECTORS) and changes.GATES_REMOVED.holds:
            fault = f"{part!r} is not a feature gate since Kubernetes 1.{changes.GATES_REMOVED.since}; {stops}"
            raise PlanError("--feature-gates", fault, "", "leave --feature-gates out")
        if name not in (_RATCHETING, _SELECTORS) or value.lower() not in ("true", "false"):
            raise PlanError("--feature-gates", repr(part), f"{_RATCHETING}=true or =false", "")
        is_on = value.lower() == "true"
        if name == _SELECTORS and not is_on:
            fault = f"{part!r}: the feature gate is locked to true since Kubernetes 1.32; {stops}"
            raise PlanError("--feature-gates", fault, "", "leave it out")
        ratcheting = is_on if name == _RATCHETING else ratcheting
    return ratcheting


def ratcheting_note(release: Release, *, ratcheting: bool) -> str:
    """Return a sentence if no server of a release runs with CRDValidationRatcheting as it was given; else nothing."""
    locked = changes.RATCHETING_LOCKED
    if ratcheting or not locked.is_in(release):
        return ""
    return (
        f"judged with {_RATCHETING}=false, as servers before 1.{locked.since} can be started: since then the feature "
        "gate is locked to true"
    )
