"""What another release of the API server does to a definition that stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from auditor.crdcheck import check_crd
from auditor.crds.as_v1 import as_manifest
from auditor.releases import running_as
from auditor.upgrade.decision import ATTENTION, Decision

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.releases import Release

__all__ = ["ReleaseChange", "release_change", "with_release_change"]


class ReleaseChange(NamedTuple):
    """What the servers of two releases say to a create of one definition.

    Attributes:
        refused: Messages of the new server alone.
        accepted: Messages of the old server alone.
    """

    refused: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()


def release_change(document: JsonObject, old: Release, new: Release) -> ReleaseChange:
    """Compare what the servers of two releases say to a create of a definition, as after a restore."""
    before, after = (_messages(document, release) for release in (old, new))
    return ReleaseChange(
        tuple(text for text in after if text not in before), tuple(text for text in before if text not in after)
    )


def _messages(document: JsonObject, release: Release) -> dict[str, None]:
    with running_as(release):
        checked = check_crd(as_manifest(document))
    reason = [] if checked.unreadable is None else [checked.unreadable.reason]
    return dict.fromkeys([*reason, *(str(one.words) for one in checked.findings)])


_LONGEST: Final = 160


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def with_release_change(decision: Decision, change: ReleaseChange, release: Release) -> Decision:
    """Return the decision on a definition, with what the server of a new release says to a create of it."""
    if change.refused:
        text = f"Kubernetes {release.name} refuses a create of it: {_cut(change.refused[0])}"
        if decision.word == "safe":
            noted = "".join(f"; {note}" for note in decision.notes)
            levels = frozenset({"invalid"})
            return Decision(ATTENTION, f"attention: {text}{noted}", (text,), levels, (), decision.notes)
        return decision._replace(
            sentence=f"{decision.sentence}; {text}",
            attention=(*decision.attention, text),
            levels=decision.levels | {"invalid"},
        )
    if change.accepted:
        note = f"Kubernetes {release.name} accepts a create of it, which today's server refuses"
        return decision._replace(sentence=f"{decision.sentence}; {note}", notes=(*decision.notes, note))
    return decision
