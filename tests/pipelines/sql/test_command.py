"""`auditor sql`: what it answers of a dump, of a report and of a fleet, in which form, and what it says of what it lacks."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from tests.command import auditor
from tests.questions.shop import dump_of
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.command import Ended

UNREADABLE = "note: 1 object of orders.bakery.example.com is not readable: its row has nulls\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the sample as a dump, its report, the report of a fleet, and the shop."""
    made = tmp_path_factory.mktemp("sql")
    (made / "cluster.db").write_bytes(gzip.decompress((ROOT / "sample-data" / "cluster.db.gz").read_bytes()))
    (made / "fleet").mkdir()
    for name in ("east", "west"):
        shutil.copyfile(made / "cluster.db", made / "fleet" / f"{name}.db")
    for words in (("cluster.db", "--report", "report"), ("fleet/*.db", "--cluster-name", "{1}", "--report", "both")):
        done = auditor("audit", *words, "--fail-on", "never", cwd=made)
        assert done.code == 0, done.output
    dump_of("snapshot.db", made)
    return made


def asked(folder: Path, target: str, statement: str, *words: str, code: int = 0) -> Ended:
    done = auditor("sql", target, statement, *words, cwd=folder)
    assert done.code == code, done.output
    return done


def rows(folder: Path, target: str, statement: str, *words: str, code: int = 0) -> list[dict[str, object]]:
    return json.loads(asked(folder, target, statement, *words, "-o", "json", code=code).stdout)


def test_a_kind_is_asked_by_its_plural_or_with_its_group(folder: Path) -> None:
    statement = "SELECT metadata.namespace AS n, count(*) AS c FROM {} WHERE spec.grams > 600 GROUP BY ALL ORDER BY ALL"
    expected = [{"n": "north", "c": 5}, {"n": "south", "c": 5}]
    for name in ("loaves", "LOAVES", '"loaves.bakery.example.com"'):
        for target in ("cluster.db", "report"):
            assert rows(folder, target, statement.format(name)) == expected


def test_an_object_that_cannot_be_read_is_a_row_and_has_a_note(folder: Path) -> None:
    done = asked(folder, "cluster.db", "SELECT count(*) AS n, count(spec) AS s FROM orders", "-o", "csv", code=3)
    assert (done.stdout, done.stderr) == ("n,s\n4,3\n", UNREADABLE)
    [torn] = rows(folder, "cluster.db", "SELECT * FROM orders WHERE audit_status = 'unreadable'", code=3)
    assert {name for name, value in torn.items() if value is not None} == {"key", "mod_revision", "audit_status"}
    asked(folder, "cluster.db", "SELECT count(*) FROM loaves")


def test_secrets_are_redacted_unless_they_are_asked_for(folder: Path) -> None:
    statement = "SELECT data FROM secrets WHERE metadata.name = 'db'"
    assert rows(folder, "snapshot.db", statement) == [{"data": {"password": "(redacted)"}}]
    assert rows(folder, "snapshot.db", statement, "--show-secrets") == [{"data": {"password": "bmV3"}}]


def test_a_dump_has_objects_and_keys_and_says_what_needs_a_report(folder: Path) -> None:
    statement = "SELECT kind, count(*) AS n FROM objects GROUP BY ALL ORDER BY ALL"
    kinds = {row["kind"]: row["n"] for row in rows(folder, "cluster.db", statement)}
    assert kinds == {"ConfigMap": 1, "CustomResourceDefinition": 3, "Loaf": 32, "Order": 4, "Oven": 4}
    [keys] = rows(folder, "cluster.db", "SELECT count(*) AS n, max(mod_revision) AS r, sum(size) > 0 AS s FROM keys")
    assert keys == {"n": 46, "r": 48, "s": True}
    done = asked(folder, "cluster.db", "SELECT * FROM findings", code=2)
    assert done.stderr == (
        'error: there is no table "findings" here: it is a table of a report (auditor audit DUMP --report DIR), and '
        "this is a dump\n"
    )


def test_the_tables_of_a_report_join_by_key_and_cause(folder: Path) -> None:
    statement = """
        SELECT l.metadata.name AS name, l.spec.grams AS grams, f.field, c.severity
        FROM loaves l JOIN findings f USING (key) JOIN causes c USING (cause) WHERE c.title LIKE 'spec.grams%'
    """
    assert rows(folder, "report", statement) == [
        {"name": "too-heavy", "grams": 9000, "field": "spec.grams", "severity": "medium"}
    ]
    statement = "SELECT o.name, o.cause = c.cause AS same FROM objects o, causes c WHERE c.severity = 'critical' AND list_contains(o.causes, c.cause)"
    assert rows(folder, "report", statement) == [{"name": "order-torn", "same": True}]
    [counts] = rows(folder, "report", "SELECT count(*) AS n, count(DISTINCT key) AS k FROM keys")
    assert counts == {"n": 46, "k": 46}
    sums = (
        "SELECT (SELECT sum(objects) FROM causes) = (SELECT count(*) FROM (SELECT unnest(causes) FROM objects)) AS same"
    )
    assert rows(folder, "report", sums) == [{"same": True}]


def test_a_fleet_has_all_clusters_and_cluster_chooses(folder: Path) -> None:
    statement = "SELECT cluster, count(*) AS n FROM {} GROUP BY ALL ORDER BY ALL"
    for name, count in {"loaves": 32, "objects": 46, "findings": 5, "causes": 8, "keys": 46}.items():
        both = [{"cluster": "east", "n": count}, {"cluster": "west", "n": count}]
        assert rows(folder, "both", statement.format(name)) == both
        assert rows(folder, "both", statement.format(name), "--cluster", "west") == both[1:]


def test_a_report_without_its_dump_has_its_tables_alone(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "report", tmp_path / "report")
    assert rows(tmp_path, "report", "SELECT count(*) AS n FROM findings") == [{"n": 5}]
    done = asked(tmp_path, "report", "SELECT * FROM loaves", code=2)
    assert 'there is no table "loaves" here: an index has no whole objects; name the dump of the report' in done.stderr


def test_values_as_stored_and_earlier_states(folder: Path) -> None:
    stored = "SELECT spec.shape AS shape, count(*) AS n FROM loaves GROUP BY ALL ORDER BY ALL"
    assert rows(folder, "cluster.db", stored) != rows(folder, "cluster.db", stored, "--as", "stored")
    assert rows(folder, "cluster.db", "SELECT count(*) AS n FROM loaves", "--as-of", "5") == [{"n": 1}]


FORMS = {
    "ndjson": '{"key":"a","t":"2026-01-01T00:00:00Z","m":{"x":[1]},"n":null}\n',
    "csv": 'key,t,m,n\na,2026-01-01T00:00:00Z,"{""x"":[1]}",\n',
    "markdown": '| key | t | m | n |\n|---|---|---|---|\n| a | 2026-01-01T00:00:00Z | {"x":\\[1\\]} |  |\n',
    "table": 'KEY  T                     M          N\na    2026-01-01T00:00:00Z  {"x":[1]}  -\n(1 row)\n',
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_an_answer(folder: Path, form: str) -> None:
    statement = "SELECT 'a' AS key, TIMESTAMPTZ '2026-01-01 00:00:00Z' AS t, map {'x': [1]} AS m, NULL AS n"
    assert asked(folder, "cluster.db", statement, "-o", form).stdout == FORMS[form]


def test_parquet_goes_to_a_file_or_to_standard_output(folder: Path, tmp_path: Path) -> None:
    statement = "SELECT key, spec.flour, metadata FROM loaves ORDER BY key"
    path = tmp_path / "loaves.parquet"
    asked(folder, "cluster.db", statement, "-o", f"parquet={path}")
    asked(folder, "cluster.db", "SELECT _rest, stored_object, key FROM loaves", "-o", f"parquet={tmp_path / 'x'}")
    marks = [(field.metadata or {}).get(b"auditor.json") for field in pq.read_schema(tmp_path / "x")]
    assert marks == [b"true", b"true", None]
    table = pq.read_table(path)
    assert (table.num_rows, table.column_names) == (32, ["key", "flour", "metadata"])
    done = auditor("sql", "cluster.db", statement, "-o", "parquet", cwd=folder)
    assert pq.read_table(io.BytesIO(done.stdout.encode("utf-8", "surrogateescape"))).equals(table)
    refused = asked(folder, "cluster.db", "SELECT INTERVAL 1 DAY AS i", "-o", "parquet", code=2)
    assert "-o parquet: Parquet does not have a type of the answer" in refused.stderr


def test_a_table_fits_eighty_columns_and_says_what_is_cut(folder: Path) -> None:
    for statement in ("SELECT key, spec FROM loaves", "SELECT * FROM loaves", "SELECT repeat('x', 200) AS x"):
        lines = asked(folder, "cluster.db", statement).stdout.splitlines()
        assert max(map(len, lines)) <= 80
        assert lines[-1].endswith("; cells that end in … are cut, -o wide prints them whole)")
    assert "-- row 32\nCLUSTER" in asked(folder, "cluster.db", "SELECT * FROM loaves").stdout
    wide = asked(folder, "cluster.db", "SELECT key, spec FROM loaves", "-o", "wide").stdout
    assert "…" not in wide
    assert wide.endswith("(32 rows)\n")
    assert asked(folder, "cluster.db", "SELECT key FROM loaves WHERE false").stdout == "KEY\n(0 rows)\n"


def test_columns_are_described_down_to_a_field(folder: Path) -> None:
    listed = asked(folder, "report", "\\d").stdout
    assert [line.split()[0] for line in listed.splitlines()[1:-1]] == [
        *("objects", "findings", "causes", "keys"),
        *("configmaps", "customresourcedefinitions", "loaves", "orders", "ovens"),
    ]
    assert "kinds without objects: \\d * lists them" in listed
    assert "pods" in asked(folder, "report", "\\d *").stdout
    columns = {row["column"]: row["type"] for row in rows(folder, "report", "\\d loaves")}
    assert columns["spec"] == "STRUCT(flour, glaze, grams, seeds, shape)"
    assert columns["_rest"] == "VARCHAR, JSON text"
    assert rows(folder, "report", "\\d loaves.spec")[2] == {"column": "grams", "type": "BIGINT"}
    assert rows(folder, "report", '\\d "loaves.bakery.example.com".spec.seeds') == [
        {"column": "seeds", "type": "VARCHAR"}
    ]
    assert "has no field spec.sugar" in asked(folder, "report", "\\d loaves.spec.sugar", code=2).stderr
    assert "did you mean loaves?" in asked(folder, "report", "\\d loafs", code=2).stderr
    assert "there is no command" in asked(folder, "report", "\\x", code=2).stderr


def test_a_statement_is_read_from_standard_input(folder: Path) -> None:
    done = auditor("sql", "cluster.db", "-o", "csv", cwd=folder, stdin="SELECT count(*) AS n\nFROM loaves;\n")
    assert (done.code, done.stdout) == (0, "n\n32\n")
    assert auditor("sql", "cluster.db", cwd=folder).code == 2
    assert "standard input is the dump" in auditor("sql", "-", cwd=folder).stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("cluster.db", "COPY loaves TO 'x'"), "error: COPY is refused, because a statement may only read; expected"),
        (
            ("cluster.db", "PIVOT loaves ON kind USING count(*)"),
            "error: PIVOT ... ON without IN is refused, because Duck",
        ),
        (("nosuch.db", "SELECT 1"), "error: nosuch.db: there is no such file"),
        (
            ("cluster.db", "SELECT * FROM loavs"),
            'error: there is no kind or table "loavs"; did you mean loaves or ovens?\n',
        ),
        (("cluster.db", "SELEC 1"), 'error: Parser Error: syntax error at or near "SELEC"\n    LINE 1: SELEC 1\n'),
        (("cluster.db", "SELECT 1", "-o", "xml"), "'xml' is not a form; expected table, wide, json"),
        (("cluster.db", "SELECT 1", "--cluster", "a"), "a dump is of one cluster"),
    ],
)
def test_mistakes_end_with_two_and_say_what_is_wrong(folder: Path, words: tuple[str, ...], expected: str) -> None:
    done = auditor("sql", *words, cwd=folder)
    assert (done.code, done.stdout) == (2, "")
    assert expected in done.stderr


def test_what_is_in_a_dump_cannot_control_the_terminal(folder: Path) -> None:
    done = asked(folder, "cluster.db", "SELECT chr(27) || '[2J' AS x, chr(10) || 'y' AS y")
    assert done.stdout == "X          Y\n\\u001b[2J  \\ny\n(1 row)\n"
    explained = asked(folder, "cluster.db", "EXPLAIN SELECT chr(27) AS x FROM loaves").stdout
    assert "\x1b" not in explained
    assert next(csv.reader(io.StringIO(asked(folder, "cluster.db", "SELECT '=1+1' AS x", "-o", "csv").stdout))) == ["x"]


def test_typed_tables_are_asked_as_the_dump_is(folder: Path, tmp_path: Path) -> None:
    done = auditor("tables", "cluster.db", tmp_path / "tables", cwd=folder)
    assert done.code == 3, done.output
    for statement in (
        "SELECT key, spec.grams AS grams FROM loaves WHERE spec.flour = 'rye' AND spec.grams > 300 ORDER BY key",
        'SELECT c.metadata.name AS n, data FROM configmaps c, "loaves.bakery.example.com" LIMIT 1',
    ):
        assert rows(tmp_path, "tables", statement) == rows(folder, "cluster.db", statement)
    done = asked(tmp_path, "tables", "SELECT count(*) AS n FROM orders", "-o", "csv", code=3)
    note = (
        "note: 1 object of orders.bakery.example.com was not readable when the tables were written: its row has nulls, "
    )
    assert done.stdout == "n\n4\n"
    assert done.stderr == f"{note}and in stored_object what only a webhook could convert\n"
    assert "ask the dump or the report" in asked(tmp_path, "tables", "SELECT * FROM findings", code=2).stderr
    assert "loaves" in asked(tmp_path, "tables", "\\d").stdout
    assert "has no effect on typed tables" in asked(tmp_path, "tables", "SELECT 1", "--as-of", "3", code=2).stderr
    schemas = json.loads((tmp_path / "tables" / "schema.json").read_text())
    schemas["kinds"][0]["folder"] = "../x"
    (tmp_path / "tables" / "schema.json").write_text(json.dumps(schemas))
    assert (
        "is damaged: ValueError(\"it names the folder '../x'\")" in asked(tmp_path, "tables", "SELECT 1", code=2).stderr
    )


def test_typed_tables_have_the_values_that_they_were_written_with(folder: Path, tmp_path: Path) -> None:
    flags = (("--as", "stored"), ("--show-secrets",))
    for name, words in {"read": (), "stored": ("--as", "stored", "--show-secrets")}.items():
        done = auditor("tables", "snapshot.db", tmp_path / name, "secrets", *words, cwd=folder)
        assert done.code == 0, done.output
    for words in flags:
        done = asked(tmp_path, "read", "SELECT 1", *words, code=2)
        assert f"{' '.join(words)}: these typed tables were written without it; ask the dump" in done.stderr
        asked(tmp_path, "stored", "SELECT 1", *words)
    statement = "SELECT data['password'] AS p FROM secrets WHERE metadata.name = 'db'"
    assert rows(tmp_path, "stored", statement, "--show-secrets") == [{"p": "bmV3"}]


def test_intervals_are_written_as_duckdb_writes_them(folder: Path) -> None:
    values = (
        *("INTERVAL 14 MONTH", "INTERVAL (-13) MONTH", "INTERVAL 0 DAY", "INTERVAL 1500 MILLISECOND"),
        "TIMESTAMP '2026-01-01 00:00:00' - TIMESTAMP '2025-10-08 06:30:00'",
        "INTERVAL 1 MICROSECOND - INTERVAL 3 DAY",
        "INTERVAL 12 MONTH - INTERVAL 100 HOUR",
    )
    statement = f"SELECT i, {{'t': i}} AS s, i::VARCHAR AS v FROM unnest([{', '.join(values)}]) AS u(i)"
    made = rows(folder, "cluster.db", statement)
    assert made[4]["i"] == "84 days 17:30:00"
    for row in made:
        assert row == {"i": row["v"], "s": {"t": row["v"]}, "v": row["v"]}
    assert "84 days 17:30:00" in asked(folder, "cluster.db", statement).stdout


@pytest.mark.parametrize(("form", "cell"), [("csv", '"[""a, b"",null]",[],\n'), ("markdown", '"a, b",null')])
def test_lists_are_json_in_cells(folder: Path, form: str, cell: str) -> None:
    statement = "SELECT ['a, b', NULL] AS l, []::VARCHAR[] AS e, NULL::VARCHAR[] AS n"
    assert cell in asked(folder, "cluster.db", statement, "-o", form).stdout


def test_where_damage_may_have_taken_a_definition_the_exit_code_is_three(tmp_path: Path) -> None:
    whole = (ROOT / "sample-data" / "cluster.db.gz").read_bytes()
    (tmp_path / "torn.db.gz").write_bytes(whole[: len(whole) // 2])
    lost = "part of the dump could not be read, and the definition of a kind may have been there"
    for statement in ("FROM loaves", "\\d loaves"):
        done = asked(tmp_path, "torn.db.gz", statement, code=3)
        assert f'error: there is no kind or table "loaves"; did you mean leases?; {lost}\n' in done.stderr
    assert "it is a table of a report" in asked(tmp_path, "torn.db.gz", "FROM findings", code=2).stderr
    for kinds in (("loaves",), ()):
        done = auditor("tables", "torn.db.gz", "out", *kinds, cwd=tmp_path)
        assert (done.code, done.stderr.splitlines()[-1]) == (3, f"note: {lost}")
        assert not (tmp_path / "out").exists()


def test_typed_tables_are_no_dump_of_other_commands(folder: Path, tmp_path: Path) -> None:
    auditor("tables", "cluster.db", tmp_path / "tables", cwd=folder)
    for words in (("tables", "tables", "out"), ("audit", "tables", "--report", "out"), ("query", "tables", "loaves")):
        done = auditor(*words, cwd=tmp_path)
        assert "tables: these are typed tables, and no dump; `auditor sql` reads them" in done.stderr
        assert (done.code, [path.name for path in tmp_path.iterdir()]) == (2, ["tables"])
