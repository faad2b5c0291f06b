"""What differs between releases, as one table: each behaviour is a record that says since when it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auditor.releases.changes import newer, older
from auditor.releases.changes.newer import (
    AFFIXES_COST,
    BYTES_ARE_STANDARD_BASE64,
    CIDR_MASK,
    CLEARED_GENERATION,
    CORRUPT_OBJECTS,
    EMPTY_TEXTS_IN_RANGE,
    EXACT_QUANTITIES,
    GATES_REMOVED,
    LEADING_DOTS,
    LISTS_INCLUDE,
    LISTS_KEEP_ITEMS,
    MANAGER_OPERATIONS,
    NAMES_ARE_CAPPED,
    NEGATIVE_GENERATION,
    NUMBERS_ARE_NO_DURATIONS,
    OPTIONALS_ALONE,
    OPTIONALS_KEEP_SCHEMA,
    OWNERS_BY_INDEX,
    QUANTITIES_ARE_COPIED,
    QUOTED_FIELDS,
    RANGES_ARE_CHECKED,
    SETS_OF_OBJECTS,
    SIZES_OF_URL_PARTS,
    TOO_FEW,
    WHOLE_NUMBERS,
)
from auditor.releases.changes.older import (
    ABSENT_FIELDS_EQUAL,
    BACKTICKS_ARE_READ,
    ERRORS_OF_RANGES,
    FORMATS_WARN,
    KUBERNETES_NAME_FORMATS,
    LABEL_WORDS,
    LAST_INDEX_OF_NOTHING,
    LIST_ENDS,
    LISTS_HAVE_FUNCTIONS,
    NO_HALF_CHARACTERS,
    NO_NULL_TIMES,
    NO_RESULT_VARIABLE,
    NO_SPACED_EXPONENTS,
    NUMBER_FORMATS,
    PAIRS_OF_DYN,
    PERCENTS_IN_ERRORS,
    RATCHETING_LOCKED,
    RELAXED_SERVICE_NAMES,
    RULES_SHOW_VALUES,
    SELECTABLE_FIELDS_KEPT,
    SEMVER,
    SHORT_INT_OR_STRINGS,
    SHORTER_DETAILS,
    SIZES_ARE_FOLLOWED,
    SIZES_IN_OPTIONALS,
    STATUS_RATCHETS,
    STORED_VERSIONS,
    UNITS_AGREE,
    VALUES_AS_JSON,
)
from auditor.releases.release import Affects, BehaviourChange

if TYPE_CHECKING:
    from auditor.releases.release import Release

__all__ = [
    "ABSENT_FIELDS_EQUAL",
    "AFFIXES_COST",
    "BACKTICKS_ARE_READ",
    "BYTES_ARE_STANDARD_BASE64",
    "CHANGES",
    "CIDR_MASK",
    "CLEARED_GENERATION",
    "CORRUPT_OBJECTS",
    "EMPTY_TEXTS_IN_RANGE",
    "ERRORS_OF_RANGES",
    "EXACT_QUANTITIES",
    "FORMATS_WARN",
    "GATES_REMOVED",
    "KUBERNETES_NAME_FORMATS",
    "LABEL_WORDS",
    "LAST_INDEX_OF_NOTHING",
    "LEADING_DOTS",
    "LISTS_HAVE_FUNCTIONS",
    "LISTS_INCLUDE",
    "LISTS_KEEP_ITEMS",
    "LIST_ENDS",
    "MANAGER_OPERATIONS",
    "NAMES_ARE_CAPPED",
    "NEGATIVE_GENERATION",
    "NO_HALF_CHARACTERS",
    "NO_NULL_TIMES",
    "NO_RESULT_VARIABLE",
    "NO_SPACED_EXPONENTS",
    "NUMBERS_ARE_NO_DURATIONS",
    "NUMBER_FORMATS",
    "OPTIONALS_ALONE",
    "OPTIONALS_KEEP_SCHEMA",
    "OWNERS_BY_INDEX",
    "PAIRS_OF_DYN",
    "PERCENTS_IN_ERRORS",
    "QUANTITIES_ARE_COPIED",
    "QUOTED_FIELDS",
    "RANGES_ARE_CHECKED",
    "RATCHETING_LOCKED",
    "RELAXED_SERVICE_NAMES",
    "RULES_SHOW_VALUES",
    "SELECTABLE_FIELDS_KEPT",
    "SEMVER",
    "SETS_OF_OBJECTS",
    "SHORTER_DETAILS",
    "SHORT_INT_OR_STRINGS",
    "SIZES_ARE_FOLLOWED",
    "SIZES_IN_OPTIONALS",
    "SIZES_OF_URL_PARTS",
    "STATUS_RATCHETS",
    "STORED_VERSIONS",
    "TOO_FEW",
    "UNITS_AGREE",
    "VALUES_AS_JSON",
    "WHOLE_NUMBERS",
    "Affects",
    "BehaviourChange",
    "between",
]

CHANGES: Final = (*older.RECORDS, *newer.RECORDS)
"""All of them, oldest release first."""


def between(old: Release, new: Release) -> tuple[BehaviourChange, ...]:
    """Return what differs between two releases, whichever is older."""
    first, last = sorted((old.minor, new.minor))
    return tuple(change for change in CHANGES if first < change.since <= last)
