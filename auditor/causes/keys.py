"""What identifies a cause, and its id: the beginning of a digest, the same in every report."""

from __future__ import annotations

import hashlib
import re
from dataclasses import astuple, dataclass, replace
from typing import Final

import orjson

from auditor.releases.meanings import Words, meaning

ID_DIGITS: Final = 8
"""Hexadecimal digits of an id; more where two causes of a report have the same first ones."""
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'|`[^`]*`|\(redacted\)')
_LISTED: Final = re.compile(r'""(?:, "")+')
_ACCESSED: Final = re.compile(r"accessor error: .* is of the type ", re.DOTALL)
"""The scale subresource: the value is not quoted."""
_OWNERS: Final = re.compile(r'Found "" in references for .* and .*', re.DOTALL)
"""Two controllers of an object: their kinds and names are not quoted."""
_NUMBER: Final = re.compile(r"(?<![A-Za-z_])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_VERSION: Final = "1"
AREAS: Final = {
    "schema": "schema",
    "list-type": "schema",
    "embedded": "schema",
    "scale": "schema",
    "rule": "rules",
    "type-meta": "metadata",
    "object-meta": "metadata",
    "gate": "gates",
    "request": "requests",
}
"""The part of a definition that a check belongs to; an impact, and a check that is not here, is a part of its own."""


@dataclass(frozen=True, slots=True)
class CauseKey:
    """What identifies a cause. Two that differ only in the words of releases are one cause, with one digest.

    Attributes:
        group: API group of the definition.
        kind: Kind; the plural name where the kind is not known.
        version: Audited version; empty for an impact on the kind as a whole.
        check: As in findings/; empty for an impact.
        type: As in findings/; empty for an impact.
        field: Path without indexes and without the keys of maps; empty for an impact.
        rule: Text of the validation rule; empty if none failed.
        form: The detail of the message without its values; empty for a rule, whose message may be computed.
        impact: What objects do to a server; empty for a finding.
    """

    group: str = ""
    kind: str = ""
    version: str = ""
    check: str = ""
    type: str = ""
    field: str = ""
    rule: str = ""
    form: str = ""
    impact: str = ""

    def meaning(self) -> CauseKey:
        """Return the key in words that are the same for all releases."""
        own = Words(self.field, self.type, self.form)
        key = meaning(own)
        return self if key == own else replace(self, field=key.field, type=key.type, form=key.form)

    def digest(self) -> str:
        """Return the digest of what all attributes mean, in hexadecimal digits."""
        return self.meaning().digest_of_words()

    def digest_of_words(self) -> str:
        """Return the digest of all attributes as they are: an auditor that knew one release had it as the digest."""
        return hashlib.sha256(orjson.dumps([_VERSION, *astuple(self)])).hexdigest()


def form_of(text: str, field: str = "") -> str:
    """Return a text without what differs from object to object: its field, quoted values, numbers.

    Args:
        text: Detail of a finding, or reason of an object.
        field: Field of the finding, which messages of schemas repeat.
    """
    if not text:
        return ""
    if field:
        text = text.replace(field, "")
    text = _ACCESSED.sub('accessor error: "" is of the type ', text)
    text = _OWNERS.sub('Found "" in references', _LISTED.sub('""', _QUOTED.sub('""', text)))
    return _NUMBER.sub("N", text).strip()


def renewed_form(form: str) -> str:
    """Return the form of a cause of an earlier report, which may have values that are left out now."""
    return form_of(form) if _ACCESSED.search(form) or _OWNERS.search(form) else form


def ids_of(digests: list[str]) -> dict[str, str]:
    """Return the id of each digest: its first 8 digits, or as many more as distinguish it from the others."""
    ordered = sorted(set(digests))
    out = {}
    for position, digest in enumerate(ordered):
        near = ordered[max(0, position - 1) : position] + ordered[position + 1 : position + 2]
        length = ID_DIGITS
        while length < len(digest) and any(other.startswith(digest[:length]) for other in near):
            length += 1
        out[digest] = digest[:length]
    return out


def area_of(check: str | None, impact: str | None) -> str:
    """Return the part of a definition that a cause belongs to."""
    return impact or AREAS.get(check or "", check or "")


def topic_of(key: CauseKey) -> str:
    """Return the id of the topic of a cause."""
    content = [_VERSION, key.group, key.kind, key.version, area_of(key.check, key.impact)]
    return hashlib.sha256(b"topic" + orjson.dumps(content)).hexdigest()[:ID_DIGITS]
