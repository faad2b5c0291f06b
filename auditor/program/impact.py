"""What one key does to a live server, as far as its read and its create verdict tell.

What a refused update means (blocks-..., tolerated-...) needs an update verdict; where objects are invalid and none was
asked, the worst impact is unknown and said to be (None), never guessed.

Source: measured on a running server, v1.37.2; see README, "What it means".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.crds.conversion import NEEDS_WEBHOOK
from auditor.model import IMPACTS
from auditor.program.read import NO_METADATA
from auditor.program.rewritten import DRIFTS, LOSES_DATA

if TYPE_CHECKING:
    from auditor.model import AuditedObject

__all__ = ["impacts_of", "worst"]

_RANK = {impact: rank for rank, impact in enumerate(IMPACTS)}


def impacts_of(
    audited: AuditedObject, *, namespaced: bool, needs_webhook: bool = False, metadata: str = ""
) -> tuple[str, ...]:
    """Return every impact that is known to apply, worst first; empty where the object is simply fine.

    Args:
        audited: The object as audited.
        namespaced: Whether its kind is namespaced.
        needs_webhook: Whether some requested version could only be had from a conversion webhook.
        metadata: What the read did to the metadata (`rewritten.rewritten_metadata`).
    """
    out: list[str] = []
    if audited.unreadable is not None:
        reason = audited.unreadable.reason
        if reason.startswith(NEEDS_WEBHOOK):
            out.append("needs-webhook")
        elif reason == NO_METADATA:
            out += ["crashes-server", "breaks-list"]
        else:
            out.append("breaks-list")
        return tuple(out)
    own = (audited.object or {}).get("metadata")
    own = own if isinstance(own, dict) else {}
    if not own.get("name") or (namespaced and not own.get("namespace")):
        out.append("breaks-list")
    if needs_webhook:
        out.append("needs-webhook")
    if audited.pruned or metadata == LOSES_DATA:
        out.append("loses-data")
    if audited.defaulted or metadata == DRIFTS:
        out.append("drifts")
    return tuple(sorted(out, key=_RANK.__getitem__))


def worst(impacts: tuple[str, ...], *, invalid: bool) -> str | None:
    """Return the worst impact; None where an invalid object's update verdict is unknown and nothing worse applies."""
    if impacts and (not invalid or _RANK[impacts[0]] <= _RANK["needs-webhook"]):
        return impacts[0]
    return None if invalid else "none"
