"""`--redact`: no value of an object is in the report, nor in what the audit prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from tests.command import auditor
from tests.fuzz.hostile.documents import definition

if TYPE_CHECKING:
    from pathlib import Path

_SECRET = "s3cr3t"


def _dump(folder: Path) -> Path:
    properties: dict[str, Any] = {
        "text": {"type": "string", "maxLength": 2},
        "pattern": {"type": "string", "pattern": "^[a-c]+$"},
        "one": {"type": "string", "enum": ["a", "b"]},
        "date": {"type": "string", "format": "date"},
        "number": {"type": "integer", "maximum": 5},
        "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "ruled": {
            "type": "string",
            "x-kubernetes-validations": [{"rule": "self == 'a'", "messageExpression": "'saw ' + self"}],
        },
        "typed": {"type": "integer"},
        "color": {"type": "string"},
        "map": {"type": "object", "additionalProperties": {"type": "string", "format": "date"}},
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    made = definition(schema, selectableFields=[{"jsonPath": ".spec.color"}])
    spec = {name: f"{_SECRET}-{name}" for name in properties} | {"number": 424242, "set": [f"{_SECRET}-set"] * 2}
    spec["map"] = dict.fromkeys(('k"x', "k'y", "k", "k value: "), f"{_SECRET}-map'\"")
    objects = [
        {
            "apiVersion": "ex.com/v1",
            "kind": "W",
            "metadata": {"name": name, "namespace": "d", "uid": "u", "labels": {"l": f"{_SECRET}-label"}, **more},
            "spec": {**spec, f"extra{name}": _SECRET},
        }
        for name, more in (("a", {}), ("b", {"annotations": {"x": _SECRET}, "finalizers": [_SECRET]}))
    ]
    writer = {"manager": "m", "operation": "Update", "apiVersion": "ex.com/v1", "time": f"{_SECRET}-time"}
    writer |= {"fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:number": {}}}}
    metadata = {"name": "c", "namespace": "d", "uid": "u"}
    objects.append({"apiVersion": "ex.com/v1", "kind": "W", "metadata": metadata, "spec": {"ruled": _SECRET}})
    written = {"name": "w", "namespace": "d", "uid": "u", "managedFields": [writer]}
    objects.append({"apiVersion": "ex.com/v1", "kind": "W", "metadata": written, "spec": {"number": "text"}})
    torn = {"apiVersion": "ex.com/v1", "kind": "W", "metadata": {"name": "torn", "labels": _SECRET}, "spec": {}}
    path = folder / "dump.ndjson"
    path.write_text("\n".join(map(json.dumps, [made, *objects, torn])))
    return path


def _texts(report: Path) -> str:
    parts = [json.dumps(pq.read_table(path).to_pylist(), default=str) for path in sorted(report.rglob("*.parquet"))]
    return "\n".join([*parts, (report / "manifest.json").read_text()])


def _run(*arguments: Any) -> tuple[int, str]:
    ended = auditor(*arguments)
    assert "Traceback" not in ended.output, ended.output
    return ended.code, ended.output


def test_no_value_is_in_a_redacted_audit(tmp_path: Path) -> None:
    dump = _dump(tmp_path)
    _, shown = _run("audit", dump, "--report", tmp_path / "plain", "--jobs", 1)
    code, said = _run("audit", dump, "--report", tmp_path / "r", "--jobs", 1, "--redact", "--diff", tmp_path / "plain")
    assert code == 1
    assert _SECRET in _texts(tmp_path / "plain"), "the input has values that an audit finds wrong"
    found = _texts(tmp_path / "r") + said
    assert [word for word in (_SECRET, "424242") if word in found] == []
    plain = pq.read_table(tmp_path / "plain" / "findings").to_pylist()
    redacted = pq.read_table(tmp_path / "r" / "findings").to_pylist()
    kept = ("key", "namespace", "name", "check", "field", "type", "verdict", "rule")
    assert [[one[name] for name in kept] for one in redacted] == [[one[name] for name in kept] for one in plain]
    messages = {one["field"]: one["message"] for one in redacted}
    assert messages["spec.one"] == 'spec.one: Unsupported value: (redacted): supported values: "a", "b"'
    assert messages["spec.text"] == "spec.text: Too long: may not be more than 2 bytes"
    assert messages["spec.ruled"] == "spec.ruled: Invalid value: (redacted): (redacted)"
    assert "CRITICAL 1 cause" in shown


def test_no_value_is_in_a_redacted_upgrade(tmp_path: Path) -> None:
    dump = _dump(tmp_path)
    properties = {"number": {"type": "integer"}, "text": {"type": "string", "default": "x"}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    (tmp_path / "new.json").write_text(json.dumps(definition(schema)))
    arguments = ("upgrade", dump, "--new-crds", tmp_path / "new.json", "--jobs", 1, "--report")
    shown, said = (
        _run(*arguments, tmp_path / report, *options)[1] + _run("changes", tmp_path / report)[1]
        for report, options in (("plain", ()), ("r", ("--redact",)))
    )
    assert _SECRET in _texts(tmp_path / "plain")
    assert _SECRET in shown
    found = _texts(tmp_path / "r") + said
    assert [word for word in (_SECRET, "424242") if word in found] == []
    assert pq.read_table(tmp_path / "r" / "changes").num_rows == pq.read_table(tmp_path / "plain" / "changes").num_rows


def test_a_redacted_report_is_asked_through_its_dump(tmp_path: Path) -> None:
    dump = _dump(tmp_path)
    _run("audit", dump, "--report", tmp_path / "r", "--jobs", 1, "--redact", "--fail-on", "never")
    code, shown = _run("query", tmp_path / "r", "ws", "--field-selector", f"spec.color={_SECRET}-color", "-o", "name")
    assert (code, shown.splitlines()) == (0, ["w.ex.com/a", "w.ex.com/b"])
