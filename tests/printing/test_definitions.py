"""What definitions may say of columns and selectable fields, by the reference outputs of printing.json."""

from __future__ import annotations

import json
from typing import Any

import pytest

import auditor
from auditor.crdcheck.nested_schemas import find_field
from auditor.schema.parse import schema_type
from auditor.schema.schema_path import FieldPathError
from auditor.schema.typed import decode_typed
from tests.shared import second_check, shared

STRING = {"type": "string"}
SPEC = {
    "a": STRING,
    "i": {"type": "integer"},
    "b": {"type": "boolean"},
    "n": {"type": "number"},
    "o": {"type": "object", "properties": {"x": STRING}},
    "l": {"type": "array", "items": STRING},
    "m": {"type": "object", "additionalProperties": STRING},
    "a-b": STRING,
}
TOP = {
    "metadata": {"type": "object", "properties": {"name": STRING}},
    "spec": {"type": "object", "properties": SPEC},
}
SCHEMA = decode_typed({"type": "object", "properties": TOP}, schema_type("v1"))


def _cases(name: str) -> list[Any]:
    try:
        return json.loads(shared("vectors/printing.json").read_text())[name]
    except pytest.skip.Exception:
        return []


@second_check("vectors/printing.json", by="tests/crdcheck/test_drawn.py")
@pytest.mark.parametrize("case", _cases("selectable_paths"), ids=lambda case: repr(case["jsonPath"]))
def test_paths_of_selectable_fields_lead_where_the_server_says(case: Any) -> None:
    if "error" in case:
        with pytest.raises(FieldPathError) as caught:
            find_field(case["jsonPath"], SCHEMA, brackets=False)
        assert str(caught.value) == case["error"]
    else:
        found = find_field(case["jsonPath"], SCHEMA, brackets=False)
        kind = (found.schema or {}).get("type", "")
        assert f"{found.path or '<nil>'} type={kind}" == case["output"]


def _definition(column: dict[str, Any]) -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
        "additionalPrinterColumns": [column],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ks.x.org"},
        "spec": {
            "group": "x.org",
            "scope": "Namespaced",
            "names": {"plural": "ks", "singular": "k", "kind": "K", "listKind": "KList"},
            "versions": [version],
        },
    }


@second_check("vectors/printing.json", by="tests/crdcheck/test_drawn.py")
@pytest.mark.parametrize("case", _cases("column_validation"), ids=lambda case: f"{case['type']}-{case['jsonPath']}")
def test_columns_are_judged_as_the_server_judges_them(case: Any) -> None:
    column = {"name": "C", "type": case["type"], "jsonPath": case["jsonPath"]}
    reported = [
        finding.message.partition(": ")[2]
        for finding in auditor.check_crd(_definition(column)).findings
        if "additionalPrinterColumns" in finding.field
    ]
    assert reported == ([case["error"].partition(": ")[2]] if "error" in case else [])
