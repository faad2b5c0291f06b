"""`auditor explain` of built-in kinds, and the values of any field."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from auditor.builtin.scheme import described_fields
from auditor.printing.explain import NoSuchField, json_path
from tests.command import auditor
from tests.pipelines.nights.support import Store, definition, loaf

if TYPE_CHECKING:
    from pathlib import Path


def _pod(name: str, *images: str, **metadata: Any) -> dict[str, Any]:
    containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]
    place = {"name": name, "namespace": "shop", **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": place, "spec": {"containers": containers}}


@pytest.fixture
def dump(tmp_path: Path) -> str:
    store = Store(definition(), loaf("a"), loaf("b", grams=7), loaf("c", namespace="south"))
    store.put(_pod("one", "web:1", "log:1", labels={"app": "web"}), "/registry/pods/shop/one")
    store.put(_pod("two", "web:1", "web:1"), "/registry/pods/shop/two")
    store.put(_pod("none"), "/registry/pods/shop/none")
    return str(store.write(tmp_path / "dump.json", "etcdctl"))


def _counts(*words: str) -> dict[str, int]:
    done = auditor("explain", *words, "--values", "-o", "json")
    assert done.code == 0, done.output
    return {row["value"]: row["objects"] for row in json.loads(done.stdout)}


def test_a_built_in_kind_has_the_fields_of_its_type_and_no_descriptions(dump: str) -> None:
    done = auditor("explain", dump, "pods")
    assert (done.code, done.stderr) == (0, "")
    head, _, selectors = done.stdout.partition("FIELD SELECTORS:\n")
    assert head == (
        "KIND:       Pod\nVERSION:    v1\n\nDESCRIPTION:\n    (built-in kinds have no descriptions here)\n    \nFIELDS:\n"
        "  apiVersion\t<string>\n  kind\t<string>\n  metadata\t<ObjectMeta>\n  spec\t<PodSpec>\n  status\t<PodStatus>\n\n"
    )
    assert ["v1", "spec.nodeName", "string"] in [line.split() for line in selectors.splitlines()]
    below = auditor("explain", dump, "deployments.spec.template.spec.containers").stdout
    assert "GROUP:      apps\n" in below
    assert "FIELD: containers <[]Container>\n" in below
    assert "  image\t<string>\n" in below
    assert "FIELD SELECTORS" not in below
    assert "    containerPort\t<integer>\n" in auditor("explain", dump, "pods.spec.containers", "--recursive").stdout
    missing = auditor("explain", dump, "pods.spec.image")
    assert missing.stdout == "KIND:       Pod\nVERSION:    v1\n\n"  # as kubectl
    assert (missing.code, missing.stderr) == (1, 'error: field "image" does not exist\n')


def test_the_values_of_any_field_are_counted(dump: str) -> None:
    assert _counts(dump, "pods.spec.containers.image") == {"web:1": 2, "log:1": 1, "<none>": 1}
    assert _counts(dump, "pods.metadata.labels.app") == {"<none>": 2, "web": 1}
    assert _counts(dump, "loafs.spec.grams") == {"5": 2, "7": 1}
    assert _counts(dump, "loafs.bakery.example.com.spec.grams", "-n", "south") == {"5": 1}
    table = auditor("explain", dump, "loafs.spec.grams", "--values", "--limit", "1").stdout
    assert [line.split() for line in table.splitlines()] == [
        ["APIVERSION", "FIELD", "TYPE", "OBJECTS", "VALUE"],
        ["bakery.example.com/v1", "spec.grams", "integer", "2", "5"],
        ["bakery.example.com/v1", "spec.grams", "integer", "1", "(and", "1", "more", "values)"],
    ]
    counted = auditor("query", dump, "pods", "--count-by", ".spec.containers[*].image", "-o", "json")
    assert {row["value"]: row["objects"] for row in json.loads(counted.stdout)} == _counts(
        dump, "pods.spec.containers.image"
    )


def test_redacted_values_are_said_to_be(tmp_path: Path) -> None:
    store = Store(definition())
    for name, value in (("a", "QQ=="), ("b", "Qg==")):
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": "shop"},
            "data": {"p": value},
        }
        store.put(secret, f"/registry/secrets/shop/{name}")
    path = store.write(tmp_path / "secrets.json", "etcdctl")
    done = auditor("explain", path, "secrets.data.p", "--values")
    assert (done.code, done.stdout.split()[-2:]) == (0, ["2", "(redacted)"])
    assert done.stderr == "note: values of Secrets are redacted, so that different ones count as one\n"
    assert auditor("explain", path, "secrets.metadata.name", "--values").stderr == ""


def test_what_does_not_exist_is_an_error(dump: str) -> None:
    for path, said in (("loafs.spec.grans", 'error: field "grans" does not exist\n'), ("loafz", "did you mean loafs")):
        done = auditor("explain", dump, path, "--values")
        assert (done.code, done.stdout) == (1, "")
        assert said in done.stderr
    assert "there is no command fields any more: use `auditor explain DUMP KIND --values`" in auditor("fields").stderr


def test_a_field_outside_the_index_needs_the_dump(dump: str, tmp_path: Path) -> None:
    report = tmp_path / "report"
    auditor("audit", dump, "--report", report, "--fail-on", "never")
    assert _counts(str(report), "loafs.spec.grams") == {"5": 2, "7": 1}
    (tmp_path / "dump.json").unlink()
    done = auditor("explain", report, "loafs.spec.grams", "--values")
    assert (done.code, "an index has only the fields of selectors" in done.stderr) == (2, True)
    done = auditor("explain", report, "loafs")
    assert (done.code, "the dump of this report is not here" in done.stderr) == (2, True)
    assert auditor("explain", report, "loafs", "--values").code == 0


@pytest.mark.parametrize(
    ("path", "steps", "type_"),
    [
        ("metadata.ownerReferences.kind", ".metadata.ownerReferences[*].kind", "string"),
        ("metadata.labels.app", ".metadata.labels.app", "string"),
        ("spec.containers", ".spec.containers", "[]Container"),
        ("spec.containers.resources.limits.cpu", ".spec.containers[*].resources.limits.cpu", "Quantity"),
    ],
)
def test_a_path_goes_through_all_items_of_lists(path: str, steps: str, type_: str) -> None:
    assert json_path(described_fields("", "v1", "Pod") or {}, path.split(".")) == (steps, type_)


def test_unknown_fields_have_a_path_where_a_schema_keeps_them() -> None:
    kept = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "string"}}}
    maps = {"type": "object", "additionalProperties": {"type": "object", "properties": {"b": {"type": "integer"}}}}
    schema = {"properties": {"kept": kept, "maps": maps, "any": {"type": "object"}, "text": {"type": "string"}}}
    assert json_path(schema, ["kept", "x", "y"]) == (".kept.x.y", "unknown")
    assert json_path(schema, ["any", "x"]) == (".any.x", "unknown")
    assert json_path(schema, ["maps", "b"]) == (".maps[*].b", "integer")
    assert json_path(schema, ["maps", "one", "b"]) == (".maps.one.b", "integer")
    for path in (["maps", "one", "c"], ["nope"]):
        with pytest.raises(NoSuchField):
            json_path(schema, path)
