"""What the index says of an object: at each served version, with the texts and typed values of its selectable fields."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from auditor.plan.options import AuditOptions
from pipelines.run.audit import run_audit

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = {"color": "string", "size": "integer", "on": "boolean", "deep.er": "string"}


def version(name: str, *, fields: bool) -> dict[str, Any]:
    """Return a version, with or without selectable fields."""
    properties = {
        "color": {"type": "string", "nullable": True},
        "size": {"type": "integer"},
        "on": {"type": "boolean"},
        "deep": {"type": "object", "properties": {"er": {"type": "string"}}},
    }
    spec = {"type": "object", "properties": properties}
    schema = {"type": "object", "properties": {"spec": spec}}
    made = {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}}
    return made | ({"selectableFields": [{"jsonPath": f".spec.{path}"} for path in FIELDS]} if fields else {})


def audited(folder: Path, versions: list[dict[str, Any]], specs: list[Any], *, scope: str = "Namespaced") -> Path:
    """Audit an object for each spec, the last of them first; return the folder of the index."""
    names = {"plural": "xs", "kind": "X"}
    spec = {"group": "x.example.com", "scope": scope, "names": names, "versions": versions}
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    (folder / "crd.json").write_text(json.dumps(crd | {"metadata": {"name": "xs.x.example.com"}, "spec": spec}))
    lines = []
    for number, one in reversed(list(enumerate(specs))):
        metadata = {"name": f"x-{number:03}", "labels": {"number": str(number)}, "uid": f"u{number}"}
        metadata |= {"namespace": f"ns-{number % 2}"} if scope == "Namespaced" else {}
        thing = {"apiVersion": f"x.example.com/{versions[0]['name']}", "kind": "X", "metadata": metadata, "spec": one}
        lines.append(json.dumps(thing))
    (folder / "dump.ndjson").write_text("\n".join(lines))
    dump, crds = str(folder / "dump.ndjson"), (str(folder / "crd.json"),)
    run_audit(AuditOptions(dumps=(dump,), crds=crds, report=str(folder / "report"), fail_on="never"))
    return folder / "report" / "index" / "group=x.example.com"


def rows(index: Path, version: str) -> list[dict[str, Any]]:
    """Return the rows of a version."""
    [part] = (index / f"version={version}" / "kind=X").iterdir()
    found: list[dict[str, Any]] = pq.ParquetFile(part).read().to_pylist()
    return found


@pytest.mark.parametrize(
    ("spec", "texts", "values"),
    [
        ({"color": "red", "size": 5, "on": True}, ["red", "5", "true", ""], ["red", 5, True, None]),
        ({"color": "", "size": 0, "on": False}, ["", "0", "false", ""], ["", 0, False, None]),
        ({"color": None, "deep": {"er": "d"}}, ["", "", "", "d"], [None, None, None, "d"]),
        ({"size": 5.0}, ["", "5", "", ""], [None, 5, None, None]),
        ({}, ["", "", "", ""], [None, None, None, None]),
    ],
)
def test_texts_and_typed_values_of_selectable_fields(
    tmp_path: Path, spec: Any, texts: list[str], values: list[Any]
) -> None:
    # so many that some are proven by a program, and take the short way
    found = rows(audited(tmp_path, [version("v1", fields=True)], [spec] * 20), "v1")
    assert len(found) == 20
    for row in found:
        assert [row[f"field:spec.{path}"] for path in FIELDS] == texts
        assert [row[f"value:spec.{path}"] for path in FIELDS] == values


@pytest.mark.parametrize("first", [True, False], ids=["first-has-fields", "first-has-none"])
@pytest.mark.parametrize("second", [True, False], ids=["second-has-fields", "second-has-none"])
def test_every_served_version_has_a_row_of_each_object(tmp_path: Path, *, first: bool, second: bool) -> None:
    versions = [version("v1", fields=first), version("v2", fields=second)]
    specs: list[Any] = [{"color": f"c{number}"} for number in range(20)]
    specs[7] = {"color": 7}  # invalid, so that it goes another way than the others
    index = audited(tmp_path, versions, specs)
    one, two = rows(index, "v1"), rows(index, "v2")
    common = [name for name in one[0] if ":" not in name]
    assert [[row[name] for name in common] for row in one] == [[row[name] for name in common] for row in two]
    assert [(row["namespace"], row["name"]) for row in one] == sorted(
        (f"ns-{number % 2}", f"x-{number:03}") for number in range(20)
    )
    for found, fields in ((one, first), (two, second)):
        assert ("field:spec.color" in found[0]) is fields
        if fields:
            texts = {row["name"]: (row["field:spec.color"], row["value:spec.color"]) for row in found}
            assert texts["x-003"] == ("c3", "c3")
            assert texts["x-007"] == ("7", None)


def test_objects_without_a_namespace_are_sorted_by_name(tmp_path: Path) -> None:
    index = audited(tmp_path, [version("v1", fields=False)], [{}] * 20, scope="Cluster")
    found = rows(index, "v1")
    assert [row["name"] for row in found] == [f"x-{number:03}" for number in range(20)]
    assert {row["namespace"] for row in found} == {None}
    assert [dict(row["labels"]) for row in found] == [{"number": str(number)} for number in range(20)]
