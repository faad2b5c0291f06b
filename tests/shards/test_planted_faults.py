"""Each fault that is planted in generated code is found by judging all objects again: `--verify 100%`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from auditor.codegen import Module
from auditor.fastpath.dicts import build, metadata, root, support
from auditor.fastpath.dicts.map_code import KeyCounter
from auditor.fastpath.records import typed
from auditor.fastpath.rules.prover import RuleProver
from auditor.fastpath.rules.updates import RuleUpdates
from tests.command import auditor
from tests.documents import definition_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Plant = Callable[[pytest.MonkeyPatch], None]

SPEC = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "size": {"type": "integer", "minimum": 0, "default": 3},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    },
    "x-kubernetes-validations": [{"rule": "self.name != 'bad'"}],
}
SCHEMA = {"type": "object", "properties": {"spec": SPEC}}
FINE = {"name": "fine", "size": 1}


def replaced(*pairs: tuple[str, str], title: str = "") -> Plant:
    """Return what replaces text in the generated functions of modules whose title ends with a word."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        write = Module._source

        def source(self: Module, name: str) -> str:
            text = write(self, name)
            for old, new in pairs if self.title.endswith(title) else ():
                text = text.replace(old, new)
            return text

        monkeypatch.setattr(Module, "_source", source)

    return plant


def instead(owner: Any, name: str, other: Callable[..., Any]) -> Plant:
    """Return what puts a function in the place of another one; it gets that one as its first argument."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        usual = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *args, **named: other(usual, *args, **named))

    return plant


def other_label(prove: Callable[..., Any], *args: Any) -> Any:
    """Prove metadata, and change a label."""
    proven = prove(*args)
    if (labels := args[0].get("labels")) is not None:
        labels["app"] = "other"
    return proven


def other_label_of_record(prove: Callable[..., Any], *args: Any) -> Any:
    """Prove a record, and change a label."""
    record = prove(*args)
    if record is not None and type(record.metadata.labels) is dict:
        record.metadata.labels["app"] = "other"
    return record


def kept(_: Any, value: dict[str, Any], known: frozenset[str], log: Any, site: Any) -> None:
    """Record unknown keys, and drop none."""
    log.pruned.extend((site, key) for key in value if key not in known)


def unsaid(_: Any, value: dict[str, Any], known: frozenset[str], *_site: Any) -> None:
    """Drop unknown keys, and record none."""
    for key in [key for key in value if key not in known]:
        del value[key]


FAULTS: dict[str, tuple[Plant, dict[str, Any], dict[str, Any], str]] = {
    "names no problem": (replaced(("return False", "pass")), {"size": -5}, {}, "invalid by the reference"),
    "misses a bound": (replaced(("v2 < 0", "v2 < -9")), {"size": -5}, {}, "invalid by the reference"),
    "misses a repeated item": (replaced(("len(set(", "len(list(")), {"tags": ["a", "a"]}, {}, "invalid"),
    "proves a rule": (instead(RuleProver, "hold", lambda *_: True), {"name": "bad"}, {}, "invalid by the reference"),
    "keeps a pruned field": (instead(support, "prune_unknown", kept), {"extra": 1}, {}, "object: "),
    "does not say what it prunes": (instead(support, "prune_unknown", unsaid), {"extra": 1}, {}, "pruned: "),
    "miscounts keys": (instead(KeyCounter, "total", lambda usual, self: f"{usual(self)} + 1"), {"extra": 1}, {}, "pruned"),
    "misses a default": (replaced(("log.defaulted.append(_k0)", "pass"), ("v1['size'] = 3", "pass")), {"size": None}, {},
                         "defaulted: "),
    "takes another default": (replaced(("['size'] = 3", "['size'] = 4")), {"size": None}, {}, "object: "),
    "has another label": (instead(root, "prove_metadata", other_label), {}, {"labels": {"app": "a"}}, "head: "),
    "has another effect": (instead(build, "rewritten_metadata", lambda *_: ""), {}, {"labels": {"app": 5}}, "effect: "),
    "selects another value": (replaced(("found['spec.name'] = v", "found['spec.name'] = 'x' + v")), {}, {}, "selected: "),
    "proves bad metadata": (instead(metadata, "prove_metadata", lambda *_: True), {"size": -5}, {"namespace": ""}, "findings"),
    "misses bad metadata": (instead(metadata, "prove_metadata", lambda *_: True), {"size": -5}, {"labels": {"?": "a"}}, "findings"),
    "misses a bound beside bad metadata": (replaced(("v2 < 0", "v2 < -9")), {"size": -5}, {"labels": {"?": "a"}}, "findings"),
    "prunes badly beside bad metadata": (instead(support, "prune_unknown", kept), {"extra": 1}, {"labels": {"?": "a"}}, "object"),
}  # fmt: skip
"""By fault: how it is planted, what the spec and the metadata of the object with the fault are, words of the error."""

OF_RECORDS: dict[str, tuple[Plant, dict[str, Any], dict[str, Any], str]] = {
    "misses a repeated item": (replaced(("len(set(", "len(list("), title="typed"), {"tags": ["a", "a"]}, {}, "invalid"),
    "misses a default": (replaced(("log.defaulted.append(_k0)", "pass"), title="typed"), {"size": None}, {}, "defaulted: "),
    "has another label": (instead(typed.TypedProgram, "prove", other_label_of_record), {}, {"labels": {"app": "a"}},
                          "head: "),
    "selects another value": (replaced(("t0 = v", "t0 = 'x' + v"), title="typed"), {}, {}, "selected: "),
}  # fmt: skip
"""The same for records, which prove objects after some were proven."""


def audited(folder: Path, many: int, spec: dict[str, Any], metadata: dict[str, Any], *words: str) -> Any:
    """Audit a dump of many objects without a problem, and one that is other."""
    (folder / "dump.json").unlink(missing_ok=True)
    objects = [(FINE, {})] * many + [
        ({key: value for key, value in (FINE | spec).items() if value is not None}, metadata)
    ]
    head = {"namespace": "b", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}
    items = [
        {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": head | {"name": f"o-{at:03}"} | more, "spec": inner}
        for at, (inner, more) in enumerate(objects)
    ]
    definition = definition_of(SCHEMA, selectableFields=[{"jsonPath": ".spec.name"}])
    (folder / "dump.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [definition, *items]}))
    report = str(folder / "out")
    return auditor(
        "audit", folder / "dump.json", "--report", report, "--force", "--jobs", "1", "--fail-on", "never", *words
    )


def held(folder: Path, many: int, fault: tuple[Plant, dict[str, Any], dict[str, Any], str]) -> None:
    """Hold that an audit without a fault ends with 0, and one with it with 70 and no report."""
    plant, spec, metadata, words = fault
    assert audited(folder, many, spec, metadata, "--verify", "100%").code == 0
    with pytest.MonkeyPatch.context() as monkeypatch:
        plant(monkeypatch)
        assert audited(folder, many, spec, metadata, "--verify", "0").code == 0
        done = audited(folder, many, spec, metadata, "--verify", "100%")
    assert done.code == 70, done.output
    assert "judge this object differently" in done.stderr
    assert words in done.stderr


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_code_on_dicts_is_found(tmp_path: Path, name: str) -> None:
    held(tmp_path, 8, FAULTS[name])


@pytest.mark.parametrize("name", OF_RECORDS)
def test_a_fault_of_the_code_on_records_is_found(tmp_path: Path, name: str) -> None:
    held(tmp_path, 100, OF_RECORDS[name])


def test_a_fault_of_the_code_of_updates_is_found(tmp_path: Path) -> None:
    """The object is not proven; its update is accepted by the fault alone."""
    words = ("--feature-gates", "CRDValidationRatcheting=false", "--verify")
    assert audited(tmp_path, 8, {"name": "bad"}, {}, *words, "100%").code == 0
    with pytest.MonkeyPatch.context() as monkeypatch:
        instead(RuleUpdates, "update_findings", lambda *_: [])(monkeypatch)
        assert audited(tmp_path, 8, {"name": "bad"}, {}, *words, "0").code == 0
        done = audited(tmp_path, 8, {"name": "bad"}, {}, *words, "100%")
    assert done.code == 70, done.output
    assert "updates: (200, 200, None), by the reference (422, 422, None)" in done.stderr
