"""Proofs for objects that are decoded to dicts: one fused function reads, prunes, defaults and validates.

`build` makes the functions of a version of a definition. The code is generated from the schema tree by `emit` (values),
`objects`, `lists`, `scalars`, `branches`, `expand` (defaults) and `root`; `scope` holds the position of the emitters in
the schema and in the code, `checks` binds patterns and formats, `support` and `metadata` are called by generated code.
"""
