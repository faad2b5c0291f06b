"""What differs between releases, as one table: each behaviour is a record that says since when it is there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from auditor.releases.release import Release, active

__all__ = [
    "BYTES_ARE_STANDARD_BASE64",
    "CHANGES",
    "CIDR_MASK",
    "CLEARED_GENERATION",
    "EXACT_QUANTITIES",
    "GATES_REMOVED",
    "KUBERNETES_NAME_FORMATS",
    "LABEL_WORDS",
    "LISTS_INCLUDE",
    "LISTS_KEEP_ITEMS",
    "MANAGER_OPERATIONS",
    "NAMES_ARE_CAPPED",
    "NEGATIVE_GENERATION",
    "NUMBER_FORMATS",
    "OLD_TYPES",
    "OWNERS_BY_INDEX",
    "QUANTITIES_ARE_COPIED",
    "RANGES_ARE_CHECKED",
    "RULES_SHOW_VALUES",
    "SELECTABLE_FIELDS_KEPT",
    "SETS_OF_OBJECTS",
    "SIZES_OF_URL_PARTS",
    "TOO_FEW",
    "WHOLE_NUMBERS",
    "Affects",
    "Change",
    "between",
]


class Affects(StrEnum):
    """What a change is about."""

    OBJECTS = "stored objects"
    DEFINITIONS = "definitions"
    MESSAGES = "messages"


@dataclass(frozen=True, slots=True)
class Change:
    """One behaviour that differs between releases.

    Attributes:
        name: Short, unique.
        since: The first minor release that behaves in the new way: 37 of 1.37.
        affects: What it is about.
        what: The new behaviour, in a sentence.
        before: The old one.
        source: Where it can be read: files of the k8s.io modules, pull requests.
    """

    name: str
    since: int
    affects: Affects
    what: str
    before: str
    source: str

    def is_in(self, release: Release) -> bool:
        """Tell whether a release behaves in the new way."""
        return release.minor >= self.since or self.name in release.also

    @property
    def version(self) -> tuple[int, int]:
        """The compatibility version of the rule language in which it came."""
        return (1, self.since)

    @property
    def holds(self) -> bool:
        """Whether the release that is reproduced at the moment behaves in the new way."""
        return self.is_in(active())


KUBERNETES_NAME_FORMATS: Final = Change(
    "kubernetes-name-formats",
    35,
    Affects.OBJECTS,
    "the formats k8s-short-name and k8s-long-name count",
    "they are not known",
    "apiextensions-apiserver pkg/apiserver/validation/formats.go",
)
SELECTABLE_FIELDS_KEPT: Final = Change(
    "selectable-fields-kept",
    35,
    Affects.DEFINITIONS,
    "an update of a definition may keep more than 8 selectable fields",
    "it is refused",
    "apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go (findTooManySelectableFieldsAllowed)",
)
RULES_SHOW_VALUES: Final = Change(
    "rules-show-values",
    35,
    Affects.MESSAGES,
    "what breaks a rule names the value, of an object or a list nothing: 'Invalid value: \"a\": failed rule: ...'",
    "it names the type: 'Invalid value: \"string\": failed rule: ...'",
    "apiextensions-apiserver pkg/apiserver/schema/cel/validation.go",
)
LABEL_WORDS: Final = Change(
    "label-words",
    35,
    Affects.MESSAGES,
    'what is wrong with keys and values of labels counts bytes, and a key is "a valid label key"',
    'it counts characters, and a key is "a qualified name"',
    "apimachinery pkg/api/validate/content/kube.go",
)
NUMBER_FORMATS: Final = Change(
    "number-formats",
    36,
    Affects.OBJECTS,
    "the formats int32, int64, float and double count for numbers: a value or a bound beyond them is refused; no other "
    "format counts for a type that is not string",
    "they do not, and formats of text count for any type; bounds of whole numbers are cut to whole numbers",
    "apiextensions-apiserver pkg/apiserver/validation/formats.go; kube-openapi pkg/validation/validate/schema.go",
)
OWNERS_BY_INDEX: Final = Change(
    "owners-by-index",
    37,
    Affects.MESSAGES,
    "what is wrong with an owner reference names its position, and an empty part is FieldValueRequired: "
    '"metadata.ownerReferences[0].kind: Required value: must not be empty"; rules are not checked then',
    '"metadata.ownerReferences.kind: Invalid value: "": must not be empty"; an apiVersion that is none passes',
    "apimachinery pkg/api/validation/objectmeta.go (validateOwnerReference)",
)
MANAGER_OPERATIONS: Final = Change(
    "manager-operations",
    37,
    Affects.MESSAGES,
    "an operation in managedFields that is empty is FieldValueRequired, an unknown one FieldValueNotSupported",
    'both are FieldValueInvalid: "must be `Apply` or `Update`"',
    "apimachinery pkg/apis/meta/v1/validation/validation.go (ValidateManagedFields)",
)
NEGATIVE_GENERATION: Final = Change(
    "negative-generation",
    37,
    Affects.OBJECTS,
    "a negative metadata.generation is refused on an update, too",
    "only a create refuses it",
    "apimachinery pkg/api/validation/objectmeta.go (ValidateObjectMetaAccessorUpdate)",
)
SETS_OF_OBJECTS: Final = Change(
    "sets-of-objects",
    37,
    Affects.DEFINITIONS,
    "the server warns of lists of type set whose items are objects or lists",
    "it does not",
    "apiextensions-apiserver pkg/registry/customresourcedefinition/strategy.go",
)
NAMES_ARE_CAPPED: Final = Change(
    "names-are-capped",
    37,
    Affects.DEFINITIONS,
    "estimated costs know that metadata.name has at most 253 characters, generateName 252",
    "names count as texts of unknown length: definitions with rules on them are refused as too expensive",
    "apiextensions-apiserver pkg/apiserver/schema/cel/model/schemas.go",
)
LISTS_INCLUDE: Final = Change(
    "lists-include",
    37,
    Affects.DEFINITIONS,
    "rules may call [1, 2].includes(1); new rules may from 1.38 on",
    "a rule that calls includes() does not compile",
    "apiserver pkg/cel/library/lists.go, pkg/cel/environment/base.go",
)
LISTS_KEEP_ITEMS: Final = Change(
    "lists-keep-items",
    37,
    Affects.OBJECTS,
    "in rules, lists of type set and map are equal if each has all items of the other, and items that + adds to a list "
    "keep their type",
    "a list with an item twice can be equal to one without; items of sets are compared as JSON, so that sets of times "
    "or of numbers like 1 differ from themselves; what + adds is read again by the schema of the list",
    "apiserver pkg/cel/common/valuesunstructured.go",
)
QUANTITIES_ARE_COPIED: Final = Change(
    "quantities-are-copied",
    37,
    Affects.OBJECTS,
    "add() and sub() leave the quantity they are called on as it is",
    "they change it, too, if it has more than 18 digits",
    "apiserver pkg/cel/library/quantity.go",
)
RANGES_ARE_CHECKED: Final = Change(
    "ranges-are-checked",
    37,
    Affects.OBJECTS,
    "in rules, lists.range() of a negative number, or of more than 1000000, is an error",
    "of a negative number it is empty; of more it exceeds the cost limit",
    "cel-go ext/lists.go (genRange)",
)
WHOLE_NUMBERS: Final = Change(
    "whole-numbers",
    37,
    Affects.OBJECTS,
    "a number is whole, and a multiple, if it is within a billionth of one",
    "a negative one never is unless it is exact; of the others those that are within two billionths above one",
    "go-openapi/swag conv/convert.go (IsFloat64AJSONInteger)",
)
TOO_FEW: Final = Change(
    "too-few",
    38,
    Affects.MESSAGES,
    "fewer items or properties than minItems or minProperties: type FieldValueTooFew, "
    '"Too few: 1: must have at least 2 items"',
    'type FieldValueInvalid, "Invalid value: 1: spec.l in body should have at least 2 items"',
    "apiextensions-apiserver pkg/apiserver/validation/validation.go; apimachinery pkg/util/validation/field/errors.go",
)
CLEARED_GENERATION: Final = Change(
    "cleared-generation",
    38,
    Affects.MESSAGES,
    'an update that clears metadata.generation: "field cannot be cleared once set"',
    '"must not be decremented"',
    "apimachinery pkg/api/validation/objectmeta.go",
)
CIDR_MASK: Final = Change(
    "cidr-is-mask",
    38,
    Affects.DEFINITIONS,
    "rules may call cidr(x).isMask(); new rules may from 1.39 on",
    "a rule that calls isMask() does not compile",
    "apiserver pkg/cel/library/cidr.go, pkg/cel/environment/base.go",
)
SIZES_OF_URL_PARTS: Final = Change(
    "url-part-sizes",
    38,
    Affects.DEFINITIONS,
    "estimated costs know how long getHost(), getEscapedPath() and the other parts of a URL can be: "
    "definitions that were too expensive are accepted",
    "parts of a URL count as texts of unknown length",
    "apiserver pkg/cel/library/cost.go",
)
BYTES_ARE_STANDARD_BASE64: Final = Change(
    "standard-base64",
    38,
    Affects.OBJECTS,
    "values of format byte are decoded by the standard alphabet in rules: + and / are letters, - and _ are not",
    "they are decoded by the alphabet for URLs: - and _ are letters; a value with + or / fails the rule",
    "kube-openapi pkg/validation/strfmt/default.go (Base64)",
)
EXACT_QUANTITIES: Final = Change(
    "exact-quantities",
    38,
    Affects.OBJECTS,
    "quantities in rules saturate where they overflowed, and whole numbers of more than 18 digits are kept exactly",
    "sums and comparisons of very large or very small quantities overflow or lose digits",
    "apimachinery pkg/api/resource (quantity.go, amount.go, math.go, scale_int.go)",
)
GATES_REMOVED: Final = Change(
    "gates-removed",
    38,
    Affects.DEFINITIONS,
    "the feature gates CRDValidationRatcheting and CustomResourceFieldSelectors are gone: a server that is started "
    "with one of them stops",
    "they are there, locked to true",
    "apiextensions-apiserver pkg/features/kube_features.go",
)

CHANGES: Final = (
    KUBERNETES_NAME_FORMATS,
    SELECTABLE_FIELDS_KEPT,
    RULES_SHOW_VALUES,
    LABEL_WORDS,
    NUMBER_FORMATS,
    OWNERS_BY_INDEX,
    MANAGER_OPERATIONS,
    NEGATIVE_GENERATION,
    SETS_OF_OBJECTS,
    NAMES_ARE_CAPPED,
    LISTS_INCLUDE,
    LISTS_KEEP_ITEMS,
    QUANTITIES_ARE_COPIED,
    RANGES_ARE_CHECKED,
    WHOLE_NUMBERS,
    TOO_FEW,
    CLEARED_GENERATION,
    CIDR_MASK,
    SIZES_OF_URL_PARTS,
    BYTES_ARE_STANDARD_BASE64,
    EXACT_QUANTITIES,
    GATES_REMOVED,
)
"""All of them, oldest release first."""


OLD_TYPES: Final = {"FieldValueTooFew": "FieldValueInvalid"}
"""Types of findings, with the names that older releases have for them (`TOO_FEW`)."""


def between(old: Release, new: Release) -> tuple[Change, ...]:
    """Return what differs between two releases, whichever is older."""
    first, last = sorted((old.minor, new.minor))
    return tuple(one for one in CHANGES if first < one.since <= last)
