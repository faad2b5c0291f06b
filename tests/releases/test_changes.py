"""Each record of the table: the answer before it, and the answer since. Both are those of the libraries."""

from __future__ import annotations

import pytest

import auditor
from auditor.base.errors import PlanError
from auditor.cel.errors import CelError
from auditor.cel.kubernetes import kubernetes_environment
from auditor.cel.types import DYN
from auditor.golang.jsontext import encode
from auditor.plan.feature_gates import parse_feature_gates, ratcheting_note
from auditor.program.program import AuditProgram
from auditor.releases import RELEASES, active, changes, running_as
from auditor.storage_read.corrupt import CorruptValue, answer_to_one
from auditor.updates.update import refused_read
from auditor.validation.names import subdomain_name
from auditor.validation.objectmeta import check_metadata, check_metadata_update
from tests.documents import definition_of

TORN = CorruptValue("/a", 7, "torn")
CORRUPT = "StorageError: corrupt object, Code: 7, Key: /a, ResourceVersion: 0, AdditionalErrorMsg: "
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
QUESTIONS = {
    changes.NO_NULL_TIMES: (lambda: read_metadata_of({"name": "a"}), {"creationTimestamp": None}, {}),
    changes.VALUES_AS_JSON: (
        lambda: [
            *create({"type": "string", "enum": ["b"], "nullable": True}, None),
            *create({"type": "array", "x-kubernetes-list-type": "set", "items": ANYTHING}, [{"a": [1, None]}] * 2),
            metadata(finalizers=["orphan", "foregroundDeletion"])[0].partition(": finalizer")[0],
            metadata(ownerReferences=[{**OWNER, "kind": "Event"}])[0].partition(": /v1")[0],
            *(
                one.message.partition(": field")[0]
                for one in check_metadata_update(
                    {**METADATA, "uid": "x", "deletionTimestamp": "2024-05-01T10:00:00Z"},
                    {**METADATA, "creationTimestamp": "2024-05-01T10:00:00Z", "deletionGracePeriodSeconds": 1},
                )
            ),
            refusals("1")[0].partition(": cel")[0].partition("Invalid value: ")[2],
        ],
        [
            'spec: Unsupported value: "null": supported values: "b"',
            'spec[1]: Duplicate value: map[string]interface {}{"a":[]interface {}{1, interface {}(nil)}}',
            'metadata.finalizers: Invalid value: []string{"orphan", "foregroundDeletion"}',
            (
                'metadata.ownerReferences: Invalid value: v1.OwnerReference{APIVersion:"v1", Kind:"Event", Name:"a", '
                'UID:"u", Controller:(*bool)(nil), BlockOwnerDeletion:(*bool)(nil)}'
            ),
            'metadata.uid: Invalid value: "x"',
            "metadata.creationTimestamp: Invalid value: 0001-01-01 00:00:00 +0000 UTC",
            "metadata.deletionTimestamp: Invalid value: 2024-05-01 10:00:00 +0000 UTC",
            'metadata.deletionGracePeriodSeconds: Invalid value: "null"',
            (
                'apiextensions.ValidationRule{Rule:"1", Message:"", MessageExpression:"", '
                'Reason:(*apiextensions.FieldValueErrorReason)(nil), FieldPath:"", OptionalOldSelf:(*bool)(nil)}'
            ),
        ],
        [
            'spec: Unsupported value: null: supported values: "b"',
            'spec[1]: Duplicate value: {"a":[1,null]}',
            'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]',
            'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"a","uid":"u"}',
            'metadata.uid: Invalid value: "x"',
            "metadata.creationTimestamp: Invalid value: null",
            'metadata.deletionTimestamp: Invalid value: "2024-05-01T10:00:00Z"',
            "metadata.deletionGracePeriodSeconds: Invalid value: null",
            '{"Rule":"1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}',
        ],
    ),
    changes.UNITS_AGREE: (
        lambda: [
            *create({"type": "array", "maxItems": 1, "items": {"type": "string"}}, ["a", "b"]),
            *create({"type": "string", "maxLength": 1}, "ab"),
        ],
        ["spec: Too many: 2: must have at most 1 items", "spec: Too long: may not be more than 1 bytes"],
        ["spec: Too many: 2: must have at most 1 item", "spec: Too long: may not be more than 1 byte"],
    ),
    changes.SHORTER_DETAILS: (
        lambda: [
            *metadata(ownerReferences=[OWNER]),
            *(one.split(": ")[-1] for one in refusals("true", message=" ")),
            *create({"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"a": ANYTHING}}, {}),
        ],
        [
            'metadata.ownerReferences.kind: Invalid value: "": kind must not be empty',
            "message must be non-empty if specified",
            "spec.apiVersion: Required value: must not be empty",
            "spec.kind: Required value: must not be empty",
        ],
        [
            'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
            "must be non-empty if specified",
            "spec.apiVersion: Required value",
            "spec.kind: Required value",
        ],
    ),
    changes.FORMATS_WARN: (
        lambda: warnings({"type": "string", "format": "none"}),
        [],
        ['unrecognized format "none"'],
    ),
    changes.ABSENT_FIELDS_EQUAL: (
        lambda: [bool(create(NULLS, one)) for one in ({"a": None}, {"b__dash__c": "d"}, {"a": "d"})],
        [True, True, False],
        [False] * 3,
    ),
    changes.SHORT_INT_OR_STRINGS: (
        lambda: field_refusals({**BOUNDED, "x-kubernetes-validations": [{"rule": LONG_RULE}]}) == [],
        False,
        True,
    ),
    changes.LAST_INDEX_OF_NOTHING: (lambda: value("''.lastIndexOf('a')"), "index out of range: -1", -1),
    changes.LISTS_HAVE_FUNCTIONS: (
        lambda: "sort" in kubernetes_environment({}).libraries.functions,
        False,
        True,
    ),
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
    changes.CORRUPT_OBJECTS: (
        lambda: (answer_to_one(TORN), answer_to_one(TORN._replace(is_closed=True)), refused_read("torn", "/a", 7).message),
        (("", "torn"), ("InternalError", "Internal error occurred: torn"), "torn"),
        (
            ("InternalError", f"Internal error occurred: {CORRUPT}object not decodable revision=7: torn"),
            (
                "InternalError",
                f"Internal error occurred: {CORRUPT}data from the storage is not transformable revision=0: torn",
            ),
            f"Internal error occurred: {CORRUPT}object not decodable revision=7: torn",
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
    changes.RATCHETING_LOCKED: (
        lambda: (gates("CRDValidationRatcheting=false"), ratcheting_note(active(), ratcheting=False)),
        (False, ""),
        (
            False,
            (
                "judged with CRDValidationRatcheting=false, as servers before 1.33 can be started: since then the feature "
                "gate is locked to true"
            ),
        ),
    ),
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
    changes.OPTIONALS_KEEP_SCHEMA: (
        lambda: (
            [broken(rule) for rule in RULES_OF_OPTIONALS],
            [value(f"(true ? optional.of({one}) : optional.none()).value() == {one}") for one in UNREADABLE],
        ),
        ([True] * 2 + [False], [f"unsupported conversion to ref.Val: {one}" for one in UNREADABLE.values()]),
        ([False] * 2 + [True], [True] * len(UNREADABLE)),
    ),
    changes.OPTIONALS_ALONE: (
        lambda: [value("dyn(1).orValue(2)"), value("dyn('a').or(optional.of(dyn('b')))")],
        [1, "a"],
        ["no such overload"] * 2,
    ),
    changes.EMPTY_TEXTS_IN_RANGE: (
        lambda: [value(f"'abc'.{name}('', {offset})") for name in ("indexOf", "lastIndexOf") for offset in (5, -1, 2)],
        [5, -1, 2] * 2,
        [3, "index out of range: -1", 2] * 2,
    ),
    changes.AFFIXES_COST: (
        lambda: [
            *(cost(f"'{'a' * 30}'.{name}('a')") for name in ("startsWith", "endsWith")),
            cost("matches('abcdefghijk', 'abcdefgh')"),
            cost("[[1], [2]].flatten(-1)"),
            refusals(" || ".join(["matches(self, '^(a|b)+$')"] * 100)) == [],
        ],
        [3, 3, 1, 9, True],
        [1, 1, 4, 13, False],
    ),
    changes.QUOTED_FIELDS: (
        lambda: ["unsupported syntax: '`'" in one for one in refusals("{'a-b': self}.`a-b` != ''")],
        [True],
        [],
    ),
    changes.LEADING_DOTS: (lambda: value("[1].map(self, .self == 1)"), [True], [False]),
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


def test_a_gate_is_named_as_the_release_has_it():
    for one in RELEASES:
        with running_as(one):
            is_there = one.minor < 38
            assert (
                gates("CRDValidationRatcheting=true") is True
                if is_there
                else "since Kubernetes 1.38" in gates("CRDValidationRatcheting=true")
            )
            assert gates(" CustomResourceFieldSelectors=true,CRDValidationRatcheting=true") is True or not is_there
            said = "locked to true since Kubernetes 1.32" if is_there else "not a feature gate since Kubernetes 1.38"
            assert said in gates("CustomResourceFieldSelectors=false")
            assert "expected CRDValidationRatcheting=true or =false" in gates("APIServerTracing=true")
            assert ratcheting_note(one, ratcheting=True) == ""


def test_what_differs_between_two_releases_is_the_same_both_ways():
    old, new = release(37), release(38)
    assert changes.between(old, new) == changes.between(new, old)
    assert changes.TOO_FEW in changes.between(old, new)
    assert changes.LISTS_INCLUDE not in changes.between(old, new)
    assert changes.between(new, new) == ()
