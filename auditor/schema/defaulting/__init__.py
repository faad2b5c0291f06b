"""Defaulting: nulls that may not be there are removed, what is absent and has a default is filled in.

In: an object and its schema. Out: the object changed in place, and the dotted paths that were filled. Also makes the
defaults of a schema fit beforehand. Follows apiextensions-apiserver pkg/apiserver/schema/defaulting.
"""

from auditor.schema.defaulting.reference import copy_json, default, drop_nulls, prune_defaults

__all__ = ["copy_json", "default", "drop_nulls", "prune_defaults"]
