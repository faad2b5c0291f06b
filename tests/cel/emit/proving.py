"""One rule over one value, by the interpreter and by generated code."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from auditor.cel.cel_errors import CelError
from auditor.cel.emit import NotEmittable, RuleModule, emit_rule
from auditor.cel.environment import PER_CALL_LIMIT
from auditor.codegen import Module
from auditor.fastpath.dicts.support import Log, NotProven
from auditor.fastpath.records.typed import GLOBALS, TypedWriter
from auditor.fastpath.rules.rule_shapes import Shapes
from auditor.schema.parse import parse_schema
from auditor.schema.structural import Rule, StructuralSchema
from auditor.validation.rules import compile_node, declare
from auditor.validation.rules.adapters import Adapters
from tests.cel.emit.definitions import definition_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.cel.check.checked import CheckedExpression
    from auditor.cel.emit import ValueShape
    from auditor.cel.environment import Environment
    from auditor.validation.rules import CompiledRule

HEAD = b'{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x","namespace":"y","uid":"u","generation":1,"creationTimestamp":"2024-01-01T00:00:00Z"},"spec":'


@dataclass
class Outcome:
    """What both say.

    Attributes:
        compiled: The rule; its `error` is set where it does not compile.
        value: The interpreter's value.
        cost: The interpreter's cost.
        bound: The bound of the cost, by the code, or None if it is not proven.
        record_bound: The same of the value as a record.
        reason: Why there is no code.
    """

    compiled: CompiledRule
    value: Any = None
    cost: int = 0
    bound: int | None = None
    record_bound: int | None = None
    reason: str = ""

    @property
    def is_proven(self) -> bool:
        return self.bound is not None


class Records:
    """Values of a schema as the typed tier has them."""

    def __init__(self, schema: StructuralSchema) -> None:
        definition = definition_of({"type": "object"})
        root = StructuralSchema(type="object", properties={"spec": schema})
        version = replace(definition.versions["v1"], structural=root)
        module = Module("records", GLOBALS)
        writer = TypedWriter(module, definition, version, on_records=True)
        self.decode = msgspec.json.Decoder(writer.root.annotation).decode
        self.check = module.compile(writer.check)
        self.attribute, self.decoded = writer.root.fields["spec"]

    def of(self, text: bytes) -> Any:
        """Return the record of a value from its text, or None if it is not known to be valid."""
        try:
            made = self.decode(HEAD + text + b"}")
            return getattr(made, self.attribute) if self.check(made, Log(), len(text)) else None
        except (msgspec.ValidationError, NotProven):
            return None


class Judge:
    """Rules on a value of one schema."""

    def __init__(self, schema: dict[str, Any] | StructuralSchema) -> None:
        self.schema = parse_schema(schema) if isinstance(schema, dict) else schema
        declared = declare(self.schema, is_resource=False)
        assert declared is not None
        self.declared = declared
        self.shape = Shapes().of(declared)
        self.adapt = Adapters().of(self.schema)
        self.records = Records(self.schema)
        self.record_shape = Shapes().of_record(declared, self.records.decoded)

    def rule(self, text: str) -> JudgedRule:
        """Return a rule that can be asked about many values."""
        return JudgedRule(self, text)

    def ask(self, text: str, value: Any) -> Outcome:
        """Return what both say of a value."""
        return self.rule(text).on(value)


def prover(environment: Environment, checked: CheckedExpression, shape: ValueShape) -> Callable[[Any, int], int]:
    """Return a function that proves one rule.

    Returns:
        Takes `self` and the size of the object (`Bound.at`). Returns a bound of the rule's cost if the rule holds and
        stays below the limit of one call; -1 if that is not known. It never raises.

    Raises:
        NotEmittable: There is no code for the rule.
    """
    module = Module("rule")
    code = emit_rule(environment, checked, shape, RuleModule(module), "o", "size")
    bound = code.cost
    module.namespace["_bound"] = bound.at

    def write(name: str) -> str:
        return (
            f"def {name}(o, size):\n try:\n  cost = {code.measured or '_bound(size)'}\n"
            f"  if cost <= {PER_CALL_LIMIT} and ({code.test}) is True:\n   return cost\n"
            " except Exception:\n  pass\n return -1\n"
        )

    try:
        return module.compile(module.function(write))
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise NotEmittable(f"Python: {error}") from None


class JudgedRule:
    """One rule, compiled both ways."""

    def __init__(self, judge: Judge, text: str) -> None:
        self.adapt = judge.adapt
        self.records = judge.records
        self.compiled = rule = compile_node(judge.schema, (Rule(text),), judge.declared)[0]
        self.reason = ""
        self.prove = self.prove_record = None
        if rule.program is None:
            return
        assert rule.environment is not None
        assert rule.checked is not None
        try:
            self.prove = prover(rule.environment, rule.checked, judge.shape)
        except NotEmittable as error:
            self.reason = error.reason
        with suppress(NotEmittable):
            self.prove_record = prover(rule.environment, rule.checked, judge.record_shape)

    def on(self, value: Any) -> Outcome:
        """Return what both say of a value."""
        found = Outcome(self.compiled, reason=self.reason)
        if self.compiled.program is None:
            return found
        found.value, found.cost = self.compiled.program.evaluate({"self": self.adapt(value)})
        text = orjson.dumps(value)
        if self.prove is not None:
            bound = self.prove(value, len(text))
            found.bound = None if bound < 0 else bound
        record = None if self.prove_record is None else self.records.of(text)
        if self.prove_record is not None and record is not None:
            bound = self.prove_record(record, len(text))
            found.record_bound = None if bound < 0 else bound
        return found


def assert_sound(found: Outcome, text: str = "") -> None:
    """What is proven holds, at no higher cost than the bound."""
    for bound in (found.bound, found.record_bound):
        if bound is not None:
            assert found.value is True, (text, found.value.text if isinstance(found.value, CelError) else found.value)
            assert found.cost <= bound, text
