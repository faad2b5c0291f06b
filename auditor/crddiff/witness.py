"""Searches for witnesses: objects that a create under the old definition accepts, and that a change concerns.

Candidates are made from the schemas, with a value at the place of the change, and repaired where the old definition
refuses them. The engine tries each; the one that shows the change is made as small as possible. The search is bounded
by numbers of tries, so that its result is the same in every run.
"""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.crddiff.positions import root_of
from auditor.crddiff.trial import copied
from auditor.crddiff.values import Maker
from auditor.golang.jsontext import encode
from auditor.schema.structural import ABSENT, StructuralSchema, nodes_of
from auditor.updates.managed_fields import locate
from auditor.upgrade.schema_change import OWN_FIELDS
from auditor.validation.field_errors import REQUIRED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from auditor.base.records import AuditedObject, JsonObject
    from auditor.crddiff.trial import Answer, Trial

    Wanted = Callable[[list[Answer]], Answer | None]


class Witness(NamedTuple):
    """An object that shows a change, and the answer that it gets under the new definition."""

    object: JsonObject
    answer: Answer


class Forced(NamedTuple):
    """A value that a candidate has at a place; `ABSENT`: nothing is there."""

    steps: tuple[str, ...]
    value: Any


_CANDIDATES: Final = 60
_WITH_BOTH: Final = 12
_TRIES: Final = 250
_REPAIRS: Final = 8
_BASES: Final = 40
_SHRINKS: Final = 80
_LARGE: Final = 4_000
_FEW: Final = 8
"""Objects of so many characters are made smaller in few tries: each takes long."""
_LITERAL: Final = re.compile(r"'([^'\\]{0,60})'|\"([^\"\\]{0,60})\"|(?<![\w.])(\d{1,9})(?![\w.])")


class Search:
    """Searches among the objects of one version.

    Args:
        trial: Tries them.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        trials = trial.trials
        self.root = root_of(trials.old.versions[trial.version])
        after = trials.new.versions.get(trial.read_at)
        roots = [self.root, *([root_of(after)] if after is not None else [])]
        rules = [rule.rule for root in roots for node in nodes_of(root) for rule in node.rules]
        self.literals = list(dict.fromkeys(_literals(rules)))[:40]
        self.random = Random(0)  # noqa: S311 - no secret; the same candidates in every run
        self._bases: list[JsonObject] | None = None

    @property
    def is_exhausted(self) -> bool:
        """Whether no more objects are tried for this pair of definitions."""
        return self.trial.trials.tried >= self.trial.trials.most

    # -- objects ----------------------------------------------------------------------------------------------------

    def bases(self) -> list[JsonObject]:
        """Return small objects that the old definition accepts; empty if none was found."""
        if self._bases is None:
            self._bases = []
            for number in range(_BASES):
                maker = Maker() if not number else Maker(self.random, self.literals)
                settled = self.settled(self._envelope(maker), None)
                if settled is not None:
                    self._bases.append(self._smaller(settled[0], lambda _obj, before: before is not None))
                    if len(self._bases) > 1:
                        break
        return self._bases

    def drawn(self) -> tuple[JsonObject, AuditedObject] | None:
        """Return a drawn object that the old definition accepts, and how a create reads it; None if it is refused."""
        return self.settled(self._envelope(Maker(self.random, self.literals)), None)

    def _envelope(self, maker: Maker) -> JsonObject:
        value = maker.value(self.root)
        value = value if type(value) is dict else {}
        definition = self.trial.trials.old
        metadata = self.root.properties.get("metadata")
        own = maker.value(metadata) if metadata is not None else {}
        namespace = {"namespace": "default"} if definition.namespaced else {}
        names = [text for text in self.literals if type(text) is str and re.fullmatch("[a-z][-a-z0-9]*", text)]
        name = self.random.choice(["a", *names]) if maker.random is not None else "a"
        head = {"apiVersion": self.trial.api_version, "kind": definition.kind}
        return {**head, "metadata": {"name": name, **own, **namespace}} | {
            key: item for key, item in value.items() if key not in ("apiVersion", "kind", "metadata")
        }

    def settled(self, obj: JsonObject, forced: Forced | None) -> tuple[JsonObject, AuditedObject] | None:
        """Repair an object until the old definition accepts it.

        Args:
            obj: The object.
            forced: What stays as it is.
        """
        for _ in range(_REPAIRS):
            obj = copied(obj)
            before = self.trial.created(obj)
            if self.trial.is_accepted(before):
                return obj, before
            if before.unreadable is not None or (before.pruned and not before.findings) or self.is_exhausted:
                return None
            repaired = self._repaired(obj, before)
            obj = repaired if forced is None else self._with(repaired, forced)
        return None

    def _with(self, obj: JsonObject, forced: Forced) -> JsonObject:
        if not forced.steps:
            head = {key: obj[key] for key in ("apiVersion", "kind", "metadata")}
            return {**forced.value, **head} if type(forced.value) is dict else obj
        value: JsonObject = Maker().placed(self.root, obj, forced.steps, forced.value)
        return value

    def _repaired(self, obj: JsonObject, before: AuditedObject) -> JsonObject:
        """Return an object with another value where one of its findings is."""
        finding = self.random.choice(before.findings) if before.findings else None
        maker = Maker(self.random, self.literals)
        if finding is None:
            return self._envelope(maker)
        steps, rest = locate(obj, finding.field)
        if finding.check == "rule" and steps and self.random.random() < 0.5:
            steps = steps[:-1]
        if finding.type == REQUIRED and rest:
            steps = [*steps, rest]
        if not steps or steps[0] in ("apiVersion", "kind", "metadata"):
            return self._envelope(maker) if not rest else obj
        node = self._schema_at(steps)
        if node is None:
            return obj
        value = maker.value(node)
        if type(value) is dict and self.random.random() < 0.5:
            value = self.random.choice(({}, Maker().value(node)))
        if finding.type != REQUIRED and self.random.random() < 0.2:
            value = ABSENT
        out: JsonObject = _put(obj, steps, value)
        return out

    def _schema_at(self, steps: Sequence[str | int]) -> StructuralSchema | None:
        node: StructuralSchema | None = self.root
        for step in steps:
            if node is None:
                return None
            extra = node.additional_properties
            if type(step) is int:
                node = node.items
            else:
                below = node.properties.get(str(step))
                node = below or (extra if isinstance(extra, StructuralSchema) else None)
        return node

    # -- witnesses --------------------------------------------------------------------------------------------------

    def candidates(self, places: Iterable[Forced]) -> Iterator[tuple[JsonObject, AuditedObject, Forced]]:
        """Yield objects that the old definition accepts, each with a value at a place.

        Args:
            places: The values, likely ones first; only the first few are tried.
        """
        bases = self.bases()
        most = self.trial.trials.tried + _TRIES
        for number, forced in enumerate(places):
            if number >= _CANDIDATES or self.is_exhausted or self.trial.trials.tried >= most:
                return
            for base in bases[: 2 if number < _WITH_BOTH else 1]:
                settled = self.settled(self._with(base, forced), forced)
                if settled is not None:
                    yield *settled, forced
                    break

    def find(
        self, places: Iterable[Forced], wanted: Wanted, what: tuple[str, ...] = (), path: str = ""
    ) -> Witness | None:
        """Return a small object with an answer that is wanted; None if there is none among the candidates.

        Args:
            places: Values of candidates, likely ones first.
            wanted: Returns the answer that is wanted, if it is among those to an object.
            what: Tells the change apart from others at its place.
            path: The place.
        """
        trials = self.trial.trials
        known = trials.witnesses.get((path, *what))
        if known is not None:
            obj = {**known, "apiVersion": self.trial.api_version}
            before = self.trial.created(obj)
            if self.trial.is_accepted(before) and (answer := wanted(self.trial.answers(obj, before))) is not None:
                return Witness(obj, answer)
        for obj, before, forced in self.candidates(places):
            answer = wanted(self.trial.answers(obj, before))
            if answer is not None:
                witness = self.smallest(Witness(obj, answer), wanted)
                trials.witnesses[(path, *what)] = witness.object
                trials.values[what] = forced.value
                return witness
        return None

    def smallest(self, witness: Witness, wanted: Wanted) -> Witness:
        """Return a witness of the same effect without what can be left out."""
        best = witness

        def still(obj: JsonObject, before: AuditedObject | None) -> bool:
            nonlocal best
            answer = None if before is None else wanted(self.trial.answers(obj, before))
            if answer is None or answer.effect != best.answer.effect:
                return False
            best = Witness(obj, answer)
            return True

        self._smaller(witness.object, still)
        return best

    def _smaller(self, obj: JsonObject, still: Callable[[JsonObject, AuditedObject | None], bool]) -> JsonObject:
        """Leave out members as long as the object is accepted and a condition holds."""
        tries = 0
        todo = _members(obj)
        most = _SHRINKS if len(todo) < _SHRINKS and len(encode(obj)) < _LARGE else _FEW
        while todo and tries < most:
            steps = todo.pop(0)
            tries += 1
            less = copied(_put(obj, steps, ABSENT))
            before = self.trial.created(less)
            if self.trial.is_accepted(before) and still(less, before):
                obj = less
                todo = [other for other in _members(obj) if len(other) >= len(steps)]
        return obj


def _members(obj: JsonObject) -> list[tuple[str | int, ...]]:
    """Return the places of all members that can be left out, those near the root first."""
    out: list[tuple[str | int, ...]] = []
    level: list[tuple[tuple[str | int, ...], Any]] = [((), obj)]
    while level and len(out) < _SHRINKS:
        below = []
        for steps, value in level:
            items: Iterable[tuple[str | int, Any]] = ()
            if type(value) is dict:
                items = [item for item in value.items() if steps or item[0] not in OWN_FIELDS]
            elif type(value) is list:
                items = list(enumerate(value))
            below += [((*steps, key), item) for key, item in items]
        out += [steps for steps, _ in below]
        level = below
    return out


def _put(obj: Any, steps: Sequence[str | int], value: Any) -> Any:
    """Return a copy of a value with another one at a place; `ABSENT` removes it."""
    if not steps:
        return value
    first, rest = steps[0], steps[1:]
    if type(obj) is list and type(first) is int:
        if first >= len(obj):
            return obj
        below = _put(obj[first], rest, value)
        return [*obj[:first], *([] if below is ABSENT else [below]), *obj[first + 1 :]]
    if type(obj) is not dict:
        return obj
    out = dict(obj)
    below = _put(out.pop(str(first), None), rest, value)
    return out if below is ABSENT else {**obj, str(first): below}


def _literals(rules: Iterable[str]) -> Iterator[Any]:
    for rule in rules:
        for match in _LITERAL.finditer(rule):
            if match[3]:
                number = int(match[3])
                yield from (number, number + 1, max(0, number - 1))
            else:
                yield match[1] if match[1] is not None else match[2]
