"""`audit --tables`: each row that workers write in the pass is the one that `auditor tables` makes of the report."""

from __future__ import annotations

import base64
import json
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auditor.columns import KindColumns
from auditor.plan.options import AuditOptions, RunScope
from auditor.server.tables.shard_tables import PartTables, rename_causes, renamed_causes
from auditor.shards.shard_audit import ShardAuditor
from auditor.shards.shard_keys import ShardKeys
from pipelines.run.fleet import run_anywhere
from tests.command import auditor
from tests.documents import etcdctl_text
from tests.pipelines.nights.support import Store, bakery, definition, loaf
from tests.pipelines.query.test_listed_rows import WEBHOOK, placed, two_versions, written
from tests.pipelines.test_lifecycle import OBJECTS
from tests.pipelines.test_lost_webhooks import SERVICE, service
from tests.pipelines.test_lost_webhooks import dump as without_webhook
from tests.shared import ROOT, shared

if TYPE_CHECKING:
    from pathlib import Path

LOAVES = "group=bakery.example.com/kind=Loaf"


def entries_of(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the entry of each kind in `schema.json`, by its folder."""
    return {entry["folder"]: entry for entry in json.loads((folder / "schema.json").read_bytes())["kinds"]}


def table_of(folder: Path, kind: str) -> pa.Table:
    """Return the rows of a kind, whose files have one schema."""
    return pa.concat_tables([pq.ParquetFile(path).read() for path in sorted((folder / kind).glob("*.parquet"))])


def rows_of(folder: Path, kind: str = LOAVES) -> list[dict[str, Any]]:
    return list(table_of(folder, kind).to_pylist())


def tables_of(folder: Path, *dumps: str, **options: Any) -> Path:
    """Audit dumps with tables, hold them against those of the report, and return their folder."""
    report, tables = folder / "report", folder / "tables"
    given = {"jobs": 1, "fail_on": "never", "shard_bytes": 1500} | options
    run_anywhere(AuditOptions(dumps=dumps, report=str(report), tables=str(tables), **given))
    hold_against_report(folder)
    assert sorted(path.name for path in folder.glob(".*")) == []
    assert not (report / "tables").exists()
    return tables


def hold_against_report(folder: Path) -> None:
    """Compare the tables of an audit with those that are made of its report."""
    secrets = ["--encryption-config", str(folder / "keys.json")] if (folder / "keys.json").exists() else []
    done = auditor("tables", folder / "report", folder / "again", *secrets)
    assert done.code in (0, 3), done.stderr
    one, other = entries_of(folder / "tables"), entries_of(folder / "again")
    assert one == other
    for kind in one:
        first, second = (table_of(folder / name, kind) for name in ("tables", "again"))
        assert first.schema.equals(second.schema, check_metadata=True)
        assert Counter(map(repr, first.to_pylist())) == Counter(map(repr, second.to_pylist())), kind


def text(document: Any) -> bytes:
    return json.dumps(document).encode()


def odd_values() -> Store:
    """Return objects that no fast path reads as they are, and values that are none."""
    store = bakery()
    own = b'{"apiVersion":"bakery.example.com/v1","kind":"Loaf","metadata":{"name":"NAME","namespace":"north"%s},"spec":%s}'
    values = {
        "twice": own % (b"", b'{"grams":5,"grams":7,"flour":"rye","flour":"wheat"}'),
        "null": own % (b',"labels":null', b'{"grams":null,"shape":null}'),
        "float": own % (b"", b'{"grams":5.0}'),
        "large": own % (b"", b'{"grams":12345678901234567890123}'),
        "rewritten": own % (b',"generation":0,"creationTimestamp":"2026-01-01T00:00:00+02:00"', b"{}"),
        "torn": b'{"apiVersion":"bakery.example.com/v1","kind":"Lo',
        "other-kind": own.replace(b"Loaf", b"Roll") % (b"", b"{}"),
    }
    for name, value in values.items():
        store.put(value.replace(b"NAME", name.encode()), f"/registry/bakery.example.com/loafs/north/{name}")
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "north"},
        "data": {"password": base64.b64encode(b"hunter2").decode()},
    }
    store.put(secret, "/registry/secrets/north/s")
    store.put(loaf("misplaced"), "/registry/bakery.example.com/loafs/north/deep/misplaced")
    return store


def many_loaves() -> Store:
    """Return so many objects that records of their schema are generated; some have nulls, or lack defaults."""
    store = bakery()
    for number in range(150):
        more = {"shape": "flat"} if number % 3 else {}
        store.put(
            loaf(f"many-{number:03}", grams=None if number % 7 == 0 else number, metadata={"generation": 1}, **more)
        )
    return store


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("form", ["etcdctl", "export"])
@pytest.mark.parametrize("made", [odd_values, many_loaves])
def test_rows_are_those_of_the_report(tmp_path: Path, made: Any, form: str, jobs: int) -> None:
    dump = made().write(tmp_path / f"dump.{'json' if form == 'etcdctl' else 'ndjson'}", form)
    tables = tables_of(tmp_path, dump, jobs=jobs)
    assert len(list((tables / LOAVES).iterdir())) > 1


def test_rows_of_the_sample_are_those_of_the_report(tmp_path: Path) -> None:
    tables_of(tmp_path, str(ROOT / "sample-data" / "cluster.db.gz"), shard_bytes=20_000)


@pytest.mark.slow
def test_rows_of_a_fleet_are_those_of_the_report(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, str(ROOT / "sample-data" / "monday" / "*"), jobs=2, shard_bytes=20_000)
    assert len({row["cluster"] for kind in entries_of(tables) for row in rows_of(tables, kind)}) > 1


@pytest.mark.parametrize("options", [{"at": "stored"}, {"at": "served"}, {"at": "v1"}, {"kubernetes": "1.32"}])
def test_rows_are_at_the_storage_version_whatever_is_judged(tmp_path: Path, options: dict[str, str]) -> None:
    two = definition(versions=("v1", "v1beta1"))
    objects = [loaf(f"l{number:02}", version="v1beta1" if number % 2 else "v1") for number in range(80)]
    dump = Store(two, *objects).write(tmp_path / "dump.json", "etcdctl")
    rows = rows_of(tables_of(tmp_path, dump, shard_bytes=1 << 20, **options))
    assert [row["metadata"]["name"] for row in rows] == [f"l{number:02}" for number in range(80)]
    assert {row["stored_version"] for row in rows} == {"v1", "v1beta1"}
    null = '{"metadata.creationTimestamp":null}' if "kubernetes" in options else None  # early releases return it
    assert {row["_rest"] for row in rows} == {null}


def test_objects_that_need_a_webhook_are_as_they_are_stored(tmp_path: Path) -> None:
    objects = {"a/old": placed("a", "old", "v1beta1"), "a/new": placed("a", "new")}
    dump = written(tmp_path / "dump.db", two_versions(conversion=WEBHOOK), objects)
    tables = tables_of(tmp_path, str(dump))
    (folder,) = (kind for kind in entries_of(tables) if kind.endswith("Thing"))
    rows = {row["key"].rpartition("/")[2]: row for row in rows_of(tables, folder)}
    assert json.loads(rows["old"]["stored_object"])["apiVersion"].endswith("v1beta1")
    assert rows["old"]["causes"]
    assert rows["new"]["stored_object"] is None


def test_objects_of_a_lost_webhook_are_as_they_are_stored(tmp_path: Path) -> None:
    dump = without_webhook(tmp_path / "dump.json", SERVICE, service("guild", "other"))
    tables = tables_of(tmp_path, str(dump))
    rows = rows_of(tables, "group=port.example.net/kind=Pilot")
    assert [row["audit_status"] for row in rows if row["stored_object"]] == ["unreadable"]


def test_rows_name_the_causes_of_their_namespaces(tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_text(etcdctl_text(OBJECTS))
    tables = tables_of(tmp_path, str(tmp_path / "dump.json"))
    causes = {row["key"].split("/", 4)[4]: row["causes"] for row in rows_of(tables, "group=a.io/kind=Thing")}
    assert causes["gone/three"] == causes["gone/four"] != causes["going/two"]
    assert [len(causes[name]) for name in ("gone/three", "going/two", "live/one")] == [1, 1, 0]


def test_rows_have_the_ids_of_the_report_where_some_begin_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids are longer where causes of a report begin alike: a shard shows only some of them."""
    monkeypatch.setattr("auditor.causes.keys.ID_DIGITS", 1)
    store = bakery(
        *(loaf(f"bad-{number:02}", **{f"field-{number}": number, "grams": number * 60}) for number in range(9))
    )
    changed = definition(most=4, rules=[f"self.grams != {number * 60} || self.flour == 'x'" for number in range(9)])
    store.put(changed)
    tables = tables_of(tmp_path, store.write(tmp_path / "dump.json", "etcdctl"))
    assert len({len(cause) for row in rows_of(tables) for cause in row["causes"]}) > 1


def test_a_cause_that_the_report_lacks_is_left_out(tmp_path: Path) -> None:
    part = PartTables([], {"aa": "aa11", "bb": "bb22", "cc": "cc33"}, {"bb22"})
    changed = renamed_causes(part, {"aa11": "aa1", "cc33": "cc"})
    assert changed == {"aa": "aa1", "bb": None}
    table = pa.table({"causes": pa.array([["aa", "bb"], None, ["cc"], []], pa.list_(pa.string()))})
    pq.write_table(table, tmp_path / "part.parquet")
    rename_causes(tmp_path / "part.parquet", changed)
    assert pq.read_table(tmp_path / "part.parquet")["causes"].to_pylist() == [["aa1"], None, ["cc"], []]


def test_columns_of_a_fleet_are_those_of_all_its_definitions(tmp_path: Path) -> None:
    changed, other = definition(), definition()
    properties = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["grams"] = {"type": "number"}
    properties["baked"] = {"type": "string", "format": "date-time"}
    other["metadata"]["uid"] = "other"
    (tmp_path / "dumps").mkdir()
    for name, own, objects in (
        ("east", definition(), [loaf("a", grams=4), loaf("b", grams=900)]),
        ("north", other, [loaf("a", grams=4)]),
        ("west", changed, [loaf("b", grams=4.5, baked="2026-01-01T00:00:00Z")]),
        ("zero", definition("Roll"), [loaf("r", kind="Roll")]),
    ):
        Store(own, *objects).write(tmp_path / "dumps" / f"{name}.json", "etcdctl")
    pattern, more = f"{tmp_path}/dumps/*.json", {"cluster": "{1}", "jobs": 2}
    rows = {(row["cluster"], row["metadata"]["name"]): row for row in rows_of(tables_of(tmp_path, pattern, **more))}
    assert [row["spec"]["grams"] for row in rows.values()] == ["4", "900", "4", "4.5"]
    assert rows["east", "b"]["causes"]
    for name in ("report", "tables", "again"):
        shutil.rmtree(tmp_path / name)
    (tmp_path / "dumps" / "west.json").unlink()
    tables = tables_of(tmp_path, pattern, **more)
    assert {row["spec"]["grams"] for row in rows_of(tables)} == {4, 900}
    assert len(entries_of(tables)[LOAVES]["merged"]) == 2
    assert len(entries_of(tables)[LOAVES.replace("Loaf", "Roll")]["sha256"]) == 64


def test_rows_of_changes_are_the_manifests(tmp_path: Path) -> None:
    old = bakery().write(tmp_path / "old.json", "etcdctl")
    new = Store(definition(), loaf("loaf-01", grams=900)).write(tmp_path / "new.ndjson", "export")
    rows = rows_of(tables_of(tmp_path, new, old=(old,)))
    assert [(row["metadata"]["name"], row["impact"]) for row in rows] == [("loaf-01", "blocks-every-update")]


def test_only_objects_of_the_scope_are_rows(tmp_path: Path) -> None:
    dump = bakery().write(tmp_path / "dump.json", "etcdctl")
    rows = rows_of(tables_of(tmp_path, dump, scope=RunScope(namespace="south")))
    assert [row["metadata"]["name"] for row in rows] == ["south"]


def test_what_was_not_judged_is_a_row_without_values(tmp_path: Path) -> None:
    dump = bakery().write(tmp_path / "dump.json", "etcdctl")
    rows = rows_of(tables_of(tmp_path, dump, until=1.0))
    assert len(rows) == 12
    assert {(row["audit_status"], row["metadata"], row["spec"]) for row in rows} == {("unreadable", None, None)}


@pytest.mark.parametrize("fails_in", ["judge", "tables"])
def test_a_shard_that_is_audited_again_has_its_rows_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_in: str
) -> None:
    """An object at which the auditor fails is a row without values; the tables do not read it."""
    whole = {"judge": ShardKeys.rows_of, "tables": KindColumns.batch}[fails_in]

    def fails(*given: Any) -> Any:
        shown = given[1].data if fails_in == "judge" else text([row.object for row in given[1] or ()])
        if b'"loaf-03"' in shown:
            raise MemoryError
        return whole(*given)

    monkeypatch.setattr(*((ShardKeys, "rows_of") if fails_in == "judge" else (KindColumns, "batch")), fails)
    monkeypatch.setattr(ShardAuditor, "uses_fast_paths", lambda *_: False)
    dump = bakery().write(tmp_path / "dump.json", "etcdctl")
    rows = {row["key"].rpartition("/")[2]: row for row in rows_of(tables_of(tmp_path, dump))}
    assert len(rows) == 12
    assert [name for name, row in rows.items() if row["metadata"] is None] == ["loaf-03"]
    assert rows["heavy"]["causes"]


def test_values_of_secrets_are_redacted(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, odd_values().write(tmp_path / "dump.json", "etcdctl"))
    assert rows_of(tables, "group=core/kind=Secret")[0]["data"] == [("password", "(redacted)")]


# ---- reference data


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("upgrade/snapshot.db.gz", "upgrade/snapshot-compacted.db.gz"),
        *("kube/oldapis.db.gz", "kube/tornb.db.gz", "kine/etcdctl-get.json.gz"),
        *("etcd-files/damaged/flip-leaf-value.db.gz", "etcd-files/damaged/truncated-half.db.gz"),
    ],
)
def test_rows_of_recorded_dumps_are_those_of_the_report(tmp_path: Path, name: str) -> None:
    tables_of(tmp_path, str(shared(f"golden/{name}")), shard_bytes=1 << 20, jobs=2)


@pytest.mark.slow
def test_rows_of_an_encrypted_dump_are_those_of_the_report(tmp_path: Path) -> None:
    folder = shared("golden/encrypted/aescbc")
    shutil.copy(folder / "encryption-config.json", tmp_path / "keys.json")
    tables_of(tmp_path, str(folder / "snapshot.db.gz"), encryption_config=str(tmp_path / "keys.json"))
