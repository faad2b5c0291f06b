"""The types of scalars: the table of Go's YAML, which is YAML 1.1 with changes.

The first character determines the possible types of a plain scalar; the default is a string. Timestamps are always
strings.
Source: go.yaml.in/yaml v2, resolve; strconv ParseInt (base 0) and ParseFloat.
"""

from __future__ import annotations

import base64
import binascii
import calendar
import math
import re
from typing import TYPE_CHECKING, Any, Final

from auditor.golang.go_text import float_json
from auditor.golang.jsontext import as_text
from auditor.sources.yaml.yaml_error import YamlError

if TYPE_CHECKING:
    from collections.abc import Callable


TAG_PREFIX: Final = "tag:yaml.org,2002:"
INT64_MIN: Final = -(1 << 63)
INT64_MAX: Final = (1 << 63) - 1
UINT64_MAX: Final = (1 << 64) - 1

_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_MAYBE_WORD: Final = frozenset("yYnNtTfFoO~")
_NUMBER_START: Final = frozenset("0123456789+-")

_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]([0-7]+)|0([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_POINT_FLOAT = re.compile(r"\.[0-9](?:_?[0-9])*(?:[eE][-+]?[0-9](?:_?[0-9])*)?")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:(?:[Tt](?P<h1>[0-9]{1,2}):(?P<m1>[0-9]{1,2}):(?P<s1>[0-9]{1,2})(?:[.,][0-9]+)?(?:Z|[-+]([0-9]{2}):([0-9]{2})))"
    r"|(?: (?P<h2>[0-9]{1,2}):(?P<m2>[0-9]{1,2}):(?P<s2>[0-9]{1,2})(?:[.,][0-9]+)?))?"
)
_BASES: Final = (16, 2, 8, 8, 10)


def _integer(text: str) -> int | None:
    """Return an int64 or, without sign, a uint64; None if the text is neither."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    sign = match.group(1)
    index = next(number for number in range(2, 7) if match.group(number) is not None)
    digits = match.group(index)
    base = _BASES[index - 2]
    if base == 10 and len(digits) > 20:
        return None
    value = int(digits, base)
    if sign == "-":
        value = -value
    limit = INT64_MAX if sign else UINT64_MAX
    return value if INT64_MIN <= value <= limit else None


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _number(text: str) -> int | float | None:
    plain = text.replace("_", "")
    value = _integer(plain)
    if value is not None:
        return value
    return _finite(plain) if _FLOAT.fullmatch(plain) else None


def resolve_plain(text: str) -> Any:
    """Return the value of a plain scalar without a tag.

    Args:
        text: The scalar from the parser.

    Returns:
        None, bool, int (int64, or uint64 if only that fits), float (including NaN and infinities) or str.

    Source: go.yaml.in/yaml v2, resolve.
    """
    first = text[:1]
    if first in _NUMBER_START:
        if text in _WORDS and first:
            return _WORDS[text]
        if not first:
            return None
        number = _number(text)
        return text if number is None else number
    if first in _MAYBE_WORD:
        return _WORDS.get(text, text)
    if first == ".":
        if text in _WORDS:
            return _WORDS[text]
        number = _finite(text) if _POINT_FLOAT.fullmatch(text) else None
        return text if number is None else number
    return text if first else None


def _is_timestamp(text: str) -> bool:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return False
    year, month, day = (int(part) for part in match.groups()[:3])
    if not 1 <= month <= 12 or not 1 <= day <= (29 if month == 2 and calendar.isleap(year) else _DAYS[month - 1]):
        return False
    hour, minute, second = (match.group(name + "1") or match.group(name + "2") or "0" for name in "hms")
    return int(hour) < 24 and int(minute) < 60 and int(second) < 60


_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    if type(value) is bool:
        return "bool"
    if type(value) is int:
        return "int"
    return "float" if type(value) is float else "str"


def _typed(wanted: str, text: str) -> Any:
    """Apply the table to the text of a scalar tagged !!int, !!bool, !!null or !!float."""
    value = resolve_plain(text)
    kind = _kind_of(value)
    if kind == wanted:
        return value
    if wanted == "float" and kind == "int" and value <= INT64_MAX:
        return float(value)
    raise YamlError(f"yaml: cannot decode !!{kind} `{text}` as a !!{wanted}")


def _timestamp(text: str) -> str:
    if text[:1] in _NUMBER_START and _is_timestamp(text):
        return text
    raise YamlError(f"yaml: cannot decode !!{_kind_of(resolve_plain(text))} `{text}` as a !!timestamp")


def _binary(text: str) -> str:
    try:
        data = base64.b64decode(text.replace("\n", "").replace("\r", "").encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        raise YamlError("yaml: !!binary value contains invalid base64 data") from None
    return as_text(data)


_TAGGED: Final[dict[str, Callable[[str], Any]]] = {
    "int": lambda text: _typed("int", text),
    "bool": lambda text: _typed("bool", text),
    "null": lambda text: _typed("null", text),
    "float": lambda text: _typed("float", text),
    "timestamp": _timestamp,
    "binary": _binary,
}


def resolve_tagged(tag: str, text: str) -> Any:
    """Return the value of a scalar with an explicit tag; plain, quoted and block scalars alike.

    Args:
        tag: The tag with its handle written out.
        text: The scalar.

    Raises:
        YamlError: The text does not fit the tag.

    Source: go.yaml.in/yaml v2, resolve; base64.StdEncoding.
    """
    if tag.startswith(TAG_PREFIX):
        read = _TAGGED.get(tag[len(TAG_PREFIX) :])
        if read is not None:
            return read(text)
    return text


def _number_of_json(value: float) -> int | float:
    """Return a float as a decoder of Kubernetes objects reads it after Go printed it: int64 if the digits are one."""
    if abs(value) >= 1e21 or value != int(value):
        return value
    digits = int(float_json(value))
    return digits if -INT64_MAX - 1 <= digits <= INT64_MAX else value


def to_json_value(tree: Any) -> Any:
    """Convert the numbers of a finite tree with text keys, in place, to the values that its JSON text decodes to.

    Source: encoding/json; k8s.io/apimachinery/pkg/util/json: int64 where it parses as one, else float64.
    """
    holder: list[Any] = [tree]
    todo: list[Any] = [holder]
    while todo:
        container = todo.pop()
        has_numbers = False
        for value in container.values() if type(container) is dict else container:
            kind = type(value)
            if kind is str:
                continue
            if kind is dict or kind is list:
                todo.append(value)
            elif kind is float or (kind is int and value > INT64_MAX):
                has_numbers = True
        if has_numbers:
            _convert_numbers(container)
    return holder[0]


def _convert_numbers(container: Any) -> None:
    for place, value in container.items() if type(container) is dict else enumerate(container):
        if type(value) is float:
            container[place] = _number_of_json(value)
        elif type(value) is int and value > INT64_MAX:
            container[place] = float(value)
