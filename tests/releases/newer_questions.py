"""Questions about behaviours that came with 1.37 or later: each with the answer before, and the answer since."""

from __future__ import annotations

from auditor.cel.kubernetes import kubernetes_environment
from auditor.releases import changes
from auditor.storage_read.read import CorruptValue, answer_to_one
from auditor.updates.update import refused_read
from auditor.validation.objectmeta import check_metadata_update
from tests.releases.asking import (
    CODE,
    METADATA,
    OWNER,
    RULES_OF_LISTS,
    RULES_OF_OPTIONALS,
    UNREADABLE,
    broken,
    compiles,
    cost,
    create,
    gates,
    is_cheap,
    metadata,
    refusals,
    value,
    warnings,
)

TORN = CorruptValue("/a", 7, "torn")
CORRUPT = "StorageError: corrupt object, Code: 7, Key: /a, ResourceVersion: 0, AdditionalErrorMsg: "
QUESTIONS = {
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
        lambda: (
            answer_to_one(TORN),
            answer_to_one(TORN._replace(is_closed=True)),
            refused_read("torn", 7).message,
        ),
        (("", "torn"), ("InternalError", "Internal error occurred: torn"), "torn"),
        (
            ("InternalError", f"Internal error occurred: {CORRUPT}object not decodable revision=7: torn"),
            (
                "InternalError",
                f"Internal error occurred: {CORRUPT}data from the storage is not transformable revision=0: torn",
            ),
            "object not decodable revision=7: torn",
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
    changes.NUMBERS_ARE_NO_DURATIONS: (lambda: compiles("duration([].sum()) == duration('1s')"), True, False),
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
