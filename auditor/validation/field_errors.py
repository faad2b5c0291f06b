"""Findings in the server's words: one function per kind of field error.

An error prints ``<field>: <type text>[: <value>][: <detail>]``. A string value prints quoted as Go does, a plain number
or bool as ``%v``, everything else as compact JSON.

Source: apimachinery pkg/util/validation/field/errors.go.
"""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, Any, Final

from auditor.base.longtext import LONG, LongText
from auditor.base.records import Finding
from auditor.base.wording import counted
from auditor.golang.go_text import float_v, go_syntax, quote
from auditor.golang.jsontext import encode
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Iterable


REQUIRED: Final = "FieldValueRequired"
INVALID: Final = "FieldValueInvalid"
TYPE_INVALID: Final = "FieldValueTypeInvalid"
NOT_SUPPORTED: Final = "FieldValueNotSupported"
FORBIDDEN: Final = "FieldValueForbidden"
DUPLICATE: Final = "FieldValueDuplicate"
TOO_LONG: Final = "FieldValueTooLong"
TOO_MANY: Final = "FieldValueTooMany"
TOO_FEW: Final = "FieldValueTooFew"

_TEXTS: Final = {
    REQUIRED: "Required value",
    INVALID: "Invalid value",
    TYPE_INVALID: "Invalid value",
    NOT_SUPPORTED: "Unsupported value",
    FORBIDDEN: "Forbidden",
    DUPLICATE: "Duplicate value",
    TOO_LONG: "Too long",
    TOO_MANY: "Too many",
    TOO_FEW: "Too few",
}
_WITHOUT_VALUE: Final = frozenset({REQUIRED, FORBIDDEN, TOO_LONG})
_BLOCKING: Final = frozenset({NOT_SUPPORTED, REQUIRED, TOO_LONG, TOO_MANY, TYPE_INVALID})
_OMITTED: Final = "<value omitted>"
ADDRESS: Final = "0xc000000000"
"""Stands for the address of a pointer, which is another one in each process of a server."""


def _shown(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return quote(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is float:
        return float_v(value)
    return shown_as(encode(value), '"null"' if value is None else go_syntax(value))


def shown_as(as_json: str, as_go: str) -> str:
    """Return how the release that is reproduced shows a value (`changes.VALUES_AS_JSON`)."""
    return as_json if changes.VALUES_AS_JSON.holds else as_go


def shown_text(value: str | None) -> str:
    """Return a text that Go holds as a type of its own or behind a pointer, as it is shown."""
    return shown_as(encode(value), '"null"' if value is None else quote(value))


def shown_texts(values: list[str] | None) -> str:
    """Return a list of texts that Go holds as such, as it is shown."""
    as_go = "[]string(nil)" if values is None else f"[]string{{{', '.join(map(quote, values))}}}"
    return shown_as(encode(values), as_go)


def finding(
    check: str, field: str, type_: str, bad_value: Any, detail: str, shown: str | None = None, *, omitted: bool = False
) -> Finding:
    """Return one finding with its message.

    Args:
        check: The check that found it; see `Finding`.
        field: Path of the field; empty for the root, which prints as ``<nil>``.
        type_: The server's cause.
        bad_value: The offending value as JSON data.
        detail: The text after the value; may be empty.
        shown: The value as printed, if its Go type is not that of the JSON data (named string types print as JSON).
        omitted: Whether the message omits the value.
    """
    where = field or "<nil>"
    body = _TEXTS[type_]
    if shown is not None and len(shown) > LONG:
        apart = (f"{where}: {body}: ", intern(shown))  # so that equal ones are compared by identity
        wide: Finding = _draft(where, type_, bad_value, detail, apart, check, LongFinding)
        return wide
    if type_ not in _WITHOUT_VALUE and not omitted:
        body = f"{body}: {_shown(bad_value) if shown is None else shown}"
    if len(detail) > LONG:
        long: Finding = _draft(where, type_, bad_value, detail, f"{where}: {body}: ", check, LongFinding)
        return long
    if detail:
        body = f"{body}: {detail}"
    made: Finding = _draft(where, type_, bad_value, detail, f"{where}: {body}", check)
    return made


def of_rule(made: Finding, rule: str) -> Finding:
    """Turn a new finding into one of a rule, in place, so that a long one keeps its parts."""
    object.__setattr__(made, "rule", rule)
    return made


class LongFinding(Finding):
    """A finding with a long detail or value, which thousands of findings may share; its message is made on demand."""

    __slots__ = ()

    def __init__(self, *parts: Any, **named: Any) -> None:  # a copy, e.g. by `replace`, is a plain finding
        object.__setattr__(self, "__class__", Finding)
        Finding.__init__(self, *parts, **named)

    @property
    def message(self) -> str:
        """The whole text."""
        return str(self.words)

    @property
    def words(self) -> LongText:
        """Its parts."""
        before = _before_detail(self)
        if type(before) is str:
            return LongText(before, self.detail)
        return LongText(*before, f": {self.detail}" if self.detail else "")

    def __reduce__(self) -> tuple[Any, ...]:
        """Unpickle as a plain finding."""
        parts = (self.field, self.type, self.bad_value, self.detail, self.message, self.check, self.rule)
        return Finding, parts


_before_detail: Final = vars(Finding)["message"].__get__
"""The message slot of a long finding, which holds the text before the detail; if long, in two parts."""


class _Draft:
    """A Finding under construction: the same slots, set directly, which saves 2.6 us over a frozen class."""

    __slots__ = Finding.__slots__

    def __init__(
        self, field: str, type_: str, bad_value: Any, detail: str, message: Any, check: str, kind: type = Finding
    ) -> None:
        self.field = field
        self.type = type_
        self.bad_value = bad_value
        self.detail = detail
        self.message = message
        self.check = check
        self.rule: str | None = None
        self.__class__ = kind


_draft: Any = _Draft


def required(check: str, field: str, detail: str = "") -> Finding:
    """Return a finding of a missing value."""
    return finding(check, field, REQUIRED, "", detail)


def invalid(check: str, field: str, value: Any, detail: str, shown: str | None = None) -> Finding:
    """Return a finding of an invalid value."""
    return finding(check, field, INVALID, value, detail, shown)


def forbidden(check: str, field: str, detail: str) -> Finding:
    """Return a finding of a value that may not be here."""
    return finding(check, field, FORBIDDEN, "", detail)


def duplicate(check: str, field: str, value: Any) -> Finding:
    """Return a finding of a repeated value."""
    return finding(check, field, DUPLICATE, value, "")


def too_long(check: str, field: str, limit: int) -> Finding:
    """Return a finding of a value longer than a limit."""
    return finding(check, field, TOO_LONG, _OMITTED, too_long_detail(limit))


def _counted(count: int, unit: str) -> str:
    return counted(count, unit) if changes.UNITS_AGREE.holds else f"{count} {unit}s"


def too_long_detail(limit: int) -> str:
    """Return the detail of a too long value; the text always says bytes."""
    if limit < 0:
        return "value is too long"
    return f"may not be more than {_counted(limit, 'byte')}"


def too_many_detail(limit: int) -> str:
    """Return the detail of too many items or keys."""
    if limit < 0:
        return "has too many items"
    return f"must have at most {_counted(limit, 'item')}"


def too_few_detail(limit: int) -> str:
    """Return the detail of too few items or keys."""
    if limit < 0:
        return "has too few items"
    return f"must have at least {counted(limit, 'item')}"


def not_supported_detail(allowed: Iterable[str]) -> str:
    """Return the detail of an unsupported value."""
    quoted = ", ".join(quote(value) for value in allowed)
    return f"supported values: {quoted}" if quoted else ""


def has_blocking(findings: Iterable[Finding]) -> bool:
    """Return whether validation rules are skipped because of these findings.

    Source: apiextensions-apiserver pkg/registry/customresource/strategy.go (hasBlockingErr).
    """
    return any(finding.type in _BLOCKING for finding in findings)


def unique(findings: list[Finding]) -> list[Finding]:
    """Return the findings, without those whose message occurred before.

    Source: apimachinery pkg/util/validation/field/errors.go (ErrorList.ToAggregate).
    """
    if len(findings) < 2:
        return findings
    return list({finding.words: finding for finding in reversed(findings)}.values())[::-1]


_NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)


def _not_checked(shown: str) -> Finding:
    return Finding(
        field="<nil>",
        type=INVALID,
        bad_value=None,
        detail=_NOT_CHECKED,
        message=f"<nil>: Invalid value: {shown}: {_NOT_CHECKED}",
        check="rule",
    )


_AS_JSON: Final = _not_checked("null")
_AS_GO: Final = _not_checked('"null"')


def rules_not_checked() -> Finding:
    """Return the finding that replaces those of the rules after a blocking finding."""
    return _AS_JSON if changes.VALUES_AS_JSON.holds else _AS_GO
