"""Definitions with rules on which the server's compiler panics: unreadable everywhere, and their objects with them.

`panics.jsonl` has rules with the answers of the server's libraries, by release; `record_panics.py` records it. A running
kube-apiserver 1.37.2 closed the connection of creates and updates of such a definition and, once etcd had one, of each
request for its objects; it still answered GETs of the definition and PUTs of its status.
"""

from __future__ import annotations

import gc
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from auditor import CrdCatalog, audit_object, check_crd, check_crd_update, check_update
from auditor.program.program import AuditProgram
from auditor.releases import running_as
from tests.command import auditor
from tests.crdcheck.record_panics import definition
from tests.documents import etcdctl_text

RECORDED = [json.loads(line) for line in (Path(__file__).parent / "panics.jsonl").read_text().splitlines()]
INDEX = "panic: runtime error: index out of range [0] with length 0"
BAD = definition({"rule": "[?dyn(self.i)].size() >= 0"})
GOOD = definition({"rule": "self.i >= 0"})
OBJECT = {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": {"name": "a", "namespace": "n"}, "spec": {"i": 1}}


def rule_of(case: dict[str, str]) -> dict[str, str]:
    return {key: case[key] for key in ("rule", "messageExpression") if key in case}


@pytest.mark.parametrize("release", ["1.32", "1.33", "1.34", "1.35", "1.36", "1.37", "1.38"])
def test_exactly_the_rules_on_which_the_compiler_panics_are_unreadable(release: str) -> None:
    wrong, counts = {}, Counter[str]()
    with running_as(release):
        for case in RECORDED:
            got = check_crd(definition(rule_of(case)))
            ours = got.unreadable.reason if got.unreadable else "refused" if got.findings else "accepted"
            counts[case[release]] += 1
            if ours != case[release]:
                wrong[case["rule"]] = (ours, case[release])
    assert wrong == {}
    assert len(counts) == 5
    assert counts["accepted"] > 200
    assert counts[INDEX] > 100


def with_second(*, served: bool) -> dict[str, Any]:
    """Return a good definition with a second version whose rule panics."""
    other = {**BAD["spec"]["versions"][0], "name": "v2", "storage": False, "served": served}
    return {**GOOD, "spec": {**GOOD["spec"], "versions": [*GOOD["spec"]["versions"], other]}}


def test_objects_cannot_be_read_where_a_rule_of_a_served_or_stored_version_panics() -> None:
    unserved = with_second(served=False)
    for document, is_lost in ((GOOD, False), (BAD, True), (with_second(served=True), True), (unserved, False)):
        catalog = CrdCatalog.from_documents([document])
        text = json.dumps(OBJECT).encode()
        answers: list[Any] = [audit_object(catalog, text), check_update(catalog, text, text)]
        for compiled in (False, True):
            (found,) = catalog.crds.values()
            answers.append(AuditProgram(found, found.versions["v1"], compiled=compiled).audit(text))
        for answer in answers:
            reason = answer.unreadable.reason if answer.unreadable else ""
            assert reason.startswith(f"unusable CRD xs.x.example.com: {INDEX} (") == is_lost


def test_no_object_is_judged_by_a_definition_that_is_gone() -> None:
    text = json.dumps(OBJECT).encode()
    ids = set()
    for document in (BAD, GOOD) * 20:
        catalog = CrdCatalog.from_documents([document])
        (found,) = catalog.crds.values()
        assert (audit_object(catalog, text).unreadable is not None) is (document is BAD)
        ids.add(id(found))
        del catalog, found
        gc.collect()
    assert len(ids) == 40  # each is kept with its program


def test_an_update_panics_as_a_create_does() -> None:
    stored = {**GOOD, "status": {"storedVersions": ["v1"]}}
    answer = check_crd_update(stored, BAD)
    assert answer.unreadable is not None
    assert answer.unreadable.reason == INDEX
    assert check_crd_update({**BAD, "status": {"storedVersions": ["v1"]}}, GOOD).unreadable is None


def test_crds_check_names_the_panic(tmp_path: Path) -> None:
    path = tmp_path / "crd.json"
    path.write_text(json.dumps(BAD))
    done = auditor("crds", "check", str(path))
    assert done.code == 1
    assert done.stdout == f"xs.x.example.com: unreadable, the server closes the connection: {INDEX}\n"
    (answer,) = json.loads(auditor("crds", "check", str(path), "-o", "json").stdout)
    assert answer["unreadable"] == INDEX
    assert answer["accepted"] is False


def stored_dump(tmp_path: Path, document: dict[str, Any], *, objects: bool) -> Path:
    spec = document["spec"]
    conditions = [{"type": name, "status": "True"} for name in ("NamesAccepted", "Established")]
    names = {"singular": "x", "listKind": "XList", **spec["names"]}
    status = {"storedVersions": ["v1"], "conditions": conditions, "acceptedNames": names}
    values = {"apiextensions.k8s.io/customresourcedefinitions/xs.x.example.com": {**document, "status": status}}
    if objects:
        values["x.example.com/xs/n/a"] = OBJECT
    path = tmp_path / "dump.json"
    path.write_text(etcdctl_text(values))
    return path


def test_an_audit_names_the_panic_of_a_stored_definition_and_its_impact(tmp_path: Path) -> None:
    for objects in (True, False):
        dump = stored_dump(tmp_path, BAD, objects=objects)
        report = tmp_path / f"report-{objects}"
        done = auditor("audit", str(dump), "--report", str(report), "--jobs", "1")
        assert done.code == (1 if objects else 0)
        causes = auditor("findings", str(report), "-o", "json").stdout
        assert "the server closes the connection of each request for an object of this definition" in causes
        assert ('"breaks-list"' in causes) is objects
        assert (f"unusable CRD xs.x.example.com: {INDEX}" in causes) is objects


def test_an_upgrade_names_the_panic(tmp_path: Path) -> None:
    dump = stored_dump(tmp_path, GOOD, objects=True)
    new = tmp_path / "new.json"
    new.write_text(json.dumps(BAD))
    done = auditor("upgrade", str(dump), "--new-crds", str(new), "--report", str(tmp_path / "r"), "--jobs", "1")
    assert f"xs.x.example.com is refused: {INDEX}" in done.stdout
    mended = stored_dump(tmp_path, BAD, objects=True)
    new.write_text(json.dumps(GOOD))
    done = auditor("upgrade", str(mended), "--new-crds", str(new), "--report", str(tmp_path / "s"), "--jobs", "1")
    assert "panic" not in done.stdout
    assert "1 valid" in done.stdout
