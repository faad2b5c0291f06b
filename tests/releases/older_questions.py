"""Questions about behaviours that came with 1.33 to 1.36: each with the answer before, and the answer since."""

from __future__ import annotations

from auditor.cel.kubernetes import kubernetes_environment
from auditor.plan.feature_gates import ratcheting_note
from auditor.releases import active, changes
from auditor.validation.builtin_metadata import check_builtin_metadata
from auditor.validation.objectmeta import check_metadata_update
from tests.documents import definition_of
from tests.releases.asking import (
    ANYTHING,
    BOUNDED,
    LONG_RULE,
    METADATA,
    NULLS,
    OWNER,
    PAIR,
    compiles,
    cost,
    create,
    field_refusals,
    gates,
    kept,
    many_selectable,
    metadata,
    read_metadata_of,
    refusals,
    status_unchanged,
    value,
    warnings,
)

STORED = {**definition_of({"type": "object"}), "status": {"storedVersions": ["v1", "v0"]}}
STATUS_RULES = {
    "type": "object",
    "properties": {"n": {"type": "integer", "maximum": 1}, "r": {"type": "string"}},
    "x-kubernetes-validations": [{"rule": "self.r == 'b'"}],
}

QUESTIONS = {
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
    changes.STATUS_RATCHETS: (
        lambda: status_unchanged(STATUS_RULES, {"n": 2, "r": "a"}),
        ["failed rule", "status.n: Invalid value: 2: n in body should be less than or equal to 1"],
        [],
    ),
    changes.STORED_VERSIONS: (
        lambda: kept(STORED)[1:],
        ['status.storedVersions[1]: Invalid value: "v0": must appear in spec.versions'],
        [
            'status.storedVersions[1]: Invalid value: "v0": missing from spec.versions; v0 was previously a storage '  # noqa: ISC004
            "version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v0 "
            "and removes v0 from status.storedVersions"
        ],
    ),
    changes.SEMVER: (lambda: "semver" in kubernetes_environment({}).libraries.functions, False, True),
    changes.LIST_ENDS: (
        lambda: [
            name in kubernetes_environment({}).libraries.functions
            for name in ("first", "last", "unwrapOpt", "optional.unwrap")
        ],
        [False] * 4,
        [True] * 4,
    ),
    changes.NO_SPACED_EXPONENTS: (
        lambda: value("'%e'.format([1234.5])"),
        "1.234500\u202f×\u202f10⁰³",
        "1.234500×10⁰³",
    ),
    changes.PAIRS_OF_DYN: (
        lambda: (
            [
                compiles(text)
                for text in (
                    "dyn([1]).all(i, v, i < v)",
                    "dyn([1]).all(i, v, v.a)",
                    "dyn([1]).all(i, v, v == v)",
                    "dyn([1]).all(i, v, [v].size() == 1)",
                    "dyn([1]).all(i, v, dyn(v) == 1)",
                )
            ]
            + [
                one.partition("rule compile error: ")[2]
                for one in create({**ANYTHING, "x-kubernetes-validations": [PAIR]}, {})
            ]
        ),
        [
            *[False] * 3,
            *[True] * 2,
            "unexpected compilation error: missing type conversion to proto: ",
        ],
        [True] * 5,
    ),
    changes.SIZES_IN_OPTIONALS: (
        lambda: cost(f"optional.of('{'a' * 100}') == optional.of('{'a' * 90}b')"),
        3,
        12,
    ),
    changes.ERRORS_OF_RANGES: (
        lambda: [value("(self.a == 1 ? [1] : [2]).all(i, v, i < v)"), value("(self.a == 1 ? [1] : [2]).all(v, v > 0)")],
        ["unsupported comprehension range type: *types.Err", "no such key: a"],
        ["no such key: a"] * 2,
    ),
    changes.NO_HALF_CHARACTERS: (
        lambda: [refusals(f"'{text}' == self") == [] for text in (r"\ud800", r"\UFFFFFFFF", r"\U00110000")],
        [True, True, False],
        [False] * 3,
    ),
    changes.SIZES_ARE_FOLLOWED: (
        lambda: [
            refusals(text, maxLength=100) == []
            for text in ("dyn(self).matches('^a$')", "optional.of(self).optMap(v, v.matches('^a$')).hasValue()")
        ],
        [False, True],
        [True, False],
    ),
    changes.NO_RESULT_VARIABLE: (
        lambda: [
            value("[1, 2].map(x, __result__.size())") if refusals(f"{text} != [self]") == [] else "refused"
            for text in ("[1, 2].map(x, string(__result__.size()))", "[1].map(__result__, self)")
        ],
        [[0, 1], "refused"],
        ["refused"] * 2,
    ),
    changes.PERCENTS_IN_ERRORS: (
        lambda: [
            value("timestamp('2024-01-01T00:00:00Z').getHours('a%sb')"),
            value("timestamp('2024-01-01T00:00:00Z').getHours('50%-.1f%%%')"),
            value("dyn('%.3%').format([1.5])"),
        ],
        [
            "unknown time zone a%!s(MISSING)b",
            "unknown time zone 50%!f(MISSING)%%!(NOVERB)",
            'could not parse formatting clause: unrecognized formatting clause "%!"(MISSING)',
        ],
        [
            "unknown time zone a%sb",
            "unknown time zone 50%-.1f%%%",
            'could not parse formatting clause: unrecognized formatting clause "%"',
        ],
    ),
    changes.BACKTICKS_ARE_READ: (
        lambda: ["token recognition error at: '`'" in one for one in refusals("self.`a` == ''")],
        [True],
        [False],
    ),
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
    changes.RELAXED_SERVICE_NAMES: (
        lambda: [
            one.field
            for one in check_builtin_metadata(
                {"metadata": {"name": "1st", "namespace": "a"}}, "", "v1", "Service", namespaced=True
            )
        ],
        ["metadata.name"],
        [],
    ),
    changes.NUMBER_FORMATS: (
        lambda: create({"type": "integer", "format": "int32"}, 1 << 31),
        [],
        ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec'],
    ),
}
