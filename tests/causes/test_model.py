"""The model of findings: causes, objects and findings of a stored report agree with each other and with its tables."""

import json

import pyarrow.parquet as pq
import pytest

from auditor.base.errors import PlanError
from auditor.causes.build import build_causes, causes_of
from auditor.causes.filters import Filters
from auditor.causes.follows import follows
from auditor.causes.model import FindingsModel
from auditor.causes.table import CAUSES, CAUSES_FILE
from tests.causes.reports import audited, definition, export, sample, widget
from tests.counting import calls_of


def rows_of(report, table):
    return [row for part in sorted((report / table).glob("*.parquet")) for row in pq.read_table(part).to_pylist()]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return sample(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def widgets(tmp_path_factory):
    """A report of an export whose objects break a schema with a rule, a map and a list."""
    folder = tmp_path_factory.mktemp("widgets")
    spec = {
        "size": {"type": "integer", "maximum": 5},
        "env": {"type": "object", "additionalProperties": {"type": "integer", "maximum": 5}},
        "list": {"type": "array", "items": {"type": "integer", "maximum": 5}},
    }
    crd = definition(spec)
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema["x-kubernetes-validations"] = [{"rule": "!has(self.size) || self.size != 3", "message": "never 3"}]
    objects = [
        widget("a", {"size": 7}),
        widget("b", {"env": {"X": 8, "Y": 9}}, namespace="other"),
        widget("c", {"list": [1, 9, 10]}),
        widget("d", {"size": 3}),
        widget("e", {"size": 5}),
        widget("f", {"env": {"Z": "text"}}),
    ]
    return audited(folder / "report", export(folder / "dump.ndjson", crd, *objects))


def test_causes_are_written_with_their_schema(report):
    assert pq.read_schema(report / CAUSES_FILE).names == CAUSES.names


def test_causes_of_the_sample(report):
    model = FindingsModel.open(report)
    assert sorted((one.severity, one.kind, one.impact or one.field) for one in model.causes) == [
        ("critical", "Order", "breaks-list"),
        ("high", "Loaf", "loses-data"),
        ("low", "Loaf", "spec.seeds[*]"),
        ("low", "ghosts", "orphaned"),
        ("medium", "Loaf", "spec.flour"),
        ("medium", "Loaf", "spec.flour"),
        ("medium", "Loaf", "spec.grams"),
        ("medium", "Oven", "spec.serviced"),
    ]
    assert model.causes[0].severity == "critical"
    assert model.causes[0].examples == ("/registry/bakery.example.com/orders/north/order-torn",)


@pytest.mark.parametrize("made", ["report", "widgets"])
def test_sums_are_those_of_the_tables(made, request):
    folder = request.getfixturevalue(made)
    model, findings = FindingsModel.open(folder), rows_of(folder, "findings")
    assert sum(one.findings for one in model.causes) == len(findings) == len(list(model.findings()))
    distinct = list(model.findings(distinct=True))
    assert sum(one.distinct_findings for one in model.causes) == sum(not follows(one) for one in distinct)
    assert sum(len(one["requests"]) for one in distinct) == len(findings)
    for cause in model.causes:
        chosen = list(model.findings(Filters(causes=(cause.digest,))))
        assert len(chosen) == cause.findings
        assert {one["cause"] for one in chosen} <= {cause.id}
        impacts = list(model.objects(Filters(causes=(cause.digest,))))
        assert (len(impacts) if cause.impact else len({one["key"] or one["name"] for one in chosen})) == cause.objects


def test_map_keys_and_indexes_do_not_make_causes(widgets):
    causes = {one.field: one for one in FindingsModel.open(widgets).causes if one.type == "FieldValueInvalid"}
    assert set(causes) == {"spec.size", "spec.env.*", "spec.list[*]", "spec"}
    assert causes["spec.env.*"].objects == 1
    assert causes["spec.env.*"].distinct_findings == 2
    assert causes["spec"].rule == "!has(self.size) || self.size != 3"


def test_rules_that_were_not_checked_belong_to_the_first_cause(widgets):
    rows = list(FindingsModel.open(widgets).findings())
    followers = [one for one in rows if one["message"].startswith("<nil>: Invalid value: null: some validation rules")]
    assert len(followers) >= 1
    for one in followers:
        others = [row for row in rows if row["name"] == one["name"] and row["field"] != "<nil>"]
        assert one["cause"] == others[0]["cause"]


def test_causes_of_a_report_without_the_table_are_made_of_the_other_tables(report, tmp_path):
    stored = causes_of(report)
    path = report / CAUSES_FILE
    content = path.read_bytes()
    path.unlink()
    try:
        assert causes_of(report) == stored
        assert [one.id for one in FindingsModel.open(report).causes] == list(
            dict.fromkeys(row["cause"] for row in stored)
        )
    finally:
        path.write_bytes(content)


def test_causes_are_found_by_the_beginning_of_their_id(report):
    model = FindingsModel.open(report)
    for cause in model.causes:
        assert model.cause(cause.id) == cause
        assert model.cause(cause.digest[:20]) == cause
    with pytest.raises(PlanError, match="has no cause"):
        model.cause("zzzz")


def test_a_folder_without_manifest_is_refused(tmp_path):
    with pytest.raises(PlanError, match="is not a report"):
        FindingsModel.open(tmp_path)


def test_the_run_is_described(report):
    run = FindingsModel.open(report).run
    assert [one.format for one in run.sources] == ["etcd-snapshot"]
    assert run.sources[0].revision > 0
    assert run.keys == 46
    assert run.compared_with is None


def test_a_fleet_has_each_cause_once(tmp_path):
    crd = definition({"size": {"type": "integer", "maximum": 5}})
    for name in ("east", "west"):
        export(tmp_path / f"{name}.ndjson", crd, widget("a", {"size": 9}), widget(f"b-{name}", {"size": 8}))
    report = audited(tmp_path / "report", tmp_path / "*.ndjson", cluster="{name}")
    model = FindingsModel.open(report)
    assert model.is_fleet
    [cause] = model.causes
    assert (cause.clusters, cause.objects, cause.findings > 3) == (("east", "west"), 4, True)
    assert {one["cluster"] for one in model.findings(Filters(clusters=("west",)))} == {"west"}
    assert FindingsModel.open(report, clusters=("east",)).causes[0].objects == 2


def test_namespaces_kinds_and_severities_filter_findings(widgets):
    model = FindingsModel.open(widgets)
    assert {one["name"] for one in model.findings(Filters(namespaces=("oth*",)))} == {"b"}
    assert list(model.findings(Filters(kinds=("gadget*",)))) == []
    assert len(list(model.findings(Filters(kinds=("widget.example.*",))))) == len(list(model.findings()))
    assert {one["severity"] for one in model.findings(Filters(severities=("medium",)))} <= {"medium"}


def test_the_causes_of_many_findings_take_little_work_for_each(tmp_path):
    crd = definition({"size": {"type": "integer"}, "tier": {"type": "string"}}, required=["tier"])
    report = audited(
        tmp_path / "report", export(tmp_path / "dump.ndjson", crd, widget("a", {"size": 1}), widget("b", {"size": 2}))
    )
    [part] = (report / "findings").glob("*.parquet")
    table = pq.read_table(part)
    manifest = json.loads((report / "manifest.json").read_bytes())

    def work(number):
        pq.write_table(table.take([row % table.num_rows for row in range(number)]), part)
        found = []
        calls = calls_of(lambda: found.extend(build_causes(report, manifest)))
        assert sum(row["findings"] for row in found) == number
        return calls

    work(1_000)
    assert work(8_000) < 8_000 * 4
    assert work(100_000) < 100_000 * 4  # made of the tables; a stored causes.parquet is read instead


def test_the_example_of_a_cause_quotes_a_finding_of_its_own(tmp_path):
    """A rule that was not checked because the object is invalid follows from the cause; it comes first in the report."""
    crd = definition({"size": {"type": "integer", "maximum": 5}, "color": {"type": "string", "enum": ["red"]}})
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["x-kubernetes-validations"] = [{"rule": "self.spec.size > 0"}]
    objects = [widget(name, {"size": "x", "color": "green"}) for name in ("a", "b")]
    model = FindingsModel.open(audited(tmp_path / "report", export(tmp_path / "dump.ndjson", crd, *objects)))
    assert any(row["detail"].startswith("some validation rules were not checked") for row in model.findings())
    messages = {cause.field: cause.messages for cause in model.causes}
    assert all("spec.size" in text for text in messages["spec.size"])
    assert not any("were not checked" in text for every in messages.values() for text in every)


def test_what_follows_from_a_new_finding_makes_no_known_cause_larger(tmp_path):
    """A wrong label is no reason why rules are not checked; it comes before the field that is missing now."""
    fields = {"size": {"type": "integer"}, "tier": {"type": "string"}}
    objects = [widget(name, {"size": 1}, labels={"a": "not a label!"}) for name in ("a", "b", "c")]
    dumps = []
    for number, required in enumerate(([], ["tier"])):
        crd = definition(fields, required=required)
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["x-kubernetes-validations"] = [{"rule": "self.spec.size > 0"}]
        dumps.append(export(tmp_path / f"{number}.ndjson", crd, *objects))
    old = audited(tmp_path / "old", dumps[0])
    model = FindingsModel.open(audited(tmp_path / "new", dumps[1], diff=str(old)))
    assert any(row["detail"].startswith("some validation rules were not checked") for row in model.findings())
    assert {(cause.field, cause.change, cause.new_objects, cause.objects) for cause in model.causes} == {
        ("spec.tier", "new", 3, 3),
        ("metadata.labels", "same", 0, 3),
    }
