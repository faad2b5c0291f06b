"""Proofs for objects decoded to dicts: one generated function reads, prunes, defaults and validates.

`build` makes the functions of a version of a definition. `emit` (values), `objects`, `lists`, `scalars`, `branches`,
`expand` (defaults) and `root` generate the code from the schema tree; `scope` has the position in the schema and in the
code, and generated code calls `support` and `metadata`.
"""
