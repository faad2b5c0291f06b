"""Batches of values give the rows of an audit, here and in the engines that the examples of `audit_batches` are for."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import auditor
from auditor.base.errors import PlanError
from auditor.plan.dumps import open_live, open_values
from auditor.plan.options import AuditOptions, RunScope
from auditor.plan.run_plan import make_plan
from pipelines.run.audit import run_audit
from tests.documents import definition_of
from tests.shared import ROOT

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"
NOT_OURS = ("source", "offset", "length")


def definition(maximum=5):
    schema = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "maximum": maximum},
            "shape": {"type": "string", "default": "round"},
        },
        "x-kubernetes-validations": [{"rule": "!has(self.size) || self.size != 4"}],
    }
    return definition_of(schema)


def thing(number, **more):
    metadata = {"name": f"x{number}", "namespace": "d", "uid": f"u{number}"}
    value = {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": metadata, "size": number % 10, **more}
    return json.dumps(value).encode()


def key(number):
    return f"/registry/x.example.com/xs/d/x{number}".encode()


def batch(count, start=0):
    numbers = range(start, start + count)
    return pa.record_batch({"key": [key(n) for n in numbers], "value": [thing(n) for n in numbers]})


def rows(batches, definitions, table="objects", **more):
    return pa.Table.from_batches(
        auditor.audit_batches(batches, definitions, table=table, **more), auditor.batch_schema(table)
    ).to_pylist()


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """The sample as (values of its live keys, its definitions, objects and findings of its report)."""
    folder = tmp_path_factory.mktemp("sample")
    run_audit(AuditOptions(dumps=(str(SAMPLE),), report=str(folder / "r"), fail_on="never"))
    (folder / "spool").mkdir()
    plan = make_plan(AuditOptions(dumps=(str(SAMPLE),)), folder / "spool")
    live, values = open_live(plan.sources[0]), open_values(plan.sources[0])
    spans = zip(live["offset"].to_pylist(), live["length"].to_pylist(), strict=True)
    stored = live.select(["key", "create_revision", "mod_revision", "key_version"]).append_column(
        "value", pa.array([values[at : at + length] for at, length in spans], pa.binary())
    )
    documents = [json.loads(line) for line in (folder / "r" / "definitions.ndjson").read_text().splitlines()]
    tables = {}
    for name in ("objects", "findings"):
        parts = [pq.read_table(path) for path in sorted((folder / "r" / name).glob("*"))]
        tables[name] = [
            {column: None if column in NOT_OURS and column in row else value for column, value in row.items()}
            for part in parts
            for row in part.to_pylist()
        ]
    return stored, documents, tables


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("table", ["objects", "findings"])
def test_rows_are_those_of_an_audit_whatever_the_batches(sample, table, size):
    stored, documents, tables = sample
    found = rows(stored.to_batches(max_chunksize=size), documents, table)
    assert found == tables[table]
    assert len(found) == {"objects": 46, "findings": 5}[table]


def test_a_catalog_does_as_well_as_documents(sample):
    stored, documents, tables = sample
    catalog = auditor.CrdCatalog.from_documents(documents, stored=True)
    assert rows(stored.to_batches(), catalog) == tables["objects"]


def test_each_batch_gives_one_batch_of_the_schema_in_the_order_of_its_rows():
    given = [batch(3), batch(0), batch(12, start=3)]
    for table in ("objects", "findings"):
        made = list(auditor.audit_batches(iter(given), [definition()], table=table))
        assert len(made) == len(given)
        assert all(one.schema == auditor.batch_schema(table) for one in made)
        assert not any(pa.types.is_dictionary(field.type) for field in made[0].schema)
    assert [row["name"] for row in rows(given, [definition()])] == [f"x{number}" for number in range(15)]
    found = [row["name"] for row in rows(given, [definition()], "findings")]
    assert list(dict.fromkeys(found)) == ["x4", "x6", "x7", "x8", "x9", "x14"]


@pytest.mark.parametrize(
    "kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_values_and_keys_may_be_of_any_type_of_text_or_bytes(kind):
    plain = batch(10)
    texts = [pa.array([value.decode() for value in plain[name].to_pylist()]) for name in ("key", "value")]
    other = pa.record_batch(
        [text.dictionary_encode() if pa.types.is_dictionary(kind) else text.cast(kind) for text in texts],
        names=["key", "value"],
    )
    assert rows([other], [definition()]) == rows([plain], [definition()])


def test_without_a_key_an_object_says_itself_what_it_is():
    keys = [key(0), None, None, key(3)]
    mixed = pa.record_batch({"key": pa.array(keys, pa.binary()), "value": [thing(number) for number in range(4)]})
    bare = pa.record_batch({"value": [thing(number) for number in range(4)]})
    found = rows([mixed], [definition()])
    assert [row["stored_version"] for row in found] == ["v1", None, None, "v1"]
    assert [row["name"] for row in found] == ["x0", "x1", "x2", "x3"]
    assert found[1:3] == rows([bare], [definition()])[1:3]


def test_an_unknown_revision_stays_unknown_and_costs_no_code():
    [bare] = rows([batch(1)], [definition()])
    assert bare["mod_revision"] is None
    assert (bare["put_code"], bare["label_code"]) == (200, 200)
    known = pa.record_batch({"key": [key(0)], "value": [thing(0)], "mod_revision": pa.array([7], pa.int32())})
    assert rows([known], [definition()]) == [{**bare, "mod_revision": 7}]


def test_what_is_no_object_is_a_row():
    given = pa.record_batch({"key": [key(0), b"/registry/health", key(2)], "value": [b"{", b"", None]})
    found = rows([given], [definition()])
    assert [(row["status"], row["size"]) for row in found] == [("unreadable", 1), ("other", 0), ("unreadable", 0)]
    assert found[0]["reason"] == "unexpected end of JSON input"


def test_options_are_those_of_an_audit():
    options = AuditOptions(dumps=(), cluster="north", skip=("rules",), scope=RunScope(fields="metadata.name!=x9"))
    found = rows([batch(10)], [definition()], "findings", options=options, source="lake")
    assert [(row["name"], row["cluster"], row["source"]) for row in found] == [
        (f"x{number}", "north", "lake") for number in range(6, 9)
    ]


def test_other_definitions_and_other_options_are_not_mixed_up():
    for _ in range(2):
        for maximum in (5, 7, 8, 6, 9, 3):
            found = {row["name"] for row in rows([batch(10)], [definition(maximum)], "findings")}
            assert found == {"x4", *(f"x{number}" for number in range(maximum + 1, 10))}
        skipped = AuditOptions(dumps=(), skip=("rules",))
        found = {row["name"] for row in rows([batch(10)], [definition(5)], "findings", options=skipped)}
        assert found == {"x6", "x7", "x8", "x9"}


def test_what_cannot_be_audited_says_so():
    with pytest.raises(PlanError, match="has the columns key, data; expected one named value"):
        rows([pa.record_batch({"key": [b"a"], "data": [b"b"]})], [])
    with pytest.raises(PlanError, match="there is no table 'index'"):
        rows([batch(1)], [], "index")


def test_the_function_with_its_definitions_can_be_pickled():
    audit = pickle.loads(pickle.dumps(partial(auditor.audit_batches, definitions=[definition()], table="findings")))
    [made] = audit([batch(10)])
    assert set(made["name"].to_pylist()) == {"x4", "x6", "x7", "x8", "x9"}


# -- engines -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def stored_parquet(tmp_path):
    (tmp_path / "stored").mkdir()
    for part in range(3):
        pq.write_table(pa.Table.from_batches([batch(100, start=100 * part)]), tmp_path / "stored" / f"{part}.parquet")
    return tmp_path / "stored"


def by_name(found):
    return sorted(found, key=lambda row: int(row["name"][1:]))


@pytest.mark.nightly
def test_ray_data_maps_batches(stored_parquet):
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'ray[data]'")
    pytest.importorskip("ray.data", reason="Ray Data is not installed: pip install 'ray[data]'")
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    documents = [definition()]

    def audit(table: pa.Table) -> pa.Table:
        made = auditor.audit_batches(table.to_batches(), documents, table="findings")
        return pa.Table.from_batches(made, auditor.batch_schema("findings"))

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(address="local", num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False
        dataset = ray.data.read_parquet(str(stored_parquet)).map_batches(audit, batch_format="pyarrow", batch_size=64)
        found = by_name(row for made in dataset.iter_batches(batch_format="pyarrow") for row in made.to_pylist())
    finally:
        ray.shutdown()
    assert len({row["name"] for row in found}) == 150
    assert found == rows([batch(300)], documents, "findings")


SPARK = """
import json, sys
from functools import partial
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
import auditor

definitions, folder, out = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
frame = spark.read.parquet(folder)
for table in ("objects", "findings"):
    audit = partial(auditor.audit_batches, definitions=definitions, table=table)
    made = frame.mapInArrow(audit, from_arrow_schema(auditor.batch_schema(table)))
    made.write.parquet(out + "/" + table)
spark.stop()
"""


@pytest.mark.nightly
def test_spark_maps_in_arrow(stored_parquet, tmp_path):
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install pyspark")
    if shutil.which("java") is None:
        pytest.skip("Java is missing, which Spark needs")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-c", SPARK, json.dumps([definition()]), str(stored_parquet), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for table, count in (("objects", 300), ("findings", 150)):
        found = by_name(pq.read_table(tmp_path / "out" / table).to_pylist())
        assert len({row["name"] for row in found}) == count
        assert found == rows([batch(300)], [definition()], table)
