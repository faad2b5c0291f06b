"""The schema tree of a CRD version, and everything that changes an object by it.

Input: JSONSchemaProps and JSON objects. Output: StructuralSchema trees; objects that are pruned, defaulted, and have
typed metadata. Validation is another package. Each of these changes has a folder with a plain interpreter
(reference.py), against which generated code is checked. Follows apiextensions-apiserver pkg/apiserver/schema.
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
