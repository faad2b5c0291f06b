"""x-kubernetes-validations: compiles and runs the rules of schemas.

A schema's rules are compiled once (`compile_rules`) against the types that the schema declares (`declare`), into a tree
of `RuleNode` with only the positions that lead to a rule. The tree is run over an object, or over an old and a new one,
with values that know their schema. `auditor.cel` alone defines the meaning of an expression.

A rule that does not compile is a finding on its definition: a server stores none today, but another release may have,
and every object that reaches the rule is refused.

Source: apiextensions-apiserver pkg/apiserver/schema/cel, pkg/apis/apiextensions/validation; apiserver pkg/cel/common.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from auditor.cel.cel_errors import PANIC
from auditor.golang import jsontext
from auditor.golang.go_text import quote
from auditor.schema.structural import nodes_of
from auditor.validation.field_errors import INVALID, finding
from auditor.validation.rules.compile import CompiledRule, RuleNode, compile_node, compile_rules
from auditor.validation.rules.evaluate import RuleProgram, RuleTime
from auditor.validation.rules.rule_types import DeclaredType, cel_type, declare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.base.longtext import LongText
    from auditor.base.records import Finding
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
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
    "is_panic",
    "may_panic",
    "servable",
]

_OPTIONAL_ITEM: Final = re.compile(r"[\[{,](?:\s|//[^\n]*+)*+\?")
_BYTES: Final = re.compile(r"[bB][rR]?[\"']|\bbytes\b")
_RULES_IN_JSON: Final = re.compile(rb'"(?:rule|messageExpression)"[ \t\r\n]*:[ \t\r\n]*("(?:[^"\\]|\\.)*+")')
_CLOSED: Final = "; the server closes the connection of each request for an object of this definition"


def servable(definition: CustomResourceDefinition) -> CustomResourceDefinition:
    """Return a definition; all its versions are unserved if the server's compiler panics on a rule of one of them.

    The server compiles the rules of all versions that are served or stored for each request for an object, until that
    succeeds.
    """
    compiled = (version for version in definition.versions.values() if version.served or version.storage)
    panic = next((panic for version in compiled if (panic := _panic(version))), "")
    if not panic:
        return definition
    versions = {name: replace(version, unserved_reason=panic) for name, version in definition.versions.items()}
    return replace(definition, versions=versions)


def may_panic(data: bytes) -> bool:
    """Return whether the server's compiler may panic on a rule in the JSON of a definition."""
    return any(_is_suspect(jsontext.decode(text)) for text in _RULES_IN_JSON.findall(data))


def _is_suspect(text: str) -> bool:
    """Return whether a rule has an optional item of a list or map, or perhaps bytes as a key of a map."""
    return _OPTIONAL_ITEM.search(text) is not None or ("{" in text and _BYTES.search(text) is not None)


def is_panic(finding: Finding) -> bool:
    """Return whether a finding of `broken_rules` is a panic of the server's compiler."""
    return finding.detail.startswith(PANIC)


def _panic(version: CrdVersion) -> str:
    nodes = nodes_of(version.structural, with_junctors=True)
    texts = (text for node in nodes for rule in node.rules for text in (rule.rule, rule.message_expression))
    if version.unserved_reason or not any(map(_is_suspect, texts)):
        return ""
    root = compile_rules(version.structural)
    rules = () if root is None else (rule for node in root.walk() for rule in node.rules)
    return next((f"{rule.panic} (it compiles the rule {quote(rule.rule.rule)})" for rule in rules if rule.panic), "")


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
        for below, error in (("rule", rule.error), ("messageExpression", rule.message_error)):
            if error:
                meaning = _CLOSED if error.startswith(PANIC) else ""
                yield finding("rule", f"{where}.{below}", INVALID, _as_json(rule.rule), error + meaning)
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
