"""Pruning: removes fields that a schema does not know.

Input: an object and its schema. Output: the object without unknown fields, and their dotted paths. Nulls and defaults
are the task of `defaulting`. Follows apiextensions-apiserver pkg/apiserver/schema/pruning.
"""

from auditor.schema.pruning.reference import META_FIELDS, prune, prune_below

__all__ = ["META_FIELDS", "prune", "prune_below"]
