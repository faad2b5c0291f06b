"""Rules on the fast path: a generated function proves the rules of an object, and returns the unproven ones.

The function walks the parts of the object that have rules, and runs their code on the values (`auditor.cel.emit`). It
adds up bounds of their costs; while the sum is below the limit of one object, no limit can be exceeded and costs need
not be counted. It records the position and value of rules that it cannot prove; the interpreter then runs only these.

This requires objects in which all values have their declared type, no required field is missing and nothing is too
long. The server runs rules only on such objects, with one exception that `is_typed` checks.

Source: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from auditor.cel.emit import NotEmittable, RuleModule, emit_rule
from auditor.cel.environment import PER_CALL_LIMIT
from auditor.codegen import FunctionWriter, Module
from auditor.fastpath.dicts.fallbacks import Fallbacks, Part, Reason
from auditor.fastpath.rules.rule_shapes import Shapes, fits, longest_default
from auditor.validation.rules.evaluate import OBJECT_BUDGET

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import Finding, JsonObject
    from auditor.base.trail import Trail
    from auditor.cel.emit import RuleCode
    from auditor.cel.emit.bounds import Bound
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
    from auditor.validation.rules import CompiledRule, RuleNode, RuleProgram


NEVER: Final = OBJECT_BUDGET + 1
"""A cost larger than one object may spend."""


class RuleCosts:
    """Bounds of the costs of the rules of positions."""

    def __init__(self) -> None:
        self._positions: list[list[Bound]] = []
        self._known: dict[int, tuple[int, ...]] = {}

    def add(self, bounds: list[Bound]) -> int:
        """Add a position; return its number.

        Args:
            bounds: The bounds of its rules, without those that are measured when they run.
        """
        self._positions.append(bounds)
        return len(self._positions) - 1

    def at(self, size: int) -> tuple[int, ...]:
        """Return for each position the bound for objects of a size in bytes; `NEVER` if one alone exceeds the limit.

        All positions must have been added.
        """
        step = size.bit_length()
        costs = self._known.get(step)
        if costs is None:
            costs = self._known[step] = tuple(
                _total([bound.at(1 << step) for bound in each]) for each in self._positions
            )
        return costs


def _total(costs: list[int]) -> int:
    return NEVER if any(cost > PER_CALL_LIMIT for cost in costs) else sum(costs)


_MOST_LOOPS: Final = 6
"""Largest number of nested loops in one function."""
_MOST_NODES: Final = 60
"""Largest number of positions in one function."""
_FEW_NODES: Final = 3
"""Shared positions with at least this many positions below get a separate function."""
_DEEPEST: Final = 40
"""Largest number of steps from the value of a function."""
_DEEPER: Final = "(" * 10 + "%s" + ")" * 10
"""A test with the deepest brackets; Python allows 200."""
_SHALLOW: Final = 100
"""This many brackets are below the limit."""
_OTHER_FORM: Final = 5
"""Factor by which a value that is not JSON (CBOR) can be shorter than its JSON text."""

"""A position with one rule only, the value there, and where that is."""


@dataclass(slots=True)
class RulePlan:
    """A position, with the code of its rules.

    Attributes:
        node: The position.
        codes: The code of its rules that run on a create: (number of the evaluation, code).
        others: Numbers of evaluations for which there is no code.
        number: Its index in the table of costs; -1 without rules.
        positions: Number of positions at and below it.
        is_shared: Whether several positions share it.
        all_of, properties, extra, items: The plans of these parts of the node.
    """

    node: RuleNode
    codes: list[tuple[int, RuleCode]] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    number: int = -1
    positions: int = 1
    is_shared: bool = False
    all_of: list[RulePlan] = field(default_factory=list)
    properties: dict[str, RulePlan] = field(default_factory=dict)
    extra: RulePlan | None = None
    items: RulePlan | None = None

    @property
    def is_apart(self) -> bool:
        """Whether it deserves a separate function."""
        return self.positions > (_FEW_NODES if self.is_shared else _MOST_NODES)


class _OverBudget(Exception):
    """The costs may exceed the limit of one object: only counting can decide."""


_CHECK: Final = (f"if c > {OBJECT_BUDGET}:", " raise OverBudget")


class RuleProver:
    """Proves the rules of objects of one version.

    Args:
        rules: The rules.
        definition: The definition.
        version: The version of the objects.
        fallbacks: Counts objects that are left to the interpreter.

    Attributes:
        module: The generated functions.
        emitted: Number of rules with code; equal rules of shared positions count once.
        reasons: Why the other rules have no code, by rule.
        more: By how many bytes an object may exceed its text after the read.
    """

    def __init__(
        self,
        rules: RuleProgram,
        definition: CustomResourceDefinition,
        version: CrdVersion,
        fallbacks: Fallbacks | None = None,
    ) -> None:
        self.rules = rules
        self.fallbacks = Fallbacks() if fallbacks is None else fallbacks
        self.module = Module(f"{definition.kind}.{version.name}.{definition.group} rules")
        self.emitted = 0
        self.reasons: list[tuple[CompiledRule, str]] = []
        self._constants = RuleModule(self.module)
        self._shapes = Shapes()
        self._by_node: dict[int, RulePlan] = {}
        self._functions: dict[int, str] = {}
        self._evaluations: list[RuleNode] = []
        self._costs = RuleCosts()
        # An object that is stored at another version has the defaults of that version.
        schemas = [each.structural for each in definition.versions.values() if each.structural is not None]
        self.more = max(map(longest_default, schemas), default=0) + 2
        self.module.namespace.update(_place=_place, OverBudget=_OverBudget)
        self.root = self._plan(rules.root)
        self._run: Callable[..., int] = _refuse
        for _, reason in self.reasons:
            self.fallbacks.note(Part.RULES, Reason.DEFINITION, reason)
        try:
            self._run = self.module.compile(self._function(self.root))
        except (SyntaxError, RecursionError, MemoryError) as error:
            self.fallbacks.note(Part.RULES, Reason.DEFINITION, type(error).__name__)

    # -- running ------------------------------------------------------------------------------------------------------

    def findings(self, obj: JsonObject, data: bytes, *, typed: bool = False) -> list[Finding]:
        """Run the rules of an object as for a create; the interpreter alone judges each rule that is not proven.

        Args:
            obj: The object after the exact read, valid except for its rules.
            data: The stored bytes of the object.
            typed: Whether all its values are proven to have their declared type.
        """
        if not typed and not self.is_typed(obj):
            return self.rules.run(obj)
        left: list[tuple[int, Any, Trail]] = []
        try:
            cost = self._cost(obj, data, left)
        except Exception as error:  # noqa: BLE001 - over the budget, or what Python does not compile
            self.fallbacks.caught(Part.RULES, error)
            return self.rules.run(obj)
        if not left:
            return []
        new_findings = self.rules.run_these(
            [(self._evaluations[number], value, trail) for number, value, trail in left], cost
        )
        if new_findings is None:
            self.fallbacks.note(Part.RULES, Reason.BUDGET)
            return self.rules.run(obj)
        return new_findings

    def hold(self, obj: JsonObject, data: bytes) -> bool:
        """Return whether generated code alone proves all rules of an object.

        Args:
            obj: The object after the read, proven valid except for its rules, or at least its parts that have rules.
            data: The stored bytes of the object.

        Raises:
            Exception: An error of any type: they are not proven.
        """
        left: list[tuple[int, Any, Trail]] = []
        self._cost(obj, data, left)
        return not left

    def _cost(self, obj: JsonObject, data: bytes, left: list[tuple[int, Any, Trail]]) -> int:
        """Run the generated code; return the cost of the rules that it proved, and record the others."""
        size = len(data) + self.more
        if data[:1] != b"{":
            size *= _OTHER_FORM
        return self._run(obj, size, self._costs.at(size), left, None, 0)

    def is_typed(self, obj: JsonObject) -> bool:
        """Return whether all values that rules see have their declared type.

        The server accepts a float without fraction as an integer, and some lists as strings; rules do not.
        """
        return self._is_typed(self.root, obj)

    def _is_typed(self, plan: RulePlan, value: Any) -> bool:
        if value is None:
            return True
        if plan.number >= 0:
            declared = plan.node.declared
            return declared is None or fits(self._shapes.of(declared), value)
        if not all(self._is_typed(each, value) for each in plan.all_of):
            return False
        if type(value) is dict:
            extra = plan.extra
            if extra is not None and not all(self._is_typed(extra, each) for each in value.values()):
                return False
            return all(self._is_typed(child, value.get(key)) for key, child in plan.properties.items())
        if type(value) is list:
            return plan.items is None or all(self._is_typed(plan.items, each) for each in value)
        return plan.items is None and plan.extra is None and not plan.properties

    # -- planning -----------------------------------------------------------------------------------------------------

    def _plan(self, node: RuleNode) -> RulePlan:
        """Return the plan of a node; equal positions have one node, and one plan."""
        plan = self._by_node.get(id(node))
        if plan is None:
            plan = self._by_node[id(node)] = self._make_plan(node)
        else:
            plan.is_shared = True
        return plan

    def _make_plan(self, node: RuleNode) -> RulePlan:
        plan = RulePlan(node)
        if node.error:
            plan.others.append(self._evaluation(node, ()))
        for rule in node.rules:
            self._add(plan, rule)
        if plan.codes or plan.others:
            plan.number = self._costs.add([code.cost for _, code in plan.codes if not code.measured])
        plan.all_of = [self._plan(each) for each in node.all_of]
        plan.properties = {key: self._plan(child) for key, child in node.properties.items()}
        plan.extra = None if node.extra is None else self._plan(node.extra)
        plan.items = None if node.items is None else self._plan(node.items)
        below = (*plan.all_of, *plan.properties.values(), plan.extra, plan.items)
        plan.positions += sum(child.positions for child in below if child is not None)
        return plan

    def _add(self, plan: RulePlan, rule: CompiledRule) -> None:
        node = plan.node
        if rule.is_left_out:
            return
        number = self._evaluation(node, (rule,))
        checked, environment, declared = rule.checked, rule.environment, node.declared
        if checked is None or environment is None or declared is None:
            plan.others.append(number)
            return
        try:
            code = emit_rule(environment, checked, self._shapes.of(declared), self._constants, "v", "size")
            if sum(map(code.test.count, "([{")) > _SHALLOW:
                compile(_DEEPER % code.test, "rule", "eval")
        except NotEmittable as error:
            self.reasons.append((rule, error.reason))
            plan.others.append(number)
        except Exception as error:  # noqa: BLE001 - whatever is wrong, the interpreter can run the rule
            self.reasons.append((rule, type(error).__name__))
            plan.others.append(number)
        else:
            self.emitted += 1
            plan.codes.append((number, code))

    def _evaluation(self, node: RuleNode, rules: tuple[CompiledRule, ...]) -> int:
        alone = replace(node, rules=rules, all_of=(), properties={}, extra=None, items=None)
        self._evaluations.append(alone)
        return len(self._evaluations) - 1

    # -- writing ------------------------------------------------------------------------------------------------------

    def _function(self, plan: RulePlan) -> str:
        name = self._functions.get(id(plan))
        if name is None:
            name = self._functions[id(plan)] = self.module.function(lambda name: self._write(name, plan))
        return name

    def _write(self, name: str, plan: RulePlan) -> str:
        w = FunctionWriter()
        with w.block(f"def {name}(v0, size, costs, left, above, c):"):
            self._position(w, plan, RuleSite("v0", "above"))
            w.line("return c")
        return w.source

    def _position(self, w: FunctionWriter, plan: RulePlan, place: RuleSite) -> None:
        """Write the code for the rules of a value and of all values below it."""
        if plan.number >= 0:
            self._rules(w, plan, place)
        for each in plan.all_of:
            self._position(w, each, place)
        y = f"v{place.level + 1}"
        self._keys(w, plan, place, y)
        if plan.items is not None:
            self._items(w, plan.items, place, y)

    def _keys(self, w: FunctionWriter, plan: RulePlan, place: RuleSite, y: str) -> None:
        x = place.name
        for key, child in plan.properties.items():
            w.line(f"{y} = {x}.get({key!r})")
            with w.block(f"if {y} is not None:"):
                self._below(w, child, place.below(f"({place.trail}, {key!r})"))
        if plan.extra is not None:
            k = f"k{place.level + 1}"
            with w.block(f"for {k}, {y} in {x}.items():"), w.block(f"if {y} is not None:"):
                self._below(w, plan.extra, place.below(f"({place.trail}, {k}, True)", loops=1))

    def _items(self, w: FunctionWriter, plan: RulePlan, place: RuleSite, y: str) -> None:
        i = f"i{place.level + 1}"
        inside = place.below(f"({place.trail}, {i})", loops=1)
        declared = plan.node.declared
        if self._is_apart(plan, inside) or declared is None or declared.scalar is not None:
            head = f"for {i}, {y} in enumerate({place.name}):"
        else:
            head = f"for {y} in {place.name}:"
            inside = place.below(f"({place.trail}, _place({place.name}, {y}))", loops=1)
        with w.block(head), w.block(f"if {y} is not None:"):
            self._below(w, plan, inside)

    @staticmethod
    def _is_apart(plan: RulePlan, place: RuleSite) -> bool:
        return plan.is_apart or place.loops >= _MOST_LOOPS or place.level >= _DEEPEST

    def _below(self, w: FunctionWriter, plan: RulePlan, place: RuleSite) -> None:
        if self._is_apart(plan, place):
            w.line(f"c = {self._function(plan)}({place.name}, size, costs, left, {place.trail}, c)")
        else:
            self._position(w, plan, place)

    def _rules(self, w: FunctionWriter, plan: RulePlan, place: RuleSite) -> None:
        w.lines(f"left.append(({number}, {place.name}, {place.trail}))" for number in plan.others)
        if not plan.codes:
            return
        if any(not code.measured for _, code in plan.codes):
            w.lines((f"c += costs[{plan.number}]", *_CHECK))
        tests, measured = [], []
        for index, (_, code) in enumerate(plan.codes):
            if code.measured:
                measured.append(f"m{index}")
                tests.append(f"(m{index} := {code.measured}) <= {PER_CALL_LIMIT}")
            tests.append(code.test)
        one_by_one = self.module.function(lambda name: _one_by_one(name, plan))
        again = f"c += {one_by_one}({place.name}, size, left, {place.trail})"
        w.line(f"v = {place.name}")
        with w.block("try:"):
            with w.block(f"if not ({' and '.join(tests)}):"):
                w.line(again)
            if measured:
                with w.block("else:"):
                    w.line(f"c += {' + '.join(measured)}")
        with w.block("except Exception:"):
            w.line(again)
        if measured:
            w.lines(_CHECK)


@dataclass(frozen=True, slots=True)
class RuleSite:
    """The value that code is written for: its variable, an expression for its path, loops, steps from the root."""

    name: str
    trail: str
    loops: int = 0
    level: int = 0

    def below(self, trail: str, loops: int = 0) -> RuleSite:
        """Return the site of a value one step below."""
        return RuleSite(f"v{self.level + 1}", trail, self.loops + loops, self.level + 1)


def _refuse(*_: Any) -> int:
    raise _OverBudget


def _one_by_one(name: str, plan: RulePlan) -> str:
    """Write the function that records the unproven rules of a position, and returns the cost of measured ones."""
    w = FunctionWriter()
    with w.block(f"def {name}(v, size, left, trail):"):
        w.line("c = 0")
        for number, code in plan.codes:
            with w.block("try:"):
                if code.measured:
                    w.line(f"m = {code.measured}")
                    with w.block(f"if m <= {PER_CALL_LIMIT} and {code.test}:"):
                        w.line("c += m")
                    with w.block("else:"):
                        w.line(f"left.append(({number}, v, trail))")
                else:
                    with w.block(f"if not {code.test}:"):
                        w.line(f"left.append(({number}, v, trail))")
            with w.block("except Exception:"):
                w.line(f"left.append(({number}, v, trail))")
        w.line("return c")
    return w.source


def _place(items: list[Any], item: Any) -> int:
    """Return the index of an item, a list or map that occurs only once."""
    return next(index for index, other in enumerate(items) if other is item)
