"""`auditor show` prints objects of every kind in words, with what the dump and the report know of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.pipelines.nights.support import Store, definition, loaf
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets
from tests.sources.bolt_writer import snapshot as snapshot_bytes

if TYPE_CHECKING:
    from pathlib import Path


def _entry(manager: str, time: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "time": f"2026-05-01T10:00:{time}Z", "fieldsV1": fields}


def _object(kind: str, name: str, api: str = "v1", **more: Any) -> bytes:
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}", **more.pop("metadata", {})}
    return json.dumps({"apiVersion": api, "kind": kind, "metadata": metadata, **more}).encode()


OWNED = {
    "managedFields": [
        _entry("kubectl", "01", {"f:spec": {"f:containers": {'k:{"name":"web"}': {".": {}, "f:image": {}}}}}),
        _entry("kubelet", "09", {"f:status": {"f:phase": {}}}),
    ],
    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}],
}
POD = _object(
    "Pod",
    "web-1",
    metadata=OWNED,
    spec={"containers": [{"name": "web", "image": "nginx"}]},
    status={"phase": "Running"},
)
ABOUT = {"kind": "Pod", "name": "web-1", "namespace": "shop", "uid": "uid-web-1"}
EVENT = {"involvedObject": ABOUT, "type": "Warning", "reason": "BackOff", "message": "restarting", "count": 1}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    history = History()
    history.put(b"/registry/pods/shop/web-1", _object("Pod", "web-1"))  # 2
    history.put(b"/registry/pods/shop/web-1", POD)  # 3
    history.put(b"/registry/events/shop/web-1.1", _object("Event", "web-1.1", **EVENT))  # 4
    history.put(b"/registry/secrets/shop/s", _object("Secret", "s", data={"pass": "YQ=="}))  # 5
    history.put(b"/registry/configmaps/shop/gone", _object("ConfigMap", "gone", data={"a": "1"}))  # 6
    history.delete(b"/registry/configmaps/shop/gone")  # 7
    history.put(b"/registry/pods/other/torn", b"{torn")  # 8
    path = tmp_path / "made.db"
    path.write_bytes(snapshot_bytes(bolt_file(etcd_buckets(history.rows))))
    return path


def _words(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_builtin_object_is_shown_with_status_events_owners_and_writers(dump: Path) -> None:
    done = auditor("show", dump, "pod", "web-1", "-n", "shop", "--now", "2026-05-01T10:00:00Z")
    assert (done.code, done.stderr) == (0, "")
    words = _words(done.stdout)
    assert {"Name: web-1", "Image: nginx", "Phase: Running"} <= set(words)
    assert any(line.startswith("Warning BackOff") for line in words)
    assert words[words.index("Dump:") :] == [
        "Dump:",
        "Key: /registry/pods/shop/web-1",
        "Revision: 2 revisions: 2, 3",
        "Owners: ReplicaSet/web (controller)",
        "Writers: 2026-05-01T10:00:09Z kubelet Update",
        "2026-05-01T10:00:01Z kubectl Update",
    ]


@pytest.mark.parametrize("words", [("pods/web-1",), ("po", "web-1"), ("/registry/pods/shop/web-1",)])
def test_an_object_has_one_text_however_it_is_named(dump: Path, words: tuple[str, ...]) -> None:
    assert auditor("show", dump, *words).stdout == auditor("show", dump, "pod", "web-1", "-n", "shop").stdout


def test_secrets_are_redacted_and_stored_values_printed(dump: Path) -> None:
    assert "YQ==" not in auditor("show", dump, "secret/s").stdout
    assert "YQ==" in auditor("show", dump, "secret/s", "--show-secrets").stdout
    stored = auditor("show", dump, "pods/web-1", "-n", "shop", "--as", "stored", "-o", "json")
    assert json.loads(stored.stdout) == json.loads(POD)
    assert "resourceVersion" not in auditor("show", dump, "secret/s", "--as", "stored").stdout


def test_a_deleted_object_is_found_in_the_revisions(dump: Path) -> None:
    for words in (("configmap", "gone"), ("cm/gone", "-n", "shop"), ("/registry/configmaps/shop/gone",)):
        done = auditor("show", dump, *words)
        assert (done.code, done.stderr) == (0, ""), words
        assert done.stdout.startswith("Deleted: at revision 7; this is its last value\n")
        assert "A: 1" in _words(done.stdout)
    assert auditor("show", dump, "cm/gone", "-n", "sho").code == 1
    asked = auditor("query", dump, "cm/gone", "-n", "shop")
    assert asked.stderr == (
        'Error from server (NotFound): configmaps "gone" not found\n'
        "hint: it was deleted at revision 7; auditor show DUMP KIND/NAME prints its last value\n"
    )
    before = auditor("query", dump, "cm/gone", "-n", "shop", "--as-of", "5")
    assert (before.code, before.stderr) == (1, 'Error from server (NotFound): configmaps "gone" not found\n')
    document = json.loads(auditor("show", dump, "cm/gone", "-o", "json").stdout)
    assert (document["deleted_at_revision"], document["read"]["data"]) == (7, {"a": "1"})


def test_a_value_that_cannot_be_decoded_is_shortened_to_a_line(tmp_path: Path) -> None:
    history = History()
    history.put(b"/registry/pods/shop/torn", b"{\x01" + b"x" * 3000)
    path = tmp_path / "made.db"
    path.write_bytes(snapshot_bytes(bolt_file(etcd_buckets(history.rows))))
    [line] = [line for line in auditor("show", path, "pod/torn").stdout.splitlines() if "Stored:" in line]
    assert len(line) <= 80
    assert line.endswith("xxx... (-o yaml has more)")
    assert json.loads(auditor("show", path, "pod/torn", "-o", "json").stdout)["stored"].endswith("x" * 3000)


def test_the_fields_of_one_object_are_never_quoted(tmp_path: Path) -> None:
    fields = {"f:data": {"f:tls.crt": {}, "f:a": {}}}
    history = History()
    written = _object("ConfigMap", "c", metadata={"managedFields": [_entry("kubectl", "01", fields)]})
    history.put(b"/registry/configmaps/shop/c", written)
    path = tmp_path / "made.db"
    path.write_bytes(snapshot_bytes(bolt_file(etcd_buckets(history.rows))))
    rows = [line.split()[0] for line in auditor("show", path, "cm/c", "--writers").stdout.splitlines()]
    assert rows == ["FIELD", "data['tls.crt']", "data.a"]


def test_who_wrote_each_field_is_listed_by_time(dump: Path) -> None:
    rows = json.loads(auditor("show", dump, "pods/web-1", "-n", "shop", "--writers", "-o", "json").stdout)
    assert [(row["field"], row["manager"], row["time"][-3:]) for row in rows] == [
        ("status.phase", "kubelet", "09Z"),
        ("spec.containers[name=web].image", "kubectl", "01Z"),
    ]
    done = auditor("show", dump, "secret/s", "--writers")
    assert (done.code, done.stderr) == (0, "No managedFields can be read: who wrote is not known.\n")


def test_what_is_not_there_is_an_error(dump: Path) -> None:
    for words, code, said in (
        (("pods/none",), 1, 'Error from server (NotFound): pods "none" not found'),
        (("pods", "none", "web-1"), 1, 'Error from server (NotFound): pods "none" not found'),
        (("podz", "web-1"), 1, "did you mean pods?"),
        (("podz",), 1, "there is no key podz; did you mean pods?"),
        (("/registry/none",), 1, "there is no key /registry/none"),
        (("pods/a", "b"), 2, "there is no need to specify a resource type"),
        (("nodes",), 0, "No resources found.\n"),
        (("pods/torn",), 3, "500: corrupt object /registry/pods/other/torn: "),
    ):
        done = auditor("show", dump, *words)
        assert (done.code, said in done.stderr) == (code, True), (words, done.output)
    assert "{torn" in auditor("show", dump, "pods/torn").stdout
    said = auditor("describe", dump, "pods").stderr
    assert "there is no command describe any more: use `auditor show DUMP KIND NAME`" in said


def test_an_object_of_any_shape_is_shown_as_stored(tmp_path: Path) -> None:
    metadata = {
        "name": "a",
        "namespace": "b",
        "annotations": "x",
        "ownerReferences": "z",
        "managedFields": [{"time": 5}],
    }
    torn = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": 5}
    (tmp_path / "pod.json").write_text(json.dumps(torn))
    done = auditor("show", tmp_path / "pod.json", "pod/a")
    assert (done.code, "spec: 5" in done.stdout, "Status: unreadable" in _words(done.stdout)[-3]) == (3, True, True)
    assert "corrupt object" in done.stderr


def test_kinds_are_listed_by_namespace_and_label(dump: Path) -> None:
    done = auditor("show", dump, "pods", "-n", "shop")
    assert (done.code, done.stdout.count("Dump:\n")) == (0, 1)
    assert auditor("show", dump, "pods").code == 3
    assert auditor("show", dump, "secrets", "-l", "a=b").stderr == "No resources found.\n"


def test_findings_and_causes_of_a_report_are_beside_the_object(tmp_path: Path) -> None:
    store = Store(definition(), loaf("x", namespace="a", grams=900), loaf("x", namespace="b", flour="sand"))
    for form, target in (("etcdctl", "kv.json"), ("export", "export.json")):
        dump, report = store.write(tmp_path / target, form), tmp_path / f"report-{form}"
        assert auditor("audit", dump, "--report", report, "--fail-on", "never").code == 0
        words = _words(auditor("show", report, "loafs/x", "-n", "b").stdout)
        assert "Flour: sand" in words
        (line,) = (line for line in words if line.startswith("Findings: spec.flour: "))
        assert "[" in line, line
        assert not any("spec.grams: " in line for line in words)
