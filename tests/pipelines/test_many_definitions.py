"""Programs are built on first use: definitions that no object needs cost next to nothing."""

import pytest

from auditor.plan import plan
from auditor.plan.options import AuditOptions
from auditor.shards import judge
from pipelines.run.audit import run_audit
from tests.benchmarks import definitions


@pytest.mark.slow
def test_a_thousand_objects_take_less_than_three_times_as_long_with_a_thousand_definitions(tmp_path):
    found = definitions.measure(tmp_path, spread=False)
    few, many = min(found["few"]), min(found["many"])
    assert many < 3 * few, (few, many)


def test_only_definitions_with_objects_are_parsed_and_have_programs(tmp_path, monkeypatch):
    parsed, built = [], []
    parse, program = judge.parse_text, judge.AuditProgram
    monkeypatch.setattr(judge, "parse_text", lambda text, **rest: parsed.append(1) or parse(text, **rest))
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
    found = [plan.first_not_before(keys, key) for key in (b"", b"a", b"b", b"e", b"f")]
    assert found == [b"a", b"a", b"c", b"e", None]
    assert plan.first_not_before(Keys([]), b"a") is None
