"""Defaulting: removes nulls that the schema does not allow, and fills in defaults for absent values.

Input: an object and its schema. Output: the object changed in place, and the dotted paths that received a default. The
defaults of a schema are pruned and coerced once, before they are used. Follows apiextensions-apiserver
pkg/apiserver/schema/defaulting.
"""

from auditor.schema.defaulting.reference import copy_json, default, drop_nulls, prune_defaults

__all__ = ["copy_json", "default", "drop_nulls", "prune_defaults"]
