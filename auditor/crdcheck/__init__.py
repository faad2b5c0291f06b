"""What the server answers to creating or updating a definition, rule by rule.

In: a document of v1 or v1beta1. Out: findings and warnings in the server's words. The document is decoded and brought
to the internal form (`internal.py`), which has what all versions share once; paths are those of that form. `spec.py`
goes through the parts, `structural.py`, `defaults.py`, `openapi.py` and `rules.py` through each schema, `relaxed.py`
says what an update need not satisfy. Nothing here looks at objects.

Source: apiextensions-apiserver pkg/apis/apiextensions/validation, pkg/registry/customresourcedefinition.
"""

from auditor.crdcheck.verdict import CheckedDefinition, check_crd, check_crd_update

__all__ = ["CheckedDefinition", "check_crd", "check_crd_update"]
