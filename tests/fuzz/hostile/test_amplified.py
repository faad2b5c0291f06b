"""Small objects whose findings would take gigabytes are lost by name, and their neighbours are judged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from auditor.base.errors import TooMuchToReport
from auditor.base.paths import FREE_BYTES, MOST_PATHS, PATHS_A_BYTE, check_paths
from auditor.validation.keywords import failure
from tests.command import auditor
from tests.fuzz.hostile.bounded import bounded, dump
from tests.fuzz.hostile.test_ratio import _program, _value

if TYPE_CHECKING:
    from pathlib import Path

LONG_KEY = "k" * 100_000
TEXT = {"type": "string"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _map(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return _object(l={"type": "array", "items": items})


PATHS = "the paths of its fields have more than "
CASES: dict[str, tuple[dict[str, Any], Any, Any, str]] = {
    "unknown fields below a long key": (
        _map(_object(a=TEXT)), {LONG_KEY: {f"u{number}": 1 for number in range(30_000)}}, {"k": {"a": "b"}}, PATHS,
    ),
    "invalid items below a long key": (_map({"type": "array", "items": TEXT}), {LONG_KEY: [1] * 30_000}, {"k": []}, PATHS),
    "invalid items below a long property": (
        _object(**{LONG_KEY: {"type": "array", "items": TEXT}}), {LONG_KEY: [1] * 30_000}, {}, PATHS,
    ),
    "a long pattern": (
        _list(TEXT | {"pattern": f"^{'r' * 50_000}$"}), {"l": [f"a{number}" for number in range(20_000)]}, {"l": []},
        "its findings have more than ",
    ),
    "many required names": (
        _list({"type": "object", "required": [f"r{number}" for number in range(3000)]}), {"l": [{}] * 3000}, {"l": []},
        "it has more than 250,000 findings",
    ),
}  # fmt: skip
COMMANDS = {
    "audit": ("audit", "dump.ndjson", "--report", "report", "--fail-on", "never", "--jobs", "1"),
    "upgrade": (
        "upgrade",
        "dump.ndjson",
        "--new-crds",
        "dump.ndjson",
        "--report",
        "report",
        "--fail-on",
        "never",
        "--jobs",
        "1",
    ),
    "query": ("query", "dump.ndjson", "ws", "-o", "name"),
    "validate": ("validate", "dump.ndjson"),
}


@pytest.mark.parametrize(
    ("case", "command"),
    [
        pytest.param(case, command, marks=() if (case, command) in (("many required names", "audit"), ("unknown fields below a long key", "query")) else pytest.mark.slow)
        for case in CASES
        for command in COMMANDS
    ],
)  # fmt: skip
def test_an_object_with_too_much_to_report_is_lost_alone(
    case: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema, hostile, sound, why = CASES[case]
    dump(tmp_path / "dump.ndjson", schema, sound, hostile, sound)
    monkeypatch.chdir(tmp_path)
    with bounded(800):
        ended = auditor(*COMMANDS[command])
    assert "Traceback" not in ended.output
    if command == "query":
        reads_paths = why == PATHS
        assert (ended.code, f" is left out: {why}" in ended.output) == ((3, True) if reads_paths else (0, False))
        assert [f"a{at}" in ended.output for at in range(3)] == [True, not reads_paths, True]
        return
    if command == "validate":
        assert ended.code == 1
        assert f"not checked: {why}" in ended.output
        assert "1 definition, 1 unreadable, 2 valid" in ended.output
        return
    assert ended.code == 3
    assert f"LOST W.ex.com d/a1: not audited: {why}" in " ".join(ended.output.split()) + " "
    manifest = json.loads((tmp_path / "report" / "manifest.json").read_bytes())
    assert len(manifest["lost"]) == 1
    assert manifest["counts"]["rows"] == manifest["counts"]["keys"] == 4


def test_paths_are_counted_for_large_objects_alone() -> None:
    wide = {"k" * 30_000: dict.fromkeys(map(str, range(3000)), 1)}
    check_paths(wide, FREE_BYTES)
    check_paths({"a": [{"b": [1] * 100_000}] * 2}, FREE_BYTES + 1)
    with pytest.raises(TooMuchToReport, match="characters together"):
        check_paths(wide, FREE_BYTES + 1)
    most = MOST_PATHS + PATHS_A_BYTE * 1_000_000
    check_paths({"k" * (most // 1000 - 100): [1] * 999}, 1_000_000)
    with pytest.raises(TooMuchToReport):
        check_paths({"k" * (most // 1000 + 100): [1] * 1001}, 1_000_000)


def test_the_generated_code_is_kept_where_an_object_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auditor.validation.node.MOST_FINDINGS", 10)
    program = _program(_list(TEXT))
    for _ in range(100):
        program.audit(_value({"l": ["a"]}))
    with pytest.raises(TooMuchToReport):
        program.audit(_value({"l": [1] * 20}))
    with pytest.raises(TooMuchToReport):
        program.audit(_value({LONG_KEY: [1] * 1000}))
    proven = program.proven
    assert program.audit(_value({"l": ["a"]})).findings == ()
    assert (program.compiled, program.proven) == (True, proven + 1)


def test_findings_up_to_the_limit_are_all_reported() -> None:
    count = 2000
    program = _program(_list({"type": "object", "required": [f"r{number}" for number in range(100)]}))
    assert 100 * count <= failure.MOST_FINDINGS
    assert len(program.audit(_value({"l": [{}] * count})).findings) == 100 * count


def test_generated_code_answers_no_at_the_first_required_key() -> None:
    program = _program(_list({"type": "object", "required": [f"r{number}" for number in range(300)]}))
    value = _value({"l": [{}] * 30})
    for _ in range(100):
        findings = program.audit(value).findings
    assert len(findings) == 300 * 30
    assert program.compiled
    assert program._program is not None
    assert not program._program.run(orjson.loads(value), program._log, len(value))
