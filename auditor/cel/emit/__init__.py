"""The fast path of rules: from a checked expression and the shape of `self` to Python code that proves the rule.

The code works on the plain JSON values of an object, without conversions or wrappers. It returns True if the rule
holds; any other result, or an exception, means that it does not know, and the interpreter determines result, error and
cost. So only True must be right. Costs are not counted: every rule has a bound of its cost by the size of the object.
If the sum of the bounds is below the server's limits, these cannot be exceeded.

The code of a predicate (``--where``) works on JSON that no schema describes, and looks at the types of values when it
runs; there, True and False are both right.

`emitter` writes operators and macros, `calls` functions and comparisons; `shapes` describes values, `bounds` limits
costs, `program` adds them up. Nothing here knows a schema.
"""

from auditor.cel.emit.program import RuleCode, RuleModule, emit_predicate, emit_rule
from auditor.cel.emit.value import NotEmittable
from auditor.cel.emit.value_shapes import Field, Form, ValueShape

__all__ = [
    "Field",
    "Form",
    "NotEmittable",
    "RuleCode",
    "RuleModule",
    "ValueShape",
    "emit_predicate",
    "emit_rule",
]
