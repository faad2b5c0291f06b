"""URLs of requests: absolute ones, and absolute paths.

A text is checked as a URI of a request and then parsed as a general URL, because only the latter has fragments. So
`isURL` may accept a text that `url` refuses, and a text that begins with two slashes has a host.

Source: k8s.io/apiserver pkg/cel/library/urls.go, pkg/cel/url.go; Go net/url.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote_from_bytes, unquote_to_bytes

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import BOOL, STRING, Type, list_of, map_of, object_type
from auditor.cel.emit.bounds import ONE
from auditor.cel.emit.functions import same_extent
from auditor.cel.emit.value import Extent
from auditor.cel.estimate.call_costs import ONE as ONCE
from auditor.cel.estimate.call_costs import Operand, Priced, Range
from auditor.cel.function import PLAIN, UNIT, Code, Costs, Function, Overload
from auditor.cel.library.prices import read_text
from auditor.cel.operations.cost import TEXT
from auditor.golang.go_text import quote
from auditor.golang.url import Url, UrlError, is_request_uri, parse_request_uri
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from auditor.cel.emit.value import Value


URL = object_type("kubernetes.URL")

_DOING = "URL parse error during conversion from string: "
_DUMMY_SCHEME = "x:"
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_PLAIN_IN_FRAGMENT = "$&+,/:;=?@!()*"
_VALID_FRAGMENT = re.compile(r"[a-zA-Z0-9\-._~!$&'()*+,;=:@\[\]%/?]*")


@dataclass(frozen=True, slots=True, eq=False)
class UrlValue:
    """A URL; two are equal if the server writes them the same way.

    Attributes:
        url: The URL without the fragment.
        fragment: Escaped, without the ``#``.
    """

    cel_type: ClassVar[Type] = URL
    go_type: ClassVar[str] = "cel.URL"

    url: Url
    fragment: str = ""

    def cel_plain(self) -> CelError:
        """Return the error of servers that read a URL from an optional as a Go value."""
        return CelError(f"unsupported conversion to ref.Val: (*url.URL){self}")

    def __str__(self) -> str:
        return f"{self.url}#{self.fragment}" if self.fragment else str(self.url)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UrlValue) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def to_url(text: str) -> UrlValue:
    """Return the URL in a text.

    Raises:
        CelError: It is not a URL.
    """
    try:
        parse_request_uri(text)
        before, _, fragment = text.partition("#")
        url = _parse(before)
    except UrlError as error:
        raise CelError(f"{_DOING}{error}") from None
    bad_escape = _BAD_ESCAPE.search(fragment)
    if bad_escape is not None:
        escape = fragment[bad_escape.start() : bad_escape.start() + 3]
        raise CelError(f"{_DOING}parse {quote(text)}: invalid URL escape {quote(escape)}")
    if _VALID_FRAGMENT.fullmatch(fragment) is None:
        fragment = quote_from_bytes(unquote_to_bytes(fragment), _PLAIN_IN_FRAGMENT)
    return UrlValue(url, fragment)


def _parse(text: str) -> Url:
    """Read a text without fragment that is a URI of a request; the difference is a host without a scheme."""
    if not text.startswith("//") or text.startswith("///"):
        return parse_request_uri(text)
    try:
        return replace(parse_request_uri(_DUMMY_SCHEME + text), scheme="", omit_host=False)
    except UrlError as error:
        reason = str(error).removeprefix(f"parse {quote(_DUMMY_SCHEME + text)}: ")
        raise UrlError(f"parse {quote(text)}: {reason}") from None


def _member(
    name: str, key: str, result: Type, call: Callable[[UrlValue], object], code: Code = PLAIN, longest: int = 1
) -> Function:
    """Return the function that reads a part of a URL, which is at most `longest` times as long as the URL."""

    def price(target: Operand | None, _args: Sequence[Operand], _overload: str) -> Priced:
        return Priced(ONCE) if target is None else Priced(ONCE, target.bound * Range(1, longest))

    costs = Costs(worst=price) if changes.SIZES_OF_URL_PARTS.holds else UNIT
    return Function(name, member=True, overloads=(Overload(key, (URL,), result, call),), costs=costs, code=code)


def _url_price(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced:
    return Priced(args[0].bound.scaled(TEXT), args[0].bound)


def _path_extent(args: list[Value]) -> Extent:
    return Extent(args[0].extent.own.scaled(12) + ONE)


def _query_extent(args: list[Value]) -> Extent:
    own = args[0].extent.own + ONE
    return Extent(own, Extent(own, Extent(own)))


def functions() -> tuple[Function, ...]:
    """Return the functions of the library."""
    query = map_of(STRING, list_of(STRING))
    same = Code(extent=same_extent)
    make = Overload("string_to_url", (STRING,), URL, to_url)
    check = Overload("is_url_string", (STRING,), BOOL, is_request_uri)
    return (
        Function(
            "url",
            False,
            (make,),
            costs=read_text(worst=_url_price),
            code=Code(extent=same_extent, is_remembered=True),
        ),
        Function("isURL", False, (check,), code=Code(is_remembered=True, is_total=True)),
        _member("getScheme", "url_get_scheme", STRING, lambda it: it.url.scheme, same),
        _member("getHost", "url_get_host", STRING, lambda it: it.url.host, same),
        _member("getHostname", "url_get_hostname", STRING, lambda it: it.url.hostname, same),
        _member("getPort", "url_get_port", STRING, lambda it: it.url.port, same),
        _member(
            "getEscapedPath",
            "url_get_escaped_path",
            STRING,
            lambda it: it.url.escaped_path,
            Code(None, _path_extent),
            longest=3,
        ),
        _member("getQuery", "url_get_query", query, lambda it: it.url.query(), Code(None, _query_extent)),
    )
