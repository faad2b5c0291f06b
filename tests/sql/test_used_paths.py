"""Which fields a statement names, and that an answer over narrowed columns is the answer over whole ones."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from auditor.server import kind_batches
from auditor.sql import engine
from tests.command import auditor
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("duckdb")

from auditor.sql.statements import connection
from auditor.sql.used_paths import used_paths

NAMED = [
    ("SELECT spec.x FROM a", {"spec.x"}),
    ("SELECT spec.X.y, A.Spec.z FROM A", {"spec.x.y", "spec.z"}),
    ("SELECT c.spec.x AS n FROM a c WHERE c.spec.y[1] > 2 ORDER BY n", {"spec.x", "spec.y", "n"}),
    ("SELECT spec.x, spec FROM a", {"spec.x", "spec"}),
    ("SELECT spec['x'], struct_extract(spec, 'y') FROM a", {"spec"}),
    ("SELECT count(*) FROM a JOIN b USING (k) WHERE a.spec.x = 1", {"k", "spec.x"}),
    ("SELECT a.spec.x FROM a JOIN b ON a.m.u = b.m.u", {"spec.x", "m.u"}),
    ("SELECT spec.x FROM a UNION ALL SELECT m.n FROM b", {"spec.x", "m.n"}),
    ("SELECT u.d FROM a, unnest(a.spec.y) u(d)", {"spec.y", "d"}),
    ("WITH s AS (SELECT spec AS t FROM a) SELECT t.x FROM s", {"spec", "t.x"}),
    ("SELECT list_filter(spec.r, lambda e: e.x = 1) FROM a", {"spec.r", "e.x"}),
    ("SELECT sum(spec.z) OVER (PARTITION BY spec.y) FROM a QUALIFY spec.m > 1", {"spec.z", "spec.y", "spec.m"}),
    ("SELECT (SELECT max(b.spec.y) FROM b WHERE b.spec.q = a.spec.q) FROM a", {"spec.y", "spec.q"}),
]
UNNAMED = [
    *["SELECT * FROM a", "FROM a", "SELECT a.* FROM a", "SELECT * EXCLUDE (spec) FROM a", "SELECT spec.* FROM a"],
    *["SELECT a FROM a", "SELECT c, spec.x FROM a c", "SELECT to_json(a), spec.x FROM a", "SELECT main.a FROM main.a"],
    *["SELECT spec.x FROM a NATURAL JOIN b", "SELECT #1 FROM a", "SELECT COLUMNS('s.*') FROM a", "SELECT t.q FROM a t(q)"],
    *["DESCRIBE a", "SUMMARIZE a", "EXPLAIN SELECT spec.x FROM a", "PIVOT a ON k USING sum(v)", "SHOW TABLES"],
    *["SELECT spec.x, _rest FROM a", "SELECT x FROM query('SELECT spec.x FROM a')", "SELECT x FROM query_table('a')"],
    *["WITH s AS (FROM a) SELECT spec.x FROM s", "SELECT spec.x FROM (SELECT * FROM a)", "UNPIVOT a ON k, l"],
]  # fmt: skip


@pytest.mark.parametrize(("statement", "paths"), NAMED, ids=[statement for statement, _ in NAMED])
def test_the_paths_of_a_statement_are_all_ends_of_its_references(statement: str, paths: set[str]) -> None:
    used = used_paths(connection(), statement)
    assert used is not None
    assert {tuple(path.split(".")) for path in paths} <= used
    assert not {path for path in used if path[0] == "spec"} - {tuple(path.split(".")) for path in paths}


@pytest.mark.parametrize("statement", UNNAMED)
def test_a_statement_that_may_use_fields_without_naming_them_uses_all(statement: str) -> None:
    assert used_paths(connection(), statement) is None


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sample") / "cluster.db"
    path.write_bytes(gzip.decompress((ROOT / "sample-data" / "cluster.db.gz").read_bytes()))
    return path


STATEMENTS = [
    "SELECT metadata.name, spec.grams FROM loaves WHERE spec.flour = 'rye' ORDER BY metadata.name",
    "SELECT key, spec.seeds[1] AS first FROM loaves ORDER BY key",
    "SELECT spec.flour, count(*) AS n FROM loaves GROUP BY ALL ORDER BY ALL",
    "SELECT l.metadata.name, o.metadata.name FROM loaves l JOIN orders o ON l.metadata.namespace = o.metadata.namespace ORDER BY ALL",
    "SELECT audit_status, metadata.name FROM orders ORDER BY key",
    "SELECT x.name FROM (SELECT metadata AS x FROM loaves) ORDER BY 1",
    "SELECT to_json(spec)::VARCHAR AS j, spec.grams FROM loaves ORDER BY key",
    "SELECT loaves, spec.grams FROM loaves ORDER BY key LIMIT 2",
    "SELECT spec.gram FROM loaves",
    "SELECT metadata.nam FROM loaves",
    "SELECT spec.flour.x FROM loaves",
]  # fmt: skip


@pytest.mark.parametrize("few", [1, 10**9], ids=["records", "objects"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_answers_are_those_over_whole_columns(dump: Path, statement: str, few: int) -> None:
    with mock.patch.object(kind_batches, "ENOUGH_FOR_RECORDS", few):
        compare(dump, statement)


def compare(dump: Path, statement: str) -> None:
    """Compare the answer over narrowed columns with that over whole ones."""
    narrow = auditor("sql", dump, statement, "-o", "json")
    with mock.patch.object(engine, "used_paths", return_value=None):
        whole = auditor("sql", dump, statement, "-o", "json")
    assert (narrow.code, narrow.stdout, narrow.stderr) == (whole.code, whole.stdout, whole.stderr)
    assert narrow.code in (1, 2, 3) or json.loads(narrow.stdout)


def test_answers_about_a_built_in_kind_are_those_over_whole_columns(tmp_path: Path) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "n", "labels": {"app": "x"}}}
    spec = {"nodeName": "w", "containers": [{"name": "a", "image": "i"}, {"name": "b"}], "unknown": 1}
    pods = [{**pod, "metadata": {**pod["metadata"], "name": f"p{number}"}, "spec": spec} for number in range(3)]
    (tmp_path / "pods.ndjson").write_text("\n".join(map(json.dumps, pods)))
    for statement in (
        "SELECT metadata.labels['app'] AS a, spec.nodeName FROM pods ORDER BY metadata.name",
        "SELECT u.c.name AS n, u.c.image AS i FROM pods, unnest(spec.containers) u(c) ORDER BY ALL",
    ):
        compare(tmp_path / "pods.ndjson", statement)
