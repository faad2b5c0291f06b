"""Validation: checks objects and reports faults in the server's words and order.

Input: objects after the storage read, with their definition. Output: Findings, unsorted. `keywords/` has the checks of
schemas, one function per keyword, compiled to a tree by `node.py`. Other modules have the checks without a schema (type
meta, metadata, scale) and those that walk one (embedded resources, list types). `create.py` and `update.py` run them in
order. Nothing here reads, prunes or defaults, and no invalid object raises.

Import the modules, not this package: some callers need only `names`.

Source: apiextensions-apiserver pkg/registry/customresource; kube-openapi pkg/validation/validate.
"""
