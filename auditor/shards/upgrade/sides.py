"""An object under one set of definitions, what an upgrade does to it, and the examples of changes in the summary."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.base.statuses import Impact, Status
from auditor.program.impact import needs_webhook
from auditor.storage_read.read import ReadError, decode_value
from auditor.updates.managed_fields import last_writer, locate
from auditor.upgrade import PathChange, Sample, place_of, worst_by_field
from auditor.upgrade.changes import VERDICT

if TYPE_CHECKING:
    from auditor.base.records import AuditedObject, JsonObject
    from auditor.shards.updates import UpdateOutcome


_VERDICTS: Final = ("blocked", "invalid", "tolerated")
"""An object has only one of these categories; worst first."""
OF_VERSIONS: Final = frozenset({*_VERDICTS, "data-loss", "drift", "selector", "apply-refused", "manager-refused"})
"""Categories that an object may have at any version; the others are of its value, or of where it was judged first."""


class DefinitionSide(NamedTuple):
    """An object under one set of definitions."""

    audited: AuditedObject
    outcome: UpdateOutcome
    state: Status | Impact

    @property
    def rank(self) -> int:
        """Its badness: 0 valid, 1 tolerated, 2 invalid (no update verdict), 3 blocked, 4 unreadable."""
        if isinstance(self.state, Impact):
            return 3 if self.state.blocks else 1
        return {Status.VALID: 0, Status.INVALID: 2}.get(self.state, 4)


class VersionEffect(NamedTuple):
    """What an upgrade does to an object at one version that clients use.

    Attributes:
        new: The object under the new definition, at that version.
        changes: What changes.
        categories: The categories of `Tally` that it has there.
        was: The object under the old definition; None if nothing differs, or if no server had it.
        fault: The example's text where neither the object nor a change has it.
    """

    new: DefinitionSide
    changes: list[PathChange]
    categories: set[str]
    was: DefinitionSide | None = None
    fault: str = ""


def worst_of(effects: list[VersionEffect]) -> set[str]:
    """Return the categories of an object: all that it has at some version, of verdicts the worst."""
    categories = set().union(*(effect.categories for effect in effects))
    worst = next((verdict for verdict in _VERDICTS if verdict in categories), None)
    return {category for category in categories if category not in _VERDICTS or category == worst}


def side_of(audited: AuditedObject, outcome: UpdateOutcome) -> DefinitionSide:
    """Return an object under one set of definitions."""
    return DefinitionSide(audited, outcome, state_of(audited, outcome))


def state_of(audited: AuditedObject, outcome: UpdateOutcome) -> Status | Impact:
    """Return the status of an object, or what makes the next PUT or patch of it fail or lose data."""
    if audited.unreadable is not None:
        return Status.NEEDS_CONVERSION if needs_webhook(audited) else Status.UNREADABLE
    impacts = outcome.verdict.impacts if outcome.verdict is not None else ()
    blocks = [impact for impact in impacts if impact.blocks and impact is not Impact.BLOCKS_APPLY]
    if blocks:
        return min(blocks, key=attrgetter("rank"))
    if audited.findings:
        return Impact.TOLERATED if outcome.is_known else Status.INVALID
    return Status.VALID


def newly_stuck(new: DefinitionSide, was: DefinitionSide | None) -> set[str]:
    """Return the category of an object whose server-side applies fail from now on; none if there was no object."""
    is_new = new.outcome.apply_refusal and (was is None or not was.outcome.apply_refusal)
    return {"apply-refused"} if is_new else set()


def newly(new: DefinitionSide, before: int) -> set[str]:
    """Return the categories that follow from the badness of an object before and after."""
    if new.rank >= 3 and before >= new.rank:
        return {"broken-before"}
    if new.rank < before:
        return {"mended"}
    if new.rank == before:
        return set()
    if new.rank == 4:
        return {str(new.state)}
    return {("tolerated", "invalid", "blocked")[new.rank - 1]}


_NOT_CHECKED: Final = "some validation rules were not checked"
_CATEGORY: Final = {"defaulted": "drift", "default-changed": "drift", "selector": "selector"}


def categories_of(changes: list[PathChange]) -> set[str]:
    """Return the categories of changes in the answers to reads."""
    return {"data-loss" if change.is_loss else _CATEGORY.get(change.change, "drift") for change in changes}


def by_field(side: DefinitionSide) -> dict[str, str]:
    """Return the worst verdict of each place that has findings."""
    return worst_by_field((place_of(finding), update.verdict) for finding, update in side.outcome.rows(side.audited))


def is_reworded(old: DefinitionSide, new: DefinitionSide) -> bool:
    """Return whether servers of two releases report the same faults of an object in different words."""
    return {finding.message for finding in old.audited.findings} != {
        finding.message for finding in new.audited.findings
    }


def is_refused(outcome: UpdateOutcome) -> bool:
    """Return whether the server refuses an unchanged PUT of an object."""
    code = outcome.codes[0]
    return code is not None and code >= 300


def reason_of(audited: AuditedObject) -> str:
    """Return the reason why an object cannot be read; empty if it can."""
    return "" if audited.unreadable is None else audited.unreadable.reason


def shown_key(row: Any) -> str:
    """Return the text by which `auditor show` finds a row."""
    return row.text_key or f"{row.namespace or ''}/{row.name}"


def decoded(data: bytes) -> Any:
    """Return the decoded value; empty if it cannot be decoded."""
    try:
        return decode_value(data)
    except ReadError:
        return {}


def managed_versions(obj: JsonObject, group: str) -> set[str]:
    """Return the versions of a group that managedFields name."""
    metadata = obj.get("metadata")
    entries = metadata.get("managedFields") if type(metadata) is dict else None
    if not entries:
        return set()
    start = f"{group}/"
    named = {entry.get("apiVersion") for entry in entries if type(entry) is dict}
    return {text.removeprefix(start) for text in named if type(text) is str and text.startswith(start)}


def sample_of(row: Any, effect: VersionEffect, category: str) -> Sample:
    """Return an object as an example of a category: the fault, and the last writer of the field."""
    key, new, changes = shown_key(row), effect.new, effect.changes
    if effect.fault:
        return Sample(key, effect.fault)
    if category in ("unreadable", "needs-conversion"):
        return Sample(key, reason_of(new.audited))
    if category == "apply-refused":
        return Sample(key, new.outcome.apply_refusal)
    if category == "reworded":
        return Sample(key, next((finding.message for finding in new.audited.findings), ""))
    if category in ("blocked", "invalid", "tolerated"):
        fields = {change.path for change in changes if change.change == VERDICT}
        shown = [row for row in new.outcome.rows(new.audited) if place_of(row[0]) in fields or None in fields]
        # The note that rules were not checked is the consequence of another finding, which names the cause.
        shown.sort(key=lambda one: (_NOT_CHECKED in one[0].message, one[0].field == "<nil>"))
        if shown:
            finding, about = shown[0]
            return Sample(key, finding.message, about.last_manager, about.last_write)
        verdict = new.outcome.verdict
        return Sample(key, verdict.put.message if verdict is not None else "")
    for change in changes:
        if change.change != VERDICT and category in categories_of([change]):
            return _sample_of_change(key, row, change)
    return Sample(key, reason_of(new.audited))


def _sample_of_change(key: str, row: Any, change: PathChange) -> Sample:
    old, new = (_cut(text) for text in change.texts())
    text = f"{change.path} = {old}" if change.is_loss else f"{change.path}: {old} -> {new}"
    stored = decoded(row.data)
    writer = last_writer(stored, locate(stored, change.path or "")[0]) or (None, None)
    return Sample(key, text, *writer)


def _cut(text: str | None) -> str:
    if text is None:
        return "nothing"
    return text if len(text) <= 80 else f"{text[:80]}..."
