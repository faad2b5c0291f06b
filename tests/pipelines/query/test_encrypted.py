"""A cluster whose values are encrypted at rest: the same answers with its keys, plain words without."""

from __future__ import annotations

import base64
import json
import struct
from typing import TYPE_CHECKING, Any

import pytest

from auditor.builtin.protobuf import decode_stored
from auditor.printing.get.server_errors import StatusError
from auditor.server.object_reader import ReadMode
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.query import open_store
from tests.command import auditor
from tests.shared import recorded, recorded_lines
from tests.sources.bolt_writer import bolt_file, key_value, revision

if TYPE_CHECKING:
    from pathlib import Path


def _options(*, keys: bool) -> QueryOptions:
    folder = recorded("golden/encrypted/aescbc")
    config = str(folder / "encryption-config.json") if keys else ""
    options = QueryOptions(str(folder / "snapshot.db.gz"), encryption_config=config)
    options.mode = ReadMode(show_secrets=True)
    return options


def test_every_value_is_answered_as_the_server_did_with_its_keys() -> None:
    checked: dict[Any, int] = {}
    with open_store(_options(keys=True), lambda _: None) as store:
        for line in recorded_lines("golden/encrypted/aescbc/expected.ndjson.gz"):
            *_, namespace, name = line["key"].split("/")
            if "object" in line:
                resource = store.discovery.resolve("secrets")
                found = store.get_object(resource, namespace, name)
                plain = decode_stored(base64.b64decode(line["protobuf"]))
                assert found["data"] == plain["data"] == line["object"]["data"]
                checked["secret"] = checked.get("secret", 0) + 1
                continue
            asked = line["get"]
            group, plural = line["key"].split("/")[2:4]
            version = asked["body"]["apiVersion"].rpartition("/")[2] if asked["code"] == 200 else ""
            resource = store.discovery.resolve(f"{plural}.{version}.{group}" if version else f"{plural}.{group}")
            try:
                code, answer = 200, store.get_object(resource, namespace, name)
            except StatusError as error:
                code, answer = error.code, error.message
            wanted = asked["body"] if asked["code"] == 200 else asked["body"]["message"]
            assert (code, answer) == (asked["code"], wanted), line["key"]
            checked[code] = checked.get(code, 0) + 1
    assert checked["secret"] > 5
    assert checked[200] > 20


def test_without_the_keys_what_is_in_the_clear_is_shown_and_the_rest_reported() -> None:
    reported: list[str] = []
    with open_store(_options(keys=False), reported.append) as store:
        names = [one["metadata"]["name"] for one in store.list_objects(store.discovery.resolve("secrets"), "", "", "")]
    assert len(names) == 3
    assert reported == [
        (
            "note: 6 objects of secrets are not shown: 6 values are sealed by aescbc (key names aescbc-new, aescbc-old), no "
            "key was given (--encryption-config)\n"
        )
    ]


@pytest.mark.parametrize("flags", [(), ("--as", "stored"), ("-o", "json"), ("--count",)])
def test_a_list_without_sealed_objects_is_not_whole_and_has_one_note(flags: tuple[str, ...]) -> None:
    dump = str(recorded("golden/encrypted/aescbc") / "snapshot.db.gz")
    reported = auditor("query", dump, "secrets", *flags)
    assert reported.code == 3
    assert reported.stderr.count("note: 6 objects of secrets are not shown") == len(reported.stderr.splitlines()) == 1


def test_a_sealed_object_and_a_kind_with_no_other_are_neither_missing_nor_corrupt() -> None:
    dump = str(recorded("golden/encrypted/aescbc") / "snapshot.db.gz")
    note = "values are sealed by aescbc"
    for args in (
        ("secrets", "pass-2", "-n", "market"),
        ("secrets", "--field-selector", "metadata.name=pass-2"),
    ):
        reported = auditor("query", dump, *args)
        assert reported.code == 3
        assert note in reported.stderr or "1 value is sealed by aescbc" in reported.stderr
        assert not any(
            word in reported.output for word in ("corrupt", "NotFound", "No resources found", "Error from server")
        )


@pytest.mark.parametrize("target", ["dump", "report", "index"])
def test_a_list_of_a_namespace_is_whole_without_sealed_objects_of_others(target: str, tmp_path: Path) -> None:
    dump = sealed = recorded("golden/encrypted/aescbc") / "snapshot.db.gz"
    if target != "dump":
        dump = tmp_path / "report"
        auditor("audit", sealed, "--report", dump, "--fail-on", "never")
    if target == "report":
        (tmp_path / "snapshot.db.gz").symlink_to(sealed)
    for namespace, code, number in (("nowhere", 0, 0), ("north", 3, 4), ("", 3, 12)):
        words = ("-n", namespace) if namespace else ()
        for command in (("query", dump, "recipes"), ("explain", dump, "recipes", "--values")):
            reported = auditor(*command, *words)
            assert (reported.code, reported.stderr.count(f"note: {number} objects")) == (code, int(code == 3)), (
                namespace
            )
        if target != "index":
            rows = json.loads(auditor("kinds", dump, *words, "-o", "json").stdout)
            assert sum(row["notRead"] for row in rows if row["plural"] == "recipes") == number


def test_show_says_that_a_value_is_sealed() -> None:
    dump = str(recorded("golden/encrypted/aescbc") / "snapshot.db.gz")
    reported = auditor("show", dump, "/registry/secrets/market/pass-2", "-o", "json")
    shown = json.loads(reported.stdout)
    assert (shown["status"], shown["impact"]) == ("sealed", "unknown")
    assert shown["reason"].startswith('sealed by aescbc, key "aescbc-')


def test_a_report_made_with_the_keys_notes_what_lacks_them_now(tmp_path: Path) -> None:
    folder = recorded("golden/encrypted/aescbc")
    dump, report = str(folder / "snapshot.db.gz"), str(tmp_path / "report")
    keys = ("--encryption-config", str(folder / "encryption-config.json"))
    auditor("audit", dump, "--report", report, "--fail-on", "never", *keys)
    for more, code in ((keys, 0), ((), 3)):
        reported = auditor("query", report, "recipes", "--dump", dump, *more)
        assert (reported.code, reported.stderr.count("note: 12 objects of")) == (code, int(code == 3))
    auditor("audit", dump, "--report", report, "--fail-on", "never", "--force")
    for more, code, lines in ((keys, 0, 16), ((), 3, 4)):
        reported = auditor("query", report, "recipes", "--dump", dump, *more)
        assert (reported.code, len(reported.stdout.splitlines())) == (code, lines), reported.output


@pytest.mark.parametrize("command", [("gates", "list"), ("gates", "simulate")])
def test_commands_that_look_at_all_objects_name_those_that_are_sealed(command: tuple[str, ...], tmp_path: Path) -> None:
    names = {"plural": "ws", "singular": "w", "kind": "W", "listKind": "WList"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    made = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ws.ex.com"},
        "spec": {
            "group": "ex.com",
            "scope": "Namespaced",
            "names": names,
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
        "status": {"acceptedNames": names, "storedVersions": ["v1"], "conditions": []},
    }
    values = {
        b"/registry/apiextensions.k8s.io/customresourcedefinitions/ws.ex.com": json.dumps(made).encode(),
        b"/registry/apiextensions.k8s.io/customresourcedefinitions/vs.ex.com": b"k8s:enc:aescbc:v1:one:abc",
        b"/registry/ex.com/ws/d/a": b"k8s:enc:aescbc:v1:one:abc",
        b"/registry/ex.com/ws/d/b": json.dumps({"apiVersion": "ex.com/v1", "kind": "W", "metadata": {}}).encode(),
    }
    rows = {revision(n): key_value(key, n, n, 1, value) for n, (key, value) in enumerate(values.items(), 2)}
    path = tmp_path / "dump.db"
    path.write_bytes(bolt_file({b"key": rows, b"meta": {b"consistent_index": struct.pack(">Q", 3)}}))
    done = auditor(*command, path)
    assert done.code == 3, done.output
    assert [line for line in done.stderr.splitlines() if "vs.ex.com" in line or "sealed" in line] == [
        "1 value is sealed by aescbc (key name one), no key was given (--encryption-config); these objects are left out",
        "definition vs.ex.com is encrypted, and no key was given",
    ]


def test_the_list_of_kinds_counts_sealed_objects() -> None:
    snapshot = recorded("golden/encrypted/aescbc") / "snapshot.db.gz"
    listed = auditor("kinds", snapshot)
    assert (listed.code, "not-read=18 v1..." in listed.stdout) == (3, True)
    listed = auditor("kinds", snapshot, "-o", "json")
    counts = {kind["name"]: (kind["objects"], kind["notRead"]) for kind in json.loads(listed.stdout)}
    assert counts["loaves.bakery.example.com"] == (21, 18)
    assert counts["recipes.kitchen.example.org"] == (15, 12)


def test_ages_and_references_are_also_of_what_a_key_opens() -> None:
    folder = recorded("golden/encrypted/aescbc")
    snapshot, keys = folder / "snapshot.db.gz", ("--encryption-config", folder / "encryption-config.json")
    listed = auditor("kinds", snapshot, *keys)
    assert (listed.code, "<invalid>" in listed.stdout) == (3, False), listed.output
    assert "<invalid>" not in auditor("query", snapshot, "recipes", *keys).stdout
    referring = {}
    for more in (keys, ()):
        rows = auditor("refs", snapshot, "namespaces/north", *more, "-o", "ndjson").stdout.splitlines()
        referring[bool(more)] = sum(json.loads(row)["kind"] == "Secret" for row in rows)
    assert referring == {True: 3, False: 1}
