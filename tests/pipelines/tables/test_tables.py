"""`auditor tables` and `audit --tables`: what they write, what they refuse, and who can read it."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from auditor.plan.options import AuditOptions
from auditor.server.audited_report import AuditedReport
from pipelines.run.audit import run_audit
from pipelines.run.fleet import run_anywhere
from tests.command import auditor
from tests.pipelines.nights.support import Store, bakery, definition, loaf
from tests.pipelines.query.test_listed_rows import WEBHOOK, placed, two_versions, written
from tests.shared import ROOT

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"
LOAVES = "group=bakery.example.com/kind=Loaf"
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "s", "namespace": "north"},
    "data": {"password": base64.b64encode(b"hunter2").decode()},
}


def rows_of(folder: Path, kind: str = LOAVES) -> list[dict[str, Any]]:
    """Return the rows of a kind, in the order of their files."""
    return [row for path in sorted((folder / kind).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def entries_of(folder: Path) -> dict[str, dict[str, Any]]:
    return {entry["folder"]: entry for entry in json.loads((folder / "schema.json").read_bytes())["kinds"]}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return Path(bakery().write(tmp_path / "dump.json", "etcdctl"))


def test_every_kind_of_a_dump_is_a_data_set(tmp_path):
    done = auditor("tables", SAMPLE, "out", cwd=tmp_path)
    assert done.code == 3  # one object is torn
    assert {path.rpartition("/")[0] for path in done.files()} == {
        "out",
        "out/group=core/kind=ConfigMap",
        "out/group=apiextensions.k8s.io/kind=CustomResourceDefinition",
        *(f"out/group=bakery.example.com/kind={kind}" for kind in ("Loaf", "Order", "Oven")),
    }
    assert "ghosts" in done.stderr  # a value of no kind is named
    assert max(map(len, done.stdout.splitlines())) <= 80
    entry = entries_of(tmp_path / "out")[LOAVES]
    assert (entry["rows"], entry["with_rest"], entry["not_read"]) == (32, 0, 0)
    assert (entry["definition"], entry["version"]) == ("loaves.bakery.example.com", "v1")
    types = {column["name"]: column["type"] for column in entry["columns"]}
    assert types["spec"].startswith('struct<"flour": string, "glaze": string, "grams": int64')
    assert types["_rest"] == "json"


def test_rows_are_in_key_order_with_statistics_of_every_leaf(tmp_path):
    assert auditor("tables", SAMPLE, tmp_path / "out", "loaves").code == 0
    path = next((tmp_path / "out" / LOAVES).glob("*.parquet"))
    keys = [row["key"] for row in rows_of(tmp_path / "out")]
    assert keys == sorted(keys)
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = {column.path_in_schema: column for column in map(group.column, range(group.num_columns))}
    assert columns["spec.grams"].statistics.max == 9000
    assert columns["metadata.name"].has_dictionary_page


def test_only_named_kinds_are_written_also_empty_ones(tmp_path):
    done = auditor("tables", SAMPLE, tmp_path / "out", "oven,pods")
    assert done.code == 0, done.stderr
    assert entries_of(tmp_path / "out").keys() == {"group=bakery.example.com/kind=Oven", "group=core/kind=Pod"}
    assert rows_of(tmp_path / "out", "group=core/kind=Pod") == []


def test_an_unknown_kind_writes_nothing(tmp_path):
    done = auditor("tables", SAMPLE, "out", "loavs", cwd=tmp_path)
    assert done.code == 1
    assert "did you mean loaves" in done.stderr
    assert done.files() == []


def test_a_dump_of_no_objects_writes_nothing(tmp_path):
    (tmp_path / "empty.json").write_text('{"header":{"revision":1},"kvs":[],"count":0}')
    done = auditor("tables", "empty.json", "out", cwd=tmp_path)
    assert done.code == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("found", ["file", "folder"])
def test_nothing_is_written_over(tmp_path, dump, found):
    out = tmp_path / "out"
    if found == "folder":
        out.mkdir()
        (out / "mine.txt").touch()
    else:
        out.write_text("mine")
    done = auditor("tables", dump, out)
    assert done.code == 2
    assert "expected a new or empty folder" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dump.json", "out"]
    assert (out / "mine.txt").exists() or out.read_text() == "mine"


def test_an_empty_folder_becomes_that_of_the_tables(tmp_path, dump):
    (tmp_path / "out").mkdir()
    assert auditor("tables", dump, tmp_path / "out").code == 0
    assert (tmp_path / "out" / "schema.json").exists()


def test_a_report_gets_no_tables_inside(tmp_path, dump):
    auditor("audit", dump, "--report", tmp_path / "report", "--fail-on", "never")
    done = auditor("tables", tmp_path / "report", tmp_path / "report" / "tables")
    assert done.code == 2
    assert "which is read" in done.stderr


def test_tables_have_the_permissions_of_the_dump(tmp_path, dump):
    dump.chmod(0o600)
    assert auditor("tables", dump, tmp_path / "out").code == 0
    for path in [tmp_path / "out", *(tmp_path / "out").rglob("*")]:
        assert not path.stat().st_mode & 0o077


def test_values_of_secrets_are_written_only_when_asked(tmp_path):
    dump = Path(Store(SECRET).write(tmp_path / "dump.ndjson", "export"))
    assert auditor("tables", dump, tmp_path / "a").code == 0
    assert auditor("tables", dump, tmp_path / "b", "--show-secrets").code == 0
    secrets = "group=core/kind=Secret"
    assert rows_of(tmp_path / "a", secrets)[0]["data"] == [("password", "(redacted)")]
    assert rows_of(tmp_path / "b", secrets)[0]["data"] == [("password", SECRET["data"]["password"])]
    assert b"aHVudGVy" not in b"".join(path.read_bytes() for path in (tmp_path / "a").rglob("*.parquet"))


def test_objects_are_rows_as_read_or_as_stored(tmp_path, dump):
    auditor("tables", dump, tmp_path / "read", "loafs")
    auditor("tables", dump, tmp_path / "stored", "loafs", "--as", "stored")
    read, stored = ({row["metadata"]["name"]: row for row in rows_of(tmp_path / name)} for name in ("read", "stored"))
    assert read["odd"]["spec"]["shape"] == "round"  # a default
    assert stored["odd"]["spec"]["shape"] is None
    assert read["odd"]["_rest"] is None  # pruned
    assert json.loads(stored["odd"]["_rest"]) == {"spec.extra": 1}
    assert json.loads((tmp_path / "stored" / "schema.json").read_bytes())["as"] == "stored"


def test_what_only_a_webhook_converts_is_kept_as_it_is_stored(tmp_path):
    objects = {"a/old": placed("a", "old", "v1beta1"), "a/new": placed("a", "new")}
    dump = written(tmp_path / "dump.db", two_versions(conversion=WEBHOOK), objects)
    done = auditor("tables", dump, tmp_path / "out", "things")
    assert done.code == 3, done.stderr
    (folder,) = entries_of(tmp_path / "out")
    new, old = rows_of(tmp_path / "out", folder)
    assert (new["metadata"]["name"], new["stored_object"], new["stored_version"]) == ("new", None, "v1")
    assert (old["metadata"], old["audit_status"], old["stored_version"]) == (None, "needs-conversion", "v1beta1")
    assert json.loads(old["stored_object"]) == objects["a/old"]


@pytest.mark.parametrize("form", ["etcdctl", "export"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_audit_writes_the_tables_of_its_report(tmp_path, form, jobs):
    store = bakery()
    store.put(SECRET, "/registry/secrets/north/s")
    dump = store.write(tmp_path / f"dump.{'json' if form == 'etcdctl' else 'ndjson'}", form)
    report, tables = str(tmp_path / "report"), str(tmp_path / "tables")
    more = {"shard_bytes": 1500, "jobs": jobs, "fail_on": "never"}
    run_audit(AuditOptions(dumps=(dump,), report=report, tables=tables, **more))
    assert auditor("tables", report, tmp_path / "again").code in (0, 3)
    one, other = entries_of(Path(tables)), entries_of(tmp_path / "again")
    assert one == other
    assert len(list((Path(tables) / LOAVES).iterdir())) > 1
    for kind in one:
        first, second = (sorted(rows_of(folder, kind), key=repr) for folder in (Path(tables), tmp_path / "again"))
        assert first == second
    rows = {row["metadata"]["name"]: row for row in rows_of(Path(tables))}
    assert (rows["heavy"]["audit_status"], rows["heavy"]["impact"]) == ("invalid", "tolerated-while-unchanged")
    assert rows["loaf-01"]["causes"] == []
    assert len(rows["odd"]["causes"]) == 2
    assert rows_of(Path(tables), "group=core/kind=Secret")[0]["data"] == [("password", "(redacted)")]


def test_the_report_of_an_audit_is_the_same_with_tables(tmp_path, dump):
    for name, more in (("a", {}), ("b", {"tables": str(tmp_path / "tables")})):
        run_audit(AuditOptions(dumps=(str(dump),), report=str(tmp_path / name), fail_on="never", **more))
    one, other = ({path.name: path.read_bytes() for path in (tmp_path / name).rglob("*.parquet")} for name in "ab")
    assert one == other


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--redact"], "the values of objects, which --redact takes out"),
        (["--tables", "report/tables"], "expected two folders"),
        (["--report", "tables/report"], "expected two folders"),
    ],
)
def test_an_audit_refuses_tables_that_it_cannot_write(tmp_path, dump, words, said):
    done = auditor("audit", "dump.json", "--report", "report", "--tables", "tables", *words, cwd=tmp_path)
    assert done.code == 2
    assert said in done.stderr
    assert done.files() == ["dump.json"]


def test_an_audit_that_fails_leaves_no_tables(tmp_path, dump, monkeypatch):
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("auditor.server.tables.shard_tables.write_part", fail)
    done = auditor("audit", "dump.json", "--report", "report", "--tables", "tables", "--jobs", "1", cwd=tmp_path)
    assert done.code == 4
    assert done.files() == ["dump.json"]


def test_rows_of_a_fleet_name_their_cluster(tmp_path):
    changed = definition()
    properties = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["baked"] = {"type": "string", "format": "date-time"}
    properties["grams"] = {"type": "number"}
    (tmp_path / "dumps").mkdir()
    Store(definition(), loaf("a", grams=4)).write(tmp_path / "dumps" / "east.json", "etcdctl")
    Store(changed, loaf("b", grams=4.5, baked="2026-01-01T00:00:00Z")).write(
        tmp_path / "dumps" / "west.json", "etcdctl"
    )
    report = tmp_path / "report"
    run_anywhere(AuditOptions(dumps=(f"{tmp_path}/dumps/*.json",), cluster="{1}", report=str(report), fail_on="never"))
    done = auditor("tables", report, tmp_path / "out", "loafs")
    assert done.code == 0, done.stderr
    rows = {row["cluster"]: row for row in rows_of(tmp_path / "out")}
    assert rows.keys() == {"east", "west"}
    assert [rows[name]["spec"]["grams"] for name in ("east", "west")] == ["4", "4.5"]  # JSON text: the types differ
    assert rows["east"]["spec"]["baked"] is None
    assert rows["west"]["spec"]["baked"].year == 2026
    assert "merged" in next(iter(entries_of(tmp_path / "out").values()))


# ---- nights together


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """The folders of the tables of two nights; on the second the definition has a column more."""
    folder = tmp_path_factory.mktemp("nights")
    changed = definition()
    properties = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["baked"] = {"type": "string", "format": "date-time"}
    first = Store(definition(), loaf("a"), loaf("b", grams=7))
    second = Store(changed, loaf("a"), loaf("c", baked="2026-01-01T00:00:00Z", grams=9))
    for name, store in (("night-1", first), ("night-2", second)):
        dump = store.write(folder / f"{name}.json", "etcdctl")
        assert auditor("tables", dump, folder / name, "loafs").code == 0
    return folder


def test_two_nights_read_together_in_duckdb(nights):
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql(
        f"SELECT metadata.name, max(spec.grams), max(spec.baked)::DATE::VARCHAR, min(kind) "
        f"FROM read_parquet('{nights}/night-*/{LOAVES}/*.parquet', union_by_name = true, hive_partitioning = true) "
        "GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    assert [row[:3] for row in found] == [("a", 5, None), ("b", 7, None), ("c", 9, "2026-01-01")]


def test_two_nights_read_together_in_pyarrow(nights):
    parts = [ds.dataset(nights / name / LOAVES) for name in ("night-1", "night-2")]
    schema = pa.unify_schemas([part.schema for part in parts], promote_options="permissive")
    table = pa.concat_tables([part.to_table() for part in parts], promote_options="permissive").cast(schema)
    assert sorted(row["metadata"]["name"] for row in table.to_pylist()) == ["a", "a", "b", "c"]
    assert ds.dataset(nights / "night-2" / LOAVES).count_rows(ds.field("spec", "grams") > 5) == 1


def test_nights_read_in_polars(nights):
    polars = pytest.importorskip("polars")
    frame = polars.scan_parquet(nights / "night-2" / LOAVES).select(
        polars.col("metadata").struct.field("name"), polars.col("spec").struct.field("baked")
    )
    assert frame.collect().sort("name")["name"].to_list() == ["a", "c"]
    both = [polars.read_parquet(nights / name / LOAVES / "*.parquet") for name in ("night-1", "night-2")]
    assert sum(map(len, both)) == 4


def test_nights_read_in_pandas(nights):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(nights / "night-2" / LOAVES)
    assert sorted(value["grams"] for value in frame["spec"]) == [5, 9]


def test_two_nights_read_in_datafusion(nights):
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    for number in (1, 2):
        context.register_parquet(f"night_{number}", str(nights / f"night-{number}" / LOAVES))
    text = "SELECT metadata['name'] AS name, spec['grams'] AS grams FROM night_{} WHERE spec['grams'] > 5"
    found = context.sql(f"{text.format(1)} UNION ALL {text.format(2)} ORDER BY 1").to_pydict()
    assert found == {"name": ["b", "c"], "grams": [7, 9]}


SPARK = """
import json, sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
frame = spark.read.option("mergeSchema", "true").parquet(*sys.argv[1:])
rows = frame.selectExpr("metadata.name", "spec.grams", "year(spec.baked) AS year").orderBy("name", "grams").collect()
print(json.dumps([list(row) for row in rows]))
spark.stop()
"""


@pytest.mark.nightly
def test_two_nights_read_together_in_spark(nights):
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")
    if shutil.which("java") is None:
        pytest.skip("Java is missing, which Spark needs")
    folders = [str(nights / name / LOAVES) for name in ("night-1", "night-2")]
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([sys.executable, "-c", SPARK, *folders], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout) == [["a", 5, None], ["a", 5, None], ["b", 7, None], ["c", 9, 2026]]


def test_what_a_report_says_is_read_once_for_all_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = tmp_path / "report"
    made: list[Any] = []
    assert auditor("audit", SAMPLE, "--report", report, "--fail-on", "never", "--quiet").code == 0
    first = AuditedReport.__init__

    def counted(self: AuditedReport, *given: Any) -> None:
        made.append(self)
        first(self, *given)

    monkeypatch.setattr(AuditedReport, "__init__", counted)
    auditor("tables", report, tmp_path / "tables")
    assert len(list((tmp_path / "tables").glob("group=*/kind=*"))) > 2
    assert len(made) == 1
