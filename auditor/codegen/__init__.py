"""Makes Python functions at run time: lines with indentation, constants by slot, sources that a debugger can read.

Input: lines of Python, and values that the lines refer to. Output: functions. Nothing here knows Kubernetes. Two rules
keep generated code harmless for any input: a value enters the source as the `repr` of a plain scalar or as a slot
(`_k7`), never as text; and every source is registered with `linecache`, so that tracebacks, profilers and people can
read it.
"""

from auditor.codegen.writer import Module, Writer, compile_function

__all__ = ["Module", "Writer", "compile_function"]
