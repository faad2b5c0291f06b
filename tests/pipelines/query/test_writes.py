"""`auditor history`: who wrote what when, from the revisions of a snapshot; and times in the place of revisions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.command import auditor
from tests.pipelines.query.test_compared_dumps import WIDGETS
from tests.pipelines.query.test_history import COMPACTED
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets
from tests.sources.bolt_writer import snapshot as snapshot_bytes

if TYPE_CHECKING:
    from pathlib import Path


def _entry(manager: str, second: int, *fields: str) -> dict[str, Any]:
    time = f"2026-05-01T10:00:{second:02}Z"
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": {name: {} for name in fields}}


def _object(kind: str, name: str, *managers: dict[str, Any], api: str = "v1", **more: Any) -> bytes:
    metadata = {"name": name, "namespace": "shop", "creationTimestamp": "2026-05-01T10:00:01Z"}
    metadata |= {"managedFields": list(managers), **more.pop("metadata", {})}
    return json.dumps({"apiVersion": api, "kind": kind, "metadata": metadata, **more}).encode()


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Return a snapshot of two kinds, with a deletion, a write that changes no entry, and a value that is torn."""
    history = History()
    config, secret = b"/registry/configmaps/shop/c", b"/registry/secrets/shop/s"
    history.put(config, _object("ConfigMap", "c", _entry("kubectl", 1), data={"a": "1"}))  # 2
    history.put(secret, _object("Secret", "s", _entry("kubectl", 2), data={"pass": "YQ=="}))  # 3
    edited = {"a": "2", "b": "1", "c": "1", "d": "1"}
    history.put(config, _object("ConfigMap", "c", _entry("helm", 5), _entry("kubectl", 1), data=edited))  # 4
    history.put(secret, _object("Secret", "s", _entry("rotator", 7), data={"pass": "Yg=="}))  # 5
    deleting = {"deletionTimestamp": "2026-05-01T10:00:40Z", "deletionGracePeriodSeconds": 30, "finalizers": ["x/y"]}
    marked = _object("ConfigMap", "c", _entry("helm", 5), _entry("kubectl", 1), data=edited, metadata=deleting)
    history.put(config, marked)  # 6
    history.delete(config)  # 7
    history.put(b"/registry/configmaps/shop/torn", b"{torn")  # 8
    history.put(b"/registry/ranges/serviceips", b"{}")  # 9
    path = tmp_path / "made.db"
    path.write_bytes(snapshot_bytes(bolt_file(etcd_buckets(history.rows))))
    return path


def _rows(text: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = yaml.safe_load(text)
    return rows


def test_each_write_says_when_who_and_what(dump: Path) -> None:
    done = auditor("history", dump, "-o", "yaml")
    assert done.code == 3
    columns = ("revision", "time", "event", "kind", "by", "fields")
    assert [tuple(row[name] for name in columns) for row in _rows(done.stdout)] == [
        (2, "2026-05-01T10:00:01Z", "ADDED", "ConfigMap", "kubectl", ""),
        (3, "2026-05-01T10:00:02Z", "ADDED", "Secret", "kubectl", ""),
        (4, "2026-05-01T10:00:05Z", "MODIFIED", "ConfigMap", "helm", "data.a, data.b, 2 more"),
        (5, "2026-05-01T10:00:07Z", "MODIFIED", "Secret", "rotator", "data.pass"),
        (6, "2026-05-01T10:00:10Z", "MODIFIED", "ConfigMap", "", _MARKED),
        (7, "", "DELETED", "ConfigMap", "", ""),
        (8, "", "ERROR", "ConfigMap", "", _TORN),
    ]
    assert done.stderr.startswith("1 write cannot be read, as its line says\n")
    assert "note: 1 key of no kind is left out; first /registry/ranges/serviceips" in done.stderr
    assert "Yg==" not in done.output


_MARKED = "metadata.deletionGracePeriodSeconds, metadata.deletionTimestamp, 1 more"
_TORN = "couldn't get version/kind; json parse error: invalid character 't' looking for beginning of object key string"


def test_the_table_is_of_a_kind_or_an_object(dump: Path) -> None:
    done = auditor("history", dump, "secrets/s", "-n", "shop")
    assert (done.code, done.stderr) == (0, "")
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["REVISION", "OBJECT_TIME", "EVENT", "NAMESPACE", "NAME", "BY", "FIELDS"],
        ["3", "2026-05-01T10:00:02Z", "ADDED", "shop", "s", "kubectl"],
        ["5", "2026-05-01T10:00:07Z", "MODIFIED", "shop", "s", "rotator", "data.pass"],
    ]
    assert auditor("history", dump, "/registry/secrets/shop/s").stdout.count("shop") == 2
    assert auditor("history", dump, "secrets", "-n", "other").stderr == "No writes found.\n"


@pytest.mark.parametrize(
    ("words", "revisions"),
    [
        (("--from", "4", "--to", "6"), [4, 5, 6]),
        (("--from", "2026-05-01T10:00:05Z"), [4, 5, 6, 7]),
        (("--from", "3s"), [4, 5, 6, 7]),
        (("--to", "2026-05-01T10:00:05Z"), [2, 3, 4]),
        (("--from", "2020-01-01"), [2, 3, 4, 5, 6, 7]),
        (("--field-selector", "metadata.name=s"), [3, 5]),
    ],
)
def test_writes_are_chosen_by_revision_time_and_selector(
    dump: Path, words: tuple[str, ...], revisions: list[int]
) -> None:
    rows = _rows(auditor("history", dump, *words, "-o", "yaml").stdout)
    assert [row["revision"] for row in rows if row["event"] != "ERROR"] == revisions


def test_a_diff_is_of_each_write(dump: Path) -> None:
    lines = auditor("history", dump, "configmaps/c", "--diff").stdout.splitlines()
    assert "+++ revision 4 ConfigMap shop/c 2026-05-01T10:00:05Z by helm" in lines
    assert '-  a: "1"' in lines
    assert "+++ revision 7 ConfigMap shop/c (deleted)" in lines
    lines = auditor("history", dump, "secrets", "--diff").stdout.splitlines()
    assert lines[-1] == "# data.pass differs, redacted (--show-secrets prints it)"


def test_json_is_the_lines_of_a_watch(dump: Path) -> None:
    events = [json.loads(line) for line in auditor("history", dump, "-o", "json").stdout.splitlines()]
    assert [one["type"] for one in events] == [*["ADDED"] * 2, *["MODIFIED"] * 3, "DELETED", "ERROR"]
    assert events[5]["object"]["metadata"]["resourceVersion"] == "7"
    assert events[5]["object"]["data"]["b"] == "1"
    assert events[6]["object"]["message"].startswith("corrupt object /registry/configmaps/shop/torn: ")
    assert events[3]["object"]["data"] == {"pass": "(redacted)"}


def test_history_says_why_it_cannot(dump: Path) -> None:
    for words, code, said in (
        (("secrets/none",), 1, 'Error from server (NotFound): secrets "none" not found'),
        (("secretz",), 1, "did you mean secrets?"),
        (("secrets", "--field-selector", "spec.x=1"), 1, "field label not supported: spec.x"),
        (("secrets/s", "configmaps/c"), 2, "give one KIND/NAME"),
        (
            ("--to", "2020-01-01"),
            2,
            "has no write up to 2020-01-01T00:00:00Z; expected a time from 2026-05-01T10:00:01Z",
        ),
        (("--from", "soon"), 2, "expected a revision such as 40, a time such as"),
    ):
        done = auditor("history", dump, *words)
        assert (done.code, said in done.stderr) == (code, True), (words, done.stderr)


def test_writes_before_a_compaction_are_said_to_be_gone(compacted: Path) -> None:
    done = auditor("history", compacted, "ovens")
    assert f"note: compacted up to revision {COMPACTED}: " in done.stderr
    assert "not known (compacted)" in done.stdout
    assert "compacted" not in auditor("history", compacted, "ovens", "--from", COMPACTED + 1).stderr


def test_an_export_has_no_writes(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"}}')
    done = auditor("history", tmp_path / "one.json")
    assert (done.code, "past revisions are not read" in done.stderr) == (2, True)


def test_a_query_as_of_a_time_is_of_the_last_revision_up_to_it(dump: Path) -> None:
    for time, value in (
        ("2026-05-01T10:00:04Z", "1"),
        ("4s", "1"),
        ("2026-05-01T10:00:05Z", "2"),
        ("4", "2"),
        ("3", "1"),
    ):
        done = auditor("query", dump, "configmaps", "c", "--as-of", time, "-o", "jsonpath={.data.a}")
        assert (done.stdout, done.code) == (value, 0), (time, done.stderr)
    done = auditor("query", dump, "secrets", "--as-of", "2026-05-01T10:00:04Z")
    assert "note: as of revision 3, the last one up to that time" in done.stderr
    assert auditor("query", dump, "secrets", "--as-of", "1h").code == 2


def test_without_times_only_a_revision_chooses(tmp_path: Path) -> None:
    history = History()
    history.put(b"/registry/configmaps/shop/c", b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}')
    (tmp_path / "made.db").write_bytes(snapshot_bytes(bolt_file(etcd_buckets(history.rows))))
    for words in (("query", "made.db", "cm", "--as-of", "2026-05-01"), ("history", "made.db", "--from", "2h")):
        done = auditor(*words, cwd=tmp_path)
        assert (done.code, "no object carries a time; expected a revision" in done.stderr) == (2, True), done.stderr


def test_what_only_the_stored_value_shows_is_a_note(tmp_path: Path) -> None:
    history = History()
    crd = b"/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com"
    history.put(crd, json.dumps(WIDGETS).encode())
    for spec in ({"size": 3}, {"size": 3, "bogus": 1}, {"size": 3, "bogus": 1}):
        value = _object("Widget", "a", api="example.com/v1", spec=spec, metadata={"uid": "u", "generation": 1})
        history.put(b"/registry/example.com/widgets/shop/a", value)
    (tmp_path / "made.db").write_bytes(snapshot_bytes(bolt_file(etcd_buckets(history.rows))))
    lines = auditor("history", "made.db", "widgets/a", "-o", "csv", cwd=tmp_path).stdout.splitlines()
    assert [line.rpartition(",")[2] for line in lines[2:]] == ["spec.bogus (as stored)", "only resourceVersion"]


def test_old_names_say_the_new_one(dump: Path) -> None:
    for words in (("watch", dump, "secrets"), ("show", dump, "secrets/s", "--history", "--diff")):
        done = auditor(*words)
        assert (done.code, "auditor history DUMP KIND" in done.stderr) == (2, True), done.stderr
