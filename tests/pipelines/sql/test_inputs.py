"""`auditor sql` of several inputs, such as the reports of two nights, in one statement."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.command import auditor
from tests.pipelines.nights.support import Store, definition, loaf

if TYPE_CHECKING:
    from pathlib import Path

    from tests.command import Ended

pytest.importorskip("duckdb")

CHANGED = (
    "SELECT t.metadata.name, m.spec.grams AS before, t.spec.grams AS now FROM {0}.loafs m JOIN {1}.loafs t USING (key) "
    "WHERE m.spec.grams IS DISTINCT FROM t.spec.grams"
)


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with dumps, reports and typed tables of two nights; the second has a torn object."""
    folder = tmp_path_factory.mktemp("nights")
    monday = Store(definition(), loaf("a", grams=300), loaf("b", grams=400), loaf("gone", grams=500))
    tuesday = Store(definition(), loaf("a", grams=350), loaf("b", grams=400), loaf("new", grams=0))
    tuesday.put(b"{torn", "/registry/bakery.example.com/loafs/north/torn")
    for name, store in (("monday", monday), ("tuesday", tuesday)):
        store.write(folder / f"{name}.json", "etcdctl")
        auditor("audit", f"{name}.json", "--report", f"out/{name}", "--fail-on", "never", cwd=folder)
        auditor("tables", f"{name}.json", f"tables/{name}", cwd=folder)
    return folder


def asked(nights: Path, *words: str, code: int = 3) -> Ended:
    done = auditor("sql", *words, cwd=nights)
    assert done.code == code, done.output
    return done


def refused(nights: Path, *words: str) -> str:
    done = asked(nights, *words, code=2)
    assert not done.stdout
    return done.stderr


@pytest.mark.parametrize(
    "inputs",
    [
        ("monday.json", "tuesday.json"),
        ("out/monday", "out/tuesday/"),
        ("tables/monday", "tables/tuesday"),
        ("monday=tables/monday", "tuesday=tuesday.json"),
        ("monday=monday.json", "out/tuesday"),
    ],
    ids=" ".join,
)
def test_two_nights_are_joined_in_one_statement(nights: Path, inputs: tuple[str, ...]) -> None:
    done = asked(nights, *inputs, CHANGED.format("monday", "TUESDAY"), "-o", "json")
    assert json.loads(done.stdout) == [{"name": "a", "before": 300, "now": 350}]
    assert done.stderr.count("tuesday: 1 object of loafs.bakery.example.com ") == 1
    assert "monday: " not in done.stderr


def test_tables_of_reports_are_asked_by_night(nights: Path) -> None:
    words = (
        "a=out/monday",
        "b=out/tuesday",
        "SELECT key, status FROM b.objects ANTI JOIN a.objects USING (key)",
        "-o",
        "csv",
    )
    assert "/registry/bakery.example.com/loafs/north/torn,unreadable\n" in asked(nights, *words, code=0).stdout


def test_names_that_sql_does_not_know_are_quoted(nights: Path) -> None:
    words = ("2026-11-23=monday.json", "2026-11-24=out/monday")
    found = asked(nights, *words, CHANGED.format('"2026-11-23"', '"2026-11-24"'), "-o", "json", code=0)
    assert json.loads(found.stdout) == []
    listed = asked(nights, *words, "\\d", code=0).stdout
    assert '\n"2026-11-23".loafs ' in listed
    assert '\n"2026-11-24".causes ' in listed
    assert "grams" in asked(nights, *words, '\\d "2026-11-23".loafs.spec', code=0).stdout
    assert '"2026-11-24".loafs' in asked(nights, *words, "SHOW TABLES", code=0).stdout


def test_a_kind_is_also_named_with_its_group(nights: Path) -> None:
    words = ("a=monday.json", "tuesday.json", 'SELECT count(*) AS n FROM a."loafs.bakery.example.com"', "-o", "ndjson")
    assert asked(nights, *words, code=0).stdout == '{"n":3}\n'


def test_one_input_with_a_name_is_a_schema(nights: Path) -> None:
    assert asked(nights, "a=monday.json", "SELECT count(*) AS n FROM a.loafs", "-o", "csv", code=0).stdout == "n\n3\n"


def test_a_statement_reads_no_other_input(nights: Path) -> None:
    assert not asked(nights, "monday.json", "tuesday.json", "FROM monday.loafs", "-o", "csv", code=0).stderr


def test_what_is_wrong_is_said(nights: Path) -> None:
    two = ("monday.json", "tuesday.json")
    assert "did you mean monday.loafs or tuesday.loafs?" in refused(nights, *two, "FROM loafs")
    assert 'no kind or table "sunday.loafs"; did you mean monday.loafs' in refused(nights, *two, "FROM sunday.loafs")
    absent = refused(nights, "monday.json", "out/tuesday", "FROM monday.findings")
    assert 'there is no table "monday.findings" here: it is a table of a report' in absent
    same = "out/monday: is the second input with the name monday; expected a name for each: NAME=PATH"
    assert same in refused(nights, "monday.json", "out/monday", "FROM monday.loafs")
    assert "main is the name of a schema of DuckDB; expected another name" in refused(
        nights, "main=monday.json", "SELECT 1"
    )
    assert "sunday.json: there is no such file" in refused(nights, "monday.json", "sunday.json", "SELECT 1")
    assert "--dump" in refused(nights, "out/monday", "out/tuesday", "SELECT 1", "--dump", "monday.json")


def test_keys_are_cut_in_the_middle(nights: Path) -> None:
    statement = "SELECT key, key AS again, 'a text with blanks that is cut at its end' AS text FROM monday.loafs"
    lines = asked(nights, "monday=monday.json", statement, code=0).stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert {line.split()[0][-2:] for line in lines[1:3]} == {"/a", "/b"}
    assert lines[1].endswith("…")
