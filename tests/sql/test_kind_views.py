"""Which kind a name means, and what is said of objects whose rows have no values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import auditor
from tests.documents import named_definition
from tests.pipelines.query.test_listed_rows import WEBHOOK, placed, two_versions, written
from tests.shared import recorded

if TYPE_CHECKING:
    from pathlib import Path


def thing(api_version: str, kind: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "n", "uid": kind, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"of": {"type": "string"}}}}}
    documents = [
        named_definition("pods.b.example.com", "Pod", schema),
        named_definition("things.b.example.com", "Thing", schema),
        named_definition("things.a.example.com", "Thing", schema),
        named_definition("findings.a.example.com", "Finding", schema),
        thing("v1", "Pod", spec={"nodeName": "core"}),
        *(thing(f"{group}.example.com/v1", "Thing", spec={"of": group}) for group in ("a", "b")),
        thing("b.example.com/v1", "Pod", spec={"of": "b"}),
        thing("a.example.com/v1", "Finding", spec={"of": "finding"}),
    ]
    path = tmp_path_factory.mktemp("views") / "dump.ndjson"
    path.write_text("\n".join(map(json.dumps, documents)))
    return path


def asked(dump: object, statement: str, *words: object, code: int = 0) -> list[dict[str, Any]]:
    done = auditor("sql", dump, statement, "-o", "json", *words)
    assert done.code == code, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("SELECT spec.nodeName AS v FROM pods", "core"),
        ('SELECT spec.of AS v FROM "pods.b.example.com"', "b"),
        ("SELECT spec.of AS v FROM things", "a"),
        ('SELECT spec.of AS v FROM "things.a.example.com"', "a"),
        ('SELECT spec.of AS v FROM "things.b.example.com"', "b"),
        ('SELECT spec.of AS v FROM "findings.a.example.com"', "finding"),
        ('SELECT t.spec.of AS v FROM "things.b.example.com" t JOIN pods p ON t.metadata.name = p.metadata.name', "b"),
    ],
)
def test_a_plural_is_that_of_the_first_kind_as_kubectl_finds_it(dump: Path, statement: str, value: str) -> None:
    assert asked(dump, statement) == [{"v": value}]


def test_the_list_says_which_kind_has_the_short_name(dump: Path) -> None:
    about = {row["name"]: row["about"] for row in asked(dump, "\\d")}
    assert about["pods"] == "Pod v1"
    assert about['"pods.b.example.com"'] == "Pod b.example.com/v1; pods means Pod v1"
    assert about["things"] == "Thing a.example.com/v1"
    assert about['"things.b.example.com"'] == "Thing b.example.com/v1; things means Thing a.example.com/v1"


def test_a_table_of_a_report_has_its_name_before_a_kind(dump: Path, tmp_path: Path) -> None:
    assert auditor("audit", dump, "--report", tmp_path / "report", "--fail-on", "never").code == 0
    about = {row["name"]: row["about"] for row in asked(tmp_path / "report", "\\d")}
    assert about["findings"] == "a finding and its cause"
    assert about['"findings.a.example.com"'] == "Finding a.example.com/v1; findings means the table of the report"
    assert asked(tmp_path / "report", "SELECT count(*) AS n FROM findings") == [{"n": 0}]
    assert asked(tmp_path / "report", 'SELECT count(*) AS n FROM "findings.a.example.com"') == [{"n": 1}]


def test_an_export_has_no_keys_and_says_so(dump: Path) -> None:
    done = auditor("sql", dump, "SELECT * FROM keys")
    assert (done.code, done.stderr) == (
        2,
        'error: there is no table "keys" here: an export has objects, and no etcd keys\n',
    )
    assert {row["key"] for row in asked(dump, "SELECT key FROM pods")} == {None}


def test_encrypted_objects_are_rows_that_say_so() -> None:
    folder = recorded("golden/encrypted/aescbc")
    statement = "SELECT count(*) AS n, count(data) AS d, count(*) FILTER (audit_status = 'sealed') AS s FROM secrets"
    done = auditor("sql", folder / "snapshot.db.gz", statement, "-o", "csv")
    assert (done.code, done.stdout) == (3, "n,d,s\n9,3,6\n")
    assert done.stderr == "note: 6 objects of secrets are encrypted, and no key opens them: their rows have nulls\n"
    keys = ("--encryption-config", folder / "encryption-config.json")
    assert asked(folder / "snapshot.db.gz", statement, *keys) == [{"n": 9, "d": 9, "s": 0}]


def test_objects_that_only_a_webhook_converts_are_in_stored_object(tmp_path: Path) -> None:
    objects = {"a/old": placed("a", "old", "v1beta1"), "a/new": placed("a", "new")}
    path = written(tmp_path / "dump.db", two_versions(conversion=WEBHOOK), objects)
    statement = "SELECT stored_version AS v, audit_status AS s, spec IS NULL AS n, stored_object->>'$.metadata.name' AS o FROM things ORDER BY v"
    done = auditor("sql", path, statement, "-o", "csv")
    assert (done.code, done.stdout) == (3, "v,s,n,o\nv1,,false,\nv1beta1,needs-conversion,true,old\n")
    assert "1 object of things.example.com is in stored_object alone, as only a webhook could convert it" in done.stderr
