"""apiVersion and kind against the definition.

Source: apiextensions-apiserver pkg/registry/customresource/validator.go (ValidateTypeMeta).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.validation.findings import invalid

if TYPE_CHECKING:
    from auditor.base.records import Finding, JsonObject

__all__ = ["check_type_meta"]


def _text(value: Any) -> str:
    return value if type(value) is str else ""


def check_type_meta(obj: JsonObject, kind: str, api_version: str) -> list[Finding]:
    """Check kind and apiVersion; a value that is not a string counts as empty.

    Args:
        obj: The whole object.
        kind: The kind of the definition.
        api_version: ``group/version`` of the request.
    """
    found: list[Finding] = []
    if (own := _text(obj.get("kind"))) != kind:
        found.append(invalid("type-meta", "kind", own, f"must be {kind}"))
    if (own := _text(obj.get("apiVersion"))) != api_version:
        found.append(invalid("type-meta", "apiVersion", own, f"must be {api_version}"))
    return found
