"""The changes of one version of a definition: which they are, and what the engine shows of each."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from auditor.base.paths import plain_path
from auditor.crddiff import change as effects
from auditor.crddiff.change import BREAKS, CHANGES, HARMLESS, MAY_BREAK, RANKS, Change
from auditor.crddiff.implied import is_finite, why_implied
from auditor.crddiff.positions import DEFAULT, FIELD_ADDED, LIST_TYPE, SCHEMA_REMOVED, other_differences, positions
from auditor.crddiff.trial import Trial, data_of
from auditor.crddiff.values import ITEMS, KEYS, Maker, probes
from auditor.crddiff.witness import Forced, Search, Witness
from auditor.golang.jsontext import encode
from auditor.program.program import AuditProgram
from auditor.schema.structural import ABSENT, StructuralSchema, nodes_of
from auditor.updates.body import RequestName
from auditor.upgrade.schema_change import (
    FIELD_REMOVED,
    NEW_TRANSITION,
    NO_NULL,
    UNKNOWN_PRUNED,
    SchemaChange,
    concerned_changes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from auditor.crddiff.positions import Difference, Position
    from auditor.crddiff.trial import Answer, Trials
    from auditor.crds.definition import CrdVersion


_COMPOSITES: Final = ("allOf", "anyOf", "oneOf", "not")
_MERGED: Final = (LIST_TYPE, "map type")
_FIRST: Final = 12
_DRAWN: Final = 32
COMBINATION: Final = "combination of changes"
DRAWS: Final = 60
"""Objects that are drawn for each version, to find what no change explains."""
_NOT_FOUND: Final = "no object was found that shows it, nor a proof that there is none"
_MERGES: Final = "server-side apply merges it in another way: an applier may overwrite what others own"
_EXHAUSTED: Final = "the changes before it took all tries of the search"
NO_BASE: Final = "no object was found that the old definition accepts"
_WIDER: Final = "the new schema accepts whatever the old one accepts"


class VersionChanges:
    """Judges the changes of one version.

    Args:
        trials: The programs of both definitions.
        version: Version at which objects are created.
        read_at: Version of the new definition that is compared with it.
        narrowed: Where that is narrower.
        stored: The version of the new definition at which they are stored, if that is what is narrower.
    """

    def __init__(
        self,
        trials: Trials,
        version: str,
        read_at: str,
        narrowed: list[SchemaChange],
        stored: CrdVersion | None = None,
    ) -> None:
        old, new = trials.old, trials.new
        self.trials = trials
        self.version = version
        self.read_at = read_at
        self.narrowed = narrowed
        self.places = positions(old.versions[version], stored or new.versions[read_at])
        self.search = Search(Trial(trials, version, read_at))
        known = {(each.path, each.change) for each in narrowed}
        self.others = list(other_differences(self.places, known)) if version == read_at else []
        self.has_rules = any(node.rules for node in nodes_of(new.versions[read_at].structural))

    def changes(self) -> Iterator[Change]:
        """Yield the changes, each with its effect."""
        for narrowed in self.narrowed:
            yield self._of_narrower(narrowed)
        for other in self.others:
            yield self._of_other(other)

    def changes_of_storage(self) -> Iterator[Change]:
        """Yield what objects lose where they are stored."""
        for narrowed in self.narrowed:
            change = self._of_narrower(narrowed)
            if change.witness is not None or narrowed.change != NO_NULL:
                yield change

    def _change(self, path: str, change: str, old: str, new: str) -> Change:
        definition = self.trials.old
        versions = (self.read_at,)
        return Change(definition.name, definition.kind, change, MAY_BREAK, HARMLESS, versions, path, old, new)

    # -- narrower schemas -------------------------------------------------------------------------------------------

    def _of_narrower(self, narrowed: SchemaChange) -> Change:
        change = self._change(narrowed.path, narrowed.change, narrowed.old, narrowed.new)
        likely = self._likely(narrowed)
        position = self.places.get(narrowed.path)
        if position is None:
            return replace(change, effect=likely, reason=_NOT_FOUND)
        if why := why_implied(narrowed, position):
            return replace(change, verdict=HARMLESS, reason=why)
        if narrowed.change == "map type" or (narrowed.change == LIST_TYPE and narrowed.new == "atomic"):
            return replace(change, effect=likely, reason=_MERGES)  # a create allows all that it did
        places = self._places(narrowed, position)
        what = (narrowed.change, narrowed.old, narrowed.new)
        if what in self.trials.values and narrowed.change != "now required":
            places = chain((Forced(position.steps, self.trials.values[what]),), places)
        witness = self.search.find(places, lambda answers: self._worst(narrowed, answers), what, narrowed.path)
        if witness is not None:
            return _shown(change, witness)
        if narrowed.change == NEW_TRANSITION:
            return self._of_transition(replace(change, effect=likely), narrowed, position)
        if not self.search.bases():
            return replace(change, effect=likely, reason=NO_BASE)
        if self.search.is_exhausted:
            return replace(change, effect=likely, reason=_EXHAUSTED)
        old = position.old
        if narrowed.change not in (FIELD_REMOVED, "new rule", *_COMPOSITES) and old is not None and is_finite(old):
            values = old.enum if old.enum is not None else (True, False)
            all_places = self._places(narrowed, position)
            tried = {
                encode(forced.value)
                for _, _, forced in self.search.candidates(all_places)
                if forced.value is not ABSENT
            }
            if all(encode(value) in tried for value in values):
                return replace(
                    change, verdict=HARMLESS, reason="each of the values that were allowed is tried and passes"
                )
        return replace(change, effect=likely, reason=_MERGES if narrowed.change in _MERGED else _NOT_FOUND)

    def _likely(self, narrowed: SchemaChange) -> str:
        if narrowed.change in (FIELD_REMOVED, UNKNOWN_PRUNED):
            return effects.DATA_DROPPED
        if narrowed.change == NEW_TRANSITION:
            return effects.UPDATE_REFUSED
        if narrowed.change in _MERGED:
            return effects.APPLY_REFUSED
        return effects.CREATE_REFUSED if self.version == self.read_at else effects.UPDATE_REFUSED

    def _places(self, narrowed: SchemaChange, position: Position) -> Iterator[Forced]:
        old = position.old or StructuralSchema(preserve_unknown_fields=True)
        steps, search = position.steps, self.search
        if narrowed.change == "now required":
            yield Forced((*steps, narrowed.new), ABSENT)
        if narrowed.change == UNKNOWN_PRUNED:
            yield Forced((*steps, "unknownField"), "a")
        near = probes(old, position.new, search.literals)
        yield from (Forced(steps, value) for value in islice(near, _FIRST))
        if narrowed.change in ("new rule", *_COMPOSITES):
            yield from (Forced(steps, Maker(search.random, search.literals).value(old)) for _ in range(_DRAWN))
        yield from (Forced(steps, value) for value in near)

    def _worst(self, narrowed: SchemaChange, answers: list[Answer]) -> Answer | None:
        """Return the worst answer that a change brings."""
        brought = [answer for answer in answers if self._brings(narrowed, answer)]
        return min(brought, key=lambda answer: RANKS[answer.effect], default=None)

    def _brings(self, narrowed: SchemaChange, answer: Answer) -> bool:
        if answer.effect == effects.DATA_DROPPED:
            return any(concerned_changes((narrowed,), self.read_at, (), (), (plain_path(answer.path),)))
        if answer.effect == effects.DEFAULTS:
            return narrowed.change == NO_NULL and _is_at(plain_path(answer.path), narrowed.path)
        if answer.finding is None:
            return answer.effect == effects.APPLY_REFUSED and narrowed.change in _MERGED
        if any(concerned_changes((narrowed,), self.read_at, (), (answer.finding,), ())):
            return True
        if narrowed.change == NEW_TRANSITION:
            return answer.finding.rule == narrowed.new
        if narrowed.change not in _COMPOSITES and narrowed.change != "type":
            return False
        below = plain_path(answer.finding.field).startswith(narrowed.path)
        others = (each for each in self.narrowed if each is not narrowed)
        return below and not any(concerned_changes(others, self.read_at, (), (answer.finding,), ()))

    def _of_transition(self, change: Change, narrowed: SchemaChange, position: Position) -> Change:
        """Look for two objects between which an update is refused: a rule compares them."""
        old, search = position.old or StructuralSchema(), self.search
        place = RequestName("default" if self.trials.old.namespaced else "", "a")
        noop = self.trials.noop(self.read_at, is_new=True)
        values = [Forced(position.steps, value) for value in probes(old, position.new, search.literals)]
        values += [Forced(position.steps, Maker(search.random, search.literals).value(old)) for _ in range(8)]
        objects = [(obj, before) for obj, before, _ in search.candidates(values)][:12]
        for obj, before in objects:
            for other, after in objects:
                if other is obj or before.object is None or after.object is None:
                    continue
                stored = {**before.object, "metadata": {**before.object["metadata"], "uid": "u"}}
                sent = {**after.object, "metadata": {**stored["metadata"], "resourceVersion": "1"}}
                answer = noop.update.attempt("put", stored, place, 1, sent)
                if any(finding.rule == narrowed.new for finding in answer.findings):
                    words = next(finding.message for finding in answer.findings if finding.rule == narrowed.new)
                    return replace(
                        change, verdict=BREAKS, effect=effects.UPDATE_REFUSED, message=words, witness=obj, update=other
                    )
        return replace(change, reason=_NOT_FOUND)

    # -- other differences ------------------------------------------------------------------------------------------

    def _of_other(self, other: Difference) -> Change:
        change = self._change(other.path, other.change, other.old, other.new)
        if other.change == DEFAULT:
            return self._of_default(change, self.places[other.path])
        position = self.places[other.path]
        if other.change == "nullable":
            schemas = (schema for schema in (position.old, position.new) if schema is not None)
            if any(schema.default is not ABSENT for schema in schemas):
                reason = "null is kept where the default was filled in"
                return replace(change, verdict=CHANGES, effect=effects.DEFAULTS, reason=reason)
        if other.change in ("embedded resource", "legacy keywords", *_MERGED):
            return replace(change, effect=effects.APPLY_REFUSED, reason=_NOT_FOUND)
        if other.change == "type" and self.has_rules:
            return replace(change, effect=effects.CREATE_REFUSED, reason="rules may calculate with it in another way")
        if other.change == SCHEMA_REMOVED and any(node.default is not ABSENT for node in nodes_of(position.old)):
            return replace(change, verdict=CHANGES, effect=effects.DEFAULTS, reason="its defaults are gone")
        reason = {
            FIELD_ADDED: "no object has it yet",
            SCHEMA_REMOVED: "its values are kept and no longer validated",
            "rule message": "only its words differ",
        }.get(other.change, _WIDER)
        return replace(change, verdict=HARMLESS, reason=reason)

    def _of_default(self, change: Change, position: Position) -> Change:
        """Tell what a default does: objects without the field may become invalid, or read in another way."""
        places = [Forced(position.steps, ABSENT)]
        if position.old is not None and position.old.nullable:
            places.append(Forced(position.steps, None))

        def wanted(answers: list[Answer]) -> Answer | None:
            brought = (
                answer
                for answer in answers
                if answer.finding is not None
                and not self._explains(answer)
                and _is_around(plain_path(answer.finding.field), change.path)
            )
            return min(brought, key=lambda answer: RANKS[answer.effect], default=None)

        witness = self.search.find(places, wanted, (change.change, change.old, change.new), change.path)
        if witness is not None and self._needs_default(witness, position):
            return _shown(change, witness)
        return replace(change, verdict=CHANGES, effect=effects.DEFAULTS)

    def _needs_default(self, witness: Witness, position: Position) -> bool:
        """Return whether a finding is gone under the new definition with the old default of one place."""
        finding, trial, version = witness.answer.finding, self.search.trial, self.trials.new.versions[self.read_at]
        before = trial.created(witness.object)
        if finding is None or version.structural is None or before.object is None:
            return True
        default = ABSENT if position.old is None else position.old.default
        schema = _with_default(version.structural, position.steps, default)
        versions = {**self.trials.new.versions, version.name: replace(version, structural=schema)}
        reverted = replace(self.trials.new, versions=versions)
        program = AuditProgram(reverted, reverted.versions[version.name], compiled=False)
        obj = witness.object if witness.answer.effect == effects.CREATE_REFUSED else before.object
        findings = program.audit(data_of(obj)).findings
        return all(each.words != finding.words for each in findings)

    def _explains(self, answer: Answer) -> bool:
        return any(self._brings(narrowed, answer) for narrowed in self.narrowed)

    # -- what no change explains ------------------------------------------------------------------------------------

    def unexplained(self, every: list[Change]) -> Iterator[Change]:
        """Yield what drawn objects show, and no change explains that is not harmless.

        Args:
            every: The changes of all versions, with their effects.
        """
        changes = [each for each in every if self.read_at in each.versions]
        harmful = {(each.path, each.change) for each in changes if each.verdict != HARMLESS}
        narrowed = [each for each in self.narrowed if (each.path, each.change) in harmful]
        paths = [each.path for each in changes if each.verdict != HARMLESS and each.path]
        seen = {(each.effect, each.path) for each in every if each.effect == effects.DATA_DROPPED}

        def is_unknown(answer: Answer) -> bool:
            if answer.effect in (effects.APPLY_REFUSED, effects.COLUMNS):
                return False
            if answer.effect == effects.DEFAULTS:
                path = plain_path(answer.path)
                return not any(_is_at(path, known) for known in paths)
            return not any(self._brings(each, answer) for each in narrowed) and not any(
                each.effect == answer.effect and each.change == DEFAULT for each in changes
            )

        for _ in range(DRAWS):
            if self.search.is_exhausted:
                return
            drawn = self.search.drawn()
            if drawn is None:
                continue
            for answer in filter(is_unknown, self.search.trial.answers(*drawn)):
                key = answer.effect, plain_path(answer.path)
                if key in seen:
                    continue
                seen.add(key)

                def wanted(answers: list[Answer], key: tuple[str, str] = key) -> Answer | None:
                    alike = (each for each in answers if (each.effect, plain_path(each.path)) == key)
                    return next(filter(is_unknown, alike), None)

                witness = self.search.smallest(Witness(drawn[0], answer), wanted)
                storage = self.trials.new.storage_version
                is_moved = (
                    answer.effect == effects.DATA_DROPPED and storage is not None and storage.name != self.version
                )
                what = ("not in the storage version", storage.name) if is_moved and storage else (COMBINATION, "")
                change = self._change(key[1], what[0], "", what[1])
                if answer.effect == effects.DEFAULTS:
                    yield replace(change, verdict=CHANGES, effect=effects.DEFAULTS)
                else:
                    yield _shown(change, witness)


def _with_default(schema: StructuralSchema, steps: Sequence[str], default: Any) -> StructuralSchema:
    """Return a schema with another default at a place, where it has a schema."""
    if not steps:
        return replace(schema, default=default)
    first, *rest = steps
    if first == ITEMS:
        return schema if schema.items is None else replace(schema, items=_with_default(schema.items, rest, default))
    if first == KEYS:
        extra = schema.additional_properties
        below = _with_default(extra, rest, default) if isinstance(extra, StructuralSchema) else extra
        return replace(schema, additional_properties=below)
    if first not in schema.properties:
        return schema
    child = _with_default(schema.properties[first], rest, default)
    return replace(schema, properties={**schema.properties, first: child})


def _is_at(path: str, known: str) -> bool:
    """Return whether a plain path of an object is at or below one of a schema; keys of maps count as anything."""
    parts, wanted = _parts(path), _parts(known)
    return len(parts) >= len(wanted) and _begin_alike(parts, wanted)


def _is_around(path: str, known: str) -> bool:
    """Return whether a plain path of an object is at, below or above one of a schema."""
    return path in ("", "<nil>") or _begin_alike(_parts(path), _parts(known))


def _begin_alike(parts: list[str], wanted: list[str]) -> bool:
    return all(want in ("*", part) for part, want in zip(parts, wanted, strict=False))


def _parts(path: str) -> list[str]:
    return path.replace("[*]", ".[]").removeprefix(".").split(".")


def _shown(change: Change, witness: Witness) -> Change:
    answer = witness.answer
    verdict = CHANGES if answer.effect in (effects.DEFAULTS, effects.COLUMNS) else BREAKS
    return replace(
        change,
        verdict=verdict,
        effect=answer.effect,
        message=answer.message,
        updates=answer.updates,
        witness=witness.object,
    )


def merged(changes: list[Change]) -> list[Change]:
    """Return changes with those in one that several versions have alike."""
    out: dict[tuple[Any, ...], Change] = {}
    for change in changes:
        key = (change.path, change.change, change.old, change.new, change.verdict, change.effect, change.reason)
        if key in out:
            versions = tuple(dict.fromkeys((*out[key].versions, *change.versions)))
            out[key] = replace(out[key], versions=versions)
        else:
            out[key] = change
    return list(out.values())
