"""maxLength, minLength, pattern (the first failing one of these is reported) and format.

Source: kube-openapi pkg/validation/validate/validator.go (stringValidator), formats.go, rexp.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.golang.go_text import quote
from auditor.golang.regex.compiled import GoRegexError, compile_pattern
from auditor.validation import string_formats
from auditor.validation.field_errors import INVALID, TOO_LONG, TYPE_INVALID, too_long_detail
from auditor.validation.keywords.failure import Check, Complaint, Sink

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.trail import Trail
    from auditor.ratcheting import CorrelatedObject
    from auditor.schema.structural import StructuralSchema


_MEMO_SIZE: Final = 4096
"""Most accepted values that a pattern or format caches; values longer than `_MEMO_LENGTH` are not cached."""
_MEMO_LENGTH: Final = 256


def string(schema: StructuralSchema) -> Check | None:
    """Return the check of lengths and pattern, or None if there are none. Lengths count code points."""
    longest, shortest = schema.max_length, schema.min_length
    matches, shown = _matcher(schema.pattern)
    if longest is None and shortest is None and matches is None:
        return None

    def check(value: Any, trail: Trail, sink: Sink, _twin: CorrelatedObject | None) -> int:
        if longest is not None and len(value) > longest:
            sink.append((_too_long, trail, value, longest))
        elif shortest is not None and len(value) < shortest:
            sink.append((_too_short, trail, value, shortest))
        elif matches is not None and not matches(value):
            sink.append((_no_match, trail, value, shown))
        return 0

    return check


def _matcher(pattern: str) -> tuple[Callable[[str], bool] | None, str]:
    """Return a test whether a text matches, and the pattern as the message shows it."""
    if not pattern:
        return None, ""
    try:
        matches = compile_pattern(pattern).search
    except GoRegexError as error:
        return (lambda _text: False), f"{pattern}, but pattern is invalid: {error}"
    return matches, pattern


def _remembering(accepts: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return the predicate with a bounded cache of accepted texts: objects of one kind repeat their values."""
    accepted: set[str] = set()

    def remembering(text: str) -> bool:
        if text in accepted:
            return True
        if not accepts(text):
            return False
        if len(text) <= _MEMO_LENGTH:
            if len(accepted) >= _MEMO_SIZE:
                accepted.clear()
            accepted.add(text)
        return True

    return remembering


def _too_long(path: str, _value: Any, limit: int) -> Complaint:
    text = f"{path} in body should be at most {limit} chars long"
    return Complaint(path, TOO_LONG, "<value omitted>", too_long_detail(limit), text)


def _too_short(path: str, value: Any, limit: int) -> Complaint:
    detail = f"{path} in body should be at least {limit} chars long"
    return Complaint(path, INVALID, value, detail, detail)


def _no_match(path: str, value: Any, shown: str) -> Complaint:
    detail = f"{path} in body should match '{shown}'"
    return Complaint(path, INVALID, value, detail, detail)


def format_(name: str) -> Check | None:
    """Return the check of a string format, or None if the format does not apply to strings."""
    if not name or not string_formats.is_known(name):
        return None
    accepts = _remembering(lambda text: string_formats.accepts(name, text))

    def check(value: Any, trail: Trail, sink: Sink, _twin: CorrelatedObject | None) -> int:
        if not accepts(value):
            sink.append((_wrong_format, trail, value, name))
        return 0

    return check


def _wrong_format(path: str, value: Any, name: str) -> Complaint:
    detail = f"{path} in body must be of type {name}: {quote(value)}"
    return Complaint(path, TYPE_INVALID, value, detail, detail)
