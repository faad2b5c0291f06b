"""Behaviours that came with 1.37 or later, oldest release first."""

from __future__ import annotations

from typing import Final

from auditor.releases.release import Affects, BehaviourChange

OWNERS_BY_INDEX: Final = BehaviourChange(
    "owners-by-index",
    37,
    Affects.MESSAGES,
    "what is wrong with an owner reference names its position, and an empty part is FieldValueRequired: "
    '"metadata.ownerReferences[0].kind: Required value: must not be empty"; rules are not checked then',
    '"metadata.ownerReferences.kind: Invalid value: "": must not be empty"; an apiVersion that is none passes',
    "apimachinery pkg/api/validation/objectmeta.go (validateOwnerReference)",
)
MANAGER_OPERATIONS: Final = BehaviourChange(
    "manager-operations",
    37,
    Affects.MESSAGES,
    "an operation in managedFields that is empty is FieldValueRequired, an unknown one FieldValueNotSupported",
    'both are FieldValueInvalid: "must be `Apply` or `Update`"',
    "apimachinery pkg/apis/meta/v1/validation/validation.go (ValidateManagedFields)",
)
NEGATIVE_GENERATION: Final = BehaviourChange(
    "negative-generation",
    37,
    Affects.OBJECTS,
    "a negative metadata.generation is refused on an update, too",
    "only a create refuses it",
    "apimachinery pkg/api/validation/objectmeta.go (ValidateObjectMetaAccessorUpdate)",
)
SETS_OF_OBJECTS: Final = BehaviourChange(
    "sets-of-objects",
    37,
    Affects.DEFINITIONS,
    "the server warns of lists of type set whose items are objects or lists",
    "it does not",
    "apiextensions-apiserver pkg/registry/customresourcedefinition/strategy.go",
)
NAMES_ARE_CAPPED: Final = BehaviourChange(
    "names-are-capped",
    37,
    Affects.DEFINITIONS,
    "estimated costs know that metadata.name has at most 253 characters, generateName 252",
    "names count as texts of unknown length: definitions with rules on them are refused as too expensive",
    "apiextensions-apiserver pkg/apiserver/schema/cel/model/schemas.go",
)
LISTS_INCLUDE: Final = BehaviourChange(
    "lists-include",
    37,
    Affects.DEFINITIONS,
    "rules may call [1, 2].includes(1); new rules may from 1.38 on",
    "a rule that calls includes() does not compile",
    "apiserver pkg/cel/library/lists.go, pkg/cel/environment/base.go",
)
LISTS_KEEP_ITEMS: Final = BehaviourChange(
    "lists-keep-items",
    37,
    Affects.OBJECTS,
    "in rules, lists of type set and map are equal if each has all items of the other, and items that + adds to a list "
    "keep their type",
    "a list with an item twice can be equal to one without; items of sets are compared as JSON, so that sets of times "
    "or of numbers like 1 differ from themselves; what + adds is read again by the schema of the list",
    "apiserver pkg/cel/common/valuesunstructured.go",
)
OPTIONALS_KEEP_SCHEMA: Final = BehaviourChange(
    "optionals-keep-schema",
    37,
    Affects.OBJECTS,
    "in rules, what is read of an optional value, as in optional.of(self.times)[0] or oldSelf.value(), is read by its "
    "schema",
    "it is read as plain JSON: times, durations and bytes are texts, fields go by the names that are stored; a "
    "quantity, URL, IP, CIDR or version that is read so, as after a ?:, is an error",
    "cel-go interpreter/attributes.go (applyQualifiers)",
)
OPTIONALS_ALONE: Final = BehaviourChange(
    "optionals-alone",
    37,
    Affects.OBJECTS,
    "in rules, or() and orValue() of a value that turns out to be no optional, as in dyn(1).orValue(2), is an error",
    "it is that value",
    "cel-go cel/library.go (evalOptionalOr, evalOptionalOrValue)",
)
EMPTY_TEXTS_IN_RANGE: Final = BehaviourChange(
    "empty-texts-in-range",
    37,
    Affects.OBJECTS,
    "in rules, 'abc'.indexOf('', 5) is 3, the end of the text, and a negative offset an error; lastIndexOf() likewise",
    "it is the offset, whatever that is: 5",
    "cel-go ext/strings.go (indexOfOffset, lastIndexOfOffset)",
)
AFFIXES_COST: Final = BehaviourChange(
    "affixes-cost",
    37,
    Affects.OBJECTS,
    "in rules, startsWith() and endsWith() cost by the length of what is looked for, matches(text, pattern) as much as "
    "text.matches(pattern), and flatten() of a negative depth by the size of the list",
    "they cost by the length of the text that is looked into, matches(text, pattern) costs 1, and flatten() of a "
    "negative depth less the longer the list",
    "cel-go interpreter/runtimecost.go (costCall), checker/cost.go (functionCost), ext/lists.go (trackListFlatten)",
)
NUMBERS_ARE_NO_DURATIONS: Final = BehaviourChange(
    "numbers-are-no-durations",
    37,
    Affects.DEFINITIONS,
    "a rule with duration() of a whole number does not compile",
    "it compiles, and is an error whenever it is evaluated",
    "cel-go common/stdlib/standard.go (TypeConvertDuration)",
)
QUOTED_FIELDS: Final = BehaviourChange(
    "quoted-fields",
    37,
    Affects.DEFINITIONS,
    "rules may name fields and keys in backticks: self.labels.`a/b`",
    "a rule with a backtick outside of a text does not compile",
    "cel-go parser/helper.go, parser/parser.go (normalizeIdent)",
)
LEADING_DOTS: Final = BehaviourChange(
    "leading-dots",
    37,
    Affects.OBJECTS,
    "in rules, .self is the object also within a macro whose variable is called self",
    "it is the variable of the macro",
    "cel-go checker/env.go (resolveSimpleIdent)",
)
QUANTITIES_ARE_COPIED: Final = BehaviourChange(
    "quantities-are-copied",
    37,
    Affects.OBJECTS,
    "add() and sub() leave the quantity they are called on as it is",
    "they change it, too, if it has more than 18 digits",
    "apiserver pkg/cel/library/quantity.go",
)
RANGES_ARE_CHECKED: Final = BehaviourChange(
    "ranges-are-checked",
    37,
    Affects.OBJECTS,
    "in rules, lists.range() of a negative number, or of more than 1000000, is an error",
    "of a negative number it is empty; of more it exceeds the cost limit",
    "cel-go ext/lists.go (genRange)",
)
CORRUPT_OBJECTS: Final = BehaviourChange(
    "corrupt-objects",
    37,
    Affects.MESSAGES,
    "a value that cannot be decoded is called a corrupt object; a LIST names the first and how many more there are: "
    "'failed to read one or more things.example.com from the storage: StorageError: corrupt object, ...'",
    "the answer, also to a LIST, is what is wrong with the first such value, without its key: "
    "'unexpected end of JSON input'",
    "apiserver pkg/features/kube_features.go (AllowUnsafeMalformedObjectDeletion), "
    "pkg/storage/etcd3/corrupt_obj_deleter.go",
)
WHOLE_NUMBERS: Final = BehaviourChange(
    "whole-numbers",
    37,
    Affects.OBJECTS,
    "a number is whole, and a multiple, if it is within a billionth of one",
    "a negative one never is unless it is exact; of the others those that are within two billionths above one",
    "go-openapi/swag conv/convert.go (IsFloat64AJSONInteger)",
)
TOO_FEW: Final = BehaviourChange(
    "too-few",
    38,
    Affects.MESSAGES,
    "fewer items or properties than minItems or minProperties: type FieldValueTooFew, "
    '"Too few: 1: must have at least 2 items"',
    'type FieldValueInvalid, "Invalid value: 1: spec.l in body should have at least 2 items"',
    "apiextensions-apiserver pkg/apiserver/validation/validation.go; apimachinery pkg/util/validation/field/errors.go",
)
CLEARED_GENERATION: Final = BehaviourChange(
    "cleared-generation",
    38,
    Affects.MESSAGES,
    'an update that clears metadata.generation: "field cannot be cleared once set"',
    '"must not be decremented"',
    "apimachinery pkg/api/validation/objectmeta.go",
)
CIDR_MASK: Final = BehaviourChange(
    "cidr-is-mask",
    38,
    Affects.DEFINITIONS,
    "rules may call cidr(x).isMask(); new rules may from 1.39 on",
    "a rule that calls isMask() does not compile",
    "apiserver pkg/cel/library/cidr.go, pkg/cel/environment/base.go",
)
SIZES_OF_URL_PARTS: Final = BehaviourChange(
    "url-part-sizes",
    38,
    Affects.DEFINITIONS,
    "estimated costs know how long getHost(), getEscapedPath() and the other parts of a URL can be: "
    "definitions that were too expensive are accepted",
    "parts of a URL count as texts of unknown length",
    "apiserver pkg/cel/library/cost.go",
)
BYTES_ARE_STANDARD_BASE64: Final = BehaviourChange(
    "standard-base64",
    38,
    Affects.OBJECTS,
    "values of format byte are decoded by the standard alphabet in rules: + and / are letters, - and _ are not",
    "they are decoded by the alphabet for URLs: - and _ are letters; a value with + or / fails the rule",
    "kube-openapi pkg/validation/strfmt/default.go (Base64)",
)
EXACT_QUANTITIES: Final = BehaviourChange(
    "exact-quantities",
    38,
    Affects.OBJECTS,
    "quantities in rules saturate where they overflowed, and whole numbers of more than 18 digits are kept exactly",
    "sums and comparisons of very large or very small quantities overflow or lose digits",
    "apimachinery pkg/api/resource (quantity.go, amount.go, math.go, scale_int.go)",
)
GATES_REMOVED: Final = BehaviourChange(
    "gates-removed",
    38,
    Affects.DEFINITIONS,
    "the feature gates CRDValidationRatcheting and CustomResourceFieldSelectors are gone: a server that is started "
    "with one of them stops",
    "they are there, locked to true",
    "apiextensions-apiserver pkg/features/kube_features.go",
)

RECORDS: Final = (
    OWNERS_BY_INDEX,
    MANAGER_OPERATIONS,
    NEGATIVE_GENERATION,
    SETS_OF_OBJECTS,
    NAMES_ARE_CAPPED,
    LISTS_INCLUDE,
    LISTS_KEEP_ITEMS,
    OPTIONALS_KEEP_SCHEMA,
    OPTIONALS_ALONE,
    EMPTY_TEXTS_IN_RANGE,
    AFFIXES_COST,
    NUMBERS_ARE_NO_DURATIONS,
    QUOTED_FIELDS,
    LEADING_DOTS,
    QUANTITIES_ARE_COPIED,
    RANGES_ARE_CHECKED,
    CORRUPT_OBJECTS,
    WHOLE_NUMBERS,
    TOO_FEW,
    CLEARED_GENERATION,
    CIDR_MASK,
    SIZES_OF_URL_PARTS,
    BYTES_ARE_STANDARD_BASE64,
    EXACT_QUANTITIES,
    GATES_REMOVED,
)
