"""The tree of a CRD version, and everything that reshapes an object by it.

In: JSONSchemaProps and JSON objects. Out: StructuralSchema trees; objects pruned, defaulted, with metadata that fits.
Nothing here judges an object: that is validation. Each way of reshaping has a folder with a plain interpreter
(reference.py), by which generated code is checked. Follows apiextensions-apiserver pkg/apiserver/schema.
"""

from auditor.schema.parse import check_structural, parse_schema
from auditor.schema.structural import ABSENT, Absent, LegacyKeywords, ListType, Rule, StructuralSchema

__all__ = [
    "ABSENT",
    "Absent",
    "LegacyKeywords",
    "ListType",
    "Rule",
    "StructuralSchema",
    "check_structural",
    "parse_schema",
]
