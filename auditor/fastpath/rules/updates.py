"""Rules for an update that changes nothing: generated code if the values fit, else the interpreter.

An update tolerates old violations of the schema, so rules may run on values of a wrong type, or on values that are too
long. The functions here walk an object as those of `prover` do, but first check whether the value of a rule matches its
declaration. If it does not, or if a rule is not proven, the interpreter runs that rule alone.

Source: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from auditor.fastpath.dicts.fallbacks import Part, Reason
from auditor.fastpath.rules.prover import RuleProver
from auditor.fastpath.rules.rule_shapes import fits

if TYPE_CHECKING:
    from typing import Any

    from auditor.base.records import Finding, JsonObject
    from auditor.base.trail import Trail
    from auditor.codegen import FunctionWriter
    from auditor.fastpath.rules.prover import RulePlan, RuleSite
    from auditor.ratcheting import CorrelatedObject


_PATIENCE: Final = 8


class RuleUpdates(RuleProver):
    """Runs the rules of a version for updates that change no value, if no rule uses the old object.

    Args:
        prover: The prover of the version, whose plans are shared.
        patience: Number of objects that the interpreter runs before code is generated: for a few, generating it takes
            longer.
    """

    def __init__(self, prover: RuleProver, patience: int = _PATIENCE) -> None:
        self.__dict__.update(vars(prover))
        self._functions = {}
        self._patience = patience
        self._is_plain = not any(plan.all_of for plan in _all_plans(self.root))
        self.module.namespace["_fits"] = fits

    @property
    def is_cold(self) -> bool:
        """Whether the interpreter runs the rules of the next object, because code is not generated yet."""
        return self._patience > 0

    def update_findings(self, new: JsonObject, old: JsonObject, twin: CorrelatedObject | None) -> list[Finding]:
        """Run the rules like `RuleProgram.run_update`, with the same result."""
        self._patience -= 1
        if self._patience >= 0:
            return self.rules.run_update(new, old, twin)
        left: list[tuple[int, Any, Trail]] = []
        try:
            if self._patience == -1:
                self._run = self.module.compile(self._function(self.root))
            size = len(orjson.dumps(new)) + self.more
            cost = self._run(new, size, self._costs.at(size), left, None, 0)
        except Exception as error:  # noqa: BLE001 - whatever is wrong, the interpreter can run the rules
            self.fallbacks.caught(Part.UPDATE_RULES, error)
            return self.rules.run_update(new, old, twin)
        if not left:
            return []
        findings = None
        if self._is_plain:
            places: dict[Trail, int] = {}
            left.sort(key=lambda one: (places.setdefault(one[2], len(places)), one[0]))  # in the order of the rules
            evaluations = [(self._evaluations[number], value, trail) for number, value, trail in left]
            findings = self.rules.run_these(evaluations, cost, twin)
        if findings is None:
            self.fallbacks.note(Part.UPDATE_RULES, Reason.BUDGET if self._is_plain else Reason.RULES)
            return self.rules.run_update(new, old, twin)
        return findings

    def _position(self, w: FunctionWriter, plan: RulePlan, place: RuleSite) -> None:
        if plan.number >= 0:
            self._guarded(w, plan, place)
        for each in plan.all_of:
            self._position(w, each, place)
        x, y = place.name, f"v{place.level + 1}"
        if plan.properties or plan.extra is not None:
            with w.block(f"if type({x}) is dict:"):
                self._keys(w, plan, place, y)
        if plan.items is not None:
            i = f"i{place.level + 1}"
            head = f"for {i}, {y} in enumerate({x}):"
            with w.block(f"if type({x}) is list:"), w.block(head), w.block(f"if {y} is not None:"):
                self._below(w, plan.items, place.below(f"({place.trail}, {i})", loops=1))

    def _guarded(self, w: FunctionWriter, plan: RulePlan, place: RuleSite) -> None:
        """Write the code for the rules of a position: generated code only if the value fits."""
        declared = plan.node.declared
        if not plan.codes or declared is None:
            self._rules(w, plan, place)
            return
        with w.block(f"if _fits({self.module.slot(self._shapes.of(declared))}, {place.name}):"):
            self._rules(w, plan, place)
        with w.block("else:"):
            numbers = [*plan.others, *(number for number, _ in plan.codes)]
            w.lines(f"left.append(({number}, {place.name}, {place.trail}))" for number in numbers)


def _all_plans(plan: RulePlan) -> list[RulePlan]:
    """Return a plan and all below it."""
    plans = [plan]
    for other_plan in plans:
        below = (*other_plan.all_of, *other_plan.properties.values(), other_plan.extra, other_plan.items)
        plans.extend(child for child in below if child is not None)
    return plans
