"""One sentence: whether an upgrade is safe, safe after some steps, needs attention or is blocked, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.base.wording import are, by_count, counted, listed, objects
from auditor.upgrade.changes import CONVERTED, DEFAULT_CHANGED, DEFAULTED, PRUNED
from auditor.upgrade.migration import Migration
from auditor.upgrade.schema_change import NEW_TRANSITION
from auditor.upgrade.tally import SHOWN_AGAIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from auditor.upgrade.definition_change import DefinitionChange
    from auditor.upgrade.tally import UpgradeTally


ATTENTION: Final = "attention"
INCOMPLETE: Final = "not all objects were judged, so their number is not known"
_SHOWN: Final = 3
_HEADLINE: Final = 200
_LONGEST_REASON: Final = 100
"""Characters of the sentence on all definitions, and of a reason that it has with the server's words."""
NAMED: Final = 3
"""Definitions whose reasons are in the sentence on all of them."""
_UNREADABLE: Final = frozenset({"unreadable"})
_BLOCKED: Final = frozenset({"blocked"})
_INVALID: Final = frozenset({"invalid"})
REASON: Final = "reason"
NOTE: Final = "note"
CREATE: Final = "create"
"""Parts of effects in a decision, with `ATTENTION`; what a new release refuses to create is named after all others."""
_REFUSES: Final = "the server refuses the definition"
_CANNOT_SERVE: Final = "the server cannot serve it"


class UpgradeEffect(NamedTuple):
    """One thing that an upgrade does; each is a cause of the report.

    Attributes:
        type: What it is: a key of `auditor.causes.severity.OF_UPGRADE`, for objects a category of `UpgradeTally`.
        text: The same in words.
        objects: Number of objects; 0 if it concerns the definition.
        about: The version, field or name that tells it from others of its type and definition.
        levels: The levels of --fail-on that it reaches.
        part: What it is in the decision: a reason of it, something else that needs attention, or a note.
    """

    type: str
    text: str
    objects: int = 0
    about: str = ""
    levels: frozenset[str] = frozenset()
    part: str = REASON

    def record(self) -> dict[str, Any]:
        """Return what a manifest has of it."""
        return {"type": self.type, "text": self.text, "objects": self.objects, "about": self.about}


class Decision(NamedTuple):
    """What to do.

    Attributes:
        word: ``safe``, ``safe-after``, ``attention`` or ``blocks``.
        sentence: The same with its reasons; begins ``safe``, ``safe after``, ``attention:`` or ``blocks, because``.
        effects: What the upgrade does.
    """

    word: str
    sentence: str
    effects: tuple[UpgradeEffect, ...] = ()

    def texts(self, *parts: str) -> list[str]:
        """Return the effects in words that are one of some parts of the decision."""
        return [effect.text for part in parts for effect in self.effects if effect.part == part]

    @property
    def levels(self) -> frozenset[str]:
        """The levels of --fail-on that it reaches; none if it is ``safe``."""
        return frozenset().union(*(effect.levels for effect in self.effects))

    def record(self) -> dict[str, Any]:
        """Return what a manifest has of it; `decision_of` reads it."""
        return {
            "decision": self.word,
            "sentence": self.sentence,
            "reasons": self.texts(REASON),
            "levels": sorted(self.levels),
        }


def decision_of(record: Mapping[str, Any]) -> Decision:
    """Return a decision that a manifest has, with its reasons alone."""
    levels = frozenset(record["levels"])
    reasons = tuple(UpgradeEffect("", text, levels=levels) for text in record["reasons"])
    return Decision(record["decision"], record["sentence"], reasons)


def blocks(*effects: UpgradeEffect) -> Decision:
    """Return the decision on what blocks for these reasons."""
    return Decision("blocks", f"blocks, because {'; '.join(effect.text for effect in effects)}", effects)


def deletion(reason: str, count: int) -> Decision:
    """Return the decision on a definition that is deleted with so many objects."""
    return blocks(UpgradeEffect("deleted", reason, count, levels=frozenset({"data-loss"})))


def decide(
    change: DefinitionChange,
    tally: UpgradeTally,
    stored: Mapping[str, int] | None,
    *,
    unknown: str = "",
    migration: Migration | None = None,
) -> Decision:
    """Judge one definition.

    Args:
        change: The change of the definition.
        tally: The effects on its objects.
        stored: Number of objects stored at each version, or None if the dump is an export and does not show it.
        unknown: Why there may be more of them; empty if these are all.
        migration: What to do first, as `migration_of` returns it.
    """
    if change.is_terminating:
        with_it = f", with {objects(tally.objects)}" if tally.objects else ""
        reason = f"it is being deleted: a server removes it{with_it}, as soon as it runs"
        return deletion(reason, tally.objects)
    if change.action == "delete":
        gone = tally.categories["deleted"] + tally.categories["sealed"]
        if gone:
            reason = f"{objects(gone)} {are(gone)} deleted with it"
            return deletion(reason, gone)
        return Decision("safe", "safe: there are no objects that would be deleted with it")
    notes, attention = _notes(tally), _attention(change, tally, stored)
    noted = "".join(f"; {note.text}" for note in notes)
    needing = [effect.text for effect in attention]
    if blocking := _refused(change, tally) + _harm(tally, is_refused=bool(change.unmigrated)):
        rest = _plan_text(migration or Migration(), is_refused=bool(change.refusals))
        also = f"; also {'; '.join(needing)}" if needing else ""
        sentence = f"blocks, because {listed([effect.text for effect in blocking])}{rest}{also}{noted}"
        attention = [effect._replace(part=ATTENTION) for effect in attention]
        return Decision("blocks", sentence, (*blocking, *attention, *notes))
    attention = [effect._replace(levels=_INVALID) for effect in attention]
    if steps := _steps(change, tally, stored, unknown):
        also = "".join(f"; {text}" for text in needing)
        sentence = f"safe after {listed([effect.text for effect in steps])}{also}{noted}"
        attention = [effect._replace(part=ATTENTION) for effect in attention]
        return Decision("safe-after", sentence, (*steps, *attention, *notes))
    if attention:
        return Decision(ATTENTION, f"attention: {'; '.join(needing)}{noted}", (*attention, *notes))
    return Decision("safe", f"safe{noted}", tuple(notes))


def decide_all(decisions: Sequence[tuple[str, Decision]]) -> Decision:
    """Judge an upgrade by the decisions on its definitions, given with their names, which are its reasons."""
    starts = (("blocks", "blocks, because of"), ("safe-after", "safe after the steps for"), (ATTENTION, "attention:"))
    for word, start in starts:
        concerned = [(name, decision) for name, decision in decisions if decision.word == word]
        if concerned:
            effects = (
                UpgradeEffect("", name, levels=decision.levels, part=REASON if decision.word == word else NOTE)
                for name, decision in decisions
            )
            return Decision(word, _headline(start, concerned), tuple(effects))
    noted = [name for name, decision in decisions if "; " in decision.sentence]
    note = f"; see the notes on {listed(noted)}" if noted else ""
    return Decision("safe", f"safe{note}")


def _headline(start: str, concerned: Sequence[tuple[str, Decision]]) -> str:
    """Return one sentence with the first definitions and their reasons, each whole, as far as they fit a headline."""
    texts: list[str] = []
    sentence = start
    for name, decision in concerned[:NAMED]:
        reasons = [_brief(reason) for reason in decision.texts(REASON)]
        for shown in range(len(reasons), 0, -1):
            hidden = [counted(len(reasons) - shown, "more reason")] if shown < len(reasons) else []
            text = f"{name} ({'; '.join([*reasons[:shown], *hidden])})"
            rest = len(concerned) - len(texts) - 1
            longer = f"{start} {listed([*texts, text, *([f'{rest} more'] if rest else [])])}"
            if len(longer) <= _HEADLINE or (shown == 1 and not texts):
                texts.append(text)
                sentence = longer
                break
        else:
            return sentence
    return sentence


def _brief(reason: str) -> str:
    """Return a reason without the server's words on a definition where they are long: the report has them whole."""
    is_long = len(reason) > _LONGEST_REASON and reason.startswith((_REFUSES, _CANNOT_SERVE))
    return reason.partition(": ")[0] if is_long else reason


def _plan_text(migration: Migration, *, is_refused: bool) -> str:
    if migration.steps and migration.is_needed:
        first = ", ".join(step.text for step in migration.steps[:-1])
        note = f" ({migration.note})" if migration.note else ""
        then = "the server accepts it" if is_refused else "every LIST works"
        return f"; {then} after this plan: {first}{note}"
    return f"; {migration.needs}" if migration.needs else ""


# -- what blocks -------------------------------------------------------------------------------------------------------


def _refused(change: DefinitionChange, tally: UpgradeTally) -> list[UpgradeEffect]:
    levels = _BLOCKED | _UNREADABLE if tally.categories["unmigrated"] else _BLOCKED
    if change.refusals:
        shown = "; ".join(_short(text) for text in change.refusals[:_SHOWN])
        more = len(change.refusals) - _SHOWN
        also = f" (and {more} more)" if more > 0 else ""
        return [UpgradeEffect("refused", f"{_REFUSES}: {shown}{also}", levels=levels)]
    if change.unreadable:
        text = f"{_CANNOT_SERVE}: {_short(change.unreadable)}"
        return [UpgradeEffect("not-served", text, levels=_BLOCKED | _UNREADABLE)]
    if change.not_accepted and change.action == "create":
        text = f"the server never serves it: {'; '.join(change.not_accepted)}"
        return [UpgradeEffect("not-served", text, levels=levels)]
    return []


def _harm(tally: UpgradeTally, *, is_refused: bool) -> list[UpgradeEffect]:
    counts = tally.categories
    out = []
    if n := counts["unreadable"]:
        text = f"{objects(n)} can no longer be read, so that no LIST of the kind works"
        out.append(UpgradeEffect("unreadable", text, n, levels=_UNREADABLE))
    if (n := counts["unmigrated"]) and not is_refused:
        text = f"{objects(n)} stored at a removed version can no longer be read, so that no LIST of the kind works"
        out.append(UpgradeEffect("unmigrated", text, n, levels=_UNREADABLE))
    if n := counts["blocked"]:
        text = f"updates of {objects(n)} that pass today are refused{_at(tally, 'blocked')}"
        out.append(UpgradeEffect("blocked", text, n, levels=_BLOCKED))
    if n := counts["invalid"]:
        verb, where = by_count(n, "becomes", "become"), _at(tally, "invalid")
        text = f"{objects(n)} {verb} invalid{where}, and whether updates pass is not known"
        out.append(UpgradeEffect("invalid", text, n, levels=_INVALID))
    if n := counts["data-loss"]:
        paths = [path for (what, path, _, _), _ in tally.changes.most_common() if what in (PRUNED, CONVERTED)]
        shown = ", ".join(dict.fromkeys(paths[:_SHOWN]))
        where = _at(tally, "data-loss")
        text = f"{objects(n)} {by_count(n, 'loses', 'lose')} stored data{where and f' with a write{where}'} ({shown})"
        out.append(UpgradeEffect("data-loss", text, n, levels=frozenset({"data-loss"})))
    if n := tally.migration_refused:
        text = f"{objects(n)} stored at a removed version cannot be migrated: the write is refused"
        out.append(UpgradeEffect("migration-refused", text, n, levels=_BLOCKED))
    return out


def _at(tally: UpgradeTally, category: str) -> str:
    """Return at which versions objects have a category; empty if it is the same at all that clients use."""
    versions = sorted((version, n) for (own, version), n in tally.versions.items() if own == category)
    if all(n == tally.categories[category] for _, n in versions):
        return f" at {listed([version for version, _ in versions])}" if versions else ""
    return f" ({', '.join(f'{n} at {version}' for version, n in versions)})"


# -- what must be done first -------------------------------------------------------------------------------------------


def _steps(
    change: DefinitionChange, tally: UpgradeTally, stored: Mapping[str, int] | None, unknown: str
) -> list[UpgradeEffect]:
    out = []
    for version, count in sorted(tally.managed.items()):
        if version not in change.versions_removed:
            continue  # nothing that this upgrade does
        until = f"until then server-side apply fails on {by_count(count, 'it', 'them')}"
        at_least = "at least " if unknown else ""
        text = f"{version} is taken out of the managedFields of {at_least}{objects(count)} ({until})"
        out.append(UpgradeEffect("managed-fields", text, count, version, _INVALID))
    is_asked = change.is_new_webhook or (stored is None and change.is_moved_by_webhook)
    fails = _without_webhook(change, stored) if is_asked and tally.objects else ""
    if fails:
        text = f"the conversion webhook answers (without it {fails})"
        out.append(UpgradeEffect("webhook", text, levels=_UNREADABLE))
    elif tally.categories["needs-conversion"]:
        n = tally.categories["needs-conversion"]
        text = f"the conversion webhook answers (without it {objects(n)} cannot be read)"
        out.append(UpgradeEffect("needs-conversion", text, n, levels=_UNREADABLE))
    if tally.categories["sealed"]:
        n = tally.categories["sealed"]
        text = f"{objects(n)} {are(n)} judged with the keys of {by_count(n, 'its', 'their')} sealed values"
        out.append(UpgradeEffect("sealed", text, n))
    return out


def _without_webhook(change: DefinitionChange, stored: Mapping[str, int] | None) -> str:
    """Return what fails as long as a new conversion webhook does not answer; empty if nothing does.

    A server asks it for what is stored at another version than the wanted one: for a LIST that of the request, for a
    write that of the request and the storage version.
    """
    others = [version for version in change.served_after if version != change.storage_after]
    if stored is None:
        if len(change.versions) < 2:
            return ""
        writes = f", and every write at {', '.join(others)}" if others else ""
        return f"every LIST fails at each version that an object is not stored at{writes}"
    counts = {version: count for version, count in stored.items() if count}
    lists = [version for version in change.served_after if counts.keys() - {version}]
    moved = sum(count for version, count in counts.items() if version != change.storage_after)
    writes = f"every write at {', '.join(others)}" if others else ""
    if moved and moved == sum(counts.values()):
        writes = "every write to an object at every version"
    elif moved:
        writes = f"every write to {objects(moved)} at every version{f', and {writes}' if writes else ''}"
    fails = [f"every LIST at {', '.join(lists)} fails"] if lists else []
    return ", and ".join([*fails, *([writes if fails else f"{writes} fails"] if writes else [])])


# -- what needs attention ----------------------------------------------------------------------------------------------


def _attention(change: DefinitionChange, tally: UpgradeTally, stored: Mapping[str, int] | None) -> list[UpgradeEffect]:
    out = []
    if change.is_unserved and change.not_accepted:
        names = "; ".join(change.not_accepted)
        text = f"no server serves it as long as other definitions have its names ({names}): requests get 404"
        out.append(UpgradeEffect("names", text))
    if change.action not in ("update", "create"):
        return out
    for version in (*change.served_removed, *change.no_longer_served):
        how = "removed" if version in change.served_removed else "no longer served"
        text = f"{version} is {how}: requests for it get 404{_users(tally, f'version {version}')}"
        out.append(UpgradeEffect("version-removed", text, about=version))
    if change.served_removed and stored is None and tally.objects:
        text = "an export does not show at which version objects are stored: make sure that none is at one removed"
        out.append(UpgradeEffect("stored-versions-unknown", text))
    if change.conversion == ("Webhook", "None") and len(change.versions) > 1 and stored is None and tally.objects:
        text = "an export does not show at which version objects are stored, and without the webhook they are read as "
        text += "they are stored: a snapshot of etcd shows what that loses"
        out.append(UpgradeEffect("stored-versions-unknown", text, about="conversion"))
    for fields in change.hidden:
        if n := tally.shown[fields.shown]:
            rest = len(fields.paths) - _SHOWN
            paths = listed([*fields.paths[:_SHOWN], *([f"{rest} more"] if rest > 0 else [])])
            text = (
                f"an export at {fields.shown} cannot show {paths} of {fields.version}, which the new definition drops "
            )
            text += "or restricts: a snapshot of etcd shows what that breaks"
            out.append(UpgradeEffect("stored-versions-unknown", text, n, f"{fields.version} {fields.shown}"))
    if change.versions and not change.served_after:
        out[-1:] = [out[-1]._replace(text=f"{out[-1].text}; no version is served any more")] if out else []
    for subresource in dict.fromkeys(name for _, name in change.subresources_removed):
        phrase = ", ".join(version for version, name in change.subresources_removed if name == subresource)
        text = f"the {subresource} subresource of {phrase} is removed{_users(tally, f'subresource {subresource}')}"
        out.append(UpgradeEffect("subresource-removed", text, about=subresource))
    for narrowed in change.narrowed:
        if narrowed.change == NEW_TRANSITION and (n := tally.narrowed[narrowed]):
            where = narrowed.path or "the object"
            text = f"a new rule compares {where} with its old value ({_short(narrowed.new, 80)}): {_may_refuse(n)}"
            out.append(UpgradeEffect("new-rule", text, n, f"{where} {narrowed.new}"))
    if n := tally.categories["apply-refused"]:
        them = by_count(n, "it", "them")
        text = f"each server-side apply (Flux, Argo CD) of {objects(n)} fails{_at(tally, 'apply-refused')}, also one "
        text += f"that repairs {them}: a PUT or merge patch can"
        out.append(UpgradeEffect("apply-refused", text, n))
    if n := tally.categories["manager-refused"]:
        where, do = _at(tally, "manager-refused"), by_count(n, "it does", "they do")
        text = (
            f"server-side apply (Flux, Argo CD) of {objects(n)} fails{where}, as long as managedFields name a version "
        )
        text += f"at which {do} not fit"
        out.append(UpgradeEffect("manager-refused", text, n))
    if tally.categories["tolerated"]:
        n = tally.categories["tolerated"]
        fails = ", but a restore of the status fails"
        if k := tally.create_refused:
            fails = f", but a restore or a re-creation {f'of {k} of them ' if k < n else ''}fails"
        verb = by_count(n, "becomes", "become")
        phrase = _at(tally, "tolerated")
        text = f"{objects(n)} {verb} invalid{phrase}: tolerated while the fields concerned do not change{fails}"
        out.append(UpgradeEffect("tolerated", text, n))
    for version, path in change.fields_removed:
        text = f"field selectors at {version} can no longer use {path}: such queries are refused"
        out.append(UpgradeEffect("selector-removed", text, about=f"{version} {path}"))
    others = [version for version in change.served_after if version != change.storage_after]
    if change.is_new_webhook and others and not tally.objects:
        text = f"another conversion webhook converts between versions: without it writes at {listed(others)} fail"
        out.append(UpgradeEffect("webhook", text))
    if change.not_accepted and change.action == "update" and not change.is_unserved:
        out.append(UpgradeEffect("names", f"the server does not accept all names: {'; '.join(change.not_accepted)}"))
    if tally.categories["unconverted"]:
        n = tally.categories["unconverted"]
        text = f"{objects(n)} {are(n)} shown at a removed version, and only the conversion webhook knows "
        text += f"{by_count(n, 'it', 'them')} at another: not judged (an export does not show the stored version)"
        out.append(UpgradeEffect("unconverted", text, n))
    return out


def _may_refuse(count: int) -> str:
    return f"updates of {objects(count)} that change it may be refused"


def _users(tally: UpgradeTally, what: str) -> str:
    """Return which managers use what goes, as far as managedFields say it."""
    users = [(manager, n) for (used, manager), n in tally.users.items() if used == what]
    users.sort(key=lambda item: (-item[1], item[0]))
    if not users:
        return ""
    shown = ", ".join(f"{manager} ({n})" for manager, n in users[:_SHOWN])
    more = f" and {len(users) - _SHOWN} more" if len(users) > _SHOWN else ""
    return f"; managedFields of {objects(tally.uses[what])} name it: {shown}{more}"


def _notes(tally: UpgradeTally) -> list[UpgradeEffect]:
    notes = []
    if n := tally.categories["drift"]:
        verb, where = by_count(n, "reads", "read"), _at(tally, "drift")
        kinds = {name for name, _, _, _ in tally.changes}
        reasons = ["defaults"] if kinds & {DEFAULTED, DEFAULT_CHANGED} else []
        reasons += ["stored values that are shown again"] if SHOWN_AGAIN in kinds else []
        because = f" because of {listed(reasons)}" if reasons else ""
        notes.append(UpgradeEffect("drift", f"{objects(n)} {verb} differently{where}{because}", n))
    for path, n in sorted(tally.closed.items()):
        text = f"{objects(n)} {by_count(n, 'has', 'have')} {path}, which is switched off: if created again they lose it"
        notes.append(UpgradeEffect("gate", text, n, path))
    if n := tally.unreadable_before:
        text = f"{objects(n)} cannot be read already today, so that no LIST of the kind works before or after"
        notes.append(UpgradeEffect("unreadable-before", text, n))
    return [note._replace(part=NOTE) for note in notes]


def _short(text: str, longest: int = 300) -> str:
    return text if len(text) <= longest else f"{text[:longest]} [...]"
