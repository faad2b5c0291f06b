"""Makes Python functions at run time: lines with indentation, constants by slot, sources that a debugger can read.

Input: lines of Python, and values that the lines refer to. Output: functions. Nothing here knows Kubernetes. Two rules
keep generated code harmless for any input: a value enters the source as the `repr` of a plain scalar or as a slot
(`_k7`), never as text; and every source is registered with `linecache`, so that tracebacks, profilers and people can
read it.
"""

from auditor.codegen.kept_code import keep_code
from auditor.codegen.linecache import compile_function
from auditor.codegen.writer import Module, Writer

__all__ = ["Module", "Writer", "compile_function", "keep_code"]
