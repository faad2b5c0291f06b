"""--memory, --time-per-object and --time: what they bound, and that nothing is left out without a word.

What a process of its own is needed for is in `tests/processes/test_bounded_memory.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click import BadParameter
from pyarrow import parquet

from auditor.base.machine import memory_limit
from auditor.cel.operations import text_memory
from auditor.cel.operations.cost import Cancelled
from auditor.validation.rules import RuleProgram, RuleTime
from pipelines.limits import MemoryAmount, Seconds, share_of_memory
from pipelines.run import fleet_report
from pipelines.run.fleet import Cluster
from tests.command import Ended, auditor
from tests.fuzz.hostile.bounded import Clock, bounded, dump
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


def _audit(path: Path, *options: str, report: str = "report") -> tuple[Ended, dict]:
    folder = path.parent / report
    ended = auditor("audit", path, "--report", folder, "--fail-on", "never", "--jobs", 1, *options)
    return ended, json.loads((folder / "manifest.json").read_bytes())


@pytest.mark.parametrize(
    ("text", "found"), [("512Mi", 512 << 20), ("2Gi", 2 << 30), ("1.5G", 1_500_000_000), ("200000000", 200_000_000)]
)
def test_memory_is_written_as_kubernetes_does(text: str, found: int) -> None:
    assert MemoryAmount().convert(text, None, None) == found


@pytest.mark.parametrize(("text", "found"), [("500ms", 0.5), ("10s", 10.0), ("2m", 120.0), ("1h", 3600.0), ("3", 3.0)])
def test_times_have_units(text: str, found: float) -> None:
    assert Seconds().convert(text, None, None) == found


@pytest.mark.parametrize("text", ["", "much", "1Mi", "-1Gi", "1 Xi"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(BadParameter):
        MemoryAmount().convert(text, None, None)


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
    with Clock(0.01).counted() as clock:
        for number in range(60):
            program.run({"spec": {"l": list(range(1000 + number))}})
            assert program.unevaluated() == 1
        assert clock.now < 4
        with Clock(0.00001).counted():
            assert other.run({"spec": {"l": [-1]}})
            assert other.unevaluated() == 0
            program.time.begin(10.0)
            assert not program.run({"spec": {"l": list(range(300))}})
            assert program.unevaluated() == 0


def test_a_rule_that_makes_a_gigabyte_is_not_evaluated_and_named(tmp_path: Path) -> None:
    with bounded(300):
        ended, manifest = _audit(dump(tmp_path / "dump.ndjson", REPLACING, {"s": "a" * 1000}))
    counts = {"objects": 1, "given_up": 1, "first": ["d/a0"]}
    assert manifest["not_evaluated"] == [
        {"what": "x-kubernetes-validations", "crd": "ws.ex.com", "version": "v1", **counts}
    ]
    assert ended.code == manifest["exit_code"] == 3
    assert "NOT EVALUATED" in ended.output
    assert "nothing to do" not in ended.output


def test_slow_objects_share_a_budget_and_their_neighbours_are_judged(tmp_path: Path) -> None:
    path = dump(tmp_path / "dump.ndjson", LOOPING, *[{"l": list(range(400))}] * 8, {"l": [-1]})
    with Clock(0.002).counted() as clock:
        _, manifest = _audit(path, "--time-per-object", "200ms")
    assert clock.now < 3
    assert manifest["not_evaluated"][0]["objects"] == 8
    assert next(row["statuses"] for row in manifest["kinds"] if row["kind"] == "W")["invalid"] == 1


@pytest.mark.parametrize("options", [(), ("--skip", "updates")])
def test_every_object_whose_rules_were_given_up_is_named(tmp_path: Path, options: tuple[str, ...]) -> None:
    slow = [{"l": list(range(700 + number))} for number in range(8)]
    path = dump(tmp_path / "dump.ndjson", LOOPING, *slow, {"l": [-1]})
    with Clock(0.0001).counted():
        ended, manifest = _audit(path, "--time-per-object", "1ms", *options)
    (entry,) = manifest["not_evaluated"]
    assert (entry["objects"], entry["given_up"]) == (8, 8)
    assert entry["first"] == [f"d/a{number}" for number in range(5)]
    said = " ".join(ended.output.split())
    assert "the rules of 8 exceeded the limit of time (--time-per-object) or memory for one object: " in said
    assert "d/a0, d/a1, d/a2, d/a3, d/a4 and 3 more" in said
    assert ended.code == manifest["exit_code"] == 3
    rows = parquet.read_table(tmp_path / "report" / "objects").to_pylist()
    given_up = [row for row in rows if (row["reason"] or "").startswith("rules not evaluated:")]
    assert sorted(row["name"] for row in given_up) == [f"a{number}" for number in range(8)]
    assert {row["impact"] for row in given_up} == {"unknown"}


def test_validate_names_objects_whose_rules_were_given_up(tmp_path: Path) -> None:
    path = dump(tmp_path / "dump.ndjson", REPLACING, {"s": "a" * 1000}, {"s": "a"}, {"s": 5})
    ended = auditor("validate", path, "-o", "ndjson")
    objects = [json.loads(line) for line in ended.output.splitlines() if line.startswith("{")]
    reasons = {one["name"]: one["reason"] for one in objects if one["kind"] == "W"}
    assert reasons.pop("a0").startswith("rules not evaluated:")
    assert reasons == {"a1": None, "a2": None}
    assert ended.code == 3
    ended = auditor("validate", path)
    assert "the rules of 1 exceeded the limit of time or memory for one object: d/a0" in ended.output
    (line,) = [line for line in ended.output.splitlines() if "rules not evaluated:" in line]
    assert line.startswith(f"{path}:2: valid: W.")
    assert " d/a0: rules not evaluated: " in line


def test_the_slow_objects_of_a_validation_share_a_budget(tmp_path: Path) -> None:
    path = dump(tmp_path / "dump.ndjson", LOOPING, *[{"l": list(range(500 + number))} for number in range(40)])
    with Clock(0.02).counted() as clock:
        ended = auditor("validate", path)
    assert ended.code == 3
    assert "exceeded the limit of time or memory" in ended.output
    assert clock.now < 15


def test_objects_that_are_alike_are_evaluated_once(tmp_path: Path) -> None:
    with Clock(0.001).counted() as clock:
        ended, manifest = _audit(dump(tmp_path / "dump.ndjson", LOOPING, *[{"l": list(range(600))}] * 30))
    assert (ended.code, manifest["not_evaluated"]) == (0, [])
    assert next(row["statuses"] for row in manifest["kinds"] if row["kind"] == "W") == {"invalid": 30}
    assert clock.now < 6


def test_what_is_remembered_of_a_rule_is_of_that_value_alone() -> None:
    program = RuleProgram.of(_program(LOOPING).version.structural)
    limits = [program.run({"spec": {"l": [*range(600), last]}}) for last in (1, 2, 1)]
    assert all("cost limit exceeded" in found[0].message for found in limits)
    values = [[1] * 150, [1] * 149 + [-1], [1] * 150, [1.0] * 150]
    found = [[one.message for one in program.run({"spec": {"l": value}})] for value in values]
    fresh = [
        [one.message for one in RuleProgram.of(_program(LOOPING).version.structural).run({"spec": {"l": v}})]
        for v in values
    ]
    assert found == fresh
    assert [bool(one) for one in found[:3]] == [False, True, False]


@pytest.mark.slow
def test_rules_that_were_given_up_again_are_named_again(tmp_path: Path) -> None:
    path = dump(tmp_path / "dump.ndjson", LOOPING, *[{"l": list(range(300))}] * 2)
    with Clock(0.0001).counted():
        _audit(path, "--time-per-object", "1ms")
        more = ("--diff", tmp_path / "report", "--only-new", "--time-per-object", "1ms")
        ended, _ = _audit(path, *more, report="second")
    assert ended.code == 3
    assert "the rules of 2 exceeded the limit of time" in " ".join(ended.output.split())


def test_a_fleet_names_what_was_given_up_with_its_cluster() -> None:
    entry = {"what": "x-kubernetes-validations", "crd": "ws.ex.com", "version": "v1"}
    named = [{"not_evaluated": [{**entry, "objects": 4, "given_up": 4, "first": list("abcd")}]}] * 2
    broken = [{"not_evaluated": [{**entry, "crd": "vs.ex.com", "objects": 1}]}]
    clusters = [Cluster(name, f"{name}.db") for name in ("one", "two", "three")]
    counts = {"objects": 8, "given_up": 8, "first": ["one: a", "one: b", "one: c", "one: d", "two: a"]}
    found = fleet_report._not_evaluated(list(zip(clusters, named + broken, strict=True)))
    assert found == [{**entry, **counts}, {**entry, "crd": "vs.ex.com", "objects": 1}]


def test_a_run_out_of_time_counts_what_is_left(tmp_path: Path) -> None:
    ended, manifest = _audit(dump(tmp_path / "dump.ndjson", {"type": "object"}, {}, {}), "--time", "1ms")
    assert ended.code == 3
    assert manifest["exit_code"] == 3
    assert manifest["counts"]["rows"] == 3
    assert "3 keys: not judged: the time of the run (--time) was over" in ended.output
    assert "nothing to do" not in ended.output
    assert "keys given up" not in ended.output
