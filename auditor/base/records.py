"""The records that flow through all packages: never changed, small, picklable.

What could not be read (Unreadable, Origin), what a worker is asked to do (Shard), what is wrong (Finding), the result
of one object (AuditedObject).
JSON values are plain Python: dict, list, str, int (64 bits), float, bool, None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from auditor.base.longtext import LongText

__all__ = [
    "AuditedObject",
    "Finding",
    "JsonObject",
    "Origin",
    "Shard",
    "Unreadable",
]

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where bytes came from.

    Attributes:
        source: The dump as the user named it.
    """

    source: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Bytes that gave no object, and why, in the words of the server or of the reader."""

    reason: str
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Shard:
    """A half-open range of rows of the live table, in key order: one unit of work, one set of part files."""

    number: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong with an object, in the server's words.

    Attributes:
        field: Path of the field; ``<nil>`` is the root.
        type: The server's cause, e.g. ``FieldValueRequired``.
        bad_value: The offending value as JSON data; a plain value, never an object of ours.
        detail: The text after field and value.
        message: The whole text as the server prints it: field, type text, value, detail.
        check: Which check found it: type-meta, object-meta, schema, scale, embedded, list-type, rule, gate,
            conversion, key.
        rule: The text of the validation rule, where one failed.
    """

    field: str
    type: str
    bad_value: Any
    detail: str
    message: str
    check: str
    rule: str | None = None

    @property
    def words(self) -> str | LongText:
        """A key for comparing messages: a long message is not put together for that."""
        return self.message

    def sort_key(self) -> tuple[str, str, str | LongText]:
        """Order of findings everywhere: field, type, message."""
        return (self.field, self.type, self.words)


@dataclass(slots=True)
class AuditedObject:
    """What came of one stored object. Never changed; not frozen, as making a frozen record takes three times as long.

    Attributes:
        unreadable: Why it could not be read; then everything else is empty.
        object: The object after the storage read at the audited version.
        pruned: Dotted paths of unknown fields that the read dropped, sorted.
        defaulted: Dotted paths that the read filled in from defaults, sorted.
        findings: Sorted by field, type, message.
        selectable: What field selectors see: label to string.
        stored_version: Version in the stored apiVersion; None where it names none.
        audited_version: Version at which it was read and judged.
        select_error: Why selectors on this version fail altogether, where they do.
        unevaluated_rules: Number of validation rules that should have run and did not.
    """

    unreadable: Unreadable | None = None
    object: JsonObject | None = None
    pruned: tuple[str, ...] = ()
    defaulted: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    selectable: dict[str, str] = field(default_factory=dict)
    stored_version: str | None = None
    audited_version: str | None = None
    select_error: str | None = None
    unevaluated_rules: int = 0
