"""Every audit vector through the public API, by the generated path and by the reference, with rules and without."""

import base64
import gzip
import json
import re
from collections import Counter
from functools import partial

import pytest

import auditor
from auditor.golang import jsontext
from auditor.program.impact import impacts_of, worst
from auditor.program.program import AuditProgram
from auditor.releases import changes
from auditor.updates import request
from auditor.validation.field_errors import ADDRESS
from tests.shared import second_check, shared, shared_lines
from tests.typed import typed_difference

FILES = ["conformance-audit.jsonl", "conformance-versions.jsonl", "real-audit.jsonl.gz"]
MINIMUM = {"conformance-audit.jsonl": 340, "conformance-versions.jsonl": 90, "real-audit.jsonl.gz": 3200}

TYPED = {"conformance-audit.jsonl": 30, "conformance-versions.jsonl": 10, "real-audit.jsonl.gz": 800}
"""Cases that the typed tier proves, at least."""


def plain(value):
    """Return a JSON value with every number as a float, so that only values count, not how they were spelled."""
    if isinstance(value, dict):
        return {key: plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [plain(child) for child in value]
    return float(value) if type(value) is int else value


COMPILATION = "rule compile error: compilation failed: "
POINTER = re.compile(r"\(0x[0-9a-f]+\)")


def causes(errors):
    """Return errors as a multiset; where a rule does not compile, what the compiler says about it does not count.

    Servers before `changes.VALUES_AS_JSON` show addresses of pointers, which are others each time.
    """
    shown = str if changes.VALUES_AS_JSON.holds else partial(POINTER.sub, f"({ADDRESS})")
    return Counter((error["field"], error["type"], shown(error["message"].split(COMPILATION)[0])) for error in errors)


def differences(got, expect, rules_left_out=None):
    """Return what differs from the server's answer, empty if nothing does."""
    if (got.unreadable is not None) != bool(expect.get("readError")):
        return f"readable or not: {got.unreadable} / {expect.get('readError')}"
    if got.unreadable is not None:
        return ""
    ours = causes([{"field": f.field, "type": f.type, "message": f.message} for f in got.findings])
    theirs = causes((rules_left_out or expect)["errors"])
    if ours != theirs:
        return f"findings: ours {ours - theirs}, server's {theirs - ours}"
    if plain(got.object) != plain(expect["object"]):
        return "object after the read"
    if sorted(got.pruned) != sorted(expect.get("pruned") or []):
        return f"pruned: {got.pruned} / {expect.get('pruned')}"
    if "selectable" in expect and got.selectable != expect["selectable"]:
        return f"selectable: {got.selectable} / {expect['selectable']}"
    if bool(expect.get("selectError")) != (got.select_error is not None):
        return f"select error: {got.select_error} / {expect.get('selectError')}"
    return ""


WAYS = {"compiled": (True, True), "interpreted": (False, True), "without-rules": (True, False)}


def marked(name, way):
    is_dear = way != "compiled" and name != "conformance-versions.jsonl"
    return pytest.param(name, *WAYS[way], marks=[pytest.mark.slow] * is_dear, id=f"{name}-{way}")


@second_check("vectors", by="tests/reference/test_vectors.py")
@pytest.mark.parametrize(("name", "compiled", "rules"), [marked(name, way) for name in FILES for way in WAYS])
def test_audits_equal_the_servers(name, compiled, rules, catalogs, monkeypatch):
    programs = {}
    asked = []

    def program(definition, version):
        key = (id(definition), version)
        if key not in programs:
            programs[key] = AuditProgram(definition, definition.versions[version], compiled=compiled, rules=rules)
        asked[:] = [programs[key]]
        return programs[key]

    monkeypatch.setattr(request, "_program", program)
    wrong, run, typed = {}, 0, 0
    for case in shared_lines(f"vectors/{name}"):
        if "old" in case or not ("object" in case or "objectText" in case):
            continue
        text = case.get("objectText")
        data = text.encode("utf-8", "surrogatepass") if text is not None else json.dumps(case["object"]).encode()
        asked.clear()
        got = auditor.audit_object(catalogs(case), data, resource=case.get("resource"), version=case.get("version"))
        run += 1
        difference = differences(got, case["expect"], None if rules else case.get("expectWithoutRules"))
        if compiled and not difference and asked:
            reported = typed_difference(asked[0], got, data)
            typed += reported is not None
            read = asked[0].proven_object(data)
            is_other = read is not None and read != (got.object, got.stored_version)
            difference = "object as proven for a query" if is_other else reported
        if difference:
            wrong[case["name"]] = difference
    assert run >= MINIMUM[name]
    assert typed >= (TYPED[name] if compiled else 0)
    assert wrong == {}


def stored_definitions():
    with gzip.open(shared("golden/upgrade/etcdctl-get.json.gz")) as stream:
        rows = json.load(stream)["kvs"]
    prefix = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
    for row in rows:
        if base64.b64decode(row["key"]).decode("utf-8", "replace").startswith(prefix):
            yield jsontext.decode(base64.b64decode(row["value"]))


def test_impact_is_named_for_each_measured_case():
    catalog = auditor.CrdCatalog.from_documents(stored_definitions(), stored=True)
    cases = [
        (case["case"], case["key"], base64.b64decode(case["value"]), "crashes-server")
        for case in json.loads(shared("golden/upgrade/crash-cases.json").read_text())
    ]
    crashing = len(cases)
    unlistable = json.loads(shared("golden/upgrade/unlistable.json").read_text())
    for case in unlistable:
        answers = [answer["code"] for cache in ("watchCache", "noWatchCache") for answer in case[cache].values()]
        fails = {cache: any(answer["code"] != 200 for name, answer in case[cache].items() if name.startswith("list"))
                 for cache in ("watchCache", "noWatchCache")}  # fmt: skip
        assert len(answers) == 12
        broken = "breaks-list" if fails["noWatchCache"] else "breaks-watch" if fails["watchCache"] else None
        cases.append((case["case"], case["key"], case["value"].encode(), broken))
    wrong = {}
    for name, key, data, expected in cases:
        group, plural = key.split("/")[2:4]
        got = auditor.audit_object(catalog, data, resource=f"{plural}.{group}")
        namespaced = catalog.crds[f"{plural}.{group}"].namespaced
        impact = worst(impacts_of(got, namespaced=namespaced), invalid=bool(got.findings))
        if (impact if impact is not None and impact.is_breaking else None) != expected:
            wrong[name] = (impact, expected)
    assert len(cases) == crashing + len(unlistable) >= 11
    assert crashing
    assert wrong == {}
