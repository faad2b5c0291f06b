"""One rule over one value, by the interpreter and by generated code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from auditor.cel.emit import NotEmittable, prover
from auditor.cel.errors import CelError
from auditor.program.rule_shapes import Shapes
from auditor.schema.parse import parse_schema
from auditor.schema.structural import Rule
from auditor.validation.rules import compile_node, declare
from auditor.validation.rules.values import Adapters

if TYPE_CHECKING:
    from auditor.schema.structural import StructuralSchema
    from auditor.validation.rules import CompiledRule


@dataclass
class Outcome:
    """What both say.

    Attributes:
        compiled: The rule; its `error` is set where it does not compile.
        value: The interpreter's value.
        cost: The interpreter's cost.
        bound: Of the cost, by the code; None: not proven.
        reason: Why there is no code.
    """

    compiled: CompiledRule
    value: Any = None
    cost: int = 0
    bound: int | None = None
    reason: str = ""

    @property
    def is_proven(self) -> bool:
        return self.bound is not None


class Judge:
    """Rules on a value of one schema."""

    def __init__(self, schema: dict[str, Any] | StructuralSchema) -> None:
        self.schema = parse_schema(schema) if isinstance(schema, dict) else schema
        declared = declare(self.schema, is_resource=False)
        assert declared is not None
        self.declared = declared
        self.shape = Shapes().of(declared)
        self.adapt = Adapters().of(self.schema)

    def rule(self, text: str) -> JudgedRule:
        """Return a rule that can be asked about many values."""
        return JudgedRule(self, text)

    def ask(self, text: str, value: Any) -> Outcome:
        """Return what both say of a value."""
        return self.rule(text).on(value)


class JudgedRule:
    """One rule, compiled both ways."""

    def __init__(self, judge: Judge, text: str) -> None:
        self.adapt = judge.adapt
        self.compiled = rule = compile_node(judge.schema, (Rule(text),), judge.declared)[0]
        self.reason = ""
        self.prove = None
        if rule.program is None:
            return
        assert rule.environment is not None
        assert rule.checked is not None
        try:
            self.prove = prover(rule.environment, rule.checked, judge.shape)
        except NotEmittable as error:
            self.reason = error.reason

    def on(self, value: Any) -> Outcome:
        """Return what both say of a value."""
        found = Outcome(self.compiled, reason=self.reason)
        if self.compiled.program is None:
            return found
        found.value, found.cost = self.compiled.program.evaluate({"self": self.adapt(value)})
        if self.prove is not None:
            bound = self.prove(value, len(orjson.dumps(value)))
            found.bound = None if bound < 0 else bound
        return found


def assert_sound(found: Outcome, text: str = "") -> None:
    """What is proven holds, at no higher cost than the bound."""
    if found.is_proven:
        assert found.value is True, (text, found.value.text if isinstance(found.value, CelError) else found.value)
        assert found.cost <= (found.bound or 0), text
