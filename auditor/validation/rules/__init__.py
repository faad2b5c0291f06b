"""x-kubernetes-validations: what a definition adds to the expression language.

A schema's rules are compiled once (`compile_rules`) against the types that the schema declares (`declare`), into a tree
of `RuleNode` that holds only what leads to a rule. The tree is run over an object, or over an old and a new one, with
values that know their schema. What an expression means is the business of `auditor.cel`; nothing of it may be here.
Source: apiextensions-apiserver pkg/apiserver/schema/cel; apiserver pkg/cel/common.
"""

from auditor.validation.rules.compile import CompiledRule, RuleNode, compile_node, compile_rules
from auditor.validation.rules.definition import broken_rules
from auditor.validation.rules.evaluate import RuleProgram, RuleTime
from auditor.validation.rules.types import DeclaredType, cel_type, declare

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
