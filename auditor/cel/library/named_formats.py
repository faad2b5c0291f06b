"""Named formats of strings, which return the faults of a text: ``format.dns1123Label().validate(x)``.

Source: k8s.io/apiserver pkg/cel/library/format.go; k8s.io/apimachinery pkg/api/validation, pkg/api/validate/content;
k8s.io/kube-openapi pkg/validation/strfmt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from auditor.cel.cel_types import STRING, Type, list_of, object_type, optional_of
from auditor.cel.cel_values import NONE, Optional_
from auditor.cel.emit.bounds import ONE, constant, tenth
from auditor.cel.emit.functions import same_extent
from auditor.cel.emit.value import Extent
from auditor.cel.estimate.call_costs import Operand, Priced
from auditor.cel.function import Code, Costs, Function, Overload
from auditor.cel.library.prices import size_bound
from auditor.cel.operations.cost import REGEX, TEXT, matching
from auditor.golang.strfmt import is_date, is_date_time
from auditor.golang.url import UrlError, parse_request_uri
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from auditor.cel.emit.bounds import Bound
    from auditor.cel.emit.value import Value


FORMAT = object_type("kubernetes.NamedFormat")


@dataclass(frozen=True, slots=True, eq=False)
class NamedFormat:
    """A format; known by its name.

    Attributes:
        name: The server's name, ``DNS1123Label``.
        complaints: Returns the server's messages for a text; empty if it is valid.
        max_regex_size: Length of an equivalent regular expression, by which costs are counted.
    """

    cel_type: ClassVar[Type] = FORMAT
    go_type: ClassVar[str] = "cel.Format"

    name: str
    complaints: Callable[[str], list[str]]
    max_regex_size: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedFormat) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


# -- names -------------------------------------------------------------------------------------------------------------

_ALNUM = "start and end with an alphanumeric character"


@dataclass(frozen=True, slots=True)
class _Shape:
    """A regular expression, its description, and examples."""

    words: str
    pattern: str
    examples: tuple[str, ...]

    def fits(self, data: str) -> bool:
        return re.fullmatch(self.pattern, data) is not None

    @property
    def complaint(self) -> str:
        examples = ",  or ".join([f"'{example}'" for example in self.examples])
        return f"{self.words} (e.g. {examples}, regex used for validation is '{self.pattern}')"


_LABEL = _Shape(
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must {_ALNUM}",
    "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
    ("my-name", "123-abc"),
)
_SUBDOMAIN = _Shape(
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must {_ALNUM}",
    rf"{_LABEL.pattern}(\.{_LABEL.pattern})*",
    ("example.com",),
)
_LABEL_1035 = _Shape(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    "[a-z]([-a-z0-9]*[a-z0-9])?",
    ("my-name", "abc-123"),
)
_KEY = _Shape(
    f"must consist of alphanumeric characters, '-', '_' or '.', and must {_ALNUM}",
    "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]",
    ("MyName", "my.name", "123-abc"),
)
_VALUE = _Shape(
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must {_ALNUM}",
    f"({_KEY.pattern})?",
    ("MyValue", "my_value", "12345"),
)
_WITH_PREFIX = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
_EMPTY = "must be non-empty"
_NO_DOTS = "must not contain dots"
_MOST_OF_LABEL = 63
_MOST_OF_SUBDOMAIN = 253


def _bytes(text: str) -> str:
    """Return a text whose characters are the bytes of the given one: lengths count bytes."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")


def _masked(data: str) -> str:
    """Return a prefix of a name as if the name continued: a dash at its end and the character before become letters."""
    return data[:-2] + "a" if len(data) > 1 and data.endswith("-") else data


def _too_long(most: int, unit: str) -> str:
    return f"must be no more than {most} {unit}"


def _label(data: str) -> list[str]:
    complaints = [_too_long(_MOST_OF_LABEL, "characters")] if len(data) > _MOST_OF_LABEL else []
    if not _LABEL.fits(data):
        complaints.append(_NO_DOTS if _SUBDOMAIN.fits(data) else _LABEL.complaint)
    return complaints


def _subdomain(data: str, unit: str = "characters") -> list[str]:
    complaints = [_too_long(_MOST_OF_SUBDOMAIN, unit)] if len(data) > _MOST_OF_SUBDOMAIN else []
    return complaints if _SUBDOMAIN.fits(data) else [*complaints, _SUBDOMAIN.complaint]


def _label_1035(data: str) -> list[str]:
    complaints = [_too_long(_MOST_OF_LABEL, "characters")] if len(data) > _MOST_OF_LABEL else []
    return complaints if _LABEL_1035.fits(data) else [*complaints, _LABEL_1035.complaint]


def _label_words() -> tuple[str, str]:
    """Return the server's description of the key of a label, and its unit of length for keys and values."""
    return ("a valid label key", "bytes") if changes.LABEL_WORDS.holds else ("a qualified name", "characters")


def _qualified_name(text: str) -> list[str]:
    what, unit = _label_words()
    parts = _bytes(text).split("/")
    if len(parts) > 2:
        return [f"{what} {_KEY.complaint} {_WITH_PREFIX}"]
    complaints = []
    if len(parts) == 2:
        wrong = _subdomain(parts[0], unit) if parts[0] else [_EMPTY]
        complaints += [f"prefix part {complaint}" for complaint in wrong]
    name = parts[-1]
    if not name:
        complaints.append(f"name part {_EMPTY}")
    elif len(name) > _MOST_OF_LABEL:
        complaints.append(f"name part {_too_long(_MOST_OF_LABEL, unit)}")
    if not _KEY.fits(name):
        complaints.append(f"name part {_KEY.complaint}")
    return complaints


def _label_value(text: str) -> list[str]:
    data = _bytes(text)
    complaints = [_too_long(_MOST_OF_LABEL, _label_words()[1])] if len(data) > _MOST_OF_LABEL else []
    return complaints if _VALUE.fits(data) else [*complaints, _VALUE.complaint]


# -- formats of schemas ------------------------------------------------------------------------------------------------

_UUID = re.compile("[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")
_BASE64 = re.compile("([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_UUID_SIZE, _BASE64_SIZE, _URL_SIZE, _TIME_SIZE = 70, 84, 1103, 71


def _uri(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except UrlError as error:
        return [str(error)]
    return []


def _unless(holds: Callable[[str], object], complaint: str) -> Callable[[str], list[str]]:
    return lambda text: [] if holds(text) else [complaint]


FORMATS = {
    "dns1123Label": NamedFormat("DNS1123Label", lambda text: _label(_bytes(text)), 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", lambda text: _subdomain(_bytes(text)), 60),
    "dns1035Label": NamedFormat("DNS1035Label", lambda text: _label_1035(_bytes(text)), 30),
    "qualifiedName": NamedFormat("QualifiedName", _qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", lambda text: _label(_masked(_bytes(text))), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", lambda text: _subdomain(_masked(_bytes(text))), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", lambda text: _label_1035(_masked(_bytes(text))), 30),
    "labelValue": NamedFormat("LabelValue", _label_value, 40),
    "uri": NamedFormat("URI", _uri, _URL_SIZE),
    "uuid": NamedFormat("uuid", _unless(_UUID.fullmatch, "does not match the UUID format"), _UUID_SIZE),
    "byte": NamedFormat("byte", _unless(_BASE64.fullmatch, "invalid base64"), _BASE64_SIZE),
    "date": NamedFormat("date", _unless(is_date, "invalid date"), _TIME_SIZE),
    "datetime": NamedFormat("datetime", _unless(is_date_time, "invalid datetime"), _TIME_SIZE),
}
"""The formats by the names that expressions use."""


def _named(name: str) -> Optional_:
    form = FORMATS.get(name)
    return NONE if form is None else Optional_.of(form)


def _validate(form: NamedFormat, text: str) -> Optional_:
    complaints = form.complaints(text)
    return Optional_.of(complaints) if complaints else NONE


def _constant(name: str, form: NamedFormat) -> Function:
    overload = Overload(f"format.{name}", (), FORMAT, lambda: form)
    return Function(f"format.{name}", member=False, overloads=(overload,))


_LONGEST = max(each.max_regex_size for each in FORMATS.values())
_LONGEST_ESTIMATED = 128
"""Length of the regular expression that the estimate assumes."""


def _validate_cost(args: Sequence[Any], _result: Any, _overload: str) -> int:
    longest = getattr(args[0], "max_regex_size", None)
    return 1 if longest is None else matching(args[1], longest)


def _validate_price(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced:
    return Priced(args[0].bound.scaled(TEXT).scaled(_LONGEST_ESTIMATED * REGEX))


def _validate_bound(values: list[Value]) -> Bound:
    return (tenth(size_bound(values[1])) + ONE).scaled(_LONGEST * REGEX + 1)


_VALIDATE = Costs(_validate_cost, _validate_price, _validate_bound)
_COMPLAINTS = Code(extent=lambda _: Extent(constant(20), Extent(constant(2000))))


def functions() -> tuple[Function, ...]:
    """Return the functions of the library."""
    named = Overload("format-named", (STRING,), optional_of(FORMAT), _named)
    validate = Overload("format-validate", (FORMAT, STRING), optional_of(list_of(STRING)), _validate)
    return (
        Function("validate", member=True, overloads=(validate,), costs=_VALIDATE, code=_COMPLAINTS),
        Function("format.named", member=False, overloads=(named,), code=Code(extent=same_extent)),
        *[_constant(name, form) for name, form in FORMATS.items()],
    )
