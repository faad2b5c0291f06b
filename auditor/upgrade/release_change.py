"""What another release of the API server does to a definition that stays as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from auditor.crdcheck import check_crd
from auditor.crds.as_v1 import as_manifest
from auditor.releases import running_as
from auditor.releases.changes import between
from auditor.upgrade.decision import ATTENTION, CREATE, NOTE, Decision, UpgradeEffect

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.releases import Release


class ReleaseChange(NamedTuple):
    """What the servers of two releases say to a create of one definition.

    Attributes:
        refused: Messages of the new server alone.
        accepted: Messages of the old server alone.
        dearer: Path of each expression of a rule that costs more by the estimate of the new server; `cheaper`: less.
        records: Names of the records of the table of changes that alone make a difference, by what differs: refused,
            accepted, dearer or cheaper. An empty name: none does.
    """

    refused: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    dearer: tuple[str, ...] = ()
    cheaper: tuple[str, ...] = ()
    records: tuple[tuple[str, str], ...] = ()

    def records_of(self, how: str) -> set[str]:
        """Return the names of the records that make one difference."""
        return {name for own, name in self.records if own == how}


class _Said(NamedTuple):
    """What one server says to a create: its messages, and the estimated cost of each expression."""

    messages: frozenset[str]
    costs: tuple[tuple[str, int], ...]


def release_change(document: JsonObject, old: Release, new: Release) -> ReleaseChange:
    """Compare what the servers of two releases say to a create of a definition, as after a restore."""
    before, after = _said(document, old), _said(document, new)
    made = _compared(before, after)
    differs = [how for how in _HOW if getattr(made, how)]
    if not differs:
        return made
    is_forward = old.minor <= new.minor
    older, said = (old, before) if is_forward else (new, after)
    differences: set[tuple[str, str]] = set()
    for record in between(old, new):
        alone = _said(document, replace(older, also=frozenset({record.name})))
        difference = _compared(said, alone) if is_forward else _compared(alone, said)
        differences |= {(how, record.name) for how in differs if getattr(difference, how)}
    differences |= {(how, "") for how in differs if not any(how == own for own, _ in differences)}
    return made._replace(records=tuple(sorted(differences)))


_HOW: Final = ("refused", "accepted", "dearer", "cheaper")


def _compared(before: _Said, after: _Said) -> ReleaseChange:
    costs = [
        (path, was, now)
        for (path, was), (other, now) in zip(before.costs, after.costs, strict=False)
        if path == other and was != now
    ]
    return ReleaseChange(
        tuple(sorted(after.messages - before.messages)),
        tuple(sorted(before.messages - after.messages)),
        tuple(path for path, was, now in costs if now > was),
        tuple(path for path, was, now in costs if now < was),
    )


def _said(document: JsonObject, release: Release) -> _Said:
    with running_as(release):
        checked = check_crd(as_manifest(document))
    reason = [] if checked.unreadable is None else [checked.unreadable.reason]
    return _Said(frozenset([*reason, *(str(finding.words) for finding in checked.findings)]), tuple(checked.costs))


_LONGEST: Final = 160


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def with_release_change(decision: Decision, change: ReleaseChange, release: Release) -> Decision:
    """Return the decision on a definition, with what the server of a new release says to a create of it."""
    if change.refused:
        text = f"Kubernetes {release.name} refuses a create of it: {_cut(change.refused[0])}"
        refused = UpgradeEffect("create-refused", text, levels=frozenset({"invalid"}))
        if decision.word == "safe":
            noted = "".join(f"; {note}" for note in decision.texts(NOTE))
            return Decision(ATTENTION, f"attention: {text}{noted}", (refused, *decision.effects))
        effects = (refused._replace(part=CREATE), *decision.effects)
        return decision._replace(sentence=f"{decision.sentence}; {text}", effects=effects)
    if change.accepted:
        note = f"Kubernetes {release.name} accepts a create of it, which today's server refuses"
        effects = (*decision.effects, UpgradeEffect("create-accepted", note, part=NOTE))
        return decision._replace(sentence=f"{decision.sentence}; {note}", effects=effects)
    return decision
