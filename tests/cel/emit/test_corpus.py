"""The rules of real definitions: how many have code, and how many of their evaluations on valid objects are proven."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from auditor.crds.catalog import CrdCatalog
from auditor.fastpath.rules.prover import RuleProver
from auditor.program.program import AuditProgram
from auditor.sources.crd_files import read_crd_documents
from auditor.validation.rules import RuleProgram
from tests.corpus import real_definitions
from tests.shared import at_least, second_check, shared

if TYPE_CHECKING:
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition


@cache
def catalog(name: str = "") -> CrdCatalog:
    return CrdCatalog.from_documents(read_crd_documents([str(real_definitions() / name)]))


def prover_of(definition: CustomResourceDefinition, version: CrdVersion) -> RuleProver | None:
    rules = RuleProgram.of(version.structural)
    return None if rules is None else RuleProver(rules, definition, version)


def test_nearly_all_rules_have_code() -> None:
    emitted = transitions = positions = 0
    reasons: Counter[str] = Counter()
    for definition in catalog().crds.values():
        for version in definition.versions.values():
            prover = prover_of(definition, version)
            if prover is None:
                continue
            emitted += prover.emitted
            reasons.update(reason for _, reason in prover.reasons)
            walked = list(prover.rules.root.walk())
            positions += sum(len(node.rules) for node in walked)
            nodes = {id(node): node for node in walked}  # one for all positions that say the same
            compiled = [rule for node in nodes.values() for rule in node.rules]
            transitions += sum(rule.uses_old_self and not rule.rule.optional_old_self for rule in compiled)
    total = emitted + transitions + reasons.total()
    assert total >= at_least("corpus", 260, 200)
    assert positions >= at_least("corpus", 360, 200)
    assert emitted * 100 >= at_least("corpus", 95, 90) * total, (emitted, total, transitions, reasons)


@second_check("vectors", by="tests/cel/emit/test_corpus.py")
def test_nearly_all_evaluations_on_valid_objects_are_proven() -> None:
    with gzip.open(shared("vectors/real-audit.jsonl.gz"), "rt", encoding="utf-8") as stream:
        cases = [
            case for case in map(json.loads, stream) if not case["expect"].get("errors", [True]) and "object" in case
        ]
    programs: dict[tuple[int, str], AuditProgram] = {}
    objects = proven = 0
    for case in cases:
        found = catalog(case["ref"])
        group, _, name = case["object"]["apiVersion"].rpartition("/")
        definition = found.by_group_kind(group, case["object"]["kind"])
        if definition is None or name not in definition.versions or "version" in case or "resource" in case:
            continue
        program = programs.get((id(definition), name))
        if program is None:
            program = programs[id(definition), name] = AuditProgram(definition, definition.versions[name])
        if program.rule_program is None:
            continue
        before = program.proven
        audited = program.audit(json.dumps(case["object"]).encode())
        assert audited.findings == (), case["name"]
        objects += 1
        proven += program.proven - before
    assert objects >= 100
    assert proven >= 0.97 * objects, (proven, objects)
