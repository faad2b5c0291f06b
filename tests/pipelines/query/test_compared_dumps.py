"""`auditor diff` of dumps, `auditor show KIND/NAME` and `auditor show --history`, on the sample and on exports."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.printing.kubectl.replay import auditor
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def _config_map(name: str, data: dict[str, str], namespace: str = "shop", **metadata: Any) -> dict[str, Any]:
    place = {"name": name, "namespace": namespace, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": place, "data": data}


def _export(path: Path, *objects: dict[str, Any]) -> str:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    return str(path)


@pytest.fixture
def sample(tmp_path: Path) -> str:
    path = tmp_path / "cluster.db"
    path.write_bytes(gzip.decompress((ROOT / "sample-data" / "cluster.db.gz").read_bytes()))
    return str(path)


@pytest.fixture
def dumps(tmp_path: Path) -> tuple[str, str]:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}, "type": "Opaque"}
    old = _export(
        tmp_path / "old.json",
        _config_map("same", {"k": "v"}, resourceVersion="1"),
        _config_map("gone", {}),
        _config_map("other", {"a": "1", "b": "2"}),
        {**secret, "data": {"pass": "YQ=="}},
    )
    new = _export(
        tmp_path / "new.json",
        _config_map("same", {"k": "v"}, resourceVersion="2"),
        _config_map("fresh", {}),
        _config_map("other", {"a": "1", "b": "3"}),
        {**secret, "data": {"pass": "Yg=="}},
    )
    return old, new


def test_objects_are_added_removed_and_changed(dumps: tuple[str, str]) -> None:
    code, out, _ = auditor("diff", *dumps)
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert ["added", "configmaps", "shop/fresh"] in rows
    assert ["removed", "configmaps", "shop/gone"] in rows
    assert ["changed", "configmaps", "shop/other", "data.b"] in rows
    assert ["changed", "secrets", "shop/s", "data.pass"] in rows
    assert out.endswith("1 added, 1 removed, 2 changed, 1 the same\n")


def test_one_object_is_compared_line_by_line(dumps: tuple[str, str]) -> None:
    code, out, _ = auditor("diff", *dumps, "cm/other", "-n", "shop")
    assert code == 0
    assert [line for line in out.splitlines() if line[:1] in "+-"][2:] == ['-  b: "2"', '+  b: "3"']
    code, out, err = auditor("diff", *dumps, "cm/nope")
    assert code == 2
    assert "neither dump has cm/nope" in err


def test_values_of_secrets_are_printed_only_on_request(dumps: tuple[str, str]) -> None:
    _, out, _ = auditor("diff", *dumps, "secret/s")
    assert out == "shop/s: redacted values differ (--show-secrets prints them)\n"
    _, out, _ = auditor("diff", *dumps, "secret/s", "--show-secrets")
    assert "+  pass: Yg==" in out
    _, out, _ = auditor("diff", *dumps, "-o", "ndjson")
    assert "Yg==" not in out
    lines = [json.loads(line) for line in out.splitlines()]
    assert {one["change"] for one in lines} == {"added", "removed", "changed"}


def test_a_dump_is_not_compared_with_a_report(sample: str, tmp_path: Path) -> None:
    report = str(tmp_path / "report")
    code, _, _ = auditor("audit", sample, "--report", report, "--fail-on", "never", "--engine", "inline")
    assert code == 0
    code, _, err = auditor("diff", sample, report)
    assert code == 2
    assert "is a dump and" in err
    code, _, err = auditor("diff", report, report, "loaves")
    assert code == 2
    assert "as a whole" in err


def test_an_object_is_shown_by_kind_and_name(sample: str) -> None:
    key = "/registry/bakery.example.com/loaves/south/wrong-flour"
    assert auditor("show", sample, "loaves/wrong-flour", "-n", "south") == auditor("show", sample, key)
    code, _, err = auditor("show", sample, "loaves/wrong-flour", "-n", "north")
    assert code == 2
    assert "there is no key" in err


def test_the_history_of_an_object_has_the_contents_of_its_revisions(sample: str) -> None:
    code, out, _ = auditor("show", sample, "loaves/wrong-flour", "-n", "south", "--history", "-o", "json")
    assert code == 0
    revisions = json.loads(out)
    assert revisions[-1]["object"]["spec"]["flour"] == "sand"
    code, out, _ = auditor("show", sample, "loaves/wrong-flour", "-n", "south", "--history", "--diff")
    assert code == 0
    assert f"+++ revision {revisions[0]['revision']}" in out
    assert "+  flour: sand" in out
    code, _, err = auditor("show", sample, "loaves/wrong-flour", "--diff")
    assert code == 2
    assert "--history" in err
