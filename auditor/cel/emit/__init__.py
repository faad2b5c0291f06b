"""The fast path of rules: a checked expression and the shape of `self` in, Python that proves the rule out.

The code works on the plain JSON values of an object, without a conversion and without a wrapper. It says True where the
rule holds; anything else, an exception too, means that it does not know, and the interpreter tells the verdict, the
error and the cost. So only True must be right. Costs are not counted: every rule comes with a bound of its cost by the
size of the object, and where the bounds stay below the server's limits those cannot be met.

`emitter` writes operators and macros, `calls` functions, `equality` comparisons; `shapes` is what is known of values,
`bounds` and `prices` what they may cost. Nothing here knows a schema.
"""

from auditor.cel.emit.program import RuleCode, RuleModule, compile_or_refuse, emit_rule
from auditor.cel.emit.shapes import Field, Form, Shape
from auditor.cel.emit.value import NotEmittable

__all__ = [
    "Field",
    "Form",
    "NotEmittable",
    "RuleCode",
    "RuleModule",
    "Shape",
    "compile_or_refuse",
    "emit_rule",
]
