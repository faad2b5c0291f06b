"""What the tests of the table of changes ask: objects, definitions, expressions, metadata."""

from __future__ import annotations

from contextlib import suppress

import auditor
from auditor.base.errors import PlanError
from auditor.cel.cel_errors import CelError, CompileError
from auditor.cel.cel_types import DYN
from auditor.cel.kubernetes import kubernetes_environment
from auditor.golang.jsontext import encode
from auditor.plan.feature_gates import parse_feature_gates
from auditor.program.program import AuditProgram
from auditor.updates.body import RequestName
from auditor.updates.noop import NoopUpdates
from auditor.validation.name_checks import subdomain_name
from auditor.validation.objectmeta import check_metadata
from tests.documents import definition_of

METADATA = {"name": "a", "namespace": "n", "uid": "u", "generation": 1, "resourceVersion": "7"}


def catalog(spec):
    return auditor.CrdCatalog.from_documents([definition_of({"type": "object", "properties": {"spec": spec}})])


def create(spec, value):
    """Return the messages for an object whose spec has a schema and a value."""
    text = encode({"apiVersion": "x.example.com/v1", "kind": "X", "metadata": METADATA, "spec": value})
    return [one.message for one in auditor.audit_object(catalog(spec), text.encode()).findings]


def value(text):
    """Return the value of an expression."""
    found = kubernetes_environment({"self": DYN}).compile(text).evaluate({"self": {}})[0]
    return found.text if isinstance(found, CelError) else found


def compiles(text):
    """Tell whether an expression compiles that is stored in a definition."""
    with suppress(CompileError):
        return kubernetes_environment({"self": DYN}).compile(text) is not None
    return False


def cost(text):
    """Return the cost of an expression."""
    return kubernetes_environment({"self": DYN}).compile(text).evaluate({"self": {}})[1]


def refusals(text, message="", **schema):
    """Return what is wrong with a definition that has a rule on a text."""
    rule = {"rule": text, **({"message": message} if message else {})}
    return field_refusals({"type": "string", "x-kubernetes-validations": [rule], **schema})


def field_refusals(field):
    """Return what is wrong with a definition that has a field."""
    document = definition_of({"type": "object", "properties": {"s": field}})
    return [one.message for one in auditor.check_crd(document).findings]


def read_metadata_of(metadata):
    """Return what reading adds to the time of an object's metadata, by both paths."""
    text = encode({"apiVersion": "x.example.com/v1", "kind": "X", "metadata": {**METADATA, **metadata}})
    (definition,) = catalog({"type": "string"}).crds.values()
    answers = [
        AuditProgram(definition, definition.versions["v1"], compiled=compiled).audit(text.encode()).object["metadata"]
        for compiled in (False, True)
    ]
    assert answers[0] == answers[1]
    return {key: value for key, value in answers[0].items() if key not in METADATA}


def gates(text):
    try:
        return parse_feature_gates(text)
    except PlanError as error:
        return str(error)


def metadata(**fields):
    """Return the messages for metadata, as on a create."""
    return [one.message for one in check_metadata({**METADATA, **fields}, namespaced=True, name_rule=subdomain_name)]


def is_cheap(text):
    """Tell whether a definition with a rule on the whole object is not too expensive."""
    document = definition_of({"type": "object", "x-kubernetes-validations": [{"rule": text}]})
    return not any("exceed" in one.message for one in auditor.check_crd(document).findings)


def warnings(items):
    schema = {"type": "array", "x-kubernetes-list-type": "set", "items": items}
    return list(auditor.check_crd(definition_of({"type": "object", "properties": {"l": schema}})).warnings)


def many_selectable(count):
    """Return a definition with so many selectable fields."""
    names = [f"f{number}" for number in range(count)]
    spec = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    document = definition_of({"type": "object", "properties": {"spec": spec}})
    document["spec"]["versions"][0]["selectableFields"] = [{"jsonPath": f".spec.{name}"} for name in names]
    document["metadata"]["resourceVersion"] = "1"
    return document


def kept(document):
    """Return what is wrong with an update of a definition to itself."""
    return [one.message for one in auditor.check_crd_update(document, document).findings]


def status_unchanged(schema, status):
    """Return what is wrong with an object's status, sent to /status unchanged; of a rule only that it is broken."""
    document = definition_of({"type": "object", "properties": {"status": schema}})
    document["spec"]["versions"][0]["subresources"] = {"status": {}}
    (definition,) = auditor.CrdCatalog.from_documents([document]).crds.values()
    program = AuditProgram(definition, definition.versions["v1"])
    obj = {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": METADATA, "status": status}
    audited = program.audit(encode(obj).encode())
    found = NoopUpdates(program).judge(audited, RequestName("n", "a"), 7).status
    return sorted("failed rule" if one.check == "rule" else one.message for one in found.findings)


def broken(rule):
    """Tell whether an object with lists breaks a rule, both by the interpreter and by the code of the fast path."""
    items = {"type": "string"}
    lists = {
        "times": {"type": "array", "x-kubernetes-list-type": "set", "items": {**items, "format": "date-time"}},
        "numbers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "number"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": items},
        "twice": {"type": "array", "items": items},
    }
    spec = {"type": "object", "properties": lists, "x-kubernetes-validations": [{"rule": rule}]}
    value = {"times": ["2024-01-01T00:00:00Z"], "numbers": [1], "set": ["a", "b"], "twice": ["a", "a"]}
    text = encode({"apiVersion": "x.example.com/v1", "kind": "X", "metadata": METADATA, "spec": value}).encode()
    (definition,) = catalog(spec).crds.values()
    answers = {
        bool(AuditProgram(definition, definition.versions["v1"], compiled=compiled).audit(text).findings)
        for compiled in (False, True)
    }
    assert len(answers) == 1
    return answers.pop()


RULES_OF_LISTS = (
    "self.times == self.times",
    "self.numbers == self.numbers",
    "self.set != self.twice",
    "(self.times + [timestamp('2025-01-01T00:00:00Z')])[1] > timestamp('2024-06-01T00:00:00Z')",
    "self.set.map(x, x).size() == 2 && [self.set].all(s, (s + ['c']).size() == 3 && (s + ['c']).size() == 3)",
)
RULES_OF_OPTIONALS = (
    "optional.of(self.times)[0].value() == timestamp('2024-01-01T00:00:00Z')",
    "self.?times.optMap(times, times).value()[0] == timestamp('2024-01-01T00:00:00Z')",
    "(self.set.size() == 2 ? optional.of(self.set) : optional.none()).value() != ['b', 'a']",
)
UNREADABLE = {
    "quantity('1500m')": "(*resource.Quantity)1500m",
    "quantity('1.5e4')": "(*resource.Quantity)1.5e4",
    "quantity('2048Ki')": "(*resource.Quantity)2Mi",
    "quantity('0.5Ki')": "(*resource.Quantity)512",
    "url('https://a.b/c')": "(*url.URL)https://a.b/c",
    "ip('::1')": "(netip.Addr)::1",
    "cidr('10.0.0.0/8')": "(netip.Prefix)10.0.0.0/8",
    "semver('1.2.3-a')": "(semver.Version)1.2.3-a",
}
CODE = {"type": "string", "format": "byte", "x-kubernetes-validations": [{"rule": "size(self) == 3"}]}
OWNER = {"apiVersion": "v1", "kind": "", "name": "a", "uid": "u"}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-map-type": "atomic"}
LONG_RULE = " || ".join(["string(self).matches('^(a|b)+$')"] * 100)
NULLS = {
    "type": "object",
    "properties": {"a": {"type": "string", "nullable": True}, "b__dash__c": {"type": "string"}},
    "x-kubernetes-validations": [{"rule": "self == self"}],
}
BOUNDED = {"x-kubernetes-int-or-string": True, "maxLength": 5}
PAIR = {"rule": "dyn(self).transformList(k, v, v).size() == 0"}
