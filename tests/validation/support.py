"""Definitions, objects and findings in short form, for the tests of this folder."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from auditor.crds.definition import CustomResourceDefinition, parse_definition
from auditor.golang.jsontext import decode, encode
from auditor.validation.create import CreateValidator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from auditor.base.records import Finding


def document(root: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return a definition of kind Foo with one version; `status` and `scale` are its subresources."""
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
    subresources = {name: spec.pop(name) for name in ("status", "scale") if name in spec}
    if subresources:
        version["subresources"] = subresources
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.g.io"},
        "spec": {
            "group": "g.io",
            "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
            "scope": "Namespaced",
            "versions": [version],
            **spec,
        },
    }


def validator(root: dict[str, Any], **spec: Any) -> CreateValidator:
    """Return the compiled checks of such a definition."""
    return compiled(parse_definition(document(root, **spec)))


def compiled(definition: CustomResourceDefinition, version: str = "v1") -> CreateValidator:
    return CreateValidator(definition, definition.versions[version])


def value(text: str) -> Any:
    """Decode JSON as the server does: 1 and 1.0 stay apart."""
    return decode(text.encode())


def foo(text: str = "{}", **metadata: Any) -> dict[str, Any]:
    """Return an object of kind Foo with fine metadata and the given other fields."""
    own = {"name": "x", "namespace": "d", "resourceVersion": "1", **metadata}
    return {"apiVersion": "g.io/v1", "kind": "Foo", "metadata": own, **value(text)}


def messages(findings: Iterable[Finding]) -> list[str]:
    return sorted(finding.message for finding in findings)


def lines(text: str) -> list[str]:
    return sorted(line.strip() for line in text.strip().splitlines() if line.strip())


def multiset(findings: Iterable[Finding]) -> Counter[str]:
    """Return findings in a form that compares with `expected`: bad values as the JSON that a reader gets."""
    return Counter(
        json.dumps([f.field, f.type, f.message, f.detail, encode(decode(encode(f.bad_value).encode()))])
        for f in findings
    )


def expected(errors: Iterable[dict[str, Any]]) -> Counter[str]:
    """Return the errors of a vector as a multiset."""
    return Counter(
        json.dumps([e["field"], e["type"], e["message"], e["detail"], encode(e["badValue"])]) for e in errors
    )
