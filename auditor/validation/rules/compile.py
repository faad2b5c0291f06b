"""Compiles the rules of a schema into a tree of only the positions that lead to a rule, each with its compiled rules.

A compile error is stored in the rule and never raised: the server reports it on the objects. The CRD checks use
`compile_node` with the version of the libraries for new rules; stored rules run with `latest`.

Source: apiextensions-apiserver pkg/apiserver/schema/cel/compilation.go, validation.go (NewValidator).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from auditor.base.trail import Trail, structured
from auditor.cel.cel_errors import PANIC, CompileError, CompilerPanic
from auditor.cel.cel_types import BOOL, STRING, optional_of
from auditor.cel.kubernetes import kubernetes_environment, latest
from auditor.schema.schema_path import UNKNOWN_FIELD, FieldPathError, field_names
from auditor.schema.structural import StructuralSchema
from auditor.validation.create import has_rules
from auditor.validation.rules.escaping import escape
from auditor.validation.rules.rule_types import DeclaredType, cel_type, declare, with_meta

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.cel.check.checked import CheckedExpression
    from auditor.cel.environment import Environment, Program
    from auditor.cel.kubernetes import Version
    from auditor.schema.structural import Rule


def resolve_field_path(path: str, schema: StructuralSchema) -> str:
    """Return a path as findings print it.

    Args:
        path: Steps ``.name`` or ``['name']``, each a property, or any key of a map.
        schema: The node that has the rule.

    Raises:
        FieldPathError: It is not valid.
    """
    trail: Trail = None
    for name in field_names(path):
        if schema.properties:
            below = schema.properties.get(name)
            trail = (trail, name)
        else:
            extra = schema.additional_properties
            below = extra if isinstance(extra, StructuralSchema) else None
            trail = (trail, name, True)
        if below is None:
            raise FieldPathError(UNKNOWN_FIELD)
        schema = below
    return structured(trail)


NO_TYPE = "failed to convert to declType for CEL validation rules"
"""The error for rules on a node that expressions cannot access."""
_UNTYPED = "missing type conversion to proto: "
_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004"
    "\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)


def trim_space(text: str) -> str:
    """Return a text without white space, as defined by Go, at its ends."""
    return text.strip(_SPACE)


@dataclass(frozen=True, slots=True, eq=False)
class CompiledRule:
    """One rule, ready to run.

    Attributes:
        rule: The rule of the schema.
        program: The interpreter's program; None if the rule is empty or has an `error`.
        error: Why the rule does not compile, in the server's words, or the `panic`; empty if it compiles.
        uses_old_self: Whether it is a transition rule.
        message: The program of the messageExpression, if there is a valid one.
        message_error: Why a given messageExpression is not valid.
        field_path: The path below the node at which a false result is reported; empty for the node itself.
        environment: The environment of both programs, with the types of `self` and `oldSelf`.
    """

    rule: Rule
    program: Program | None = None
    error: str = ""
    uses_old_self: bool = False
    message: Program | None = None
    message_error: str = ""
    field_path: str = ""
    environment: Environment | None = None

    @property
    def checked(self) -> CheckedExpression | None:
        """The rule's tree with types, None as `program`."""
        return None if self.program is None else self.program.checked

    @property
    def is_left_out(self) -> bool:
        """Whether a create skips it: it is empty or a transition rule."""
        is_of_change = self.uses_old_self and not self.rule.optional_old_self
        return not self.error and (is_of_change or self.program is None)

    @property
    def panic(self) -> str:
        """The panic of the server's compiler on the rule or its messageExpression, empty if there is none."""
        return next((text for text in (self.error, self.message_error) if text.startswith(PANIC)), "")

    @property
    def shown(self) -> str:
        """The text by which the server names the rule: its message, else its rule."""
        return trim_space(self.rule.message or self.rule.rule)


@dataclass(slots=True, eq=False)
class RuleNode:
    """One schema position that has rules or leads to some.

    Attributes:
        schema: The position; below allOf, the position of the structural schema that applies to the values.
        declared: Its type in an expression; None if rules cannot run here, then `error` is set.
        value_schema: The schema that values are adapted with: with type and object meta at the root.
        given: The schema that has the rules: `schema`, or an entry of its allOf.
        rules: Its rules in order.
        error: `NO_TYPE` if the node has rules but no type.
        all_of: The rules of its allOf entries. properties, extra, items: The nodes below it.
    """

    schema: StructuralSchema
    declared: DeclaredType | None
    value_schema: StructuralSchema
    given: StructuralSchema
    rules: tuple[CompiledRule, ...] = ()
    error: str = ""
    all_of: tuple[RuleNode, ...] = ()
    properties: dict[str, RuleNode] = field(default_factory=dict)
    extra: RuleNode | None = None
    items: RuleNode | None = None

    def walk(self) -> Iterator[RuleNode]:
        """Yield this node and all below it."""
        yield self
        for child in (*self.all_of, *self.properties.values(), self.extra, self.items):
            if child is not None:
                yield from child.walk()


def compile_rules(schema: StructuralSchema | None) -> RuleNode | None:
    """Compile all rules of the schema of a custom resource; return None if the server runs none on its objects.

    Rules that are only below allOf never run. Source: NewValidator, hasXValidations.
    """
    if schema is None or not has_rules(schema):
        return None
    return _Compiler(latest()).node(schema, schema, declare(schema, is_resource=True), is_resource=True)


def compile_node(
    schema: StructuralSchema, rules: tuple[Rule, ...], declared: DeclaredType, compatibility: Version | None = None
) -> tuple[CompiledRule, ...]:
    """Compile the rules of one node.

    Args:
        schema: The node, for `fieldPath`.
        rules: Its rules.
        declared: Its type.
        compatibility: Version of the libraries that rules may use; None: `latest`.
    """
    if not rules:
        return ()
    compatibility = compatibility or latest()
    self_type, object_types = cel_type(declared, compatibility)
    environments = [
        kubernetes_environment({"self": self_type, "oldSelf": old}, object_types, compatibility)
        for old in (self_type, optional_of(self_type))
    ]
    return tuple(_rule(schema, rule, environments[rule.optional_old_self]) for rule in rules)


def _rule(schema: StructuralSchema, rule: Rule, environment: Environment) -> CompiledRule:
    if not trim_space(rule.rule):
        return CompiledRule(rule, environment=environment)
    try:
        return _compiled(schema, rule, environment)
    except CompilerPanic as panic:
        return CompiledRule(rule, error=str(panic), environment=environment)


def _compiled(schema: StructuralSchema, rule: Rule, environment: Environment) -> CompiledRule:
    try:
        checked = environment.check(rule.rule)
    except CompileError as error:
        return CompiledRule(rule, error=f"compilation failed: {error.text}", environment=environment)
    if checked.type != BOOL:
        return CompiledRule(rule, error="cel expression must evaluate to a bool", environment=environment)
    if not checked.is_typed:
        return CompiledRule(rule, error=f"unexpected compilation error: {_UNTYPED}", environment=environment)
    uses_old_self = checked.uses("oldSelf")
    try:
        program = environment.program(checked)
    except CompileError as error:
        text = f"program instantiation failed: {error.text}"
        return CompiledRule(rule, error=text, uses_old_self=uses_old_self, environment=environment)
    compiled = CompiledRule(rule, program, uses_old_self=uses_old_self, environment=environment)
    if rule.message_expression:
        message, text = _message(rule.message_expression, environment)
        if message is None:
            return replace(compiled, message_error=text)  # and the fieldPath is left out, as the server does
        compiled = replace(compiled, message=message)
    if rule.field_path:
        try:
            return replace(compiled, field_path=resolve_field_path(rule.field_path, schema))
        except FieldPathError:
            return compiled
    return compiled


def _message(text: str, environment: Environment) -> tuple[Program | None, str]:
    try:
        checked = environment.check(text)
    except CompilerPanic as panic:
        return None, str(panic)
    except CompileError as error:
        return None, f"messageExpression compilation failed: {error.text}"
    if checked.type != STRING:
        return None, "messageExpression must evaluate to a string"
    if not checked.is_typed:
        return None, f"unexpected messageExpression compilation error: {_UNTYPED}"
    try:
        return environment.program(checked), ""
    except CompilerPanic as panic:
        return None, str(panic)
    except CompileError as error:
        return None, f"messageExpression instantiation failed: {error.text}"


class _Compiler:
    """Makes the nodes of one schema; equal positions, which share a schema, share a node."""

    def __init__(self, compatibility: Version) -> None:
        self._compatibility = compatibility
        self._known: dict[tuple[Any, ...], RuleNode | None] = {}

    def node(
        self, given: StructuralSchema, schema: StructuralSchema, declared: DeclaredType | None, *, is_resource: bool
    ) -> RuleNode | None:
        """Compile the rules given at a position: those of the schema itself, or of an allOf entry."""
        key = (given, schema, declared is None, is_resource)
        if key not in self._known:
            self._known[key] = self._node(given, schema, declared, is_resource=is_resource)
        return self._known[key]

    def _node(
        self, given: StructuralSchema, schema: StructuralSchema, declared: DeclaredType | None, *, is_resource: bool
    ) -> RuleNode | None:
        node = RuleNode(schema, declared, with_meta(schema) if is_resource else schema, given)
        if given.rules and declared is None:
            node.error = NO_TYPE
        elif declared is not None:
            node.rules = compile_node(schema, given.rules, declared, self._compatibility)
        element = None if declared is None else declared.element
        if given.items is not None and schema.items is not None:
            node.items = self._child(given.items, schema.items, element)
        for name, below in given.properties.items():
            beside = schema.properties.get(name)
            kind = None if beside is None else _field_type(name, beside, declared)
            if beside is not None and kind is not None:
                child = self._child(below, beside, kind)
                if child is not None:
                    node.properties[name] = child
        rest, values = given.additional_properties, schema.additional_properties
        if isinstance(rest, StructuralSchema) and isinstance(values, StructuralSchema):
            node.extra = self._child(rest, values, element)
        made = [self.node(each, schema, declared, is_resource=is_resource) for each in given.all_of]
        node.all_of = tuple(each for each in made if each is not None)
        has_any = node.rules or node.error or node.all_of or node.properties or node.extra or node.items
        return node if has_any else None

    def _child(
        self, given: StructuralSchema, schema: StructuralSchema, declared: DeclaredType | None
    ) -> RuleNode | None:
        return self.node(given, schema, declared, is_resource=schema.embedded_resource)


def _field_type(name: str, schema: StructuralSchema, parent: DeclaredType | None) -> DeclaredType | None:
    """Return the type of a property, or None if rules cannot access it; then rules on it or below it never run."""
    identifier = escape(name)
    if identifier is None:
        return declare(schema, is_resource=schema.embedded_resource)
    if parent is None or parent.fields is None:
        return None
    return parent.fields.get(identifier)
