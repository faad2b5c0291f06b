"""`auditor.open`: what a notebook gets of a dump and of a report, and how it says what is wrong."""

from __future__ import annotations

import gc
import gzip
import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import auditor
from auditor.base.errors import AuditorError, PlanError, SelectorError, SqlError
from auditor.releases import active
from tests.command import auditor as run
from tests.questions.shop import dump_of
from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"
UNREAD = "1 object of orders.bakery.example.com is not readable: its row has nulls"


@pytest.fixture(scope="module")
def dump() -> Iterator[auditor.OpenedDump]:
    with auditor.open(SAMPLE) as opened:
        assert isinstance(opened, auditor.OpenedDump)
        yield opened


@pytest.fixture(scope="module")
def report(dump: auditor.OpenedDump, tmp_path_factory: pytest.TempPathFactory) -> auditor.OpenedReport:
    return dump.audit(tmp_path_factory.mktemp("api") / "report", jobs=1)


def test_kinds_that_have_objects_are_listed(dump: auditor.OpenedDump, report: auditor.OpenedReport) -> None:
    rows = {row["name"]: row["objects"] for row in dump.kinds().to_pylist()}
    assert rows == {
        "configmaps": 1,
        "customresourcedefinitions.apiextensions.k8s.io": 3,
        "loaves.bakery.example.com": 32,
        "orders.bakery.example.com": 4,
        "ovens.bakery.example.com": 4,
    }
    assert report.kinds().equals(dump.kinds())


@pytest.mark.parametrize(
    ("selectors", "words"),
    [
        ({}, ()),
        ({"namespace": "south"}, ("-n", "south")),
        ({"field_selector": "spec.flour=rye"}, ("--field-selector", "spec.flour=rye")),
        ({"selector": "batch=2"}, ("-l", "batch=2")),
        ({"where": "spec.grams > 600", "namespace": "north"}, ("--where", "spec.grams > 600", "-n", "north")),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_objects_are_those_that_query_prints(
    dump: auditor.OpenedDump, report: auditor.OpenedReport, selectors: dict[str, str], words: tuple[str, ...]
) -> None:
    printed = [json.loads(line) for line in run("query", SAMPLE, "loaves", *words, "-o", "ndjson").stdout.splitlines()]
    for opened in (dump, report):
        made = [dict(obj) for obj in opened.objects("loaves", **selectors)]
        assert [{**obj, "metadata": without_managers(obj)} for obj in made] == printed


def without_managers(obj: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in obj["metadata"].items() if name != "managedFields"}


def test_an_object_has_the_findings_of_the_report(dump: auditor.OpenedDump, report: auditor.OpenedReport) -> None:
    rows = report.findings().filter(pa.compute.field("request") == "create").to_pylist()
    wanted = {(row["namespace"], row["name"], row["message"]) for row in rows if row["kind"] == "Loaf"}
    found = {(obj.namespace, obj.name, each.message) for obj in dump.objects("loaves") for each in obj.findings}
    assert found == wanted
    assert len(found) == 4
    [settings] = dump.objects("configmaps")
    assert (settings.kind, settings.findings, settings["kind"]) == ("ConfigMap", (), "ConfigMap")


def test_tables_are_arrow(dump: auditor.OpenedDump, report: auditor.OpenedReport) -> None:
    table = dump.table("loaf")
    assert table.num_rows == 32
    assert table.schema.field("spec").type.field("grams").type == pa.int64()
    assert dump.table("loaves.bakery.example.com", ["key", "spec"]).column_names == ["key", "spec"]
    with pytest.warns(UserWarning, match=UNREAD):
        assert dump.table("orders").num_rows == 4
    statuses = report.table("loaves", ["audit_status"])["audit_status"].to_pylist()
    assert statuses.count("invalid") == 4


def test_sql_is_answered_of_both(dump: auditor.OpenedDump, report: auditor.OpenedReport) -> None:
    statement = "SELECT count(*) AS n FROM loaves WHERE spec.flour = 'rye'"
    assert dump.sql(statement).to_pylist() == report.sql(statement).to_pylist() == [{"n": 14}]
    assert report.sql("SELECT count(*) AS n FROM findings").to_pylist() == [{"n": 5}]
    with pytest.warns(UserWarning, match=UNREAD):
        assert dump.sql("SELECT count(*) AS n FROM orders").to_pylist() == [{"n": 4}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dump.sql("SELECT count(*) FROM loaves")  # of orders it is said where they were asked


def test_a_report_has_its_tables_as_arrow(report: auditor.OpenedReport) -> None:
    assert (report.findings().num_rows, report.causes().num_rows, report.objects().num_rows) == (5, 8, 46)
    causes = set(report.causes()["cause"].to_pylist())
    assert set(report.findings()["cause"].to_pylist()) < causes
    assert {cause for some in report.objects()["causes"].to_pylist() for cause in some} == causes


def test_an_upgrade_is_a_report_that_goes_with_it(dump: auditor.OpenedDump, tmp_path: Path) -> None:
    definition = json.loads(run("query", SAMPLE, "crds", "loaves.bakery.example.com", "-o", "json").stdout)
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["grams"][
        "maximum"
    ] = 500
    (tmp_path / "new.json").write_text(json.dumps(definition))
    upgraded = dump.upgrade(tmp_path / "new.json", jobs=1)
    folder = Path(upgraded._folder)
    assert "spec.grams" in str(upgraded.causes()["title"].to_pylist())
    upgraded.close()
    assert not folder.exists()
    assert repr(upgraded) == f"<OpenedReport {folder} closed>"


def test_a_release_does_not_leak_into_the_caller(tmp_path: Path) -> None:
    with auditor.open(SAMPLE, kubernetes="1.33") as opened:
        made = opened.audit(tmp_path / "report", jobs=1)
        assert active().name == "1.37"
        with auditor.open(tmp_path / "report") as again:
            assert json.loads((tmp_path / "report" / "manifest.json").read_text())["kubernetes_release"] == "v1.33.13"
            for obj in again.objects("loaves"):
                assert active().name == "1.37"
                assert obj.findings is not None
    made.close()
    assert active().name == "1.37"


def test_they_show_themselves(dump: auditor.OpenedDump, report: auditor.OpenedReport) -> None:
    assert repr(dump) == f"<OpenedDump {SAMPLE}: etcd-snapshot at revision 50, 46 keys>"
    assert repr(report).startswith("<OpenedReport ")
    assert ": 46 rows, made 20" in repr(report)
    assert dir(dump) == ["audit", "close", "kinds", "objects", "sql", "table", "upgrade"]
    assert dir(report) == ["causes", "close", "findings", "kinds", "objects", "sql", "table"]
    assert {"open", "open_index", "CrdCatalog"} <= set(dir(auditor))
    assert not [name for name in dir(auditor) if name.startswith("_") and name != "__version__"]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda dump: auditor.open(5), PlanError, "path: int is given; expected a path, or a list of paths"),
        (lambda dump: auditor.open([]), PlanError, "path: an empty list is given; expected a path, or a list of paths"),
        (lambda dump: auditor.open(SAMPLE, as_of="soon"), PlanError, "as_of: 'soon' is given; expected a revision, a"),
        (lambda dump: auditor.open(SAMPLE, as_of=True), PlanError, "as_of: True is given; expected a revision"),
        (lambda dump: auditor.open(SAMPLE, as_of=40).audit(), PlanError, "as_of: is of an earlier state"),
        (lambda dump: auditor.open("nosuch/*.db"), AuditorError, "nosuch/*.db: the pattern names nothing"),
        (lambda dump: auditor.open("nosuch"), PlanError, "nosuch: there is no such file"),
        (lambda dump: auditor.open(""), AuditorError, "the name of a dump: is empty; expected a file"),
        (
            lambda dump: auditor.open(SAMPLE, crds={"a": 1}),
            PlanError,
            "crds: dict is given; expected a path, or a list of paths",
        ),
        (
            lambda dump: auditor.open(SAMPLE, crds=[{"a": 1}]),
            PlanError,
            "crds: a list with dict is given; expected paths",
        ),
        (lambda dump: auditor.open(SAMPLE, kubernetes="1.12"), PlanError, "'1.12' is not a release that is known"),
        (lambda dump: list(dump.objects("loafs")), PlanError, "did you mean loaves.bakery.example.com?"),
        (lambda dump: list(dump.objects("")), PlanError, "kind: '' is given; expected a kind, plural or short name"),
        (lambda dump: list(dump.objects("loaves", selector="a=!")), SelectorError, "unable to parse requirement"),
        (lambda dump: list(dump.objects("loaves", where="spec.")), SelectorError, "Syntax error"),
        (lambda dump: dump.table(5), PlanError, "kind: int is given"),
        (
            lambda dump: dump.table("loaves", ["colour"]),
            PlanError,
            "columns: loaves has no column 'colour'; expected some of",
        ),
        (lambda dump: dump.sql(5), PlanError, "statement: int is given"),
        (lambda dump: dump.sql("SELEC"), SqlError, "Parser Error"),
        (lambda dump: dump.audit(colour=1), PlanError, "colour: is no option of an audit; expected some of"),
        (lambda dump: dump.audit(jobs="x"), PlanError, "jobs: 'x' is given; expected a whole number"),
        (lambda dump: dump.audit(jobs=0), PlanError, "jobs: 0 is given; expected a number from 1"),
        (lambda dump: dump.audit(memory="lots"), PlanError, "memory: 'lots' is given; expected a whole number"),
        (lambda dump: dump.audit(fail_on="x"), PlanError, "fail_on: 'x' is given; expected one of never"),
        (lambda dump: dump.audit(skip="rules"), PlanError, "skip: 'rules' is given; expected a list or tuple"),
        (lambda dump: dump.audit(skip=["x"]), PlanError, "skip: 'x' is given; expected one of rules"),
        (lambda dump: list(dump.objects("loaves", namespace=5)), PlanError, "namespace: int is given; expected a text"),
        (lambda dump: dump.table("loaves", "spec"), PlanError, "columns: str is given; expected a list of names"),
        (lambda dump: dump.upgrade({"kind": "x"}), PlanError, "new_crds: dict is given; expected a path"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_wrong_input_is_an_error_that_says_what_was_expected(dump, call, error, words) -> None:
    with pytest.raises(error) as raised:
        call(dump)
    assert words in str(raised.value)


def test_it_can_be_closed_and_closes_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    opened = auditor.open(SAMPLE)
    assert list(tmp_path.iterdir())
    opened.close()
    with pytest.raises(PlanError, match="is closed; open it again"):
        opened.kinds()
    assert repr(opened) == f"<OpenedDump {SAMPLE} closed>"
    again = auditor.open(SAMPLE)
    del again
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_secrets_are_redacted_unless_they_are_asked_for(tmp_path: Path) -> None:
    path = dump_of("snapshot.db", tmp_path)
    with auditor.open(path) as opened, auditor.open(path, show_secrets=True) as shown:
        for one, value in ((opened, "(redacted)"), (shown, "bmV3")):
            assert [obj["data"]["password"] for obj in one.objects("secrets") if obj.name == "db"] == [value]
            assert one.sql("SELECT data['password'] AS p FROM secrets WHERE metadata.name = 'db'").to_pylist() == [
                {"p": value}
            ]
        assert opened.table("secrets").num_rows == 4


def test_without_the_dump_a_report_has_its_tables(tmp_path: Path) -> None:
    (tmp_path / "cluster.db").write_bytes(gzip.decompress(SAMPLE.read_bytes()))
    with auditor.open(tmp_path / "cluster.db") as opened:
        opened.audit(tmp_path / "report", jobs=1).close()
    (tmp_path / "cluster.db").rename(tmp_path / "moved.db")
    with pytest.warns(UserWarning, match="is not here"):
        left = auditor.open(tmp_path / "report")
    assert left.findings().num_rows == 5
    for ask in (lambda: list(left.objects("loaves")), lambda: left.table("loaves")):
        with pytest.raises(PlanError, match="an index has no whole objects"):
            ask()
    with auditor.open(tmp_path / "report", dumps=tmp_path / "moved.db") as whole:
        assert len(list(whole.objects("loaves"))) == 32
