"""No content of a dump ends a command: what fails is a kind or an object, by name, and its neighbours are judged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow.parquet as pq
import pytest

from auditor.base import paths
from auditor.base.errors import EngineError
from auditor.fastpath.dicts import build
from auditor.plan.options import AuditOptions
from auditor.program import program as audit_program
from auditor.program.program import AuditProgram
from auditor.shards import judge, row_writer
from auditor.shards.shard_audit import ShardAuditor
from auditor.shards.table_rows import ObjectRows
from auditor.updates.create import CreateJudge
from pipelines.run.audit import run_audit
from pipelines.run.validate import ValidateOptions, run_validate
from tests.command import auditor
from tests.fuzz.content.drawn import definition, resource
from tests.fuzz.content.run import parsed, run

if TYPE_CHECKING:
    from pathlib import Path


def dumped(folder: Path, *documents: Any) -> Path:
    path = folder / "dump.ndjson"
    path.write_text("".join((one if type(one) is str else json.dumps(one)) + "\n" for one in documents))
    return path


def audited(dump: Path, report: Path) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
    code, manifest = run_audit(AuditOptions(dumps=(str(dump),), report=str(report), jobs=1, fail_on="never"))
    rows = [row for part in sorted((report / "objects").glob("*")) for row in pq.read_table(part).to_pylist()]
    assert len(rows) == manifest["counts"]["rows"] == manifest["counts"]["keys"]
    return code, manifest, rows


def schema_of(crd: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    return found


def deep(text: str, depth: int) -> str:
    return text.replace('"DEEP"', '{"a":' * depth + "1" + "}" * depth)


def test_a_definition_deeper_than_pythons_calls_is_no_end_of_an_audit(tmp_path: Path) -> None:
    other = definition(kind="D", plural="ds")
    schema_of(other)["p"]["example"] = "DEEP"
    dump = dumped(tmp_path, deep(json.dumps(other), 2000), definition(), resource("a"))
    ended = auditor("audit", dump, "--report", tmp_path / "report")
    assert ended.code == 0, ended.stderr
    assert auditor("crds", "check", dump).code == 0


NAME, YAML, JSON, NDJSON = (("query", "ws", "-o", form) for form in ("name", "yaml", "json", "ndjson"))
SHOW = ("show", "d/deep", "-o", "json")


@pytest.mark.parametrize(
    ("words", "depth"),
    [
        *((words, 1500) for words in (YAML, JSON, SHOW)),
        *((words, 9900) for words in (NAME, NDJSON)),
        *(pytest.param(words, 9900, marks=pytest.mark.slow) for words in (YAML, JSON, SHOW)),
    ],
)
def test_an_object_as_deep_as_a_server_takes_is_printed(words: tuple[str, ...], depth: int, tmp_path: Path) -> None:
    """In forms whose lines are indented it takes seconds, so each change sees one deeper than Python's own limit."""
    one = resource("deep")
    one["spec"]["p"] = "DEEP"
    dump = dumped(tmp_path, definition(), deep(json.dumps(one), depth), resource("b"))
    ended = auditor(words[0], dump, *words[1:])
    assert ended.code == 0, ended.stderr[-400:]
    assert "deep" in ended.stdout
    assert ended.stdout.count("a") >= (0 if "name" in words else depth)


def test_a_deep_object_is_judged_and_a_deeper_one_is_refused_in_the_servers_words(tmp_path: Path) -> None:
    objects = []
    for name, depth in (("deep", 9900), ("deeper", 10_100)):
        one = resource(name)
        one["spec"]["p"] = "DEEP"
        objects.append(deep(json.dumps(one), depth))
    ended = auditor("audit", dumped(tmp_path, definition(), *objects), "--report", tmp_path / "r", "--fail-on", "never")
    assert ended.code == 0, ended.stderr[-400:]
    rows = [row for part in (tmp_path / "r" / "objects").glob("*") for row in pq.read_table(part).to_pylist()]
    assert sorted(row["status"] for row in rows) == ["definition", "unreadable", "valid"]
    assert next(row["reason"] for row in rows if row["status"] == "unreadable").endswith("exceeded max depth")


@pytest.mark.parametrize("depth", [90, 250])
def test_objects_of_a_deep_schema_are_judged(depth: int, tmp_path: Path) -> None:
    nested = '{"type":"object","properties":{"a":' * depth + '{"type":"string","maxLength":3}' + "}}" * depth
    document = definition()
    schema_of(document)["deep"] = "SCHEMA"
    lines = [json.dumps(document).replace('"SCHEMA"', nested)]
    for number in range(12):
        one = resource(f"o{number}")
        one["spec"]["deep"] = "DEEP"
        text = "xxxx" if number == 7 else "x"
        lines.append(json.dumps(one).replace('"DEEP"', '{"a":' * depth + f'"{text}"' + "}" * depth))
    ended = auditor("audit", dumped(tmp_path, *lines), "--report", tmp_path / "r", "--fail-on", "never")
    assert ended.code == 0, ended.stderr[-400:]
    manifest = orjson.loads((tmp_path / "r" / "manifest.json").read_bytes())
    assert manifest["counts"]["statuses"] == {"definition": 1, "invalid": 1, "valid": 11}


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "a\x00b", "class", "", "é", "__class__", "a" * 500])
def test_a_property_of_any_name_costs_no_object(name: str, tmp_path: Path) -> None:
    crd = definition()
    schema_of(crd)[name] = {"type": "string", "maxLength": 3, "default": "d"}
    dump = dumped(tmp_path, crd, *(resource(f"o{number}") for number in range(80)))
    code, manifest, _ = audited(dump, tmp_path / "r")
    assert (code, manifest["counts"]["statuses"]) == (0, {"definition": 1, "valid": 80})


def test_an_unparsable_selectable_path_makes_one_row_a_key(tmp_path: Path) -> None:
    crd = definition()
    crd["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": ".a["}]
    code, manifest, _ = audited(dumped(tmp_path, crd, resource("a"), resource("b")), tmp_path / "r")
    assert (code, manifest["lost"]) == (0, [])


def test_an_object_that_breaks_the_auditor_is_lost_by_name_and_alone(tmp_path: Path, monkeypatch: Any) -> None:
    judge = ShardAuditor.judge

    def failing(self: ShardAuditor, crd: Any, data: bytes, *rest: Any) -> Any:
        if b'"o3"' in data:
            raise RuntimeError("what\nnow \ud800")
        return judge(self, crd, data, *rest)

    monkeypatch.setattr(ShardAuditor, "judge", failing)
    monkeypatch.setattr(ShardAuditor, "uses_fast_paths", lambda *_: False)
    dump = dumped(tmp_path, definition(), *(resource(f"o{number}") for number in range(9)))
    code, manifest, rows = audited(dump, tmp_path / "r")
    assert code == 3
    lost = "W.ex.com d/o3: the auditor failed on this value (RuntimeError: what now \\ud800); please report it"
    assert manifest["lost"] == [lost]
    assert manifest["counts"]["statuses"] == {"definition": 1, "unreadable": 1, "valid": 8}
    assert [row["name"] for row in rows if row["status"] == "unreadable"] == ["o3"]


def test_an_object_that_cannot_become_a_table_is_found_among_its_neighbours(tmp_path: Path, monkeypatch: Any) -> None:
    table = ObjectRows.table

    def failing(self: ObjectRows) -> Any:
        if "o17" in self._rows.column(3) and "the auditor" not in str(self._rows.column(5)):
            raise ValueError("not of this kind")
        return table(self)

    monkeypatch.setattr(ObjectRows, "table", failing)
    dump = dumped(tmp_path, definition(), *(resource(f"o{number}") for number in range(40)))
    code, manifest, _ = audited(dump, tmp_path / "r")
    assert code == 3
    assert len(manifest["lost"]) == 1
    assert manifest["lost"][0].startswith("W.ex.com d/o17: the auditor failed on this value (ValueError")
    assert manifest["counts"]["statuses"] == {"definition": 1, "unreadable": 1, "valid": 39}


def test_a_definition_that_breaks_the_auditor_loses_its_own_objects_alone(tmp_path: Path, monkeypatch: Any) -> None:
    parse = judge.parse_definition

    def failing(document: Any, **words: Any) -> Any:
        if document["spec"]["names"]["kind"] == "W":
            raise RecursionError("too deep")
        return parse(document, **words)

    monkeypatch.setattr(judge, "parse_definition", failing)
    documents = (definition(), resource("a"), resource("b"), definition(kind="S", plural="ss"), resource("s", kind="S"))
    code, manifest, rows = audited(dumped(tmp_path, *documents), tmp_path / "r")
    assert code == 3
    assert {(row["kind"], row["status"]) for row in rows if row["name"] in ("a", "b", "s")} == {
        ("W", "unreadable"),
        ("S", "valid"),
    }
    assert all("ws.ex.com: the definition cannot be used: " in line for line in manifest["lost"][1:])


@pytest.mark.parametrize(("table", "what"), [("objects", "3 rows of 2 keys"), ("findings", "rows in findings/")])
def test_a_report_that_does_not_hold_what_was_counted_is_not_put_in_place(
    table: str, what: str, tmp_path: Path, monkeypatch: Any
) -> None:
    finish = row_writer.RowWriter.finish

    def failing(self: Any) -> Any:
        made = finish(self)
        if table == "objects":
            made.rows += 1
        else:
            made.findings[(("a", "b"), "c", "d", "e")] += 1
        return made

    monkeypatch.setattr(row_writer.RowWriter, "finish", failing)
    options = AuditOptions(
        dumps=(str(dumped(tmp_path, definition(), resource("a"))),), report=str(tmp_path / "r"), jobs=1
    )
    with pytest.raises(EngineError, match=what):
        run_audit(options)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("part", ["fused", "RuleProver"])
def test_where_no_code_can_be_made_the_reference_judges(part: str, monkeypatch: Any) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise SyntaxError("too many statically nested blocks")

    monkeypatch.setattr(build if part == "fused" else audit_program, part, failing)
    from auditor.crds.definition import parse_definition

    crd = parse_definition(definition())
    program = AuditProgram(crd, crd.versions["v1"])
    for number in range(70):
        one = resource(f"o{number}")
        one["spec"]["n"] = -1 if number % 2 else 1
        found = program.audit(orjson.dumps(one))
        assert {finding.check for finding in found.findings} == ({"schema", "rule", "scale"} if number % 2 else set())
    assert program.typed() is None


def judge_cases(*words: str) -> None:
    faults, cases, _ = run(parsed([*words]))
    assert faults == []
    assert cases


def test_some_drawn_dumps_end_no_command() -> None:
    judge_cases("--cases", "6", "--commands", "2", "--seed", "tests")


@pytest.mark.slow
def test_many_drawn_dumps_end_no_command() -> None:
    judge_cases("--cases", "20", "--commands", "3", "--seed", "slow")


@pytest.mark.nightly
def test_a_night_of_drawn_dumps_ends_no_command() -> None:
    judge_cases("--cases", "2000", "--commands", "3", "--seed", "night")


def test_a_list_as_a_server_says_which_object_it_cannot_hold(tmp_path: Path, monkeypatch: Any) -> None:
    """A server answers it; here the paths of its fields have too many characters together."""
    dump = dumped(tmp_path, definition(), resource("small"), {**resource("large"), "spec": {"a": "x" * 50_000}})
    monkeypatch.setattr(paths, "FREE_BYTES", 10_000)
    monkeypatch.setattr(paths, "MOST_PATHS", -(1 << 40))
    for words in (("--as-server",), ("--as-server", "--sort-by", ".metadata.name")):
        done = auditor("query", dump, "ws", "-A", *words)
        assert (done.code, done.stdout) == (3, ""), done.stderr
        assert "cannot be read here, and what a server answers is not known: the paths of its fields" in done.stderr
        assert "500" not in done.stderr


def test_a_manifest_that_breaks_the_auditor_is_unreadable_and_the_others_are_judged(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    judge = CreateJudge.judge

    def failing(self: CreateJudge, value: Any, repeated: Any = ()) -> Any:
        if value["metadata"]["name"] == "o1":
            raise RuntimeError("what now")
        return judge(self, value, repeated)

    monkeypatch.setattr(CreateJudge, "judge", failing)
    dump = dumped(tmp_path, definition(), *(resource(f"o{number}") for number in range(3)))
    assert run_validate(ValidateOptions((str(dump),), own=(("ndjson", ""),))) == 1
    reported = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["status"] for one in reported] == ["definition", "valid", "unreadable", "valid"]
    assert reported[2]["reason"] == "the auditor failed on it (RuntimeError: what now); please report it"


def test_a_dump_that_cannot_be_read_costs_itself_alone(tmp_path: Path) -> None:
    good = dumped(tmp_path, definition(), resource("a"))
    bad, odd = tmp_path / "bad.db", tmp_path / "odd"
    bad.write_bytes(bytes(8192))
    odd.write_bytes(b"\x7fELF" * 100)
    report = tmp_path / "report"
    done = auditor("audit", bad, good, odd, "--report", report, "--jobs", "1")
    assert done.code == 3, done.stderr
    said = "".join(done.stdout.split())  # a long path is cut where the line ends
    assert f"DAMAGED{good}:{bad}besideit:" in said
    assert f"DAMAGED{good}:{odd}besideit:" in said
    assert json.loads((report / "manifest.json").read_text())["counts"]["keys"] == 2
    alone = auditor("audit", bad, odd, "--report", tmp_path / "none", "--jobs", "1")
    assert (alone.code, (tmp_path / "none").exists()) == (2, False)
    assert str(bad) in alone.stderr
