"""Field and label selectors: text to requirements, with the server's grammar and the server's words.

Source: apimachinery pkg/fields/selector.go, pkg/labels/selector.go.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from auditor.base.errors import SelectorError
from auditor.golang.go_text import quote

if TYPE_CHECKING:
    from collections.abc import Mapping


_INT64 = 1 << 63
_MOST_DIGITS = 19


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """`label = value`, or `label != value` when negated. An absent field is the empty string."""

    label: str
    value: str
    negated: bool = False

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether an object with these fields is selected."""
        return (fields.get(self.label, "") == self.value) is not self.negated


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One requirement: operator is one of ``= == != in notin exists ! > <``; values are sorted and unique."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        value = labels.get(self.key)
        if self.operator == "exists":
            return value is not None
        if self.operator == "!":
            return value is None
        if self.operator in {"!=", "notin"}:
            return value is None or value not in self.values
        if value is None:
            return False
        if self.operator in {">", "<"}:
            number = _int64(value)
            bound = _int64(self.values[0])
            if number is None or bound is None:
                return False
            return number > bound if self.operator == ">" else number < bound
        return value in self.values


def _int64(text: str) -> int | None:
    if not re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII):
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS:
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if -_INT64 <= number < _INT64 else None


def _split_terms(text: str) -> list[str]:
    terms, start, escaped = [], 0, False
    for position, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == ",":
            terms.append(text[start:position])
            start = position + 1
    terms.append(text[start:])
    return terms


def _unescape(value: str) -> str:
    out: list[str] = []
    position = 0
    while position < len(value):
        char = value[position]
        if char == "\\":
            position += 1
            if position == len(value):
                raise SelectorError("", "invalid field selector: invalid escape sequence: \\")
            if value[position] not in "\\,=":
                raise SelectorError("", f"invalid field selector: invalid escape sequence: \\{value[position]}")
            out.append(value[position])
        elif char in ",=":
            raise SelectorError("", f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            out.append(char)
        position += 1
    return "".join(out)


def parse_field_selector(text: str) -> tuple[FieldRequirement, ...]:
    r"""Parse a field selector.

    Args:
        text: Terms joined by commas, e.g. ``spec.color=blue,metadata.name!=x``; ``\\``, ``\,`` and ``\=`` in values.
    Returns:
        The requirements, which must all hold; sorted bytewise by term as the server sorts them.
    Raises:
        SelectorError: The text is the server's.
    """
    out = []
    for term in sorted(_split_terms(text), key=lambda part: part.encode("utf-8", "surrogatepass")):
        if not term:
            continue
        for position in range(len(term)):
            operator = next((op for op in ("!=", "==", "=") if term.startswith(op, position)), None)
            if operator is not None:
                break
        else:
            raise SelectorError("", f"invalid selector: '{text}'; can't understand '{term}'")
        value = _unescape(term[position + len(operator) :])
        out.append(FieldRequirement(term[:position], value, operator == "!="))
    return tuple(requirement for requirement in out if requirement.label or requirement.value)


_SPECIAL = "=!(),><"
_TOKENS = ("==", "!=", "=", "!", "(", ")", ",", ">", "<")
_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_EXAMPLES = "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"


def _tokens(text: str) -> list[tuple[str, str]]:
    """Return (kind, text) with kind ``id``, ``in``, ``notin`` or the special token itself, ending with ``end``.

    A NUL ends the text, unless a token ends at it: that one is ignored.
    """
    out: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        char = text[position]
        if char in " \t\r\n":
            position += 1
        elif char == "\0":
            break
        elif char in _SPECIAL:
            token = next(token for token in _TOKENS if text.startswith(token, position))
            out.append((token, token))
            position += len(token)
            position += text.startswith("\0", position)
        else:
            start = position
            while position < len(text) and text[position] not in _SPECIAL + " \t\r\n\0":
                position += 1
            word = text[start:position]
            position += text.startswith("\0", position)
            out.append((word if word in {"in", "notin"} else "id", word))
    out.append(("end", ""))
    return out


def _key_messages(key: str) -> list[str]:
    parts = key.split("/")
    if len(parts) > 2:
        form = (
            "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
            f"an alphanumeric character {_EXAMPLES} '{_NAME}') with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        )
        return [form]
    out = []
    if len(parts) == 2:
        prefix = parts[0]
        if not prefix:
            out.append("prefix part must be non-empty")
        else:
            if len(prefix.encode("utf-8", "surrogatepass")) > 253:
                out.append("prefix part must be no more than 253 bytes")
            if not re.fullmatch(_SUBDOMAIN, prefix):
                out.append(
                    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
                    "'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
                    f"for validation is '{_SUBDOMAIN}')"
                )
    name = parts[-1]
    if not name:
        out.append("name part must be non-empty")
    elif len(name.encode("utf-8", "surrogatepass")) > 63:
        out.append("name part must be no more than 63 bytes")
    if not re.fullmatch(_NAME, name):
        out.append(
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            f"alphanumeric character {_EXAMPLES} '{_NAME}')"
        )
    return out


def _value_messages(value: str) -> list[str]:
    out = []
    if len(value.encode("utf-8", "surrogatepass")) > 63:
        out.append("must be no more than 63 bytes")
    if not re.fullmatch(f"({_NAME})?", value):
        out.append(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
            "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
            f"validation is '({_NAME})?')"
        )
    return out


_PARSE = "unable to parse requirement: "


class _LabelParser:
    """Recursive descent over the tokens; one method per production."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.at = 0

    def peek(self, values: bool = False) -> tuple[str, str]:
        kind, text = self.tokens[self.at]
        return ("id", text) if values and kind in {"in", "notin"} else (kind, text)

    def take(self, values: bool = False) -> tuple[str, str]:
        token = self.peek(values)
        if self.at < len(self.tokens) - 1:
            self.at += 1
        return token

    def selector(self) -> list[LabelRequirement]:
        out: list[LabelRequirement] = []
        if self.peek()[0] == "end":
            return out
        while True:
            kind, text = self.peek(values=True)
            if kind not in {"id", "!"}:
                raise SelectorError("", f"found '{text}', expected: !, identifier, or 'end of string'")
            out.append(self.requirement())
            kind, text = self.take()
            if kind == "end":
                return out
            if kind != ",":
                raise SelectorError("", f"found '{text}', expected: ',' or 'end of string'")
            kind, text = self.peek(values=True)
            if kind not in {"id", "!"}:
                raise SelectorError("", f"found '{text}', expected: identifier after ','")

    def requirement(self) -> LabelRequirement:
        negated = self.peek(values=True)[0] == "!"
        if negated:
            self.take()
        kind, key = self.take(values=True)
        if kind != "id":
            raise SelectorError("", f"{_PARSE}found '{key}', expected: identifier")
        messages = _key_messages(key)
        if messages:
            raise SelectorError("", f"{_PARSE}<nil>: Invalid value: {quote(key)}: {'; '.join(messages)}")
        if negated or self.peek()[0] in {"end", ","}:
            return LabelRequirement(key, "!" if negated else "exists")
        kind, text = self.take()
        if kind in {"in", "notin"}:
            values = sorted(set(self.value_set()))
        elif kind in {"=", "==", "!=", ">", "<"}:
            values = [self.exact_value()]
        else:
            raise SelectorError("", f"{_PARSE}found '{text}', expected: in, notin, =, ==, !=, gt, lt")
        self.check(key, kind, values)
        return LabelRequirement(key, kind, tuple(values))

    def exact_value(self) -> str:
        kind, text = self.peek(values=True)
        if kind in {"end", ","}:
            return ""
        if kind != "id":
            raise SelectorError("", f"{_PARSE}found '{text}', expected: identifier")
        return self.take(values=True)[1]

    def value_set(self) -> list[str]:
        kind, text = self.take(values=True)
        if kind != "(":
            raise SelectorError("", f"{_PARSE}found '{text}' expected: '('")
        out: list[str] = []
        while True:
            kind, text = self.peek(values=True)
            if kind == "id":
                out.append(self.take(values=True)[1])
                kind, text = self.peek(values=True)
                if kind not in {",", ")"}:
                    raise SelectorError("", f"{_PARSE}found '{text}', expected: ',' or ')'")
            elif kind in {",", ")"}:
                out.append("")
            else:
                wanted = "',', or identifier" if out else "',', ')' or identifier"
                raise SelectorError("", f"{_PARSE}found '{text}', expected: {wanted}")
            if self.take(values=True)[0] == ")":
                return out
            if self.peek(values=True)[0] == ")":
                out.append("")
                self.take()
                return out

    @staticmethod
    def check(key: str, operator: str, values: list[str]) -> None:
        errors = []
        if operator in {">", "<"} and _int64(values[0]) is None:
            errors.append(
                f"values[0]: Invalid value: {quote(values[0])}: for 'Gt', 'Lt' operators, the value must be an integer"
            )
        for number, value in enumerate(values):
            messages = _value_messages(value)
            if messages:
                errors.append(f"values[{number}][{key}]: Invalid value: {quote(value)}: {'; '.join(messages)}")
        if errors:
            raise SelectorError("", _PARSE + (errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"))


def parse_label_selector(text: str) -> tuple[LabelRequirement, ...]:
    """Parse a label selector.

    Args:
        text: Requirements joined by commas: ``a=b``, ``a!=b``, ``a in (x,y)``, ``a notin (x)``, ``a``, ``!a``, ``a>1``.
    Returns:
        The requirements, which must all hold, sorted by key.
    Raises:
        SelectorError: The text is the server's.
    """
    return tuple(sorted(_LabelParser(text).selector(), key=lambda requirement: requirement.key))
