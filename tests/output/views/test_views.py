"""The summary and the list of causes: lines fit, worst first, hostile content is visible, data matches its schema."""

import copy
import csv
import io
import json

import jsonschema
import pytest

from auditor.causes.filters import Filters
from auditor.causes.model import FindingsModel
from auditor.output.views.data import SCHEMA, document, written
from auditor.output.views.layout import width_of
from auditor.output.views.listing import cause_lines, listing_lines
from auditor.output.views.summary import LINES, summary_lines
from auditor.printing.print_rows import FORMS
from tests.causes.reports import audited, definition, export, sample, widget

HOSTILE = 'evil\x1b[2J\nFAKE LINE\u202e"=1+1|<script>'


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return FindingsModel.open(sample(tmp_path_factory.mktemp("sample")))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A report with many causes, and texts that try to act on a terminal."""
    folder = tmp_path_factory.mktemp("hostile")
    spec = {f"field{number}": {"type": "string", "enum": ["a"]} for number in range(60)}
    objects = [widget(f"w{number}", {f"field{number}": HOSTILE}, namespace=f"n{number}") for number in range(60)]
    return FindingsModel.open(audited(folder / "report", export(folder / "dump.ndjson", definition(spec), *objects)))


def texts(lines):
    return [line.text for line in lines]


@pytest.mark.parametrize("width", [60, 72, 80, 120, 200])
@pytest.mark.parametrize("made", ["model", "hostile"])
def test_every_line_fits_and_there_are_at_most_24(made, width, request):
    model = request.getfixturevalue(made)
    cause = next(one for one in model.causes if one.findings)
    rows = model.findings(Filters(causes=(cause.digest,)), distinct=True)
    for lines in (
        summary_lines(model, width),
        listing_lines(model, model.causes, width, LINES),
        cause_lines(model, cause, rows, width, LINES),
    ):
        assert 3 <= len(lines) <= LINES
        for text in texts(lines):
            assert width_of(text) <= width
            assert "\x1b" not in text
            assert "\n" not in text
            assert "\u202e" not in text


def test_the_summary_begins_with_the_state_and_ends_with_what_to_do(model):
    lines = texts(summary_lines(model, 120))
    assert lines[0] == "BROKEN  sample.db · 1 critical, 1 high, 4 medium, 2 low causes"
    assert lines[1].startswith("  sample.db at revision 50 · ")
    assert "46 keys" in lines[1]
    assert lines[2] == "CRITICAL 1 cause"
    assert "cannot be listed or watched" in lines[3]
    assert (
        "unexpected end of JSON input; to do: repair the value, its definition, webhook or encryption key" in lines[4]
    )
    assert lines[5].startswith("      next: auditor show ")
    assert "Exit code 1: 1 critical, 1 high" in " ".join(lines)
    assert f"Report: {model.shown}" in lines
    assert (
        "Next: repair or delete the keys that break lists first; until then no client can list or watch these kinds whole."
        in lines
    )
    assert lines[-1].split() == ["auditor", "findings", model.shown, model.causes[0].id]


def test_the_summary_says_what_was_seen_of_the_dumps(model):
    lines = texts(summary_lines(model, 80, 1000))
    assert "46 keys: 34 valid, 5 invalid, 1 unreadable, 1 orphaned, 3 definition, 1 builtin," in lines
    assert "NEXT WRITE  5 tolerated-while-unchanged" in lines
    assert "NOT STORED AT THE STORAGE VERSION  2 loaves.bakery.example.com at v1alpha1" in lines
    at = next(number for number, line in enumerate(lines) if line.startswith("KIND "))
    assert lines[at].split() == ["KIND", "OBJECTS", "VALID", "INVALID", "UNREADABLE", "ORPHANED"]
    assert [line.split()[0] for line in lines[at + 1 : at + 5]] == [
        "Loaf.bakery.example.com", "Order.bakery.example.com", "Oven.bakery.example.com", "ghosts.gone.example.com"
    ]  # fmt: skip
    assert lines[at + 1].split()[1:] == ["32", "28", "4", "0", "0"]


def test_causes_that_do_not_fit_are_counted(hostile):
    lines = texts(listing_lines(hostile, hostile.causes, 80, LINES))
    count = len(hostile.causes) - LINES + 2
    assert lines[-1] == f"and {count} more causes: 0 critical, {count} medium: --lines 0 prints all"
    assert len(listing_lines(hostile, hostile.causes, 80, 0)) == len(hostile.causes) + 1


@pytest.mark.parametrize("made", ["model", "hostile"])
def test_documents_match_their_schema(made, request):
    model = request.getfixturevalue(made)
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    cause = model.causes[0]
    rows = list(model.objects(Filters(causes=(cause.digest,)))) or list(
        model.findings(Filters(causes=(cause.digest,)), distinct=True)
    )
    for found in (document(model, model.causes), document(model, [cause], rows)):
        content = json.loads(json.dumps(found))
        validator.validate(content)
        broken = copy.deepcopy(content)
        broken["causes"][0]["severity"] = "awful"
        assert list(validator.iter_errors(broken))


def test_the_schema_names_every_property(model):
    properties = json.loads(SCHEMA.read_text())
    content = document(model, model.causes)
    assert set(content) | {"rows", "upgrade"} == set(properties["properties"])
    assert set(content["causes"][0]) == set(properties["$defs"]["cause"]["properties"])


def test_all_outputs_have_the_same_causes(hostile):
    outputs = {name: "".join(written(hostile, hostile.causes, None, name)) for name in FORMS[2:]}
    ids = [one.id for one in hostile.causes]
    assert [one["cause"] for one in json.loads(outputs["json"])["causes"]] == ids
    assert [json.loads(line)["cause"] for line in outputs["ndjson"].splitlines()] == ids
    assert [row["cause"] for row in csv.DictReader(io.StringIO(outputs["csv"]))] == ids
    assert len(outputs["markdown"].splitlines()) == len(ids) + 2
    assert all(one in outputs["yaml"] for one in ids)
    for name in ("yaml", "csv", "markdown"):
        assert "\x1b" not in outputs[name]
        assert "<script>" not in outputs[name] or name != "markdown"


def test_cells_of_csv_are_no_formulas(tmp_path):
    crd = definition({"a": {"type": "string", "enum": ["x"]}})
    model = FindingsModel.open(
        audited(tmp_path / "r", export(tmp_path / "d.ndjson", crd, widget("=1+1", {"a": "y"}, namespace="@n")))
    )
    rows = model.findings(Filters(causes=(model.causes[0].digest,)), distinct=True)
    [row] = csv.DictReader(io.StringIO("".join(written(model, model.causes[:1], rows, "csv"))))
    assert row["namespace"] == "'@n"


def test_namespaces_narrow_causes(hostile):
    [cause] = hostile.filtered(Filters(namespaces=("n7",)))
    assert (cause.objects, cause.namespaces, cause.field) == (1, 1, "spec.field7")
    assert len(hostile.filtered(Filters(namespaces=("n*",)))) == 60


def test_a_kind_has_its_group_where_another_group_has_causes_of_that_name(tmp_path):
    spec = {"size": {"type": "integer", "maximum": 9}}
    one, other, third = definition(spec), definition(spec), definition(spec, kind="Oven")
    other["spec"]["group"] = "example.org"
    other["metadata"] = {"name": "widgets.example.org", "uid": "uid-other"}
    objects = [widget("a", {"size": 10}), widget("b", {"size": 10}), widget("c", {"size": 10}, kind="Oven")]
    objects[1]["apiVersion"] = "example.org/v1"
    for given, expected in (
        ((one, other, third, *objects), ["Oven", "Widget.example.com", "Widget.example.org"]),
        ((one, third, *objects[::2]), ["Oven", "Widget"]),
    ):
        model = FindingsModel.open(audited(tmp_path / "report", export(tmp_path / "dump.ndjson", *given)))
        for lines in (texts(summary_lines(model, 200)), texts(listing_lines(model, model.causes, 200, 0))):
            ids = {cause.id for cause in model.causes}
            rows = [line.split() for line in lines if ids & set(line.split())]
            assert sorted(word for row in rows for word in row if word.startswith(("Oven", "Widget"))) == expected
