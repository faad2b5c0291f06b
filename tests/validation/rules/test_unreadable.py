"""Values that pass the check of their format and cannot be read by rules: an error wherever a rule looks for them."""

import json

import pytest

import auditor
from auditor.program.program import AuditProgram
from tests.validation.rules.definitions import definition, foo

BYTES = {"type": "string", "format": "byte"}
MOMENT = {"type": "string", "format": "date-time"}
CASES = [
    (BYTES, "/+8=", "Invalid byte formatted string /+8=: illegal base64 data at input byte 0"),
    (
        MOMENT,
        "2024-05-01t10:00:00z",
        (
            'Invalid date-time formatted string 2024-05-01t10:00:00z: parsing time "2024-05-01t10:00:00z" as '
            '"2006-01-02T15:04:05": cannot parse "t10:00:00z" as "T"'
        ),
    ),
]
RULES = ["has(self.f)", "has(self.m.k)", "'k' in self.m", "self.?f.hasValue()", "self.m[?'k'].hasValue()"]


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "interpreted"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("schema", "value", "error"), CASES, ids=["byte", "date-time"])
def test_even_the_question_whether_they_are_there_fails(schema, value, error, rule, compiled):
    fields = {"f": schema, "m": {"type": "object", "additionalProperties": schema}}
    whole = {"type": "object", "properties": fields, "x-kubernetes-validations": [{"rule": rule}]}
    (found,) = auditor.CrdCatalog.from_documents([definition(whole)]).crds.values()
    program = AuditProgram(found, found.versions["v1"], compiled=compiled)
    for text in (value, value):
        audited = program.audit(json.dumps(foo({"f": text, "m": {"k": text}})).encode())
        message = f'spec: Invalid value: "object": {error} evaluating rule: {rule}'
        assert [finding.message for finding in audited.findings] == [message]
