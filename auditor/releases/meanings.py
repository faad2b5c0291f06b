"""What a finding means, in words that are the same for each release.

Reports keep the words of the server that they reproduce. Ids of causes and comparisons of reports go by the words that
are returned here: those of 1.37 where a release tells as much apart, else coarser ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from auditor.releases import changes


@dataclass(frozen=True, slots=True)
class Words:
    """How a server words a finding.

    Attributes:
        field: Path, with ``[*]`` for indexes.
        type: The server's cause: FieldValueInvalid.
        form: The detail of the message without its values, as in a cause.
    """

    field: str
    type: str
    form: str


@dataclass(frozen=True, slots=True)
class Rewording:
    """Words of some releases, and those that mean the same.

    Attributes:
        record: What changes the words.
        form: Pattern of the whole detail.
        means: The detail that means the same; ``\\1`` is the first group of `form`.
        field: Pattern of the end of the path; an empty one fits any.
        to_field: What replaces what `field` matches; None keeps it.
        types: The type of the words, and the one that means the same; empty ones fit any and keep it.
    """

    record: changes.BehaviourChange
    form: re.Pattern[str]
    means: str
    field: re.Pattern[str] | None = None
    to_field: str | None = None
    types: tuple[str, str] = ("", "")

    def applied(self, words: Words) -> Words | None:
        """Return the words that mean the same; None if this is about others."""
        if self.types[0] not in ("", words.type):
            return None
        match = self.form.fullmatch(words.form)
        place = None if self.field is None else self.field.search(words.field)
        if match is None or (self.field is not None and place is None):
            return None
        field = words.field
        if place is not None and self.to_field is not None:
            field = field[: place.start()] + place.expand(self.to_field)
        return Words(field, self.types[1] or words.type, match.expand(self.means))


def _reworded(
    record: changes.BehaviourChange,
    form: str,
    means: str,
    *,
    field: str = "",
    to_field: str | None = None,
    types: tuple[str, str] = ("", ""),
) -> Rewording:
    place = re.compile(rf"(?:{field})$") if field else None
    return Rewording(record, re.compile(form, re.DOTALL), means, place, to_field, types)


_INVALID: Final = "FieldValueInvalid"
_REQUIRED: Final = "FieldValueRequired"
_OF_TYPE: Final = "FieldValueTypeInvalid"
_TOO_FEW: Final = "FieldValueTooFew"
_OWNER: Final = r"\bmetadata\.ownerReferences"
_LABELS: Final = r"\bmetadata\.(?:labels|annotations|finalizers)(?:\[\*\])?"

REWORDINGS: Final = (
    _reworded(changes.UNITS_AGREE, r"(may not be more than N byte|must have at most N item)", r"\1s"),
    _reworded(
        changes.SHORTER_DETAILS,
        "(?:kind|name|uid) must not be empty",
        "must not be empty",
        field=rf"{_OWNER}\.(kind|name|uid)",
        to_field=r"metadata.ownerReferences[*].\1",
        types=(_INVALID, _REQUIRED),
    ),
    _reworded(
        changes.SHORTER_DETAILS,
        "must not be empty",
        "",
        field=r"(?<!ownerReferences\[\*\])\.(?:apiVersion|kind|\*)",
        types=(_REQUIRED, _REQUIRED),
    ),
    _reworded(changes.SHORTER_DETAILS, "schemas are required", "", field=r"\.openAPIV3Schema"),
    _reworded(changes.SHORTER_DETAILS, "(?:message|fieldPath) (must (?:not contain|be) .*)", r"\1"),
    _reworded(
        changes.SHORTER_DETAILS,
        r"selectableFields (may only be set when )version\.schema\.openAPIV3Schema( is not included)",
        r'\1""\2',
    ),
    _reworded(changes.SHORTER_DETAILS, "selectableFields (may only be set when .* is included)", r"\1"),
    _reworded(changes.LABEL_WORDS, "a qualified name (.*)", r"a valid label key \1", field=_LABELS),
    _reworded(changes.LABEL_WORDS, "(.*must be no more than N )characters(.*)", r"\1bytes\2", field=_LABELS),
    _reworded(
        changes.NUMBER_FORMATS,
        r'(in body must be of type )(?:int3N|int6N)(: "")',
        r"\1integer\2",
        types=(_OF_TYPE, _OF_TYPE),
    ),
    _reworded(
        changes.NUMBER_FORMATS,
        r'(in body must be of type )(?:float|double)(: "")',
        r"\1number\2",
        types=(_OF_TYPE, _OF_TYPE),
    ),
    _reworded(
        changes.OWNERS_BY_INDEX,
        "must not be empty",
        "must not be empty",
        field=rf"{_OWNER}\.(kind|name|uid)",
        to_field=r"metadata.ownerReferences[*].\1",
        types=(_INVALID, _REQUIRED),
    ),
    _reworded(
        changes.OWNERS_BY_INDEX,
        "version must not be empty",
        "must not be empty",
        field=rf"{_OWNER}\.apiVersion",
        to_field="metadata.ownerReferences[*].apiVersion",
        types=(_INVALID, _REQUIRED),
    ),
    _reworded(
        changes.OWNERS_BY_INDEX,
        "(.* is disallowed from being an owner)",
        r"\1",
        field=_OWNER,
        to_field="metadata.ownerReferences[*]",
    ),
    _reworded(
        changes.MANAGER_OPERATIONS,
        'must be "" or ""',
        "must not be empty",
        field=r"\bmetadata\.managedFields\[\*\]\.operation",
        types=(_INVALID, _REQUIRED),
    ),
    _reworded(
        changes.TOO_FEW,
        "must have at least N items?",
        "in body should have at least N items",
        types=(_TOO_FEW, _INVALID),
    ),
    _reworded(changes.TOO_FEW, "(in body should have at least N )properties", r"\1items", types=(_INVALID, _INVALID)),
)
"""Words that mean the same as others, by the record that changed them.

Two texts of before 1.37 stand for two of 1.37 each, and mean the more frequent one: an apiVersion of an owner that is
empty, not one that is none, and an operation of a manager that is empty, not one that is unknown.
"""
_FORMS: Final = re.compile("|".join(f"(?:{rewording.form.pattern})" for rewording in REWORDINGS), re.DOTALL)


def meaning(words: Words) -> Words:
    """Return words for a finding that are the same for all releases, as far as each tells findings apart."""
    if _FORMS.fullmatch(words.form) is None:
        return words
    return next((applied for rewording in REWORDINGS if (applied := rewording.applied(words)) is not None), words)


_INDEX: Final = re.compile(rf"({_OWNER})\[(?:\d+|\*)\]")
_PARTS: Final = re.compile(
    rf"{_OWNER}\.(?:apiVersion|kind|name|uid)$|\bmetadata\.managedFields\[(?:\d+|\*)\]\.operation$"
)


def coarse(field: str, type_: str) -> tuple[str, str]:
    """Return the path and the type of a finding without what releases tell apart in different ways.

    Two findings of one object that are equal in them mean the same, whatever releases they are of.

    Args:
        field: Path, with its indexes.
        type_: The server's cause.
    """
    place = _INDEX.sub(r"\1", field)
    return place, _INVALID if type_ == _TOO_FEW or _PARTS.search(place) else type_


def fields_like(field: str) -> tuple[str, ...]:
    """Return a path as each release writes it: that of an owner has an index since 1.37."""
    plain = _INDEX.sub(r"\1", field)
    indexed = re.sub(rf"({_OWNER})(?!\[)", r"\1[*]", plain)
    return tuple(dict.fromkeys((field, plain, indexed)))
