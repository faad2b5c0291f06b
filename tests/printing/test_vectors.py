"""The reference outputs of printing.json, function by function; the runs of the whole command are in test_get.py."""

from __future__ import annotations

import json
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from auditor.base.errors import SelectorError
from auditor.golang import jsontext
from auditor.printing.jsonpath import JsonPathError, compile_template, relaxed
from auditor.printing.jsonprint import to_json
from auditor.printing.printer_columns import custom_resource_columns, custom_resource_row, human_duration
from auditor.printing.yamltext import YamlTextError, to_yaml
from auditor.selectors.selectable_fields import selectable
from tests.cases import of_each
from tests.shared import second_check, shared

pytestmark = second_check("vectors/printing.json", by="tests/printing/kubectl/test_replay.py")


@cache
def _vectors() -> Any:
    return jsontext.decode(shared("vectors/printing.json").read_bytes())


def _cases(name: str) -> list[Any]:
    try:
        return _vectors()[name]
    except pytest.skip.Exception:
        return []


def _needs_vectors() -> None:
    shared("vectors/printing.json")


@of_each("case", _cases("human_duration"), ids=lambda case: str(case["seconds"]))
def test_ages_print_as_kubectl_prints_them(case: Any) -> None:
    assert human_duration(case["seconds"]) == case["output"]


@of_each("case", _cases("relaxed_jsonpath"), ids=lambda case: repr(case["expression"]))
def test_paths_of_custom_columns_become_templates(case: Any) -> None:
    if "error" in case:
        with pytest.raises(JsonPathError) as caught:
            relaxed(case["expression"])
        assert str(caught.value) == case["error"]
    else:
        assert relaxed(case["expression"]) == case["output"]


def _run(template: str, data: Any, *, allow_missing: bool) -> dict[str, str]:
    try:
        return {"output": compile_template(template).execute(data, allow_missing=allow_missing)}
    except JsonPathError as error:
        return {"error": f"{error.stage}: {error}"}


@of_each(
    "case", _cases("jsonpath")["cases"] if _cases("jsonpath") else [], ids=lambda c: f"{c['object']}-{c['template']}"
)
def test_templates_give_what_the_library_gives(case: Any) -> None:
    data = _vectors()["jsonpath"]["objects"][case["object"]]
    lenient = {key: case[key] for key in ("output", "error") if key in case}
    assert _run(case["template"], data, allow_missing=True) == lenient
    strict = {"error": case["strict_error"]} if "strict_error" in case else lenient
    assert _run(case["template"], data, allow_missing=False) == strict


def _as_json(cells: list[Any]) -> str:
    return jsontext.encode(cells)


@of_each("case", _cases("cells"), ids=lambda case: f"{case['type']}-{json.dumps(case['value'])}")
def test_cells_are_those_of_the_server(case: Any) -> None:
    columns = custom_resource_columns([{"name": "V", "type": case["type"], "jsonPath": ".v"}])
    assert _as_json(custom_resource_row(columns, {"v": case["value"]}, 0.0)) == _as_json([case["cell"]])


@of_each("case", _cases("cell_paths"), ids=lambda case: f"{case['jsonPath']} {case['spec']}")
def test_paths_of_columns_find_what_the_server_finds(case: Any) -> None:
    columns = custom_resource_columns([{"name": "V", "type": case["type"], "jsonPath": case["jsonPath"]}])
    obj = {"kind": "K", "metadata": {"name": "n"}, "spec": case["spec"]}
    assert ["n", *custom_resource_row(columns, obj, 0.0)] == case["cells"]


def test_vectors_are_there() -> None:
    _needs_vectors()
    assert len(_vectors()["jsonpath"]["cases"]) > 200


@of_each("case", _cases("yaml_strings"), ids=lambda case: repr(case["string"])[:40])
def test_strings_take_the_yaml_style_of_the_library(case: Any) -> None:
    _check_yaml({"k": case["string"]}, case)


@of_each("case", _cases("yaml_objects"), ids=lambda case: json.dumps(case["object"])[:60])
def test_objects_print_as_the_yaml_library_prints_them(case: Any) -> None:
    _check_yaml(case["object"], case)


def _check_yaml(value: Any, case: Any) -> None:
    if "error" in case:
        with pytest.raises(YamlTextError) as caught:
            to_yaml(value)
        assert str(caught.value) == case["error"]
    else:
        assert to_yaml(value) == case["yaml"]


@of_each("case", _cases("json_objects"), ids=lambda case: json.dumps(case["object"])[:60])
def test_objects_print_as_indented_json(case: Any) -> None:
    assert to_json(case["object"]) == case["json"]


@of_each("case", _cases("selectable_values"), ids=lambda case: f"{case['jsonPath']} {case['spec']}")
def test_selectable_values_are_those_of_the_server(case: Any) -> None:
    version = SimpleNamespace(selectable_fields=(case["jsonPath"],))
    obj = {"metadata": {"name": "n", "namespace": "d"}, "spec": case["spec"]}
    if "error" in case:
        with pytest.raises(SelectorError) as caught:
            selectable(version, obj, namespaced=True)  # type: ignore[arg-type]
        assert caught.value.found == case["error"]
    else:
        assert selectable(version, obj, namespaced=True) == case["output"]  # type: ignore[arg-type]
