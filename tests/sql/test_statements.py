"""A statement reads what it is given, and nothing else: each way out of DuckDB is closed, or refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from auditor.base.errors import PlanError, SqlError
from auditor.sql import View, Views, run_statement
from auditor.sql.statements import READS, duckdb

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SCHEMA = pa.schema([("a", pa.int64())])


def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"a": [1, 2]}, schema=SCHEMA).select(list(columns))


VIEWS = Views([View("numbers", "", lambda: SCHEMA, read)])

READING = (
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM read_blob('{file}')",
    "SELECT * FROM read_json('{file}')",
    "SELECT * FROM read_parquet('{file}')",
    "SELECT * FROM parquet_metadata('{file}')",
    "SELECT * FROM sniff_csv('{file}')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM '{file}'",
    "SELECT * FROM 'https://example.com/x.parquet'",
    "SELECT * FROM read_csv('https://example.com/x.csv')",
    "SELECT * FROM query('SELECT * FROM read_text(''{file}'')')",
    "SELECT * FROM query('COPY (SELECT 1) TO ''{folder}/out''')",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/out'",
    "EXPLAIN ANALYZE ATTACH '{folder}/out'",
    "SELECT getenv('HOME')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM secret_of_this_module",
    "SELECT * FROM VIEWS",
    "SELECT * FROM arrow_scan(1, 2, 3)",
    "SELECT * FROM pandas_scan(1)",
    "SELECT * FROM enable_logging()",
    "WITH x AS (SELECT * FROM read_text('{file}')) SELECT * FROM x",
)
"""Statements that read; what they would reach is closed."""
REFUSED = (
    "COPY numbers TO '{folder}/out'",
    "COPY numbers FROM '{file}'",
    "ATTACH '{folder}/out' AS o",
    "ATTACH 'https://example.com/x.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "FORCE INSTALL httpfs FROM 'https://example.com'",
    "SET enable_external_access = true",
    "SET VARIABLE x = 1",
    "RESET lock_configuration",
    "PRAGMA enable_profiling",
    "CALL pragma_version()",
    "CREATE TABLE t (a INT)",
    "CREATE MACRO f() AS 1",
    "CREATE SECRET s (TYPE s3)",
    "INSERT INTO numbers VALUES (1)",
    "UPDATE numbers SET a = 1",
    "DELETE FROM numbers",
    "DROP VIEW numbers",
    "EXPORT DATABASE '{folder}/out'",
    "IMPORT DATABASE '{folder}'",
    "USE temp",
    "CHECKPOINT",
    "VACUUM",
    "PREPARE p AS SELECT 1",
    "BEGIN",
)

secret_of_this_module = pa.table({"x": ["secret"]})


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "secret.csv").write_text("word\nsecret\n")
    return {"folder": str(tmp_path), "file": str(tmp_path / "secret.csv")}


@pytest.mark.parametrize("statement", READING)
def test_a_statement_reaches_nothing_outside(statement: str, places: dict[str, str]) -> None:
    secret_of_this_module = pa.table({"x": ["secret"]})  # noqa: F841 - a statement could find it by its name
    with pytest.raises(SqlError) as error:
        run_statement(VIEWS, statement.format(**places)).table()
    assert "secret\n" not in str(error.value)
    assert [path.name for path in Path(places["folder"]).iterdir()] == ["secret.csv"]


@pytest.mark.parametrize("statement", REFUSED)
def test_a_statement_that_does_not_read_is_refused_by_its_name(statement: str, places: dict[str, str]) -> None:
    with pytest.raises(SqlError) as error:
        run_statement(VIEWS, statement.format(**places))
    word = statement.split(maxsplit=1)[0]
    assert str(error.value) == f"{word} is refused, because a statement may only read; expected {READS}"
    assert [path.name for path in Path(places["folder"]).iterdir()] == ["secret.csv"]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT a FROM numbers",
        "FROM numbers",
        "WITH n AS (SELECT a FROM numbers) SELECT a FROM n;",
        "-- a comment\nSELECT a FROM NUMBERS",
        "SELECT a FROM query('SELECT a FROM numbers')",
        "TABLE numbers",
    ],
)
def test_statements_that_read_are_answered(statement: str) -> None:
    assert run_statement(VIEWS, statement).table().to_pydict() == {"a": [1, 2]}


@pytest.mark.parametrize(
    "statement", ["VALUES (1)", "DESCRIBE numbers", "SUMMARIZE numbers", "SHOW TABLES", "EXPLAIN SELECT a FROM numbers"]
)
def test_other_statements_that_read_are_answered(statement: str) -> None:
    assert run_statement(VIEWS, statement).table().num_rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", f"there is no statement; expected one: {READS}"),
        ("-- nothing", f"there is no statement; expected one: {READS}"),
        ("SELECT 1; COPY numbers TO 'x'", f"these are 2 statements; expected one: {READS}"),
        ("SELECT a FROM numbers WHERE a = ?", "the statement has parameters ($1 or ?), which have no values here"),
        ("SELECT '\ud800'", "the statement is not valid UTF-8"),
    ],
)
def test_what_is_not_one_statement_is_an_error(text: str, expected: str) -> None:
    with pytest.raises(SqlError) as error:
        run_statement(VIEWS, text)
    assert str(error.value) == expected


def test_settings_are_locked_and_bounded() -> None:
    settings = "SELECT name, value FROM duckdb_settings()"
    values = dict(zip(*run_statement(VIEWS, settings).table().to_pydict().values(), strict=True))
    assert values["enable_external_access"] == "false"
    assert values["lock_configuration"] == "true"
    assert values["python_enable_replacements"] == "false"
    assert values["temp_directory"] == ""
    assert values["TimeZone"] == "UTC"
    assert values["threads"] == "1"


def test_without_duckdb_one_line_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(PlanError, match=r"pip install 'kubernetes-dump-auditor\[sql\]'") as error:
        duckdb()
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2
