"""The impacts of one key on a live server that follow from its read and its create verdict.

The impacts of refused updates (blocks-..., tolerated-...) need an update verdict. For an invalid object without one,
the worst impact is unknown (None), never guessed.

Source: measured on a running server, v1.37.2; see docs/guide/findings.md.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from auditor.base.statuses import Impact
from auditor.crds.conversion import NEEDS_WEBHOOK
from auditor.storage_read.read import DRIFTS, LOSES_DATA, NO_METADATA
from auditor.validation.name_checks import path_segment

if TYPE_CHECKING:
    from auditor.base.records import AuditedObject, JsonObject


def impacts_of(
    audited: AuditedObject,
    *,
    namespaced: bool,
    by_webhook: bool = False,
    metadata: str = "",
    terminating: bool = False,
) -> tuple[Impact, ...]:
    """Return every impact that is known to apply, worst first; empty if the object is fine.

    Args:
        audited: The object as audited.
        namespaced: Whether its kind is namespaced.
        by_webhook: Whether some requested version needs a conversion webhook.
        metadata: The changes that the read made to the metadata (`rewritten_metadata`).
        terminating: Whether its definition is being deleted.
    """
    out: list[Impact] = []
    if audited.unreadable is not None:
        if needs_webhook(audited):
            out.append(Impact.NEEDS_WEBHOOK)
        elif audited.unreadable.reason == NO_METADATA:
            out += [Impact.CRASHES_SERVER, Impact.BREAKS_LIST]
        else:
            out.append(Impact.BREAKS_LIST)
        return tuple(out)
    if cache_key_fault(audited.object, namespaced=namespaced):
        out.append(Impact.BREAKS_WATCH)
    if terminating:
        out.append(Impact.IS_DELETED)
    if by_webhook:
        out.append(Impact.NEEDS_WEBHOOK)
    if audited.pruned or metadata == LOSES_DATA:
        out.append(Impact.LOSES_DATA)
    if audited.defaulted or metadata == DRIFTS:
        out.append(Impact.DRIFTS)
    return tuple(sorted(out, key=attrgetter("rank")))


def needs_webhook(audited: AuditedObject) -> bool:
    """Return whether only a conversion webhook could have read an object."""
    return audited.unreadable is not None and audited.unreadable.reason.startswith(NEEDS_WEBHOOK)


def cache_key_fault(obj: JsonObject | None, *, namespaced: bool) -> str:
    """Return why the watch cache has no key for an object, so that it cannot begin; empty if it has one.

    Source: apiserver pkg/registry/generic/registry/store.go (NamespaceKeyFunc, NoNamespaceKeyFunc).
    """
    own = (obj or {}).get("metadata")
    own = own if isinstance(own, dict) else {}
    if namespaced and not own.get("namespace"):
        return "Namespace parameter required."
    name = own.get("name")
    if not name:
        return "Name parameter required."
    faults = path_segment(name, prefix=False) if type(name) is str else ()
    return f'Name parameter invalid: "{name}": {";".join(faults)}' if faults else ""


def worst(impacts: tuple[Impact, ...], *, invalid: bool) -> Impact | None:
    """Return the worst impact; None if an invalid object's update verdict is unknown and nothing worse applies."""
    if impacts and (not invalid or impacts[0].decides_alone):
        return impacts[0]
    return None if invalid else Impact.NONE
