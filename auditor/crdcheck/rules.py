"""Checks the validation rules of a definition: whether they compile, and their highest possible cost.

Old rules are compiled with all libraries of the server, new ones with those of the release before, as the definition
must still work after a rollback.

Source: apiextensions-apiserver pkg/apis/apiextensions/validation/{validation,cel_validation}.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from auditor.base.records import Finding
from auditor.cel.estimate import MAX_COST, estimate_cost, saturated_product
from auditor.cel.kubernetes import latest, of_new_rules
from auditor.crdcheck import gojson
from auditor.crdcheck.nested_schemas import ServerPanic
from auditor.schema.structural import Rule, StructuralSchema
from auditor.validation.field_errors import forbidden, invalid
from auditor.validation.rules.compile import NO_TYPE, CompiledRule, compile_node
from auditor.validation.rules.escaping import escape
from auditor.validation.rules.rule_types import MAX_REQUEST_SIZE, DeclaredType, declare

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.cel.environment import Program


EXPRESSION_LIMIT: Final = 10_000_000
DEFINITION_LIMIT: Final = 100_000_000
_MOST_NAMED: Final = 4
_RULES: Final = "x-kubernetes-validations"
_NO_TYPE_INFORMATION: Final = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert "
    "structural schema to CEL declarations"
)
_ADVICE: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)


@dataclass(slots=True)
class Budget:
    """The total cost of the rules of one schema, and settings for all of them.

    Attributes:
        old_rules, old_messages: Expressions of the old definition.
        ignore_single: Whether the limit for one expression is not checked: the schema is the old one.
        total: The sum.
        costs: Path and cost of every expression, in the order of the walk.
        expensive: Paths of the most expensive expressions, the most expensive first.
    """

    old_rules: frozenset[str] = frozenset()
    old_messages: frozenset[str] = frozenset()
    ignore_single: bool = False
    total: int = 0
    costs: list[tuple[str, int]] = field(default_factory=list)
    expensive: list[tuple[int, str]] = field(default_factory=list)

    def observe(self, cost: int, path: str) -> None:
        """Add the cost of one expression."""
        self.total = min(self.total + cost, MAX_COST)
        self.costs.append((path, cost))
        if cost >= DEFINITION_LIMIT // 100:
            self.expensive.append((cost, path))
            self.expensive.sort(key=lambda one: -one[0])
            del self.expensive[_MOST_NAMED:]

    def check(self, path: str) -> list[Finding]:
        """Return the findings about the sum; `path` is that of the schema."""
        if self.total <= DEFINITION_LIMIT:
            return []
        detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        findings = [forbidden("rule", where, detail) for _, where in self.expensive]
        what = f"{_RULES} estimated rule cost total for entire OpenAPIv3 schema"
        return [*findings, forbidden("rule", path, _too_expensive(what, self.total, DEFINITION_LIMIT))]


class RuleScope:
    """One schema position, for its rules.

    Args:
        schema: The position.
        budget: The budget of the whole schema.
    """

    __slots__ = (
        "_declared",
        "_known",
        "_lacks_type",
        "_name",
        "_parent",
        "budget",
        "cardinality",
        "has_types",
        "schema",
    )

    def __init__(self, schema: StructuralSchema, budget: Budget) -> None:
        self.schema = schema
        self.budget = budget
        self.cardinality: int | None = 1
        self.has_types = bool(schema.rules)
        self._parent: RuleScope | None = None
        self._name: str | None = None
        self._known = False
        self._lacks_type = False
        self._declared: DeclaredType | None = None

    # Scopes of positions below

    def property(self, name: str) -> RuleScope:
        """Return the scope of a property."""
        return self._child(self.schema.properties[name], name)

    def items(self) -> RuleScope | None:
        """Return the scope of the items."""
        return None if self.schema.items is None else self._child(self.schema.items, None)

    def values(self) -> RuleScope | None:
        """Return the scope of the values of a map."""
        extra = self.schema.additional_properties
        return self._child(extra, None) if isinstance(extra, StructuralSchema) else None

    def _child(self, schema: StructuralSchema, name: str | None) -> RuleScope:
        child = RuleScope(schema, self.budget)
        child._parent, child._name = self, name
        child.has_types = child.has_types or self.has_types
        most = _multiplicity(self.schema)
        child.cardinality = (
            None if self.cardinality is None or most is None else saturated_product(self.cardinality, most)
        )
        return child

    def declared(self) -> DeclaredType | None:
        """Return the type of the position in expressions, or None if expressions cannot use it."""
        if not self._known:
            self._known = True
            self._declared = self._declare()
        return self._declared

    def _declare(self) -> DeclaredType | None:
        parent = self._parent
        if parent is not None and parent.has_types:
            above = parent.declared()
            if parent._lacks_type:  # noqa: SLF001 - of the same class
                raise ServerPanic
            if above is None:
                return None
            if self._name is None:
                self._lacks_type = above.element is None
                return above.element
            identifier = escape(self._name)
            declared_type = None if identifier is None or above.fields is None else above.fields.get(identifier)
            if declared_type is not None:
                return declared_type
        return declare(self.schema, is_resource=parent is None or self.schema.embedded_resource)

    # Rules of the position

    def check(self, rules: list[JsonObject], path: str, uncorrelatable: str | None) -> list[Finding]:
        """Compile the rules of the position and check their cost.

        Args:
            rules: Decoded.
            path: The path of the position.
            uncorrelatable: Path of the parent that has no counterpart in an old object; None if all have one.

        Raises:
            ServerPanic: The server panics on a rule.
        """
        declared = self.declared()
        if declared is None:
            text = NO_TYPE if self._lacks_type else _NO_TYPE_INFORMATION
            where = f"{path}.{_RULES}"
            return [Finding(where, "InternalError", None, text, f"{where}: Internal error: {text}", "rule")]
        findings: list[Finding] = []
        made = self._compile(declared)
        panic = next((compiled.panic for compiled in made if compiled.panic), "")
        if panic:
            raise ServerPanic(panic)
        for index, (compiled, given) in enumerate(zip(made, rules, strict=True)):
            findings += self._rule(compiled, given, declared, f"{path}.{_RULES}[{index}]", uncorrelatable)
        return findings

    def _compile(self, declared: DeclaredType) -> list[CompiledRule]:
        rules = self.schema.rules
        made: dict[int, CompiledRule] = {}
        for version, is_old in ((of_new_rules(), False), (latest(), True)):
            chosen = [number for number, rule in enumerate(rules) if (rule.rule in self.budget.old_rules) == is_old]
            compiled = compile_node(self.schema, tuple(rules[number] for number in chosen), declared, version)
            made.update(zip(chosen, compiled, strict=True))
        for number, rule in enumerate(rules):
            known = rule.rule in self.budget.old_rules
            if rule.message_expression and known != (rule.message_expression in self.budget.old_messages):
                made[number] = self._with_message(made[number], rule, declared, of_new_rules() if known else latest())
        return [made[number] for number in range(len(rules))]

    def _with_message(
        self, compiled: CompiledRule, rule: Rule, declared: DeclaredType, version: tuple[int, int]
    ) -> CompiledRule:
        """Compile a messageExpression with other libraries than its rule."""
        if compiled.program is None:
            return compiled
        other = compile_node(self.schema, (replace(rule, rule="true"),), declared, version)[0]
        return replace(compiled, message=other.message, message_error=other.message_error)

    def _rule(
        self, compiled: CompiledRule, given: JsonObject, declared: DeclaredType, path: str, uncorrelatable: str | None
    ) -> list[Finding]:
        findings: list[Finding] = []
        most = self.cardinality
        if most is None:
            most = MAX_REQUEST_SIZE // (declared.min_size + 1)
        cost = saturated_product(_cost(compiled.program, declared), most)
        findings += self._charge(cost, "rule", f"{path}.rule")
        struct = gojson.rule(given)
        shown, value = gojson.shown(struct), gojson.plain(struct)
        if compiled.error:
            findings.append(invalid("rule", f"{path}.rule", value, compiled.error, shown))
        if compiled.message_error:
            findings.append(invalid("rule", f"{path}.messageExpression", value, compiled.message_error, shown))
        elif compiled.message is not None:
            cost = _cost(compiled.message, declared)
            findings += self._charge(cost, "messageExpression", f"{path}.messageExpression")
        if compiled.uses_old_self:
            if uncorrelatable is not None:
                detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
                findings.append(invalid("rule", f"{path}.rule", given.get("rule", ""), detail))
        elif "optionalOldSelf" in given:
            detail = "may not be set if oldSelf is not used in rule"
            findings.append(invalid("rule", f"{path}.optionalOldSelf", given["optionalOldSelf"], detail))
        return findings

    def _charge(self, cost: int, what: str, path: str) -> list[Finding]:
        self.budget.observe(cost, path)
        if cost <= EXPRESSION_LIMIT or self.budget.ignore_single:
            return []
        return [forbidden("rule", path, _too_expensive(f"estimated {what} cost", cost, EXPRESSION_LIMIT))]


def _cost(program: Program | None, declared: DeclaredType) -> int:
    return 0 if program is None else estimate_cost(program.checked, declared).max


def _multiplicity(schema: StructuralSchema) -> int | None:
    """Return how often a value of a schema may contain one at a position below it; None if nothing limits it."""
    if schema.type == "object" and schema.additional_properties is not None:
        return None if schema.max_properties is None else max(schema.max_properties, 0)
    if schema.type == "array":
        return None if schema.max_items is None else max(schema.max_items, 0)
    return 1


def _too_expensive(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        shown = "more than 100x"
    elif factor < 1.5:
        shown = f"{factor:f}x"
    else:
        shown = f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {shown} {_ADVICE}"
