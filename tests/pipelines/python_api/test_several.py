"""`auditor.open` of several dumps, of an earlier state, and of typed tables."""

from __future__ import annotations

import datetime
import gzip
from typing import TYPE_CHECKING, Any

import pytest

import auditor
from auditor.base.errors import PlanError
from tests.command import auditor as run
from tests.pipelines.nights.support import Store, definition, loaf
from tests.questions.shop import dump_of
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the dumps of two clusters, the shop with its past, the sample, and its typed tables."""
    made = tmp_path_factory.mktemp("several")
    (made / "dumps").mkdir()
    Store(definition(), loaf("a"), loaf("b")).write(made / "dumps" / "east.json", "etcdctl")
    Store(definition(), loaf("a", grams=500)).write(made / "dumps" / "west.json", "etcdctl")
    dump_of("snapshot.db", made)
    (made / "cluster.db").write_bytes(gzip.decompress((ROOT / "sample-data" / "cluster.db.gz").read_bytes()))
    run("tables", "cluster.db", "tables", cwd=made)
    return made


def names(opened: Any, kind: str = "loafs") -> list[tuple[str, str]]:
    return [(obj.cluster, obj.name) for obj in opened.objects(kind)]


BOTH = [("east", "a"), ("east", "b"), ("west", "a")]


def test_a_pattern_opens_the_dumps_of_clusters(folder: Path) -> None:
    with auditor.open(f"{folder}/dumps/*.json") as opened:
        assert names(opened) == BOTH
        assert opened.table("loafs", ["cluster", "spec"]).num_rows == 3
        assert "east.json: etcdctl-json" in repr(opened)
        assert "west.json" in repr(opened)
        [row] = [row for row in opened.kinds().to_pylist() if row["kind"] == "Loaf"]
        assert row["objects"] == 3


def test_a_list_is_one_cluster_unless_clusters_are_named(folder: Path) -> None:
    paths = [folder / "dumps" / "east.json", str(folder / "dumps" / "west.json")]
    assert names(auditor.open(paths)) == [("", "a"), ("", "b"), ("", "a")]
    assert names(auditor.open(paths, cluster_name="{name}")) == BOTH
    assert names(auditor.open([f"{folder}/dumps/e*.json", f"{folder}/dumps/w*.json"], cluster_name="{name}")) == BOTH


def test_a_pattern_of_one_dump_is_that_dump(folder: Path) -> None:
    with auditor.open(f"{folder}/dumps/e*.json") as opened:
        assert [name for _, name in names(opened)] == ["a", "b"]


def test_clusters_are_audited_together(folder: Path) -> None:
    with auditor.open(f"{folder}/dumps/*.json") as opened, opened.audit(jobs=1) as report:
        assert {row["cluster"] for row in report.objects().to_pylist()} == {"east", "west"}
        assert names(report) == BOTH
        with pytest.raises(PlanError, match="these are dumps of several clusters; expected the dump of one"):
            opened.upgrade(str(folder / "dumps"))


@pytest.mark.parametrize(
    "as_of",
    [
        "2026-03-08T00:00:00Z",
        datetime.datetime(2026, 3, 8, tzinfo=datetime.UTC),
        datetime.datetime(2026, 3, 8),  # noqa: DTZ001 - a time without a zone is of UTC
        datetime.timedelta(days=2, hours=12),
    ],
)
@pytest.mark.filterwarnings("ignore:note")
def test_an_earlier_state_is_opened(folder: Path, as_of: Any) -> None:
    def color(opened: Any) -> str:
        return next(obj["spec"]["color"] for obj in opened.objects("widgets") if obj.name == "front")

    assert color(auditor.open(folder / "snapshot.db")) == "green"
    assert color(auditor.open(folder / "snapshot.db", as_of=as_of)) == "blue"


@pytest.mark.filterwarnings("ignore")
def test_a_revision_is_opened_also_by_a_report(folder: Path, tmp_path: Path) -> None:
    run("audit", folder / "cluster.db", "--report", tmp_path / "report", "--fail-on", "never")
    for path in (folder / "cluster.db", tmp_path / "report"):
        words = ("query", path, "loaves", "--as-of", 20, "-o", "name")
        if path.name == "report":
            words = (*words, "--dump", folder / "cluster.db")
        shown = [line.partition("/")[2] for line in run(*words).stdout.splitlines()]
        dumps = () if path.name == "cluster.db" else folder / "cluster.db"
        assert [obj.name for obj in auditor.open(path, as_of=20, dumps=dumps).objects("loaves")] == shown
        assert len(shown) < 32


def test_typed_tables_are_opened(folder: Path) -> None:
    with auditor.open(folder / "tables") as tables:
        [row] = [row for row in tables.kinds().to_pylist() if row["kind"] == "Loaf"]
        expected = {"name": "loaves.bakery.example.com", "group": "bakery.example.com", "version": "v1", "objects": 32}
        assert row == {"kind": "Loaf", **expected}
        assert tables.table("loaves", ["key", "spec"]).num_rows == 32
        with pytest.warns(UserWarning, match="when the tables were written"):
            assert tables.table("orders").num_rows == 4
        assert repr(tables) == f"<OpenedTables {folder / 'tables'}: 5 kinds>"
        assert dir(tables) == ["close", "kinds", "sql", "table"]


def test_typed_tables_answer_sql(folder: Path) -> None:
    pytest.importorskip("duckdb")
    found = auditor.open(folder / "tables").sql("SELECT count(*) AS n FROM loaves WHERE spec.flour = 'rye'")
    assert found.to_pylist() == [{"n": 14}]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda path: auditor.open(path / "tables", as_of=4), "as_of: has no effect on typed tables"),
        (lambda path: auditor.open(path / "tables", show_secrets=True), "show_secrets: has no effect on typed tables"),
        (
            lambda path: auditor.open([path / "tables", path / "cluster.db"]),
            "is a report or typed tables; expected dumps",
        ),
        (lambda path: auditor.open(path / "tables", cluster_name="x"), "cluster_name: "),
        (lambda path: auditor.open(path / "tables").table("loafs"), "did you mean loaves?"),
        (lambda path: auditor.open(path / "tables").table("loaves", ["x"]), "columns: loaves has no column 'x'"),
        (lambda path: auditor.open(path / "tables").table(5), "kind: int is given"),
    ],
)
def test_wrong_input_is_an_error(folder: Path, call: Any, words: str) -> None:
    with pytest.raises(PlanError) as raised:
        call(folder)
    assert words in str(raised.value)
