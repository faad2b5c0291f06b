"""Each record of the table: the answer before it, and the answer since. Both are those of the libraries."""

from __future__ import annotations

import pytest

import auditor
from auditor.base.errors import PlanError
from auditor.cel.errors import CelError
from auditor.cel.kubernetes import kubernetes_environment
from auditor.cel.types import DYN
from auditor.golang.jsontext import encode
from auditor.plan.feature_gates import parse_feature_gates
from auditor.program.program import AuditProgram
from auditor.releases import RELEASES, changes, running_as
from auditor.validation.names import subdomain_name
from auditor.validation.objectmeta import check_metadata, check_metadata_update
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


def refusals(text, **schema):
    """Return what is wrong with a definition that has a rule on a text."""
    field = {"type": "string", "x-kubernetes-validations": [{"rule": text}], **schema}
    document = definition_of({"type": "object", "properties": {"s": field}})
    return [one.message for one in auditor.check_crd(document).findings]


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
CODE = {"type": "string", "format": "byte", "x-kubernetes-validations": [{"rule": "size(self) == 3"}]}
OWNER = {"apiVersion": "v1", "kind": "", "name": "a", "uid": "u"}
QUESTIONS = {
    changes.KUBERNETES_NAME_FORMATS: (
        lambda: create({"type": "string", "format": "k8s-short-name"}, "a.b"),
        [],
        ['spec: Invalid value: "a.b": spec in body must be of type k8s-short-name: "a.b"'],
    ),
    changes.SELECTABLE_FIELDS_KEPT: (
        lambda: kept(many_selectable(9)),
        ["spec.selectableFields: Too many: 9: must have at most 8 items"],
        [],
    ),
    changes.RULES_SHOW_VALUES: (
        lambda: create({"type": "string", "x-kubernetes-validations": [{"rule": "self == 'b'"}]}, "a"),
        ["spec: Invalid value: \"string\": failed rule: self == 'b'"],
        ["spec: Invalid value: \"a\": failed rule: self == 'b'"],
    ),
    changes.LABEL_WORDS: (
        lambda: (
            metadata(labels={"a": "v" * 64}),
            value("format.qualifiedName().validate('a/b/c').value()[0]").partition(" must")[0],
            metadata(labels={"a/b/c": "v"})[0].partition(" must")[0],
        ),
        (
            [f'metadata.labels: Invalid value: "{"v" * 64}": must be no more than 63 characters'],
            "a qualified name",
            'metadata.labels: Invalid value: "a/b/c": a qualified name',
        ),
        (
            [f'metadata.labels: Invalid value: "{"v" * 64}": must be no more than 63 bytes'],
            "a valid label key",
            'metadata.labels: Invalid value: "a/b/c": a valid label key',
        ),
    ),
    changes.NUMBER_FORMATS: (
        lambda: create({"type": "integer", "format": "int32"}, 1 << 31),
        [],
        ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec'],
    ),
    changes.OWNERS_BY_INDEX: (
        lambda: metadata(ownerReferences=[OWNER]),
        ['metadata.ownerReferences.kind: Invalid value: "": must not be empty'],
        ["metadata.ownerReferences[0].kind: Required value: must not be empty"],
    ),
    changes.MANAGER_OPERATIONS: (
        lambda: metadata(managedFields=[{"operation": ""}]),
        ['metadata.managedFields[0].operation: Invalid value: "": must be `Apply` or `Update`'],
        ["metadata.managedFields[0].operation: Required value: must not be empty"],
    ),
    changes.NEGATIVE_GENERATION: (
        lambda: [
            one.message for one in check_metadata_update({**METADATA, "generation": -1}, {**METADATA, "generation": -1})
        ],
        [],
        ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
    ),
    changes.SETS_OF_OBJECTS: (
        lambda: warnings({"type": "object", "x-kubernetes-map-type": "atomic"}),
        [],
        [
            'x-kubernetes-list-type: set for items of type "object" is not supported by server-side apply or CEL '  # noqa: ISC004
            "validation rules"
        ],
    ),
    changes.NAMES_ARE_CAPPED: (
        lambda: is_cheap(" || ".join(["self.metadata.name.find('^(a|b)+$') == 'a'"] * 20)),
        False,
        True,
    ),
    changes.RANGES_ARE_CHECKED: (
        lambda: (value("lists.range(-1)"), value("lists.range(2000000)")),
        ([], "operation cancelled: actual cost limit exceeded"),
        (
            "lists.range: size must be non-negative, got -1",
            "lists.range: size 2000000 exceeds maximum allowed (1000000)",
        ),
    ),
    changes.WHOLE_NUMBERS: (
        lambda: [len(create({"type": "number", "multipleOf": 1}, number)) for number in (-1e9 - 0.4, 2e8 + 0.3)],
        [1, 0],
        [0, 1],
    ),
    changes.TOO_FEW: (
        lambda: create({"type": "array", "minItems": 2, "items": {"type": "string"}}, ["a"]),
        ["spec: Invalid value: 1: spec in body should have at least 2 items"],
        ["spec: Too few: 1: must have at least 2 items"],
    ),
    changes.CLEARED_GENERATION: (
        lambda: [one.message for one in check_metadata_update({**METADATA, "generation": 0}, METADATA)],
        ["metadata.generation: Invalid value: 0: must not be decremented"],
        ["metadata.generation: Invalid value: 0: field cannot be cleared once set"],
    ),
    changes.CIDR_MASK: (
        lambda: "isMask" in kubernetes_environment({}).libraries.functions,
        False,
        True,
    ),
    changes.SIZES_OF_URL_PARTS: (
        lambda: refusals("url(self).getHost().matches('^[a-z.]+$')", maxLength=1000) == [],
        False,
        True,
    ),
    changes.BYTES_ARE_STANDARD_BASE64: (
        lambda: create(CODE, "+/+/"),
        [
            (
                'spec: Invalid value: "string": Invalid byte formatted string +/+/: illegal base64 data at input byte 0 '
                "evaluating rule: size(self) == 3"
            )
        ],
        [],
    ),
    changes.EXACT_QUANTITIES: (lambda: value("quantity('1000000000000000001').isInteger()"), False, True),
    changes.GATES_REMOVED: (
        lambda: gates("CRDValidationRatcheting=true"),
        True,
        (
            "--feature-gates: 'CRDValidationRatcheting=true' is not a feature gate since Kubernetes 1.38; a server that is "
            "started with it stops; leave --feature-gates out"
        ),
    ),
    changes.LISTS_KEEP_ITEMS: (
        lambda: [broken(rule) for rule in RULES_OF_LISTS],
        [True] * 5,
        [False] * 5,
    ),
    changes.QUANTITIES_ARE_COPIED: (
        lambda: value("[quantity('100000000000000000000')].all(q, q.add(quantity('1')).isGreaterThan(q))"),
        False,
        True,
    ),
    changes.LISTS_INCLUDE: (
        lambda: "includes" in kubernetes_environment({}).libraries.functions,
        False,
        True,
    ),
}


def release(minor):
    return next(one for one in RELEASES if one.minor == minor)


def test_each_record_is_asked_and_names_its_source():
    assert set(QUESTIONS) == set(changes.CHANGES)
    assert len({one.name for one in changes.CHANGES}) == len(changes.CHANGES)
    assert all(one.what and one.before and "/" in one.source for one in changes.CHANGES)
    assert [one.since for one in changes.CHANGES] == sorted(one.since for one in changes.CHANGES)


@pytest.mark.parametrize("change", QUESTIONS, ids=lambda one: one.name)
def test_a_behaviour_is_there_since_its_release_and_not_before(change):
    ask, before, since = QUESTIONS[change]
    with running_as(release(change.since - 1)):
        assert ask() == before
    with running_as(release(change.since)):
        assert ask() == since
    assert before != since


def test_what_differs_between_two_releases_is_the_same_both_ways():
    old, new = release(37), release(38)
    assert changes.between(old, new) == changes.between(new, old)
    assert changes.TOO_FEW in changes.between(old, new)
    assert changes.LISTS_INCLUDE not in changes.between(old, new)
    assert changes.between(new, new) == ()
