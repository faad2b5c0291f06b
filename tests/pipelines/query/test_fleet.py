"""`auditor query`, `show` and `explain --values` of the report of a fleet."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from auditor import open_index
from auditor.base.errors import PlanError
from auditor.plan.options import AuditOptions
from pipelines.run.audit import run_audit
from pipelines.run.fleet import run_anywhere
from tests.command import auditor
from tests.output.summaries import summary_of
from tests.pipelines.nights.support import Store, definition, loaf

if TYPE_CHECKING:
    from pathlib import Path

TORN = "/registry/bakery.example.com/loafs/north/x"
LIGHT = "/registry/bakery.example.com/loafs/north/light"


def western() -> dict[str, Any]:
    """Return a definition with another version, another default and a column."""
    made = definition(versions=("v1", "v1beta1"))
    for one in made["spec"]["versions"]:
        one["schema"] = json.loads(json.dumps(one["schema"]))
    own = made["spec"]["versions"][0]
    own["additionalPrinterColumns"] = [{"name": "Grams", "type": "integer", "jsonPath": ".spec.grams"}]
    own["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["shape"]["default"] = "square"
    return made


def write(folder: Path, **stores: Store) -> str:
    for name, store in stores.items():
        folder.mkdir(exist_ok=True)
        store.write(folder / f"{name}.json", "etcdctl")
    return f"{folder}/*.json"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    east = Store(definition(), loaf("light"), loaf("only-east", namespace="far"))
    west = Store(western(), loaf("heavy", grams=500), loaf("light", grams=1))
    west.put(b"{torn", TORN)
    pattern = write(folder / "dumps", east=east, west=west, north=Store(definition("Roll"), loaf("r", kind="Roll")))
    report = folder / "report"
    run_anywhere(AuditOptions(dumps=(pattern,), cluster="{1}", report=str(report), fail_on="never"))
    return report


def refusal(*words: object) -> str:
    done = auditor(*words)
    assert (done.code, done.stdout) == (2, "")
    return done.stderr


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line]


def test_each_cluster_answers_by_its_own_definition(fleet: Path) -> None:
    found = auditor("query", fleet, "loafs")
    assert found.code == 3
    assert rows(found.stdout) == [
        ["CLUSTER", "NAMESPACE", "NAME", "AGE"],
        ["east", "far", "only-east"],
        ["east", "north", "light"],
        ["CLUSTER", "NAMESPACE", "NAME", "GRAMS"],
        ["west", "north", "heavy", "500"],
        ["west", "north", "light", "1"],
    ]
    assert f"cluster west: 500: corrupt object {TORN}" in found.stderr
    assert "note: cluster north does not serve loafs.bakery.example.com" in found.stderr
    items = json.loads(auditor("query", fleet, "loafs", "light", "-o", "json").stdout)["items"]
    assert [one["spec"]["shape"] for one in items] == ["round", "square"]


@pytest.mark.parametrize(
    ("args", "clusters", "names"),
    [
        ((), ["east", "east", "west", "west"], ["only-east", "light", "heavy", "light"]),
        (("--cluster", "east"), ["east", "east"], ["only-east", "light"]),
        (("--cluster", "east,west", "-o", "wide"), ["east", "east", "west", "west"], None),
        (("--cluster", "west", "--cluster", "east"), ["east", "east", "west", "west"], None),
        (("--sort-by", ".metadata.name", "--cluster", "west"), ["west", "west"], ["heavy", "light"]),
        (("--field-selector", "metadata.name=light"), ["east", "west"], ["light", "light"]),
        (("--where", "spec.grams > 3"), ["east", "east", "west"], ["only-east", "light", "heavy"]),
        (("-n", "far"), ["east"], None),
    ],
)
def test_tables_begin_with_the_cluster(fleet: Path, args: tuple[str, ...], clusters: list[str], names: Any) -> None:
    found = auditor("query", fleet, "loafs", *args, "--no-headers")
    lines = rows(found.stdout)
    assert [line[0] for line in lines] == clusters
    if names is not None:
        assert [line[2] for line in lines] == names


def test_a_name_is_looked_up_in_each_cluster(fleet: Path) -> None:
    assert [line[:3] for line in rows(auditor("query", fleet, "loafs", "light", "--no-headers").stdout)] == [
        ["east", "north", "light"],
        ["west", "north", "light"],
    ]
    assert auditor("query", fleet, "loafs", "heavy", "--cluster", "east").code == 1
    assert yaml.safe_load(auditor("query", fleet, "loafs", "heavy", "-o", "yaml").stdout)["metadata"]["name"] == "heavy"


def test_objects_are_printed_as_they_are_with_a_note(fleet: Path) -> None:
    found = auditor("query", fleet, "loafs", "-o", "name")
    assert found.stdout.split() == [
        f"loaf.bakery.example.com/{one}" for one in ("only-east", "light", "heavy", "light")
    ]
    assert "note: objects of 2 clusters (east, west), without their names; --cluster chooses one" in found.stderr
    one = auditor("query", fleet, "loafs", "-o", "json", "--cluster", "east")
    assert "without their names" not in one.stderr
    assert all("cluster" not in item for item in json.loads(one.stdout)["items"])
    csv = auditor("query", fleet, "loafs", "-o", "csv").stdout.splitlines()
    assert [line.split(",")[0] for line in csv] == ["cluster", "east", "east", "west", "west"]


@pytest.mark.parametrize("command", [("query", "loafs"), ("show", LIGHT), ("explain", "loafs"), ("history", "loafs")])
def test_an_unknown_cluster_is_an_error(fleet: Path, command: tuple[str, str]) -> None:
    found = refusal(command[0], fleet, command[1], "--cluster", "east,nowhere")
    assert "no cluster 'nowhere'; expected one of east, north, west" in found


def test_a_version_is_asked_of_those_that_serve_it(fleet: Path) -> None:
    found = auditor("query", fleet, "loafs.v1beta1.bakery.example.com", "--no-headers")
    assert [line[0] for line in rows(found.stdout)] == ["west", "west"]
    assert "note: cluster east does not serve loafs.bakery.example.com at v1beta1" in found.stderr


def test_a_cluster_that_refuses_is_named_and_the_others_answer(fleet: Path) -> None:
    found = auditor("query", fleet, "loafs", "--as-server", "--no-headers")
    assert found.code == 1
    assert [line[0] for line in rows(found.stdout)] == ["east", "east"]
    assert "cluster west: Error from server" in found.stderr


def test_show_has_a_key_in_each_cluster(fleet: Path) -> None:
    def shown(*args: str) -> list[dict[str, Any]]:
        return list(yaml.safe_load_all(auditor("show", fleet, LIGHT, *args, "-o", "yaml").stdout))

    judged, *stored_in = shown()
    assert [one["cluster"] for one in judged["report"]["objects"]] == ["east", "west"]
    assert [one["cluster"] for one in stored_in] == ["east", "west"]
    judged, stored = shown("--cluster", "west")
    assert stored["cluster"] == "west"
    assert [one["cluster"] for one in judged["report"]["objects"]] == ["west"]
    assert stored["read"]["spec"] == {"grams": 1, "flour": "rye", "shape": "square"}
    absent = auditor("show", fleet, TORN, "--cluster", "east")
    assert (absent.code, absent.stdout, "no key" in absent.stderr) == (1, "", True)


def test_fields_are_counted_by_cluster(fleet: Path) -> None:
    lines = rows(auditor("explain", fleet, "loafs", "--values").stdout)
    assert lines[0] == ["CLUSTER", "APIVERSION", "FIELD", "TYPE", "OBJECTS", "VALUE"]
    assert ["west", "bakery.example.com/v1", "spec.flour", "string", "2", "rye"] in lines
    assert {line[0] for line in lines[1:]} == {"east", "west"}
    only = rows(auditor("explain", fleet, "loafs", "--values", "--cluster", "east").stdout)
    assert {line[0] for line in only[1:]} == {"east"}


def test_kinds_are_counted_by_cluster(fleet: Path) -> None:
    lines = rows(auditor("kinds", fleet).stdout)
    assert lines[0][:3] == ["CLUSTER", "NAME", "STORED"]
    assert {line[0] for line in lines[1:] if line[1] == "loafs.bakery.example.com"} == {"east", "west"}
    only = rows(auditor("kinds", fleet, "--cluster", "west").stdout)
    assert {line[0] for line in only[1:]} == {"west"}


def test_the_index_answers_without_the_dumps(fleet: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "report"
    shutil.copytree(fleet, moved)
    dumps = fleet.parent / "dumps"
    dumps.rename(fleet.parent / "gone")
    try:
        found = auditor("query", moved, "loafs", "--no-headers")
        given = auditor("query", moved, "loafs", "--cluster", "west", "--dump", fleet.parent / "gone" / "west.json")
    finally:
        (fleet.parent / "gone").rename(dumps)
    assert [line[:3] for line in rows(found.stdout)] == [
        ["east", "far", "only-east"], ["east", "north", "light"], ["west", "north", "heavy"], ["west", "north", "light"],
    ]  # fmt: skip
    assert "GRAMS" in given.stdout


def test_a_dump_that_could_not_be_read_keeps_the_exit_code_from_zero(tmp_path: Path) -> None:
    pattern = write(tmp_path / "dumps", east=Store(definition(), loaf("light")))
    (tmp_path / "dumps" / "west.json").write_bytes(b"")
    report = tmp_path / "report"
    run_anywhere(AuditOptions(dumps=(pattern,), cluster="{1}", report=str(report), fail_on="never"))
    found = auditor("query", report, "loafs")
    assert found.code == 3
    assert "cluster west: " in found.stderr
    assert auditor("query", report, "loafs", "--cluster", "east").code == 0
    assert "nothing of cluster 'west' was read" in refusal("query", report, "loafs", "--cluster", "west")


def test_select_takes_clusters(fleet: Path) -> None:
    index = open_index(fleet)
    assert index.select("loafs")["cluster"].to_pylist() == ["east", "east", "west", "west"]
    assert index.select("loafs", cluster="west")["name"].to_pylist() == ["heavy", "light"]
    assert index.stream("loafs", cluster=["east"]).read_all()["name"].to_pylist() == ["only-east", "light"]
    assert index.select("loafs", cluster="north").num_rows == 0
    with pytest.raises(PlanError, match="no cluster 'nowhere'; expected one of east, north, west"):
        index.select("loafs", cluster="nowhere")


def test_a_report_of_one_cluster_has_no_column(tmp_path: Path) -> None:
    pattern = write(tmp_path / "dumps", east=Store(definition(), loaf("light"))).replace("*", "east")
    for name, report in (("prod", tmp_path / "named"), ("", tmp_path / "unnamed")):
        run_audit(AuditOptions(dumps=(pattern,), cluster=name, report=str(report), fail_on="never"))
        assert rows(auditor("query", report, "loafs").stdout)[0] == ["NAMESPACE", "NAME", "AGE"]
    assert auditor("query", tmp_path / "named", "loafs", "--cluster", "prod").code == 0
    assert "no cluster 'x'; expected one of prod" in refusal("query", tmp_path / "named", "loafs", "--cluster", "x")
    assert "without a name" in refusal("query", tmp_path / "unnamed", "loafs", "--cluster", "x")
    assert "a dump is of one cluster" in refusal("query", pattern, "loafs", "--cluster", "x")


def test_hints_of_a_fleet_name_the_cluster(tmp_path: Path) -> None:
    first = write(tmp_path / "one", east=Store(definition(), loaf("x")), west=Store(definition(), loaf("x")))
    torn, stuck = Store(definition()), Store(definition())
    torn.put(b"{torn", TORN)
    stuck.put(loaf("y", grams=900, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.b/c"],
                                             "name": "BAD"}), TORN.replace("/x", "/y"))  # fmt: skip
    second = write(tmp_path / "two", east=stuck, west=torn)
    made = AuditOptions(dumps=(first,), cluster="{1}", report=str(tmp_path / "first"), fail_on="never")
    run_anywhere(made)
    later = AuditOptions(
        dumps=(second,), cluster="{1}", report=str(tmp_path / "second"), fail_on="never", diff=made.report
    )
    run_anywhere(later)
    text = summary_of(later.report).splitlines()

    def after(title: str) -> list[str]:
        at = next(number for number, line in enumerate(text) if f"  {title}  " in line)
        return text[at : at + 4]

    assert any(
        f"auditor show {later.report} --cluster west {TORN}" in line for line in after("cannot be listed or watched")
    )
    assert any(f"auditor show {later.report} --cluster east " in line for line in after("cannot be deleted"))


def test_what_is_corrupt_or_refused_is_not_said_to_be_absent(fleet: Path, tmp_path: Path) -> None:
    store = Store(definition())
    store.put(b"{torn", TORN)
    store.put(b"{torn", "/registry/configmaps/north/x")
    dump = store.write(tmp_path / "dump.json", "etcdctl")
    report = tmp_path / "report"
    run_audit(AuditOptions(dumps=(dump,), report=str(report), fail_on="never"))
    for target in (dump, report):
        for kind in ("loafs", "configmaps"):
            found = auditor("query", target, kind, "-A")
            assert "corrupt object" in found.output
            assert "No resources found" not in found.output
    refused = auditor("query", fleet, "loafs", "-A", "--field-selector", "spec.nope=1")
    assert "No resources found" not in refused.output
    assert "No resources found" in auditor("query", dump, "secrets", "-A").output


def test_the_report_of_one_cluster_with_a_name_says_it(tmp_path: Path) -> None:
    store = Store(definition())
    store.put(b"{torn", TORN)
    pattern = write(tmp_path / "dumps", east=store)
    report = tmp_path / "report"
    run_anywhere(AuditOptions(dumps=(pattern,), cluster="{1}", report=str(report), fail_on="never"))
    text = summary_of(report)
    assert re.search(r"  cannot be listed or watched  [0-9a-f]{8}\n", text)
    assert text.partition("  ")[2].startswith("east · 1 critical cause\n")
    assert f"auditor show {report} --cluster east {TORN}" in text
    assert auditor("show", report, "--cluster", "east", TORN).code == 3  # no server can read it
