"""String formats: the known ones, those that apply to a schema, and the check of each.

Names are compared without dashes: `date-time` is `datetime`. A format that the server does not know is ignored; so is,
since `changes.NUMBER_FORMATS`, a string format on a schema of another type.

Source: apiextensions-apiserver pkg/apiserver/validation/formats.go; kube-openapi pkg/validation/strfmt and
pkg/internal/third_party/govalidator.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from auditor.golang.mail import MailError, parse_address
from auditor.golang.net import parse_cidr_sloppy, parse_ip, parse_ip_sloppy, parse_mac
from auditor.golang.regex.compiled import Pattern, TextCache, compile_pattern
from auditor.golang.strfmt import is_date, is_date_time, is_duration
from auditor.golang.url import is_request_uri
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.schema.structural import StructuralSchema


def _whole(pattern: str) -> Callable[[str], bool]:
    """Return a check that a whole text matches a pattern of `re`, for patterns that mean the same in Go."""
    match = re.compile(pattern).fullmatch
    return lambda text: match(text) is not None


# -- names and addresses -----------------------------------------------------------------------------------------------

_SHORT_NAME: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_is_short_name = _whole(_SHORT_NAME)
_is_long_name = _whole(rf"{_SHORT_NAME}(?:\.{_SHORT_NAME})*")

_HOSTNAME: Final = (
    r"^([{any}]((-?[{any}]{{0,62}})?)|([{any}](([{any}-]{{0,61}}[{any}])?)(\.)){{1,}}([{letter}]){{2,63}})$"
)
_ASCII_HOSTNAME: Final = _whole(_HOSTNAME.format(any=r"a-zA-Z0-9$+<=>\^`|~", letter="a-zA-Z"))


@cache
def _hostname() -> Pattern:
    # A name may have symbols such as emoji. Thousands of ranges: compiled when the first such name is checked.
    return compile_pattern(_HOSTNAME.format(any=r"a-zA-Z0-9\p{S}\p{L}", letter=r"a-zA-Z\p{L}"))


def _is_hostname(text: str) -> bool:
    if text.isascii():
        parts = text.split(".")
        return len(text) <= 255 and max(map(len, parts)) <= 63 and _ASCII_HOSTNAME(text)
    data = text.encode("utf-8", "surrogatepass")
    return len(data) <= 255 and max(map(len, data.split(b"."))) <= 63 and _hostname().matches(text)


def _is_email(text: str) -> bool:
    try:
        parse_address(text)
    except MailError:
        return False
    return True


# -- numbers with a check digit ----------------------------------------------------------------------------------------

_NO_DIGITS: Final = re.compile("[^0-9]+")
_BLANKS_AND_DASHES: Final = re.compile(r"[\t\n\f\r -]+")
_is_card_number = _whole(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}",
)
_is_isbn10_shaped = _whole("[0-9]{9}[0-9X]")
_is_isbn13_shaped = _whole("[0-9]{13}")


def _is_credit_card(text: str) -> bool:
    digits = _NO_DIGITS.sub("", text)
    if not _is_card_number(digits):
        return False
    doubled = sum([sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2]])
    return (doubled + sum(map(int, digits[-1::-2]))) % 10 == 0


def _is_isbn10(text: str) -> bool:
    bare = _BLANKS_AND_DASHES.sub("", text)
    if not _is_isbn10_shaped(bare):
        return False
    digits = [10 if digit == "X" else int(digit) for digit in bare]
    return sum([weight * digit for weight, digit in enumerate(digits, 1)]) % 11 == 0


def _is_isbn13(text: str) -> bool:
    bare = _BLANKS_AND_DASHES.sub("", text)
    return _is_isbn13_shaped(bare) and (sum(map(int, bare[::2])) + 3 * sum(map(int, bare[1::2]))) % 10 == 0


# -- the table ---------------------------------------------------------------------------------------------------------

_BLANKS: Final = r"[\t\n\f\r ]*"  # Go's \s, which has no \v
_BYTE_OF_COLOR: Final = rf"{_BLANKS}(?:0|[1-9][0-9]?|1[0-9]{{1,2}}|2[0-4][0-9]|25[0-5]){_BLANKS}"
_is_base64_shaped = _whole("[A-Za-z0-9+/]+={0,2}")


def _uuid(third: str, fourth: str) -> Callable[[str], bool]:
    digit = "[0-9a-fA-F]"
    return _whole(f"{digit}{{8}}-?{digit}{{4}}-?{third}-?{fourth}-?{digit}{{12}}")


_ANY_GROUP: Final = "[0-9a-fA-F]{4}"
_VARIANT_GROUP: Final = "[89abAB][0-9a-fA-F]{3}"

FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _whole("[0-9a-fA-F]{24}"),
    "byte": lambda text: len(text) % 4 == 0 and _is_base64_shaped(text),
    "cidr": lambda text: parse_cidr_sloppy(text) is not None,
    "creditcard": _is_credit_card,
    "date": is_date,
    "datetime": is_date_time,
    "duration": is_duration,
    "email": _is_email,
    "hexcolor": _whole("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _is_hostname,
    "ipv4": lambda text: "." in text and parse_ip_sloppy(text) is not None,
    "ipv6": lambda text: ":" in text and parse_ip(text) is not None,
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "k8slongname": lambda text: len(text) <= 253 and _is_long_name(text),
    "k8sshortname": lambda text: len(text) <= 63 and _is_short_name(text),
    "mac": lambda text: parse_mac(text) is not None,
    "password": lambda _: True,
    "rgbcolor": _whole(rf"rgb\({_BYTE_OF_COLOR},{_BYTE_OF_COLOR},{_BYTE_OF_COLOR}\)"),
    "ssn": _whole("[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}"),
    "uri": is_request_uri,
    "uuid": _uuid(_ANY_GROUP, _ANY_GROUP),
    "uuid3": _uuid("3[0-9a-fA-F]{3}", _ANY_GROUP),
    "uuid4": _uuid("4[0-9a-fA-F]{3}", _VARIANT_GROUP),
    "uuid5": _uuid("5[0-9a-fA-F]{3}", _VARIANT_GROUP),
}
"""The check of every format by its normalised name, without a cache."""

_KUBERNETES_NAMES: Final = frozenset({"k8slongname", "k8sshortname"})
_NUMBER_FORMATS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}


def normalise(name: str) -> str:
    """Return the name of a format as names are compared, without dashes."""
    return name.replace("-", "")


def is_known(name: str) -> bool:
    """Whether the server knows a string format of that name."""
    plain = normalise(name)
    return plain in FORMATS and (plain not in _KUBERNETES_NAMES or changes.KUBERNETES_NAME_FORMATS.holds)


@cache
def _memory(name: str) -> TextCache:
    return TextCache(FORMATS[normalise(name)])


def accepts(name: str, text: str) -> bool:
    """Whether a known string format accepts a text; answers are cached.

    Args:
        name: As the schema has it, with dashes or without.
        text: The value.
    Raises:
        KeyError: The format is not known (see `is_known`).
    """
    return _memory(name)[text]


def applicable(name: str, types: tuple[str, ...]) -> str:
    """Return a format's name as in the schema if it applies to a schema of these types, else the empty text.

    Args:
        name: The format, which may be empty.
        types: The types of the schema: one, none, or two where it takes integers and strings.

    Source: apiextensions-apiserver pkg/apiserver/validation/formats.go StripUnsupportedFormatsPostProcess.
    """
    only = types[0] if len(types) == 1 else ""
    if only in ("", "string") or not changes.NUMBER_FORMATS.holds:
        return name if is_known(name) else ""
    return name if name in _NUMBER_FORMATS.get(only, ()) else ""


def strip_format(schema: StructuralSchema) -> str:
    """Return the format of a schema if the server checks it, or the empty text."""
    return applicable(schema.format, (schema.type,) if schema.type and not schema.int_or_string else ())
