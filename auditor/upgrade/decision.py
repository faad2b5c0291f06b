"""One sentence: whether the upgrade is safe, safe after some steps, or blocked, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from auditor.upgrade.definition_change import DefinitionChange
    from auditor.upgrade.tally import Tally

__all__ = ["EXPORT", "INCOMPLETE", "Decision", "decide", "decide_all"]

_SHOWN: Final = 3
EXPORT: Final = "an export does not show how many"
INCOMPLETE: Final = "not all objects were judged, so their number is not known"


class Decision(NamedTuple):
    """What to do.

    Attributes:
        word: ``safe``, ``safe-after`` or ``blocks``.
        sentence: The same with its reasons; begins ``safe``, ``safe after`` or ``blocks, because``.
        reasons: The problems that block, or the steps to do first.
    """

    word: str
    sentence: str
    reasons: tuple[str, ...] = ()


def decide(change: DefinitionChange, tally: Tally, stored: Mapping[str, int] | None, *, unknown: str = "") -> Decision:
    """Judge one definition.

    Args:
        change: The change of the definition.
        tally: The effects on its objects.
        stored: Number of objects stored at each version, or None if the dump is an export and does not show it.
        unknown: Why there may be more of them; empty if these are all.
    """
    if change.action == "delete":
        gone = tally.categories["deleted"] + tally.categories["sealed"]
        if gone:
            return _blocks([f"{_objects(gone)} {_are(gone)} deleted with it"])
        return Decision("safe", "safe: there are no objects that would be deleted with it")
    blocking = [*_refused(change), *_harm(tally)]
    if blocking:
        return _blocks(blocking)
    steps = _steps(change, tally, stored, unknown)
    notes = _notes(tally)
    if steps:
        return Decision("safe-after", f"safe after {_joined(steps)}{notes}", tuple(steps))
    return Decision("safe", f"safe{notes}")


def decide_all(decisions: Sequence[tuple[str, Decision]]) -> Decision:
    """Judge an upgrade by the decisions on its definitions, given with their names."""
    for word, start in (("blocks", "blocks, because of"), ("safe-after", "safe after")):
        concerned = [(name, one) for name, one in decisions if one.word == word]
        if concerned:
            texts = [f"{name} ({'; '.join(one.reasons)})" for name, one in concerned[:_SHOWN]]
            more = len(concerned) - _SHOWN
            if more > 0:
                texts.append(f"{more} more definition{'s' if more > 1 else ''}")
            steps = "the steps for " if word == "safe-after" else ""
            return Decision(word, f"{start} {steps}{_joined(texts)}", tuple(name for name, _ in concerned))
    noted = [name for name, one in decisions if "; " in one.sentence]
    note = f"; see the notes on {_joined(noted)}" if noted else ""
    return Decision("safe", f"safe{note}")


def _blocks(reasons: list[str]) -> Decision:
    return Decision("blocks", f"blocks, because {_joined(reasons)}", tuple(reasons))


def _refused(change: DefinitionChange) -> list[str]:
    if change.refusals:
        more = len(change.refusals) - 1
        others = f" (and {more} more)" if more else ""
        return [f"the server refuses the definition: {_short(change.refusals[0])}{others}"]
    return [f"the server cannot serve it: {_short(change.unreadable)}"] if change.unreadable else []


def _harm(tally: Tally) -> list[str]:
    counts = tally.categories
    out = []
    if counts["unreadable"]:
        out.append(f"{_objects(counts['unreadable'])} can no longer be read, so that no LIST of the kind works")
    if counts["blocked"]:
        n = counts["blocked"]
        out.append(f"updates of {_objects(n)} that pass today are refused")
    if counts["invalid"]:
        n = counts["invalid"]
        out.append(f"{_objects(n)} {'becomes' if n == 1 else 'become'} invalid, and whether updates pass is not known")
    if counts["data-loss"]:
        n = counts["data-loss"]
        paths = [path for (what, path, _, _), _ in tally.changes.most_common() if what == "pruned"]
        shown = ", ".join(dict.fromkeys(paths[:_SHOWN]))
        out.append(f"{_objects(n)} {'loses' if n == 1 else 'lose'} stored data ({shown})")
    if tally.migration_refused:
        n = tally.migration_refused
        out.append(f"{_objects(n)} stored at a removed version cannot be migrated: the write is refused")
    return out


def _steps(change: DefinitionChange, tally: Tally, stored: Mapping[str, int] | None, unknown: str) -> list[str]:
    out = []
    unknown = EXPORT if stored is None else unknown
    for version in change.versions_removed:
        count = (stored or {}).get(version) or (None if unknown else 0)
        listed = version in change.stored_versions
        if count:
            at_least = "at least " if unknown else ""
            text = f"{at_least}{_objects(count)} stored as {version} {_are(count)} migrated"
            out.append(text + (f" and {version} is taken out of status.storedVersions" if listed else ""))
        elif listed and count is None:
            text = f"objects stored as {version} ({unknown}) are migrated"
            out.append(f"{text} and {version} is taken out of status.storedVersions")
        elif listed:
            out.append(f"{version}, at which no object is stored, is taken out of status.storedVersions")
    for version, count in sorted(tally.managed.items()):
        until = f"until then server-side apply fails on {'it' if count == 1 else 'them'}"
        out.append(f"{version} is taken out of the managedFields of {_objects(count)} ({until})")
    if tally.categories["needs-conversion"]:
        n = tally.categories["needs-conversion"]
        out.append(f"the conversion webhook answers (without it {_objects(n)} cannot be read)")
    if tally.categories["sealed"]:
        n = tally.categories["sealed"]
        out.append(f"{_objects(n)} {_are(n)} judged with the keys of {'its' if n == 1 else 'their'} sealed values")
    return out


def _notes(tally: Tally) -> str:
    counts = tally.categories
    notes = []
    if counts["tolerated"]:
        n = counts["tolerated"]
        notes.append(f"{_objects(n)} {'becomes' if n == 1 else 'become'} invalid and {_are(n)} tolerated while the "
                     "fields concerned do not change")  # fmt: skip
    if counts["drift"]:
        n = counts["drift"]
        notes.append(f"{_objects(n)} {'reads' if n == 1 else 'read'} differently because of defaults")
    for path, n in sorted(tally.closed.items()):
        has = "has" if n == 1 else "have"
        notes.append(f"{_objects(n)} {has} {path}, which is switched off: if created again they lose it")
    return "".join(f"; {note}" for note in notes)


def _objects(count: int) -> str:
    return f"{count} object{'' if count == 1 else 's'}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _joined(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:300]} [...]"
