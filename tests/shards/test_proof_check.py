"""A fault of generated code is found by judging objects again without it."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from auditor.base.errors import ProofRefuted
from auditor.crds.definition import parse_definition
from auditor.fastpath.dicts import emit
from auditor.fastpath.records import record_types
from auditor.plan.options import AuditOptions
from auditor.program import proof_check
from auditor.program.program import AuditProgram
from auditor.program.proof_check import AuditAnswer, ProofCheck
from auditor.shards import row_writer
from auditor.shards.shard_audit import ShardAuditor
from pipelines.engines import run_processes
from pipelines.exit_codes import exit_code_of
from pipelines.run.audit import run_audit
from tests.command import auditor
from tests.documents import definition_of
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SIZE = {"type": "integer", "minimum": 0, "default": 3}
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": SIZE}}}}
SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


def value(number: int, spec: dict[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": f"o-{number}",
        "namespace": "b",
        "uid": "u",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    metadata |= {"generation": 1}
    return {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": metadata, "spec": spec}


def dump(folder: Path, last: dict[str, Any], many: int) -> Path:
    """Write an export of a definition and objects; the last object is another one."""
    path = folder / "dump.json"
    items = [definition_of(SCHEMA), *(value(number, {"size": number}) for number in range(many)), value(many, last)]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


@pytest.fixture
def fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let generated code of both kinds pass over the bounds of integers."""
    monkeypatch.setattr(emit, "int_conditions", lambda *_: [])
    monkeypatch.setattr(record_types, "int_bounds", lambda _: (None, None, False))


@pytest.mark.parametrize("many", [20, 300], ids=["dicts", "records"])
@pytest.mark.parametrize("way", ["fast", "slow"])
@pytest.mark.usefixtures("fault")
def test_a_fault_that_proves_too_much_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int, way: str
) -> None:
    if way == "slow":
        monkeypatch.setattr(ShardAuditor, "uses_fast_paths", lambda *_: False)
    path = dump(tmp_path, {"size": -5}, many)
    options = AuditOptions(dumps=(str(path),), report=str(tmp_path / "out"), engine="inline")
    assert run_audit(options)[1]["counts"]["statuses"] == {"definition": 1, "valid": many + 1}
    report = tmp_path / "checked"
    with pytest.raises(ProofRefuted) as caught:
        run_audit(AuditOptions(dumps=(str(path),), report=str(report), engine="inline", verify=1.0))
    text = str(caught.value)
    assert caught.value.where == f"xs.x.example.com v1 b/o-{many}"
    assert "proven valid" in text
    assert "should be greater than or equal to 0" in text
    assert exit_code_of(caught.value) == 70
    assert not report.exists()


@pytest.mark.parametrize("many", [20, 300], ids=["dicts", "records"])
@pytest.mark.usefixtures("fault")
def test_a_proven_object_whose_updates_are_tried_is_judged_again_too(tmp_path: Path, many: int) -> None:
    """An object without a uid: no update of it passes unseen, so a fast path does not write its row."""
    values = [value(number, {"size": number}) for number in range(many)] + [value(many, {"size": -5})]
    del values[-1]["metadata"]["uid"]
    kvs = [
        {
            "key": base64.b64encode(f"/registry/x.example.com/xs/b/{one['metadata']['name']}".encode()).decode(),
            "mod_revision": 2,
            "value": base64.b64encode(json.dumps(one).encode()).decode(),
        }
        for one in values
    ]
    path, crds = tmp_path / "dump.json", tmp_path / "crd.json"
    path.write_text(json.dumps({"header": {"revision": 3}, "kvs": kvs}))
    crds.write_text(json.dumps(definition_of(SCHEMA)))
    options = AuditOptions(dumps=(str(path),), crds=(str(crds),), report=str(tmp_path / "out"), engine="inline")
    with pytest.raises(ProofRefuted, match="proven valid, but invalid by the reference"):
        run_audit(replace(options, verify=1.0))


def refuting() -> Any:
    """Return what a worker does: it finds a difference."""

    def work(item: int) -> int:
        raise ProofRefuted("xs.x.example.com v1", f"judged differently: {item}")

    return work


def test_a_worker_hands_the_error_on() -> None:
    with pytest.raises(ProofRefuted, match=r"judged differently: [12]"):
        list(run_processes(refuting, [1, 2], jobs=2, on_lost=lambda *_: None))


@pytest.mark.parametrize("fast", [True, False])
def test_without_a_fault_the_report_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fast: bool) -> None:
    if not fast:
        monkeypatch.setattr(ShardAuditor, "uses_fast_paths", lambda *_: False)
    checked: list[AuditAnswer] = []
    check = ProofCheck.check

    def counted(self: ProofCheck, program: AuditProgram, data: bytes, answer: AuditAnswer) -> None:
        checked.append(answer)
        check(self, program, data, answer)

    monkeypatch.setattr(ProofCheck, "check", counted)
    parts = []
    for share in (0.0, 1.0):
        report = tmp_path / str(share)
        options = AuditOptions(dumps=(str(SAMPLE),), report=str(report), engine="inline", verify=share)
        run_audit(options)
        parts.append({path.name: path.read_bytes() for path in sorted(report.rglob("*.parquet"))})
        assert bool(checked) == bool(share)
    assert parts[0] == parts[1]


@pytest.mark.parametrize(
    "change",
    [{"pruned": ("spec.a",)}, {"defaulted": ()}, {"effect": "drifts"}, {"stored_version": "v2"}, {"selected": ("a",)}],
)
def test_each_part_of_an_answer_counts(change: dict[str, Any]) -> None:
    definition = parse_definition(definition_of(SCHEMA))
    program = AuditProgram(definition, definition.versions["v1"])
    data = json.dumps(value(1, {})).encode()
    answer = AuditAnswer.of(program, program.judge(data))
    check = ProofCheck(1.0)
    check.check(program, data, answer)
    with pytest.raises(ProofRefuted, match=next(iter(change))):
        check.check(program, data, answer._replace(**change))
    with pytest.raises(ProofRefuted, match="object"):
        check.check(program, data, answer._replace(object={}))


@pytest.mark.parametrize(
    ("share", "digest", "chosen"),
    [
        (0.0, "0" * 64, False),
        (1.0, "f" * 64, True),
        (0.5, "7" + "f" * 63, True),
        (0.5, "8" + "0" * 63, False),
        (0.001, "0041" + "0" * 60, True),
        (0.001, "0042" + "0" * 60, False),
    ],
)
def test_which_objects_are_judged_again(share: float, digest: str, *, chosen: bool) -> None:
    assert (digest < ProofCheck(share).below) is chosen


def sampled() -> int:
    """Return the number of an object with a size below 0 that is among the default share."""
    below = ProofCheck(0.0005).below
    numbers = (n for n in range(100_000) if sha256(json.dumps(value(n, {"size": -5})).encode()).hexdigest() < below)
    return next(numbers)


@pytest.mark.usefixtures("fault")
@pytest.mark.parametrize("share", [None, "0"])
def test_a_share_is_judged_again_by_default(tmp_path: Path, share: str | None) -> None:
    number, path = sampled(), tmp_path / "dump.json"
    items = [definition_of(SCHEMA), *(value(n, {"size": n}) for n in range(20)), value(number, {"size": -5})]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    words = ["audit", str(path), "--report", str(tmp_path / "out"), "--jobs", "1", "--fail-on", "never"]
    result = auditor(*words if share is None else [*words, "--verify", share])
    assert result.code == (70 if share is None else 0), result.output


@pytest.mark.usefixtures("fault")
def test_a_fleet_ends_with_the_error_of_a_cluster(tmp_path: Path) -> None:
    for name, last in (("a", {"size": 5}), ("b", {"size": -5})):
        (tmp_path / name).mkdir()
        dump(tmp_path / name, last, 20)
    words = ["audit", str(tmp_path / "*" / "dump.json"), "--report", str(tmp_path / "out"), "--engine", "inline"]
    result = auditor(*words, "--verify", "100%")
    assert result.code == 70
    assert "xs.x.example.com v1 b/o-20: " in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("fault")
def test_the_command_ends_with_the_error(tmp_path: Path) -> None:
    path = dump(tmp_path, {"size": -5}, 20)
    words = ["audit", str(path), "--report", str(tmp_path / "out"), "--jobs", "1", "--verify", "100%"]
    result = auditor(*words)
    assert result.code == 70


def test_a_value_that_is_not_proven_is_digested_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    digested: list[bytes] = []

    def counted(data: bytes) -> Any:
        digested.append(data)
        return sha256(data)

    for module in (proof_check, row_writer):
        monkeypatch.setattr(module, "sha256", counted)
    source = dump(tmp_path, {"size": "x"}, 9)
    run_audit(AuditOptions(dumps=(str(source),), report=str(tmp_path / "out"), engine="inline"))
    assert len(digested) == len({*digested}) == 11
