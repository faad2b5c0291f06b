"""Programs are built on first use: definitions that no object needs cost next to nothing."""

from auditor.plan import run_plan
from auditor.plan.options import AuditOptions
from auditor.shards import judge
from pipelines.run.audit import run_audit
from tests.benchmarks import definitions
from tests.counting import calls_of

MOST_CALLS = 3000
"""Calls of Python functions to read a definition that no object needs."""


def calls_with(count, used, folder):
    """Count the calls of an audit of 40 objects of some definitions beside which there are others."""
    known = [definitions.synthetic(number) for number in range(count)]
    dump = folder / f"dump-{count}.json"
    definitions.write_dump(dump, known, 40, used, corpus=False)
    asked = AuditOptions(dumps=(str(dump),), report=str(folder / f"r-{count}"), jobs=1, force=True)
    answers = []
    calls = calls_of(lambda: answers.append(run_audit(asked)), of_c=False)
    ((code, manifest),) = answers
    assert (code, manifest["counts"]["statuses"]) == (0, {"definition": count, "valid": 40})
    return calls


def test_a_definition_that_no_object_needs_costs_few_calls(tmp_path):
    calls_with(10, 3, tmp_path)  # what is loaded once
    few, many, used = calls_with(10, 3, tmp_path), calls_with(90, 3, tmp_path), calls_with(10, 10, tmp_path)
    assert many - few < 80 * MOST_CALLS, (few, many)
    assert used - few > 7 * MOST_CALLS, "to build a program takes more"


def test_only_definitions_with_objects_are_parsed_and_have_programs(tmp_path, monkeypatch):
    parsed, built = [], []
    parse, program = judge.parse_definition, judge.AuditProgram
    monkeypatch.setattr(judge, "parse_definition", lambda made, **rest: parsed.append(1) or parse(made, **rest))
    monkeypatch.setattr(judge, "AuditProgram", lambda *args, **rest: built.append(1) or program(*args, **rest))
    known = [definitions.synthetic(number) for number in range(30)]
    dump = tmp_path / "dump.json"
    definitions.write_dump(dump, known, 40, 3, corpus=False)
    code, manifest = run_audit(AuditOptions(dumps=(str(dump),), report=str(tmp_path / "r")))
    assert (code, manifest["counts"]["statuses"]) == (0, {"definition": 30, "valid": 40})
    assert len(parsed) == len(built) == 3
    assert {entry["interpreted"] for entry in manifest["programs"]} == {4}
    assert {entry["proven"] for entry in manifest["programs"]} == {9, 10}


def test_the_first_key_not_before_another_is_found():
    class Keys(list):
        def __getitem__(self, at):
            return type("Cell", (), {"as_py": lambda _: list.__getitem__(self, at)})()

    keys = Keys([b"a", b"c", b"e"])
    found = [run_plan.first_not_before(keys, key) for key in (b"", b"a", b"b", b"e", b"f")]
    assert found == [b"a", b"a", b"c", b"e", None]
    assert run_plan.first_not_before(Keys([]), b"a") is None
