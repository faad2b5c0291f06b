"""Runs the rules of a version over an object or an update, and returns the server's findings.

One `RuleProgram` serves all objects of a version; each call walks the object with a budget of cost that all rules and
messages share. Rules get values made by `values`; the order of the walk is the server's, because the budget may end it.

Source: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from math import inf
from time import thread_time
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.base.longtext import LONG
from auditor.base.trail import Trail, structured
from auditor.cel.cel_errors import COST_LIMIT_EXCEEDED, CelError, GaveUp
from auditor.cel.cel_values import NONE, Optional_
from auditor.cel.environment import PER_CALL_LIMIT
from auditor.golang.go_text import quote, without_broken
from auditor.ratcheting import MapListKeys
from auditor.releases import changes
from auditor.schema.structural import ListType
from auditor.validation.field_errors import DUPLICATE, FORBIDDEN, INVALID, REQUIRED, finding, of_rule
from auditor.validation.keywords.failure import MOST_FINDINGS, too_many_failures
from auditor.validation.rules.compile import CompiledRule, RuleNode, compile_rules, trim_space

if TYPE_CHECKING:
    from collections.abc import Iterable

    from auditor.base.records import Finding, JsonObject
    from auditor.cel.environment import Program
    from auditor.ratcheting import CorrelatedObject
    from auditor.schema.structural import StructuralSchema
    from auditor.validation.rules.adapters import Adapters


OBJECT_BUDGET: Final = 10_000_000
"""Budget of cost of all rules of one object."""
OBJECT_SECONDS: Final = 60.0
"""Seconds that the rules of one object may compute; a server also ends a request after a minute, without a verdict.

It is processor time, so that verdicts do not depend on the load of the machine.
"""
LEAST_SECONDS: Final = 0.1
"""Seconds that the rules of an object may always compute, however long those of others took; see `SPARE_SECONDS`."""
SPARE_SECONDS: Final = 1.0
"""Seconds for all objects together that begin after the slow ones have used up their time."""
_QUICK_SECONDS: Final = 0.01
"""Seconds that the rules of an object may compute after that; nearly all take less than a thousandth."""
_MUCH: Final = 50
"""Least cost of an evaluation whose result is cached: it takes some 50 us, a look-up 3 us."""
_MOST_KNOWN: Final = 256
_LONGEST_MESSAGE: Final = 5 * 1024  # bytes
_OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
_MESSAGE_OUT_OF_BUDGET: Final = (
    "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
)
_OMITTED: Final[dict[str, Any]] = {}
"""Placeholder for objects and arrays, which are not printed."""


_Known = dict[tuple[int, int, int], dict[bytes, tuple[Any, int]]]
"""The results of costly evaluations: by expression, schema and limit, then by the value."""


class RuleTime:
    """Limits of the processor time of rules; the rule programs of a process may share one.

    Args:
        one: Seconds for one object.
        together: Seconds for all objects that take longer than `LEAST_SECONDS`.
    """

    def __init__(self, one: float = OBJECT_SECONDS, together: float = inf) -> None:
        self.one = one
        self.left = together
        self.spare = SPARE_SECONDS
        self._refused: set[RuleProgram] = set()

    def begin(self, together: float) -> None:
        """Reset the time of slow objects: those that are judged next may take so many seconds together."""
        self.left = together
        self.spare = SPARE_SECONDS
        self._refused.clear()

    def deadline(self, program: RuleProgram) -> float:
        """Return the time (of `thread_time`) at which rules that begin now are stopped.

        When the slow objects have used up their time, each further object may take `LEAST_SECONDS` until all of these
        have taken `SPARE_SECONDS`. After that, an object may take as long as usual rules take, or no time if an object
        of its version was stopped before.
        """
        if self.left > LEAST_SECONDS:
            most = self.left
        elif self.spare > 0:
            most = LEAST_SECONDS
        else:
            most = 0.0 if program in self._refused else _QUICK_SECONDS
        return thread_time() + min(self.one, most)

    def ended(self, program: RuleProgram, seconds: float, *, gave_up: bool) -> None:
        """Record the time that the rules of an object took."""
        if self.left <= LEAST_SECONDS and seconds > _QUICK_SECONDS / 2:
            self.spare -= seconds
        if seconds > LEAST_SECONDS:
            self.left -= seconds
        if gave_up and self.spare <= 0:
            self._refused.add(program)


class RuleProgram:
    """The rules of one version of a definition.

    Args:
        root: The compiled rules.

    Attributes:
        root: The compiled rules.
        broken: The rules that do not compile: every object that reaches one gets a finding about it.
        time: The limits of time.
        gave_up: Whether an object exceeded the time or memory since the last call of `unevaluated`: its findings are
            right, but those of the remaining rules are unknown.
    """

    def __init__(self, root: RuleNode, time: RuleTime | None = None) -> None:
        from auditor.validation.rules.adapters import Adapters  # noqa: PLC0415 - with the first rule

        self.root = root
        self.time = RuleTime() if time is None else time
        self.gave_up = False
        self.broken = tuple(rule for node in root.walk() for rule in node.rules if rule.error)
        self._adapters = Adapters()
        self._known: _Known = {}

    @classmethod
    def of(cls, schema: StructuralSchema | None) -> RuleProgram | None:
        """Return the program of a structural schema, or None if the server runs no rules on its objects."""
        root = compile_rules(schema)
        return None if root is None else cls(root)

    def run(self, obj: JsonObject) -> list[Finding]:
        """Run the rules as a create does; return findings in the order of the walk."""
        return self._walk(obj, None, None)

    def run_update(self, new: JsonObject, old: JsonObject, twin: CorrelatedObject | None) -> list[Finding]:
        """Run the rules as an update does.

        Args:
            new: The new object.
            old: The old object.
            twin: The correlation of both; None if there is no ratcheting.
        """
        return self._walk(new, old, twin)

    def run_these(
        self, evaluations: Iterable[tuple[RuleNode, Any, Trail]], spent: int, twin: CorrelatedObject | None = None
    ) -> list[Finding] | None:
        """Run single evaluations, for an object whose other rules are proven.

        Args:
            evaluations: Positions with the rules to run and no positions below, the value there (not null), and its
                trail. In an update none is of an allOf, and no rule uses the old value.
            spent: Upper bound of the cost of the other rules.
            twin: For an update, the correlation of the object with the old one; None if there is no ratcheting.

        Returns:
            The findings, or None if a limit may be reached, because then the order of evaluations matters.
        """
        begun = thread_time()
        walk = _RulesWalk(self._adapters, self.time.deadline(self), self._known)
        walk.budget -= spent
        try:
            for node, value, trail in evaluations:
                walk.rules(node, value, None, trail, (None, None) if twin is None else _along(twin, trail))
        except _NoFurtherRule:
            if not walk.gave_up:
                return None
            self.gave_up = True
        finally:
            self.time.ended(self, thread_time() - begun, gave_up=walk.gave_up)
        return walk.found

    def _walk(self, new: JsonObject, old: JsonObject | None, twin: CorrelatedObject | None) -> list[Finding]:
        begun = thread_time()
        walk = _RulesWalk(self._adapters, self.time.deadline(self), self._known)
        with suppress(_NoFurtherRule):
            walk.node(self.root, new, old, None, (twin, None))
        self.time.ended(self, thread_time() - begun, gave_up=walk.gave_up)
        self.gave_up = self.gave_up or walk.gave_up
        return walk.found

    def unevaluated(self) -> int:
        """Return the number of rules without a result since the last call of this method.

        That is the number of rules that do not compile, or of all rules if an object took too long.
        """
        if not self.gave_up:
            return len(self.broken)
        self.gave_up = False
        return sum(len(node.rules) for node in self.root.walk())


class _NoFurtherRule(Exception):
    """No further rule is run on this object."""


_Twins = tuple["CorrelatedObject | None", "CorrelatedObject | None"]
"""The correlation of a value, and the nearest one above it, which decides if the value has none."""


def _tolerates(twins: _Twins) -> bool:
    decides = twins[0] or twins[1]
    return decides is not None and decides.is_equal()


def _below(twins: _Twins, step: str | int) -> _Twins:
    current, above = twins
    if current is None:
        return twins
    if type(step) is int:
        return current.index(step), current
    assert type(step) is str
    if above is None and step in ("apiVersion", "kind"):
        return None, None
    return current.key(step), current


def _along(twin: CorrelatedObject, trail: Trail) -> _Twins:
    """Return the correlation of a value by its trail from the root."""
    if trail is None:
        return twin, None
    return _below(_along(twin, trail[0]), trail[1])


class _RulesWalk:
    """One walk over one object."""

    __slots__ = ("adapters", "budget", "deadline", "found", "gave_up", "known")

    def __init__(self, adapters: Adapters, deadline: float, known: _Known) -> None:
        self.known = known
        self.adapters = adapters
        self.budget = OBJECT_BUDGET
        self.deadline = deadline
        self.gave_up = False
        self.found: list[Finding] = []

    def node(self, node: RuleNode, new: Any, old: Any, trail: Trail, twins: _Twins) -> None:
        """Run the rules of a position and of all below it."""
        if new is None:
            return
        if node.rules or node.error:
            self.rules(node, new, old, trail, twins)
        for each in node.all_of:
            self.node(each, new, old, trail, (None, twins[1]))
        if type(new) is dict:
            before = old if type(old) is dict else {}
            if node.extra is not None:
                for key, value in new.items():
                    self.node(node.extra, value, before.get(key), (trail, key, True), _below(twins, key))
            for name, child in node.properties.items():
                if name in new:
                    self.node(child, new[name], before.get(name), (trail, name), _below(twins, name))
        elif type(new) is list and node.items is not None:
            self.items(node, new, old, trail, twins)

    def items(self, node: RuleNode, new: list[Any], old: Any, trail: Trail, twins: _Twins) -> None:
        """Run the rules of the items of a list; those of a map list are paired with the old item with the same keys."""
        assert node.items is not None
        before = None
        if node.schema.list_type is ListType.MAP and type(old) is list and old:
            before = MapListKeys(node.schema, old)
        for index, item in enumerate(new):
            match = None if before is None else before.find(item)
            self.node(node.items, item, match, (trail, index), _below(twins, index))

    def rules(self, node: RuleNode, new: Any, old: Any, trail: Trail, twins: _Twins) -> None:
        """Run the rules of a position."""
        if node.error:
            self.report(node, trail, f"rule compiler initialization error: {node.error}")
            return
        if self.budget <= 0:
            self.report(node, trail, _OUT_OF_BUDGET)
            raise _NoFurtherRule
        plain, optional = self.variables(node, new, old)
        for rule in node.rules:
            if rule.error:
                self.report(node, trail, f"rule compile error: {rule.error}", rule)
                continue
            if (rule.uses_old_self and old is None and not rule.rule.optional_old_self) or rule.program is None:
                continue
            if rule.uses_old_self:
                value, cost = self.evaluate(rule.program, optional if rule.rule.optional_old_self else plain)
            else:
                value, cost = self.evaluate_once(node, rule.program, new, plain)
            if cost > self.budget:
                self.report(node, trail, _OUT_OF_BUDGET, rule)
                raise _NoFurtherRule
            self.budget -= cost
            if isinstance(value, CelError):
                self.failed(node, rule, value.text, trail)
            elif value is not True:
                self.broken(node, rule, new, plain, trail, twins)

    def evaluate_once(self, node: RuleNode, program: Program, new: Any, variables: dict[str, Any]) -> tuple[Any, int]:
        """Evaluate an expression that uses only `self`; costly results are cached by the JSON text of the value.

        The create of an object, its updates, and equal objects have the same result.
        """
        whose = (id(program), id(node.value_schema), min(PER_CALL_LIMIT, self.budget))
        known = self.known.get(whose)
        digest = None if known is None else _digest(new)
        if known is not None and digest is not None and (outcome := known.get(digest)) is not None:
            return outcome
        outcome = self.evaluate(program, variables)
        if outcome[1] >= _MUCH and (digest := digest or _digest(new)) is not None:
            if len(self.known) >= _MOST_KNOWN or (known is not None and len(known) >= _MOST_KNOWN):
                self.known.clear()
            self.known.setdefault(whose, {})[digest] = outcome
        return outcome

    def evaluate(self, program: Program, variables: dict[str, Any]) -> tuple[Any, int]:
        """Evaluate an expression, and stop when the budget is used up, because its result does not count then."""
        value, cost = program.evaluate(variables, min(PER_CALL_LIMIT, self.budget), self.deadline)
        if type(value) is GaveUp:
            self.gave_up = True
            raise _NoFurtherRule
        return value, cost

    def variables(self, node: RuleNode, new: Any, old: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the variables of rules, and those of rules with an optional `oldSelf`."""
        adapt = self.adapters.of(node.value_schema)
        plain = {"self": adapt(new)}
        if not any(rule.uses_old_self for rule in node.rules):
            return plain, plain
        if old is None:
            return plain, {**plain, "oldSelf": NONE}
        before = adapt(old)
        return {**plain, "oldSelf": before}, {**plain, "oldSelf": Optional_.of(before)}

    def failed(self, node: RuleNode, rule: CompiledRule, text: str, trail: Trail) -> None:
        """Report an evaluation without a result."""
        if text.startswith("no such overload"):
            why = "call arguments did not match a supported operator, function or macro signature for rule"
            self.report(node, trail, f"'{text}': {why}: {rule.shown}", rule)
        elif text.startswith(COST_LIMIT_EXCEEDED):
            why = "no further validation rules will be run due to call cost exceeds limit for rule"
            self.report(node, trail, f"'{text}': {why}: {rule.shown}", rule)
            raise _NoFurtherRule
        else:
            self.report(node, trail, f"{text} evaluating rule: {rule.shown}", rule)

    def broken(
        self, node: RuleNode, rule: CompiledRule, new: Any, variables: dict[str, Any], trail: Trail, twins: _Twins
    ) -> None:
        """Report a false rule, unless ratcheting tolerates it."""
        field = structured(trail)
        if rule.field_path:
            field = f"{field}.{rule.field_path}" if field else rule.field_path
        message = failure = ""
        if rule.message is not None:
            message, failure = self.message(rule, variables)
        type_ = node.schema.type
        if failure:
            made = _finding(field, INVALID, type_, failure, rule)
        elif changes.RULES_SHOW_VALUES.holds:
            whole = type_ in ("object", "array")
            made = _false(field, rule, new, message or _default_message(rule), omitted=whole)
        else:
            made = _false(field, rule, type_, message or _default_message(rule), omitted=False)
        if rule.uses_old_self or not _tolerates(twins):
            self.found.append(made)
            if len(self.found) > MOST_FINDINGS:
                raise too_many_failures()
        if failure:
            raise _NoFurtherRule

    def message(self, rule: CompiledRule, variables: dict[str, Any]) -> tuple[str, str]:
        """Return the text of the messageExpression, empty if invalid, and the reason to stop all rules, if any."""
        assert rule.message is not None
        value, cost = self.evaluate(rule.message, variables)
        if cost > self.budget:
            return "", _MESSAGE_OUT_OF_BUDGET
        if isinstance(value, CelError) and value.text.startswith(COST_LIMIT_EXCEEDED):
            why = "no further validation rules will be run due to call cost exceeds limit for messageExpression"
            return "", f"{why}: {quote(rule.rule.message_expression)}"
        self.budget -= cost
        if type(value) is not str:
            return "", ""
        text = trim_space(value)
        fits = "\n" not in text and len(text.encode("utf-8", "surrogateescape")) <= _LONGEST_MESSAGE
        return text if fits else "", ""

    def report(self, node: RuleNode, trail: Trail, detail: str, rule: CompiledRule | None = None) -> None:
        """Add a finding that is not about the value; it shows the name of the value's type."""
        self.found.append(_finding(structured(trail), INVALID, node.schema.type, detail, rule))


def _digest(value: Any) -> bytes | None:
    """Return bytes that are equal for equal values with equal order of keys, or None if orjson cannot write it."""
    try:
        return sha256(orjson.dumps(value)).digest()
    except (TypeError, UnicodeError):  # for large numbers, bytes that are not UTF-8, deep values
        return None


def _default_message(rule: CompiledRule) -> str:
    return trim_space(rule.rule.message) if rule.rule.message else _failed(rule.shown)


@lru_cache(maxsize=64)
def _failed(shown: str) -> str:  # one text for all values that fail a rule
    return f"failed rule: {shown}"


def _false(field: str, rule: CompiledRule, value: Any, detail: str, *, omitted: bool) -> Finding:
    reason = rule.rule.reason
    if reason in (FORBIDDEN, REQUIRED):
        return _finding(field, reason, "", detail, rule)
    type_ = INVALID
    if reason == DUPLICATE:
        type_, detail = DUPLICATE, ""
    return _finding(field, type_, _OMITTED if omitted else value, detail, rule)


def _finding(field: str, type_: str, value: Any, detail: str, rule: CompiledRule | None) -> Finding:
    detail = without_broken(detail) if len(detail) < LONG else _shared(detail)
    made = finding("rule", field, type_, value, detail, omitted=value is _OMITTED)
    return made if rule is None else of_rule(made, rule.rule.rule)


_shared = lru_cache(maxsize=64)(without_broken)
