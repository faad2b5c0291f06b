"""Parses feature gates of the server (--feature-gates); only CRDValidationRatcheting changes the checks."""

from __future__ import annotations

from auditor.base.errors import PlanError
from auditor.releases import changes

__all__ = ["parse_feature_gates"]

_REMOVED = frozenset({"CRDValidationRatcheting", "CustomResourceFieldSelectors"})


def parse_feature_gates(text: str) -> bool:
    """Return whether CRDValidationRatcheting is on.

    Args:
        text: ``Name=true,Name=false``: feature gates of the server, as on its command line.
    Raises:
        PlanError: The text has another form, or names a gate that changes no check or no longer exists.
    """
    ratcheting = True
    for part in filter(None, text.split(",")):
        name, _, value = part.strip().partition("=")
        if name in _REMOVED and changes.GATES_REMOVED.holds:
            found = (
                f"{part.strip()!r} is not a feature gate since Kubernetes 1.{changes.GATES_REMOVED.since}; "
                "a server that is started with it stops"
            )
            raise PlanError("--feature-gates", found, "", "leave --feature-gates out")
        if name != "CRDValidationRatcheting" or value.lower() not in ("true", "false"):
            raise PlanError("--feature-gates", repr(part), "CRDValidationRatcheting=true or =false", "")
        ratcheting = value.lower() == "true"
    return ratcheting
