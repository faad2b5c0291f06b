"""The server's answer to creating or updating a definition, check by check.

Input: a document of v1 or v1beta1. Output: findings and warnings in the server's words. The document is decoded and
brought to the internal form (`internal.py`), which has the fields that all versions share only once; paths are those of
that form. `spec.py` checks the parts; `structural.py`, `defaults.py`, `openapi.py` and `rules.py` check each schema;
`relaxed.py` lists what an update need not satisfy. Objects are not checked here.

Source: apiextensions-apiserver pkg/apis/apiextensions/validation, pkg/registry/customresourcedefinition.
"""

from auditor.crdcheck.verdict import CheckedDefinition, check_crd, check_crd_update

__all__ = ["CheckedDefinition", "check_crd", "check_crd_update"]
