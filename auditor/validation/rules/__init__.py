"""x-kubernetes-validations: compiles and runs the rules of schemas.

A schema's rules are compiled once (`compile_rules`) against the types that the schema declares (`declare`), into a tree
of `RuleNode` with only the positions that lead to a rule. The tree is run over an object, or over an old and a new one,
with values that know their schema. `auditor.cel` alone defines the meaning of an expression. Source:
apiextensions-apiserver pkg/apiserver/schema/cel; apiserver pkg/cel/common.
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
