"""`auditor diff`, `auditor show KIND/NAME` and `auditor history --diff`, on the sample and on exports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.documents import export_of, named_definition
from tests.printing.kubectl.replay import auditor
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets
from tests.sources.bolt_writer import snapshot as snapshot_bytes

if TYPE_CHECKING:
    from pathlib import Path


def _config_map(name: str, data: dict[str, str], namespace: str = "shop", **metadata: Any) -> dict[str, Any]:
    place = {"name": name, "namespace": namespace, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": place, "data": data}


@pytest.fixture
def dumps(tmp_path: Path) -> tuple[str, str]:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}, "type": "Opaque"}
    old = export_of(
        tmp_path / "old.json",
        _config_map("same", {"k": "v"}, resourceVersion="1"),
        _config_map("gone", {}),
        _config_map("other", {"a": "1", "b": "2"}),
        {**secret, "data": {"pass": "YQ=="}},
    )
    new = export_of(
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
    assert out.startswith("1 added, 1 removed, 2 changed, 1 the same\n")


def test_a_table_names_the_first_fields_and_counts_the_others(tmp_path: Path) -> None:
    old, new = (
        export_of(tmp_path / f"{value}.json", _config_map("many", dict.fromkeys("abcde", value)))
        for value in ("x", "y")
    )
    _, out, _ = auditor("diff", old, new)
    assert out.splitlines()[3].split(None, 3)[3] == "data.a, data.b, 3 more"
    _, out, _ = auditor("diff", old, new, "-o", "json")
    assert json.loads(out)[0]["fields"] == [f"data.{letter}" for letter in "abcde"]


def test_one_object_is_compared_line_by_line(dumps: tuple[str, str]) -> None:
    code, out, _ = auditor("diff", *dumps, "cm/other", "-n", "shop")
    assert code == 0
    assert [line for line in out.splitlines() if line[:1] in "+-"][2:] == ['-  b: "2"', '+  b: "3"']
    code, out, err = auditor("diff", *dumps, "cm/nope")
    assert code == 1
    assert "neither dump has cm/nope" in err


def test_values_of_secrets_are_printed_only_on_request(dumps: tuple[str, str]) -> None:
    _, out, _ = auditor("diff", *dumps, "secret/s")
    assert out == "shop/s: data.pass differs, redacted (--show-secrets prints it)\n"
    _, out, _ = auditor("diff", *dumps, "secret/s", "--show-secrets")
    assert "+  pass: Yg==" in out
    _, out, _ = auditor("diff", *dumps, "-o", "ndjson")
    assert "Yg==" not in out
    lines = [json.loads(line) for line in out.splitlines()]
    assert {one["change"] for one in lines} == {"added", "removed", "changed"}


SPEC = {
    "type": "object",
    "properties": {
        "size": {"type": "number", "default": 3},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
_DEFINITION = named_definition("widgets.example.com", "Widget", {"type": "object", "properties": {"spec": SPEC}})
WIDGETS = {
    **_DEFINITION,
    "status": {
        "acceptedNames": _DEFINITION["spec"]["names"],
        "conditions": [{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"}],
        "storedVersions": ["v1"],
    },
}


def _widget(name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop", "uid": "u", "generation": 1}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop", "uid": "u"}}


def _snapshot(path: Path, *writes: tuple[str, dict[str, Any]]) -> str:
    history = History()
    for key, obj in writes:
        history.put(f"/registry/{key}".encode(), json.dumps(obj).encode())
    path.write_bytes(snapshot_bytes(bolt_file(etcd_buckets(history.rows))))
    return str(path)


CRD_KEY = "apiextensions.k8s.io/customresourcedefinitions/widgets.example.com"


def test_what_a_read_does_not_show_is_no_reason_to_say_the_same(tmp_path: Path) -> None:
    """Values that a read drops, defaults or redacts differ; so do 1 and 1.0, which Python calls equal."""
    path = "example.com/widgets/shop"
    old = _snapshot(
        tmp_path / "old.db",
        (CRD_KEY, WIDGETS),
        (f"{path}/dropped", _widget("dropped", bogus="a")),
        (f"{path}/defaulted", _widget("defaulted")),
        (f"{path}/number", _widget("number", free={"n": 1})),
        (f"{path}/both", _widget("both", bogus="a", size=1)),
        (f"{path}/same", _widget("same", size=1)),
    )
    new = _snapshot(
        tmp_path / "new.db",
        (CRD_KEY, WIDGETS),
        (f"{path}/dropped", _widget("dropped", bogus="b")),
        (f"{path}/defaulted", _widget("defaulted", size=3)),
        (f"{path}/number", _widget("number", free={"n": 1.0})),
        (f"{path}/both", _widget("both", bogus="b", size=2)),
        (f"{path}/same", {**_widget("same", size=1)}),
    )
    code, out, err = auditor("diff", old, new)
    assert (code, err) == (0, "")
    assert [line.split(None, 3) for line in out.splitlines() if "widgets" in line] == [
        ["changed", "widgets.example.com", "shop/both", "spec.size, spec.bogus (as stored)"],
        ["stored", "widgets.example.com", "shop/defaulted", "spec.size (as stored)"],
        ["stored", "widgets.example.com", "shop/dropped", "spec.bogus (as stored)"],
        ["changed", "widgets.example.com", "shop/number", "spec.free.n"],
    ]
    assert out.startswith("0 added, 0 removed, 2 changed, 2 changed only as stored, 2 the same\n")
    _, out, _ = auditor("diff", old, new, "widgets/dropped", "-n", "shop")
    assert out == "shop/dropped: the stored value differs in spec.bogus, which a read does not show\n"
    _, out, _ = auditor("diff", old, new, "widgets", "-o", "ndjson")
    stored = {row["name"]: row.get("stored_fields") for row in map(json.loads, out.splitlines())}
    assert stored == {"both": ["spec.bogus"], "defaulted": ["spec.size"], "dropped": ["spec.bogus"], "number": None}


def test_an_export_is_compared_with_a_snapshot_as_read(tmp_path: Path) -> None:
    key = "example.com/widgets/shop/a"
    old = _snapshot(tmp_path / "old.db", (CRD_KEY, WIDGETS), (key, _widget("a", bogus="x")))
    new = export_of(tmp_path / "new.json", WIDGETS, _widget("a", size=3))
    _, out, _ = auditor("diff", old, new, "widgets")
    assert out == "0 added, 0 removed, 0 changed, 1 the same\n"


def test_what_is_not_compared_is_named(tmp_path: Path) -> None:
    first, second = _config_map("twice", {"a": "1"}), _config_map("twice", {"a": "2"})
    unknown = {"apiVersion": "gone.example.com/v1", "kind": "Ghost", "metadata": {"name": "g", "namespace": "shop"}}
    old = export_of(tmp_path / "old.json", first, second)
    new = export_of(tmp_path / "new.json", second, unknown)
    code, out, err = auditor("diff", old, new)
    assert code == 0
    assert out.splitlines()[3].split(None, 3) == [
        "repeated", "configmaps", "shop/twice", "OLD has it 2 times, its last one is compared"
    ]  # fmt: skip
    assert out.startswith("0 added, 0 removed, 0 changed, 1 repeated, 1 the same\n")
    assert err.startswith(
        f"note: NEW: 1 value of no kind that its definitions name, not compared; first {new} at byte "
    )


def test_events_of_both_groups_are_compared_as_one_kind(tmp_path: Path) -> None:
    event = {"kind": "Event", "metadata": {"name": "e", "namespace": "shop"}}
    old = export_of(tmp_path / "old.json", {"apiVersion": "v1", **event})
    new = export_of(tmp_path / "new.json", {"apiVersion": "events.k8s.io/v1", **event})
    code, out, err = auditor("diff", old, new)
    assert (code, err) == (0, "")
    assert out.startswith("0 added, 0 removed, 0 changed, 1 changed only as stored, 0 the same\n")


def test_a_revision_that_only_changed_what_is_not_shown_says_so(tmp_path: Path) -> None:
    """A rotated Secret, a field that a read drops, the same value again, and only managedFields."""
    key = "example.com/widgets/shop/a"
    managed = _widget("a", bogus="y")
    managed["metadata"] = {**managed["metadata"], "managedFields": [{"manager": "m", "operation": "Update"}]}
    dump = _snapshot(
        tmp_path / "a.db",
        (CRD_KEY, WIDGETS),
        (key, _widget("a", bogus="x")),
        (key, _widget("a", bogus="y")),
        (key, managed),
        (key, managed),
        ("secrets/shop/s", {**SECRET, "data": {"pass": "YQ=="}}),
        ("secrets/shop/s", {**SECRET, "data": {"pass": "Yg=="}}),
    )
    _, out, _ = auditor("history", dump, "widgets/a", "-n", "shop", "--diff")
    assert [line for line in out.splitlines() if line.startswith("#")] == [
        "# the stored value differs in spec.bogus, which a read does not show",
        "# only resourceVersion and managedFields",
        "# only resourceVersion",
    ]
    _, out, _ = auditor("history", dump, "secret/s", "-n", "shop", "--diff")
    assert out.splitlines()[-1] == "# data.pass differs, redacted (--show-secrets prints it)"
    assert "Yg==" not in out


def test_an_object_is_shown_by_kind_and_name(sample: str) -> None:
    key = "/registry/bakery.example.com/loaves/south/wrong-flour"
    assert auditor("show", sample, "loaves/wrong-flour", "-n", "south") == auditor("show", sample, key)
    code, _, err = auditor("show", sample, "loaves/wrong-flour", "-n", "north")
    assert (code, err) == (1, 'Error from server (NotFound): loaves.bakery.example.com "wrong-flour" not found\n')


def test_the_history_of_an_object_has_the_contents_of_its_revisions(sample: str) -> None:
    code, out, _ = auditor("history", sample, "loaves/wrong-flour", "-n", "south", "-o", "json")
    assert code == 0
    last = json.loads(out.splitlines()[-1])["object"]
    assert last["spec"]["flour"] == "sand"
    code, out, _ = auditor("history", sample, "loaves/wrong-flour", "-n", "south", "--diff")
    assert code == 0
    assert f"+++ revision {last['metadata']['resourceVersion']} Loaf south/wrong-flour" in out
    assert "+  flour: sand" in out
