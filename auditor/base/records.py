"""The records that flow through all packages: never changed, small, picklable.

Unreadable and Origin describe a value that could not be read, Shard is the work of one worker call, Finding is one
fault, and AuditedObject is the result for one object. JSON values are plain Python: dict, list, str, int (64 bits),
float, bool, None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from auditor.base.longtext import LongText


JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Origin:
    """The dump that bytes came from.

    Attributes:
        source: The dump as the user named it.
    """

    source: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Bytes that could not be decoded into an object, and the reason in the words of the server or of the reader."""

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
        bad_value: The offending value as JSON data; a plain value, never an object of this project.
        detail: The text after field and value.
        message: The whole text as the server prints it: field, type text, value, detail.
        check: The check that found it: type-meta, object-meta, schema, scale, embedded, list-type, rule, gate,
            conversion, key, request (the object is refused as a whole).
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
        """A key for comparing messages, for which a long message need not be joined."""
        return self.message

    def sort_key(self) -> tuple[str, str, str | LongText]:
        """Order of findings everywhere: field, type, message."""
        return (self.field, self.type, self.words)


@dataclass(slots=True)
class AuditedObject:
    """The result for one stored object. Never changed; not frozen, as making a frozen record takes three times as long.

    Attributes:
        unreadable: Why the object could not be read; if set, all other fields are empty.
        object: The object after the storage read at the audited version.
        pruned: Dotted paths of unknown fields that the read dropped, sorted.
        defaulted: Dotted paths that the read filled in from defaults, sorted.
        findings: Sorted by field, type, message.
        selectable: The fields that field selectors can use, label to string.
        stored_version: Version in the stored apiVersion, or None if it names none.
        audited_version: Version at which it was read and judged.
        select_error: Why field selectors on this version always fail, if they do.
        unevaluated_rules: Number of validation rules that a server would run and this audit did not.
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


def metadata_of(obj: JsonObject) -> JsonObject:
    """Return the metadata of an object; empty if it is not a map."""
    metadata = obj.get("metadata")
    return metadata if type(metadata) is dict else {}


def namespace_of(obj: JsonObject) -> str:
    """Return the namespace of an object; empty if it has none."""
    return metadata_of(obj).get("namespace") or ""


def name_of(obj: JsonObject) -> str:
    """Return the name of an object; empty if it has none."""
    return metadata_of(obj).get("name") or ""


def place_text(namespace: str | None, name: str | None) -> str:
    """Return ``namespace/name``, or the name alone where there is no namespace."""
    return f"{namespace}/{name}" if namespace else name or ""


def labels_of(obj: JsonObject) -> JsonObject:
    """Return the labels of an object; empty if they are not a map."""
    labels = metadata_of(obj).get("labels")
    return labels if type(labels) is dict else {}
