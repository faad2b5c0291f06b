"""Time is attributed to the innermost known stage, unless an outer stage includes all of its inner ones."""

import sys
import time
from types import SimpleNamespace

import pytest

from tests.benchmarks import profile
from tests.shared import ROOT


def code(place, name="f"):
    filename = place if place.startswith("<") else f"{ROOT}/{place}"
    return compile(f"def {name}(): pass", filename, "exec").co_consts[0]


@pytest.mark.parametrize(
    ("calls", "stage"),
    [
        ((("tests/benchmarks/profile.py", "profile"),), profile.OTHER),
        ((("auditor/shards/shard_keys.py", "add"), ("auditor/program/program.py", "audit")), "program"),
        ((("auditor/shards/shard_keys.py", "add"), ("auditor/shards/row_writer.py", "object_row")), "rows"),
        ((("auditor/program/program.py", "audit"), ("<auditor Widget.v1.example.com 7>", "_f3")), "program"),
        ((("<auditor Widget.v1.example.com 7>", "_f3"), ("auditor/golang/regex/compiled.py", "search")), "program"),
        ((("auditor/program/program.py", "audit"), ("<auditor Widget.v1.example.com rules _r2 8>", "_r2")), "rules"),
        ((("auditor/program/program.py", "audit"), ("auditor/validation/create.py", "run")), "exact path"),
        ((("auditor/validation/create.py", "run"), ("auditor/cel/evaluate.py", "visit")), "rules"),
        ((("auditor/validation/create.py", "run"), ("auditor/validation/rules/evaluate.py", "run")), "rules"),
        ((("auditor/shards/updates.py", "judge"), ("auditor/validation/create.py", "run")), "verdicts on updates"),
        ((("auditor/shards/judge.py", "definition"), ("auditor/schema/parse.py", "f")), "start-up: definitions are parsed"),
        ((("auditor/shards/shard_keys.py", "add"), ("<frozen importlib._bootstrap>", "_find_and_load"), ("auditor/cel/syntax/parser.py", "f")),
         "start-up: imports"),
        ((("auditor/shards/index.py", "write"), ("auditor/shards/columns.py", "write_parquet")), "Parquet"),
    ],
)  # fmt: skip
def test_the_stage_of_a_call(calls, stage):
    outermost_first = [code(place, name) for place, name in calls]
    assert profile.Sampler().stage_of(outermost_first[::-1]) == stage


@pytest.mark.parametrize(("stage", "place"), [(rule[0], rule[1]) for rule in profile.STAGES])
def test_every_stage_names_what_exists(stage, place):
    is_generated = place.startswith("<")
    assert is_generated or (ROOT / place).exists(), (stage, place)


def test_all_processor_time_is_booked_on_functions_and_stages():
    def burn(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    before = time.process_time()
    with profile.Sampler() as sampler:
        burn(0.3)
    spent = time.process_time() - before
    booked = sum(sampler.stages.values())
    assert 0.5 * spent < booked <= spent
    assert sum(sampler.functions.values()) == pytest.approx(booked)
    assert sum(sampler.lines.values()) == pytest.approx(booked)
    (most, stage), _ = profile.most(sampler.functions, 1)[0]
    assert most.endswith(".<locals>.burn")
    assert stage == profile.OTHER


def test_decoding_is_distinguished_where_it_is_done(tmp_path, monkeypatch):
    source = "import orjson\ndef classify(data, seconds, clock):\n end = clock() + seconds\n while clock() < end:\n  orjson.loads(data)\n"
    path = tmp_path / "auditor" / "shards" / "audit.py"
    path.parent.mkdir(parents=True)
    path.write_text(source)
    monkeypatch.setattr(profile, "ROOT", tmp_path)
    namespace = {}
    exec(compile(source, str(path), "exec"), namespace)
    with profile.Sampler() as sampler:
        namespace["classify"](b"[%s]" % b",".join([b"1.5"] * 20_000), 0.3, time.process_time)
    (stage, spent), *_ = profile.most(sampler.stages)
    assert stage == "decode"
    assert spent > 0.5 * sum(sampler.stages.values())  # what was decoded is also freed, on the line of the loop


def test_nothing_is_booked_after_the_end():
    with profile.Sampler() as sampler:
        pass
    booked = dict(sampler.stages)
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    assert sampler.stages == booked


def test_names_are_short():
    assert profile.shown(f"{ROOT}/auditor/base/records.py") == "auditor/base/records.py"
    assert profile.shown(f"{sys.base_prefix}/lib/x.py") == "lib/x.py"
    assert profile.shown("<auditor X 1>") == "<auditor X 1>"


def test_what_most_time_is_booked_on_comes_first():
    spent = SimpleNamespace(a=1.0, b=3.0, c=2.0).__dict__
    assert profile.most(spent, 2) == [("b", 3.0), ("c", 2.0)]
    assert [name for name, _ in profile.most(spent)] == ["b", "c", "a"]
