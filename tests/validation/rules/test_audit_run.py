"""Rules in a run of the audit: definitions whose rules do not compile, and objects that would stall a server."""

import json

import pyarrow.parquet as pq
import pytest

from auditor import CrdCatalog
from auditor.cel.environment import Program
from auditor.crds.definition import parse_definition
from auditor.program.program import AuditProgram
from tests.command import auditor
from tests.counting import calls_of
from tests.validation.rules.definitions import definition, foo, messages


def run(folder, *documents):
    """Audit documents as one manifest file; return (rows, findings, stderr, manifest)."""
    source = folder / "dump.yaml"
    source.write_text("\n---\n".join(json.dumps(document) for document in documents))
    report = folder / "report"
    done = auditor("audit", source, "--report", report, "--jobs", 1, "--fail-on", "never")
    assert done.code == 0, done.stderr
    tables = [
        [row for part in sorted((report / table).glob("*.parquet")) for row in pq.read_table(part).to_pylist()]
        for table in ("objects", "findings")
    ]
    return *tables, done.stdout, json.loads((report / "manifest.json").read_text())


def test_a_rule_that_does_not_compile_is_a_finding_on_the_definition_and_counted_on_its_objects(tmp_path):
    broken = {"type": "object", "x-kubernetes-validations": [{"rule": "self.nowhere"}, {"rule": "false"}]}
    objects, findings, shown, manifest = run(tmp_path, definition(broken), foo({}, "a"), foo({}, "b"))
    by_name = {row["name"]: row for row in objects}
    assert by_name["foos.g.io"]["status"] == "definition"
    assert by_name["foos.g.io"]["findings"] == 1
    on_definition = [row for row in findings if row["name"] == "foos.g.io"]
    assert [row["field"] for row in on_definition] == [
        "spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule"
    ]
    assert "undefined field 'nowhere'" in on_definition[0]["detail"]
    created = [row for row in findings if row["name"] == "a" and row["request"] == "create"]
    on_object = sorted(row["message"].partition(" ERROR")[0] for row in created)
    assert on_object == [
        'spec: Invalid value: "object": rule compile error: compilation failed:',
        "spec: Invalid value: failed rule: false",
    ]
    counted = [{"what": "x-kubernetes-validations", "crd": "foos.g.io", "version": "v1", "objects": 2}]
    assert manifest["not_evaluated"] == counted
    assert "NOT EVALUATED  validation rules (CEL) of 2 objects" in shown


POISONS = {
    "regex bomb": ({"type": "string"}, "self.matches('^(a+)+$')", "a" * 20_000 + "b"),
    "huge list compared with itself": (
        {"type": "array", "items": {"type": "integer"}},
        "self.all(x, self.all(y, x + y > -1))",
        list(range(20_000)),
    ),
    "huge list made distinct": (
        {"type": "array", "items": {"type": "integer"}},
        "self.distinct().size() == self.size()",
        list(range(20_000)),
    ),
    "text doubled over and over": (
        {"type": "string"},
        "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].map(x, self + self + self + self).join(self).size() > 0",
        "a" * 20_000,
    ),
    "many rules on many items": (
        {"type": "array", "items": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [
            {"rule": "self.all(x, self.all(y, x + y > -1))"}
        ]}},
        "true",
        [list(range(300))] * 60,
    ),
}  # fmt: skip


LIMIT = "validation failed due to running out of cost budget, no further validation rules will be run"
ENDS = {
    "regex bomb": "failed rule: self.matches('^(a+)+$')",
    "huge list compared with itself": "'operation cancelled: actual cost limit exceeded'",
    "huge list made distinct": LIMIT,
    "text doubled over and over": None,
    "many rules on many items": LIMIT,
}
"""What the API server says of each; None if it accepts the object."""
OF_MILLIONS_OF_STEPS = {"huge list compared with itself", "many rules on many items"}
"""What the cost limit ends; the others are to end at once."""
SLOW = {"many rules on many items"}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in POISONS])
def test_no_rule_and_no_object_stalls_a_run(name):
    value, rule, poison = POISONS[name]
    schema = {**value, "x-kubernetes-validations": [{"rule": rule}]}
    said = []

    def judge():
        said.extend(messages({"type": "object", "properties": {"a": schema}}, {"a": poison}))

    if name in OF_MILLIONS_OF_STEPS:
        judge()
    else:
        assert calls_of(judge) < 200_000
    if ENDS[name] is None:
        assert said == []
    else:
        [text] = said
        assert ENDS[name] in text


def test_what_takes_too_long_is_given_up_and_counted():
    catalog = CrdCatalog.from_documents([
        definition({"type": "object", "x-kubernetes-validations": [{"rule": "false"}], "properties": {
            "a": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [
                {"rule": "self.all(x, self.all(y, x + y > -1))"}
            ]}
        }})
    ])  # fmt: skip
    found = catalog.crds["foos.g.io"]
    program = AuditProgram(found, found.versions["v1"], compiled=False)
    program.rule_program.time.one = 0
    slow = program.audit(json.dumps(foo({"a": list(range(200))})).encode())
    assert [finding.message for finding in slow.findings] == ["spec: Invalid value: failed rule: false"]
    assert slow.unevaluated_rules == 2
    quick = program.audit(json.dumps(foo({"a": [1]})).encode())
    assert quick.unevaluated_rules == 0


RULED = {
    "type": "object",
    "properties": {"tags": {"type": "array", "maxItems": 20, "items": {"type": "string", "maxLength": 20}}},
    "x-kubernetes-validations": [{"rule": "self.tags.all(a, self.tags.exists_one(b, a == b))", "message": "twice"}],
}


def test_a_rule_is_evaluated_once_for_equal_values(monkeypatch):
    evaluated = []
    evaluate = Program.evaluate

    def counted(program, *arguments):
        evaluated.append(program)
        return evaluate(program, *arguments)

    monkeypatch.setattr(Program, "evaluate", counted)
    parsed = parse_definition(definition(RULED))
    program = AuditProgram(parsed, parsed.versions["v1"], compiled=False)
    tags = [f"tag-{number}" for number in range(10)]

    def findings(name, tags):
        audited = program.audit(json.dumps(foo({"tags": tags}, name)).encode())
        return [(finding.field, finding.detail) for finding in audited.findings if finding.check == "rule"]

    first = findings("a", [*tags, tags[-1]])
    assert first == [("spec", "twice")]
    assert findings("b", [*tags, tags[-1]]) == first
    assert len(evaluated) == 1
    assert findings("c", tags) == []
    assert findings("d", [*tags[1:], tags[0], tags[0]]) == first
    assert len(evaluated) == 3
