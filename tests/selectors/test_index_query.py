"""The index of a report from Python: tables, streams, and what other tools read."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from auditor import open_index
from auditor.base.errors import PlanError, SelectorError
from auditor.selectors.index_query import Index
from auditor.selectors.where import compile_where
from tests.command import auditor
from tests.documents import definition_of

ROOT = Path(__file__).resolve().parents[2]


def audited(dump: Path, report: Path, *words: str) -> Path:
    """Audit a dump; return the report."""
    done = auditor("audit", dump, "--jobs", 1, *words, "--report", report, "--fail-on", "never")
    assert done.code == 0, done.stderr
    return report


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return audited(ROOT / "sample-data" / "cluster.db.gz", tmp_path_factory.mktemp("index") / "report")


def test_select_gives_a_table(report: Path) -> None:
    index = open_index(report)
    every = index.select("loaves")
    assert isinstance(every, pa.Table)
    rye = index.select("loaves", field_selector="spec.flour=rye")
    assert 0 < rye.num_rows < every.num_rows
    assert set(rye["field:spec.flour"].to_pylist()) == {"rye"}
    assert rye.schema == every.schema
    others = index.select("Loaf.v1.bakery.example.com", field_selector="spec.flour!=rye", namespace="north")
    assert set(others["namespace"].to_pylist()) == {"north"}


@pytest.mark.parametrize(("selector", "all_of_them"), [("spec.flour=\udcff", False), ("spec.flour!=\udcff", True)])
def test_bytes_that_are_no_text_equal_nothing(report: Path, selector: str, all_of_them: bool) -> None:
    index = open_index(report)
    every = index.select("loaves").num_rows
    assert index.select("loaves", field_selector=selector).num_rows == (every if all_of_them else 0)
    assert index.select("loaves", namespace="\udcff").num_rows == 0
    assert index.select("loaves", where="spec.flour == '\udcff'").num_rows == 0


def test_each_byte_that_is_no_text_is_one_character_of_a_predicate() -> None:
    where = compile_where("self.name == '\udce2\udc82' && size('\udcff') == 1")
    assert where.value({"name": "\ufffd\ufffd"}) is True


def test_all_of_them_are_the_rows_of_the_files(report: Path) -> None:
    index = open_index(report)
    for place in index.kinds:
        files = ds.dataset([str(path) for path in place.parts], format="parquet").to_table()
        wanted = files.drop_columns(["cluster"])
        assert index.select(f"{place.kind}.{place.version}.{place.group}").to_pylist() == wanted.to_pylist()


def test_selectors_select_what_they_say(report: Path) -> None:
    index = open_index(report)
    rows = index.select("loaves").to_pylist()
    labels = [dict(row["labels"] or ()) for row in rows]
    key = next(key for one in labels for key in one)
    value = next(one[key] for one in labels if key in one)
    for selector, fits in (
        (f"{key}={value}", lambda one: one.get(key) == value),
        (f"{key}!={value}", lambda one: one.get(key) != value),
        (f"{key} in ({value},x)", lambda one: one.get(key) in (value, "x")),
        (f"{key} notin ({value},x)", lambda one: one.get(key) not in (value, "x")),
        (key, lambda one: key in one),
        (f"!{key}", lambda one: key not in one),
        (f"{key}>5", lambda one: False),
        ("none", lambda one: False),
        ("!none", lambda one: True),
    ):
        found = index.select("loaves", label_selector=selector, columns=["name"])["name"].to_pylist()
        assert found == [row["name"] for row, one in zip(rows, labels, strict=True) if fits(one)], selector
    absent = index.select("loaves", field_selector="spec.flour=").num_rows
    assert absent == sum(not row["field:spec.flour"] for row in rows)


def test_a_stream_holds_the_same_rows(report: Path) -> None:
    index = open_index(report)
    reader = index.stream("loaves", field_selector="spec.flour!=rye", columns=["name", "labels", "value:spec.grams"])
    assert isinstance(reader, pa.RecordBatchReader)
    wanted = index.select("loaves", field_selector="spec.flour!=rye", columns=["name", "labels", "value:spec.grams"])
    assert reader.read_all().to_pylist() == wanted.to_pylist()


def test_a_predicate_selects_where_the_index_can_tell(report: Path) -> None:
    index = open_index(report)
    found = index.select("loaves", where='spec.flour == "rye" && metadata.namespace == "south"')
    wanted = index.select("loaves", field_selector="spec.flour=rye", namespace="south")
    assert found.to_pylist() == wanted.to_pylist()
    with pytest.raises(PlanError, match="needs more than the index holds"):
        Index(report).select("loaves", where="spec.grams > 300")


@pytest.mark.parametrize(
    "predicate", ["spec.grams > 300", "!has(spec.seeds)", "spec.flour == 'rye' && spec.grams > 600"]
)
def test_what_the_index_cannot_tell_is_read_from_the_dump_as_a_query_does(report: Path, predicate: str) -> None:
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        table = open_index(report).select("loaves", where=predicate, columns=["namespace", "name"])
    command = auditor(
        "query",
        report,
        "loaves",
        "--where",
        predicate,
        "-o",
        "jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {end}",
    )
    assert [f"{row['namespace']}/{row['name']}" for row in table.to_pylist()] == command.stdout.split()
    assert table.column_names == ["namespace", "name"]
    assert bool(noted) == (command.code == 3)


def test_without_the_dump_it_says_that_the_objects_are_missing(tmp_path: Path) -> None:
    dump = tmp_path / "cluster.db.gz"
    shutil.copyfile(ROOT / "sample-data" / "cluster.db.gz", dump)
    report = audited(dump, tmp_path / "report")
    dump.unlink()
    with warnings.catch_warnings(), pytest.raises(PlanError, match="an index has no whole objects"):
        warnings.simplefilter("ignore")
        open_index(report).select("loaves", where="spec.grams > 300")


def test_what_is_wrong_is_reported(report: Path, tmp_path: Path) -> None:
    index = open_index(report)
    with pytest.raises(SelectorError, match=r"field label not supported: spec\.shape"):
        index.select("loaves", field_selector="spec.shape=x")
    with pytest.raises(PlanError, match="did you mean loaves"):
        index.select("loafes")
    with pytest.raises(PlanError, match="is not a report"):
        open_index(tmp_path)


# -- absent, or what the index cannot tell from that

LABELS = ("spec.color", "spec.size", "spec.on", "spec.sizes.big", "spec.deep.maybe", "status.ready")
VALUES = {
    "spec": {"color": "red", "size": 3, "on": False, "sizes": {"big": 9}, "deep": {"maybe": 1}},
    "status": {"ready": True},
}


def _definition(*, sizes: tuple[str, str] = ("integer", "integer")) -> dict[str, Any]:
    """Return a definition whose versions v1 and v2 give `spec.size` these types."""

    def schema(size: str) -> dict[str, Any]:
        spec = {
            "color": {"type": "string"},
            "size": {"type": size},
            "on": {"type": "boolean"},
            "sizes": {"type": "object", "additionalProperties": {"type": "integer"}},
            "deep": {"type": "object", "properties": {"maybe": {"type": "integer", "nullable": True}}},
        }
        status = {"type": "object", "properties": {"ready": {"type": "boolean"}}}
        return {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}, "status": status}}

    fields = [{"jsonPath": f".{label}"} for label in LABELS]
    made = definition_of(schema(sizes[0]), subresources={"status": {}}, selectableFields=fields)
    (first,) = made["spec"]["versions"]
    second = {**first, "name": "v2", "storage": False, "schema": {"openAPIV3Schema": schema(sizes[1])}}
    made["spec"]["versions"] = [first, second]
    return made


def _with(label: str, value: object) -> dict[str, object]:
    """Return the values of an object, one of them another."""
    values = json.loads(json.dumps(VALUES))
    *above, last = label.split(".")
    node = values
    for key in above:
        node = node[key]
    node[last] = value
    return values


def _audited(folder: Path, contents: list[dict[str, object]], definition: dict[str, Any]) -> Any:
    head = {"apiVersion": "x.example.com/v1", "kind": "X"}
    lines = [
        json.dumps({**head, "metadata": {"namespace": "n", "name": f"x-{at}", "generation": 1}, **content})
        for at, content in enumerate(contents)
    ]
    dump, crd = folder / "dump.ndjson", folder / "crd.json"
    dump.write_text("\n".join(lines))
    crd.write_text(json.dumps(definition))
    return open_index(audited(dump, folder / "report", "--crds", str(crd)))


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_an_absent_number_needs_no_object(tmp_path: Path, version: str) -> None:
    contents = [VALUES, {"spec": {"color": "red"}}, {"spec": {"size": 5, "on": True}}, {}, _with("spec.color", "")]
    index = _audited(tmp_path, contents, _definition())
    kind = f"X.{version}.x.example.com"
    for where, wanted in (
        ("spec.size > 4", ["x-2"]),
        ("has(spec.size) && !spec.on", ["x-0", "x-4"]),
        ("has(spec.on)", ["x-0", "x-2", "x-4"]),
        ("status.ready", ["x-0", "x-4"]),
        ("spec.sizes.big == 9", ["x-0", "x-4"]),
    ):
        assert index.select(kind, where=where)["name"].to_pylist() == wanted, where
    with pytest.raises(PlanError, match="needs more than the index holds"):
        Index(index.report).select(kind, where="spec.deep.maybe == 1")


@pytest.mark.parametrize("label", LABELS[1:])
def test_an_empty_text_in_place_of_a_number_is_reported_by_its_finding(tmp_path: Path, label: str) -> None:
    index = _audited(tmp_path, [VALUES, _with(label, "")], _definition())
    place = index.resolve("X.v1.x.example.com")
    assert index.unclear_fields(place) == {label, "spec.deep.maybe"}
    with pytest.raises(PlanError, match="needs more than the index holds"):
        Index(index.report).select("xs", where=f"has({label})")
    command = auditor("query", index.report, "xs", "--where", f"has({label})", "-o", "name")
    names = index.select("xs", where=f"has({label})")["name"].to_pylist()
    assert [f"x.x.example.com/{name}" for name in names] == command.stdout.split()


def test_a_version_that_says_otherwise_tells_nothing(tmp_path: Path) -> None:
    """The object is fine at the version that it was judged at; at the other the same field is a number."""
    index = _audited(tmp_path, [_with("spec.size", "")], _definition(sizes=("string", "integer")))
    for name, unclear in (("v1", set()), ("v2", {"spec.size"})):
        assert index.unclear_fields(index.resolve(f"X.{name}.x.example.com")) == {"spec.deep.maybe", *unclear}
    with pytest.raises(PlanError, match="needs more than the index holds"):
        Index(index.report).select("X.v2.x.example.com", where="has(spec.size)")
