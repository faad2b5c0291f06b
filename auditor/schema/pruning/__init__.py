"""Pruning: what a schema does not know is removed.

In: an object and its schema. Out: the object with less in it, and the dotted paths of what went. Nothing here knows
why a field is there; defaults and nulls are the next package. Follows apiextensions-apiserver
pkg/apiserver/schema/pruning.
"""

from auditor.schema.pruning.reference import META_FIELDS, prune, prune_below

__all__ = ["META_FIELDS", "prune", "prune_below"]
