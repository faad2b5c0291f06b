"""Validation: what an object must satisfy, said in the server's words and order.

In come objects as the storage read gives them, with their definition; out go Findings, unsorted. `keywords/` holds the
checks of schemas, one function per keyword, compiled to a tree by `node.py`; beside them the checks that know no schema
(type meta, metadata, scale) and those that walk one (embedded resources, list types). `create.py` and `update.py` put
them in order. Nothing here reads, prunes or defaults, and no bad object raises.

Import the modules, not this package: some of what uses them needs names alone.

Source: apiextensions-apiserver pkg/registry/customresource; kube-openapi pkg/validation/validate.
"""
