"""Feature gates of the server, as --feature-gates gives them; only one of them changes what is judged here."""

from __future__ import annotations

from auditor.errors import PlanError

__all__ = ["parse_feature_gates"]


def parse_feature_gates(text: str) -> bool:
    """Return whether CRDValidationRatcheting is on.

    Args:
        text: ``Name=true,Name=false``: feature gates of the server, as its command line has them.
    Raises:
        PlanError: It is not of that form, or names a gate that changes nothing here.
    """
    ratcheting = True
    for part in filter(None, text.split(",")):
        name, _, value = part.strip().partition("=")
        if name != "CRDValidationRatcheting" or value.lower() not in ("true", "false"):
            raise PlanError("--feature-gates", repr(part), "CRDValidationRatcheting=true or =false", "")
        ratcheting = value.lower() == "true"
    return ratcheting
