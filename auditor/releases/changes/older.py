"""Behaviours that came with 1.33 to 1.36, oldest release first."""

from __future__ import annotations

from typing import Final

from auditor.releases.release import Affects, BehaviourChange

RATCHETING_LOCKED: Final = BehaviourChange(
    "ratcheting-locked",
    33,
    Affects.OBJECTS,
    "the feature gate CRDValidationRatcheting is locked to true: a server that is started with it as false stops",
    "it is true unless a server is started with it as false, which refuses each update that leaves an object invalid",
    "apiextensions-apiserver pkg/features/kube_features.go, pkg/registry/customresource/strategy.go",
)
STATUS_RATCHETS: Final = BehaviourChange(
    "status-ratchets",
    33,
    Affects.OBJECTS,
    "an update of /status may keep values of the status that break the schema, and rules that were broken before",
    "it is refused for them, as a create is",
    "apiextensions-apiserver pkg/registry/customresource/status_strategy.go (ValidateUpdate)",
)
STORED_VERSIONS: Final = BehaviourChange(
    "stored-versions",
    33,
    Affects.MESSAGES,
    'the refusal of a definition that drops a version named in status.storedVersions says why it must stay: "missing '
    'from spec.versions; v1 was previously a storage version, and must remain ..."',
    '"must appear in spec.versions"',
    "apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go",
)
SEMVER: Final = BehaviourChange(
    "semver",
    33,
    Affects.DEFINITIONS,
    "rules may call semver() and isSemver(); new rules may from 1.34 on",
    "a rule that calls them does not compile",
    "apiserver pkg/cel/library/semverlib.go, pkg/cel/environment/base.go",
)
LIST_ENDS: Final = BehaviourChange(
    "list-ends",
    33,
    Affects.DEFINITIONS,
    "rules may call first(), last() and unwrapOpt() of lists, and optional.unwrap()",
    "a rule that calls them does not compile",
    "cel-go cel/library.go (OptionalTypes)",
)
NO_SPACED_EXPONENTS: Final = BehaviourChange(
    "no-spaced-exponents",
    33,
    Affects.OBJECTS,
    "in rules, '%e'.format([1234.5]) is 1.234500×10⁰³",
    "there is a narrow no-break space (U+202F) before and after the sign ×",
    "golang.org/x/text internal/number/format.go",
)
PAIRS_OF_DYN: Final = BehaviourChange(
    "pairs-of-dyn",
    33,
    Affects.DEFINITIONS,
    "in rules, both variables of a macro with two may be used if the type of the list or map is not known, as in "
    "dyn([1, 2]).all(i, v, i < v)",
    "the second one has no type: a rule that uses it does not compile",
    "cel-go checker/checker.go (checkComprehension)",
)
SIZES_IN_OPTIONALS: Final = BehaviourChange(
    "sizes-in-optionals",
    33,
    Affects.OBJECTS,
    "in rules, comparing optional values costs by the size of what they hold",
    "an optional value counts as 1, whatever it holds",
    "cel-go interpreter/runtimecost.go (actualSize)",
)
ERRORS_OF_RANGES: Final = BehaviourChange(
    "errors-of-ranges",
    33,
    Affects.MESSAGES,
    "a macro with two variables over a list or map that cannot be computed reports why that is",
    '"unsupported comprehension range type: *types.Err"',
    "cel-go interpreter/interpretable.go (evalFold)",
)
NO_HALF_CHARACTERS: Final = BehaviourChange(
    "no-half-characters",
    33,
    Affects.DEFINITIONS,
    "a rule with an escape that is no character, as '\\ud800', does not compile",
    "half of a surrogate pair is U+FFFD",
    "cel-go parser/unescape.go",
)
SIZES_ARE_FOLLOWED: Final = BehaviourChange(
    "sizes-are-followed",
    33,
    Affects.DEFINITIONS,
    "estimated costs know sizes of items of lists and maps that a rule makes itself, of what dyn(), [...] and optMap() "
    "return, and which value each variable of a macro has",
    "such values count as unknown, or as large as the whole value that the rule is about; an index counts as an item",
    "cel-go checker/cost.go",
)
NO_RESULT_VARIABLE: Final = BehaviourChange(
    "no-result-variable",
    33,
    Affects.DEFINITIONS,
    "rules cannot name the variable in which a macro collects its result",
    "its name is __result__: [1, 2].map(x, __result__.size()) compiles",
    "cel-go parser/macro.go (HiddenAccumulatorName)",
)
PERCENTS_IN_ERRORS: Final = BehaviourChange(
    "percents-in-errors",
    33,
    Affects.MESSAGES,
    "errors of rules, also of those that are no expressions, show percent signs as they are: unknown time zone a%sb",
    "they are read as formats of Go: unknown time zone a%!s(MISSING)b",
    "cel-go common/types/err.go (NewErrFromString), cel/library.go, ext/guards.go",
)
BACKTICKS_ARE_READ: Final = BehaviourChange(
    "backticks-are-read",
    33,
    Affects.MESSAGES,
    "the refusal of a rule that is no expression counts `a-b` as a name: expecting {IDENTIFIER, ESC_IDENTIFIER}",
    "a backtick is nothing that a rule may have: token recognition error at: '`'",
    "cel-go parser/gen/CEL.g4 (escapeIdent)",
)
NO_NULL_TIMES: Final = BehaviourChange(
    "no-null-times",
    34,
    Affects.OBJECTS,
    "an object without metadata.creationTimestamp is read without it",
    "it is read with creationTimestamp: null",
    "apimachinery pkg/apis/meta/v1/types.go (ObjectMeta)",
)
VALUES_AS_JSON: Final = BehaviourChange(
    "values-as-json",
    34,
    Affects.MESSAGES,
    'values that are wrong are shown as JSON: Invalid value: {"a":1}, null, "2024-05-01T10:00:00Z"',
    'they are shown as Go prints them: map[string]interface {}{"a":1}, "null", 2024-05-01 10:00:00 +0000 UTC; where '
    "that would be the address of a pointer, 0xc000000000 is shown here",
    "apimachinery pkg/util/validation/field/errors.go (ErrorBody)",
)
UNITS_AGREE: Final = BehaviourChange(
    "units-agree",
    34,
    Affects.MESSAGES,
    '"may not be more than 1 byte", "must have at most 1 item"',
    '"may not be more than 1 bytes", "must have at most 1 items"',
    "apimachinery pkg/util/validation/field/errors.go (TooLong, TooMany)",
)
SHORTER_DETAILS: Final = BehaviourChange(
    "shorter-details",
    34,
    Affects.MESSAGES,
    'details do not repeat the field: "metadata.ownerReferences.kind: Invalid value: "": must not be empty"',
    '"kind must not be empty", "message must not contain line breaks", "schemas are required" and so on',
    "apimachinery pkg/api/validation/objectmeta.go; apiextensions-apiserver "
    "pkg/apis/apiextensions/validation/validation.go, pkg/apiserver/schema/objectmeta/validation.go",
)
FORMATS_WARN: Final = BehaviourChange(
    "formats-warn",
    34,
    Affects.DEFINITIONS,
    "the server warns of formats that it does not know",
    "it does not",
    "apiextensions-apiserver pkg/registry/customresourcedefinition/strategy.go (WarningsOnCreate)",
)
ABSENT_FIELDS_EQUAL: Final = BehaviourChange(
    "absent-fields-equal",
    34,
    Affects.OBJECTS,
    "in rules, objects are equal also if both have null in a field, or a field named like a__dash__b",
    "such objects are not even equal to themselves",
    "apiserver pkg/cel/common/valuesunstructured.go (unstructuredMap.Equal)",
)
SHORT_INT_OR_STRINGS: Final = BehaviourChange(
    "short-int-or-strings",
    34,
    Affects.DEFINITIONS,
    "estimated costs know of maxLength beside x-kubernetes-int-or-string: true",
    "such values count as texts of unknown length: definitions with rules on them are refused as too expensive",
    "apiserver pkg/cel/common/schemas.go (SchemaDeclType)",
)
LAST_INDEX_OF_NOTHING: Final = BehaviourChange(
    "last-index-of-nothing",
    34,
    Affects.OBJECTS,
    "in rules, ''.lastIndexOf('a') is -1",
    "it is an error",
    "cel-go ext/strings.go (lastIndexOf)",
)
LISTS_HAVE_FUNCTIONS: Final = BehaviourChange(
    "lists-have-functions",
    34,
    Affects.DEFINITIONS,
    "rules may call sort(), sortBy(), distinct(), slice(), flatten(), reverse() of lists and lists.range(); new "
    "rules may from 1.35 on",
    "a rule that calls them does not compile",
    "apiserver pkg/cel/environment/base.go (ext.Lists)",
)
KUBERNETES_NAME_FORMATS: Final = BehaviourChange(
    "kubernetes-name-formats",
    35,
    Affects.OBJECTS,
    "the formats k8s-short-name and k8s-long-name count",
    "they are not known",
    "apiextensions-apiserver pkg/apiserver/validation/formats.go",
)
SELECTABLE_FIELDS_KEPT: Final = BehaviourChange(
    "selectable-fields-kept",
    35,
    Affects.DEFINITIONS,
    "an update of a definition may keep more than 8 selectable fields",
    "it is refused",
    "apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go (findTooManySelectableFieldsAllowed)",
)
RULES_SHOW_VALUES: Final = BehaviourChange(
    "rules-show-values",
    35,
    Affects.MESSAGES,
    "what breaks a rule names the value, of an object or a list nothing: 'Invalid value: \"a\": failed rule: ...'",
    "it names the type: 'Invalid value: \"string\": failed rule: ...'",
    "apiextensions-apiserver pkg/apiserver/schema/cel/validation.go",
)
LABEL_WORDS: Final = BehaviourChange(
    "label-words",
    35,
    Affects.MESSAGES,
    'what is wrong with keys and values of labels counts bytes, and a key is "a valid label key"',
    'it counts characters, and a key is "a qualified name"',
    "apimachinery pkg/api/validate/content/kube.go",
)
NUMBER_FORMATS: Final = BehaviourChange(
    "number-formats",
    36,
    Affects.OBJECTS,
    "the formats int32, int64, float and double count for numbers: a value or a bound beyond them is refused; no other "
    "format counts for a type that is not string",
    "they do not, and formats of text count for any type; bounds of whole numbers are cut to whole numbers",
    "apiextensions-apiserver pkg/apiserver/validation/formats.go; kube-openapi pkg/validation/validate/schema.go",
)
RELAXED_SERVICE_NAMES: Final = BehaviourChange(
    "relaxed-service-names",
    36,
    Affects.OBJECTS,
    "the name of a new Service may start with a digit",
    "it may not: a DNS-1035 label",
    "pkg/apis/core/validation/validation.go (ValidateServiceCreate), gate RelaxedServiceNameValidation",
)

RECORDS: Final = (
    RATCHETING_LOCKED,
    STATUS_RATCHETS,
    STORED_VERSIONS,
    SEMVER,
    LIST_ENDS,
    NO_SPACED_EXPONENTS,
    PAIRS_OF_DYN,
    SIZES_IN_OPTIONALS,
    ERRORS_OF_RANGES,
    NO_HALF_CHARACTERS,
    SIZES_ARE_FOLLOWED,
    NO_RESULT_VARIABLE,
    PERCENTS_IN_ERRORS,
    BACKTICKS_ARE_READ,
    NO_NULL_TIMES,
    VALUES_AS_JSON,
    UNITS_AGREE,
    SHORTER_DETAILS,
    FORMATS_WARN,
    ABSENT_FIELDS_EQUAL,
    SHORT_INT_OR_STRINGS,
    LAST_INDEX_OF_NOTHING,
    LISTS_HAVE_FUNCTIONS,
    KUBERNETES_NAME_FORMATS,
    SELECTABLE_FIELDS_KEPT,
    RULES_SHOW_VALUES,
    LABEL_WORDS,
    NUMBER_FORMATS,
    RELAXED_SERVICE_NAMES,
)
