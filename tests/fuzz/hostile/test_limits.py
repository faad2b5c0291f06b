"""--memory, --time-per-object and --time: what they bound, and that nothing is left out without a word."""

from __future__ import annotations

import json
import subprocess
import sys
from time import thread_time
from typing import TYPE_CHECKING

import pytest
from click import BadParameter
from pyarrow import parquet

from auditor.base.machine import memory_limit
from auditor.cel.operations import text_memory
from auditor.cel.operations.cost import Cancelled
from auditor.validation.rules import RuleProgram, RuleTime
from pipelines.limits import Memory, Seconds, share_of_memory
from pipelines.run import fleet_report
from pipelines.run.fleet import Cluster
from tests.fuzz.hostile.bounded import Cost, dump, run_auditor
from tests.fuzz.hostile.test_ratio import _program

if TYPE_CHECKING:
    from pathlib import Path

REPLACING = {
    "type": "object",
    "properties": {"s": {"type": "string"}},
    "x-kubernetes-validations": [{"rule": "self.s.replace('a',self.s).replace('a',self.s).size()>0"}],
}
LOOPING = {
    "type": "object",
    "properties": {"l": {"type": "array", "items": {"type": "integer"}}},
    "x-kubernetes-validations": [{"rule": "self.l.all(x,self.l.all(y,x+y>=0))"}],
}


def _audit(path: Path, *options: str) -> tuple[Cost, dict]:
    report = path.parent / "report"
    cost = run_auditor("audit", str(path), "--report", str(report), "--fail-on", "never", *options)
    return cost, json.loads((report / "manifest.json").read_bytes())


@pytest.mark.parametrize(
    ("text", "found"), [("512Mi", 512 << 20), ("2Gi", 2 << 30), ("1.5G", 1_500_000_000), ("200000000", 200_000_000)]
)
def test_memory_is_written_as_kubernetes_does(text: str, found: int) -> None:
    assert Memory().convert(text, None, None) == found


@pytest.mark.parametrize(("text", "found"), [("500ms", 0.5), ("10s", 10.0), ("2m", 120.0), ("1h", 3600.0), ("3", 3.0)])
def test_times_have_units(text: str, found: float) -> None:
    assert Seconds().convert(text, None, None) == found


@pytest.mark.parametrize("text", ["", "much", "1Mi", "-1Gi", "1 Xi"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(BadParameter):
        Memory().convert(text, None, None)


@pytest.mark.parametrize("text", ["", "0s", "-1s", "1 day"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(BadParameter):
        Seconds().convert(text, None, None)


def test_the_default_is_a_share_of_what_the_process_may_use() -> None:
    assert share_of_memory(100_000_000) == 75_000_000
    assert share_of_memory() == int(memory_limit() * 0.75) > 0


@pytest.mark.parametrize(
    ("old", "new", "count"), [("a", "bb", -1), ("", "x", -1), ("", "x", 2), ("aa", "", 1), ("a", "b", 0)]
)
def test_replace_is_that_of_strings_until_it_makes_too_much(old: str, new: str, count: int) -> None:
    text_memory.begin()
    assert text_memory.replace("aabaa", old, new, count) == "aabaa".replace(old, new, count)


def test_too_much_text_is_given_up_before_it_is_made() -> None:
    text_memory.begin()
    long = text_memory.replace("a" * 1000, "a", "a" * 1000)
    with pytest.raises(Cancelled, match="memory"):
        text_memory.replace(long, "a", "a" * 1_000_000)
    text_memory.begin()
    with pytest.raises(Cancelled):
        [text_memory.replace("a" * 1000, "a", "b" * 1000) for _ in range(100)]


def _rules() -> RuleProgram:
    program = RuleProgram.of(_program(LOOPING).version.structural)
    assert program is not None
    return program


def test_an_object_has_time_whatever_the_others_took() -> None:
    time, program = RuleTime(10.0, 3.0), _rules()
    before = time.deadline(program)
    time.ended(program, 5.0, gave_up=True)
    assert before - 10 < time.deadline(program) < before - 2.5


def test_many_slow_objects_do_not_take_the_least_time_each() -> None:
    program = _rules()
    other = _rules()
    program.time = other.time = RuleTime(10.0, 0.0)
    begun = thread_time()
    for number in range(60):
        program.run({"spec": {"l": list(range(1000 + number))}})
        assert program.unevaluated() == 1
    assert thread_time() - begun < 2.5
    assert other.run({"spec": {"l": [-1]}})
    assert other.unevaluated() == 0
    program.time.begin(10.0)
    assert not program.run({"spec": {"l": list(range(300))}})
    assert program.unevaluated() == 0


def test_a_rule_that_makes_a_gigabyte_is_not_evaluated_and_named(tmp_path: Path) -> None:
    cost, manifest = _audit(dump(tmp_path / "dump.ndjson", REPLACING, {"s": "a" * 1000}))
    assert cost.megabytes < 300
    counts = {"objects": 1, "given_up": 1, "first": ["d/a0"]}
    assert manifest["not_evaluated"] == [
        {"what": "x-kubernetes-validations", "crd": "ws.ex.com", "version": "v1", **counts}
    ]
    assert cost.code == manifest["exit_code"] == 3
    assert "NOT EVALUATED" in cost.out
    assert "nothing to do" not in cost.out


def test_slow_objects_share_a_budget_and_their_neighbours_are_judged(tmp_path: Path) -> None:
    slow = {"l": list(range(400))}
    cost, manifest = _audit(
        dump(tmp_path / "dump.ndjson", LOOPING, *[slow] * 8, {"l": [-1]}), "--time-per-object", "200ms"
    )
    assert cost.seconds < 10
    assert manifest["not_evaluated"][0]["objects"] == 8
    assert next(row["statuses"] for row in manifest["kinds"] if row["kind"] == "W")["invalid"] == 1


@pytest.mark.parametrize("options", [(), ("--skip", "updates")])
def test_every_object_whose_rules_were_given_up_is_named(tmp_path: Path, options: tuple[str, ...]) -> None:
    slow = [{"l": list(range(700 + number))} for number in range(8)]
    path = dump(tmp_path / "dump.ndjson", LOOPING, *slow, {"l": [-1]})
    cost, manifest = _audit(path, "--time-per-object", "1ms", *options)
    (entry,) = manifest["not_evaluated"]
    assert (entry["objects"], entry["given_up"]) == (8, 8)
    assert entry["first"] == [f"d/a{number}" for number in range(5)]
    said = " ".join(cost.out.split())
    assert "the rules of 8 exceeded the limit of time (--time-per-object) or memory for one object: " in said
    assert "d/a0, d/a1, d/a2, d/a3, d/a4 and 3 more" in said
    assert cost.code == manifest["exit_code"] == 3
    rows = parquet.read_table(tmp_path / "report" / "objects").to_pylist()
    given_up = [row for row in rows if (row["reason"] or "").startswith("rules not evaluated:")]
    assert sorted(row["name"] for row in given_up) == [f"a{number}" for number in range(8)]
    assert {row["impact"] for row in given_up} == {"unknown"}


def test_validate_names_objects_whose_rules_were_given_up(tmp_path: Path) -> None:
    path = dump(tmp_path / "dump.ndjson", REPLACING, {"s": "a" * 1000}, {"s": "a"}, {"s": 5})
    cost = run_auditor("validate", str(path), "-o", "ndjson")
    objects = [json.loads(line) for line in cost.out.splitlines() if line.startswith("{")]
    reasons = {one["name"]: one["reason"] for one in objects if one["kind"] == "W"}
    assert reasons.pop("a0").startswith("rules not evaluated:")
    assert reasons == {"a1": None, "a2": None}
    assert cost.code == 3
    cost = run_auditor("validate", str(path))
    assert "the rules of 1 exceeded the limit of time or memory for one object: d/a0" in cost.out
    (line,) = [line for line in cost.out.splitlines() if "rules not evaluated:" in line]
    assert line.startswith(f"{path}:2: valid: W.")
    assert " d/a0: rules not evaluated: " in line


def test_the_slow_objects_of_a_validation_share_a_budget(tmp_path: Path) -> None:
    slow = [{"l": list(range(500 + number))} for number in range(40)]
    cost = run_auditor("validate", str(dump(tmp_path / "dump.ndjson", LOOPING, *slow)))
    assert cost.code == 3
    assert "exceeded the limit of time or memory" in cost.out


def test_objects_that_are_alike_are_evaluated_once(tmp_path: Path) -> None:
    cost, manifest = _audit(dump(tmp_path / "dump.ndjson", LOOPING, *[{"l": list(range(600))}] * 30))
    assert (cost.code, manifest["not_evaluated"]) == (0, [])
    assert next(row["statuses"] for row in manifest["kinds"] if row["kind"] == "W") == {"invalid": 30}
    assert cost.seconds < 6


def test_what_is_remembered_of_a_rule_is_of_that_value_alone() -> None:
    program = RuleProgram.of(_program(LOOPING).version.structural)
    limits = [program.run({"spec": {"l": [*range(600), last]}}) for last in (1, 2, 1)]
    assert all("cost limit exceeded" in found[0].message for found in limits)
    values = [[1] * 300, [1] * 299 + [-1], [1] * 300, [1.0] * 300]
    found = [[one.message for one in program.run({"spec": {"l": value}})] for value in values]
    fresh = [
        [one.message for one in RuleProgram.of(_program(LOOPING).version.structural).run({"spec": {"l": v}})]
        for v in values
    ]
    assert found == fresh
    assert [bool(one) for one in found[:3]] == [False, True, False]


def test_rules_that_were_given_up_are_tried_again(tmp_path: Path) -> None:
    path = dump(tmp_path / "dump.ndjson", LOOPING, *[{"l": list(range(300))}] * 2)
    _audit(path, "--time-per-object", "1ms")
    again = ("--since", str(tmp_path / "report"), "--diff", str(tmp_path / "report"), "--only-new")
    options = ("--fail-on", "never", "--time-per-object", "1ms")
    cost = run_auditor("audit", str(path), "--report", str(tmp_path / "second"), *again, *options)
    assert cost.code == 3
    assert "the rules of 2 exceeded the limit of time" in " ".join(cost.out.split())
    cost = run_auditor("audit", str(path), "--report", str(tmp_path / "third"), *again[:2], "--fail-on", "never")
    manifest = json.loads((tmp_path / "third" / "manifest.json").read_bytes())
    assert (cost.code, manifest["not_evaluated"]) == (0, [])


def test_a_fleet_names_what_was_given_up_with_its_cluster() -> None:
    entry = {"what": "x-kubernetes-validations", "crd": "ws.ex.com", "version": "v1"}
    named = [{"not_evaluated": [{**entry, "objects": 4, "given_up": 4, "first": list("abcd")}]}] * 2
    broken = [{"not_evaluated": [{**entry, "crd": "vs.ex.com", "objects": 1}]}]
    clusters = [Cluster(name, f"{name}.db") for name in ("one", "two", "three")]
    counts = {"objects": 8, "given_up": 8, "first": ["one: a", "one: b", "one: c", "one: d", "two: a"]}
    found = fleet_report._not_evaluated(list(zip(clusters, named + broken, strict=True)))
    assert found == [{**entry, **counts}, {**entry, "crd": "vs.ex.com", "objects": 1}]


def test_a_run_out_of_time_counts_what_is_left(tmp_path: Path) -> None:
    cost, manifest = _audit(dump(tmp_path / "dump.ndjson", {"type": "object"}, {}, {}), "--time", "1ms")
    assert cost.code == 3
    assert manifest["exit_code"] == 3
    assert manifest["counts"]["rows"] == 3
    assert "3 keys: not judged: the time of the run (--time) was over" in cost.out
    assert "nothing to do" not in cost.out
    assert "keys given up" not in cost.out


def test_a_run_within_its_memory_is_as_without(tmp_path: Path) -> None:
    _, manifest = _audit(dump(tmp_path / "dump.ndjson", {"type": "object"}, {}, {}), "--memory", "256Mi")
    assert manifest["counts"]["statuses"] == {"definition": 1, "valid": 2}


def test_a_run_within_its_memory_is_as_without_where_stacks_may_be_large(tmp_path: Path) -> None:
    path, report = dump(tmp_path / "dump.ndjson", {"type": "object"}, {}, {}), tmp_path / "report"
    auditor = f"exec {sys.executable} -m pipelines.cli.main audit {path} --report {report} --memory 256Mi"
    done = subprocess.run(["sh", "-c", f"ulimit -s 524288; {auditor}"], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_object_beyond_the_memory_is_lost_by_name_and_its_neighbours_are_judged(tmp_path: Path, jobs: str) -> None:
    huge = {f"k{number}": [number] for number in range(400_000)}
    open_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    path = dump(tmp_path / "dump.ndjson", open_schema, {}, huge, {"a": 1})
    cost, manifest = _audit(path, "--memory", "130Mi", "--jobs", jobs)
    assert cost.code == manifest["exit_code"] == 3
    assert manifest["counts"]["statuses"] == {"definition": 1, "unreadable": 1, "valid": 2}
    (lost,) = manifest["lost"]
    assert lost.startswith("W.ex.com d/a1: not audited: ")
    assert " ".join(f"LOST  {lost}".split()) in " ".join(cost.out.split())
    assert "Traceback" not in cost.out
    assert "nothing to do" not in cost.out


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_definition_beyond_the_memory_is_named(tmp_path: Path, jobs: str) -> None:
    enum = {"type": "string", "enum": [f"e{number}" for number in range(600_000)]}
    path = dump(tmp_path / "dump.ndjson", {"type": "object", "properties": {"a": enum}}, {"a": "b"})
    cost, manifest = _audit(path, "--memory", "200Mi", "--jobs", jobs)
    assert cost.code == manifest["exit_code"] == 3
    assert "definition ws.ex.com: " in cost.out
    assert "it was not read, and no object of it was judged" in cost.out
