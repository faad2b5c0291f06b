"""x-kubernetes-validations: compiles and runs the rules of schemas.

A schema's rules are compiled once (`compile_rules`) against the types that the schema declares (`declare`), into a tree
of `RuleNode` with only the positions that lead to a rule. The tree is run over an object, or over an old and a new one,
with values that know their schema. `auditor.cel` alone defines the meaning of an expression.

A rule that does not compile is a finding on its definition: a server stores none today, but another release may have,
and every object that reaches the rule is refused.

Source: apiextensions-apiserver pkg/apiserver/schema/cel, pkg/apis/apiextensions/validation; apiserver pkg/cel/common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.validation.field_errors import INVALID, finding
from auditor.validation.rules.compile import CompiledRule, RuleNode, compile_node, compile_rules
from auditor.validation.rules.evaluate import RuleProgram, RuleTime
from auditor.validation.rules.rule_types import DeclaredType, cel_type, declare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.base.longtext import LongText
    from auditor.base.records import Finding
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.schema.structural import Rule

__all__ = [
    "CompiledRule",
    "DeclaredType",
    "RuleNode",
    "RuleProgram",
    "RuleTime",
    "broken_rules",
    "cel_type",
    "compile_node",
    "compile_rules",
    "declare",
]


def broken_rules(
    definition: CustomResourceDefinition,
    compiled: Callable[[CustomResourceDefinition, str], RuleNode | None] | None = None,
) -> list[Finding]:
    """Return a finding for each rule or messageExpression that does not compile, sorted.

    Args:
        definition: The definition.
        compiled: Returns the compiled rules of one of its versions, if the caller has them; or None.
    """
    spec = definition.document.get("spec")
    is_shared = type(spec) is dict and "validation" in spec
    findings: dict[tuple[str, str, str | LongText], Finding] = {}
    for index, version in enumerate(definition.versions.values()):
        root = compile_rules(version.structural) if compiled is None else compiled(definition, version.name)
        if root is None:
            continue
        above = "spec.validation" if is_shared else f"spec.versions[{index}].schema"
        for made in _of_node(root, f"{above}.openAPIV3Schema"):
            findings.setdefault(made.sort_key(), made)
    return [findings[key] for key in sorted(findings)]


def _of_node(node: RuleNode, path: str) -> Iterator[Finding]:
    for index, rule in enumerate(node.rules):
        where = f"{path}.x-kubernetes-validations[{index}]"
        if rule.error:
            yield finding("rule", f"{where}.rule", INVALID, _as_json(rule.rule), rule.error)
        if rule.message_error:
            yield finding("rule", f"{where}.messageExpression", INVALID, _as_json(rule.rule), rule.message_error)
    if node.error:
        yield finding("rule", f"{path}.x-kubernetes-validations", INVALID, "", node.error)
    for child in node.all_of:
        yield from _of_node(child, f"{path}.allOf[{node.given.all_of.index(child.given)}]")
    for name, child in node.properties.items():
        yield from _of_node(child, f"{path}.properties[{name}]")
    if node.extra is not None:
        yield from _of_node(node.extra, f"{path}.additionalProperties")
    if node.items is not None:
        yield from _of_node(node.items, f"{path}.items")


def _as_json(rule: Rule) -> dict[str, Any]:
    given: dict[str, Any] = {"rule": rule.rule, "message": rule.message, "messageExpression": rule.message_expression}
    given |= {"reason": rule.reason, "fieldPath": rule.field_path, "optionalOldSelf": rule.optional_old_self}
    return {key: value for key, value in given.items() if value or key == "rule"}
