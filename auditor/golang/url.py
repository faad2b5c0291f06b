"""URLs of requests as Go's net/url reads them, with its errors.

Python's urllib accepts nearly everything; Go does not. Go works on bytes: so does this module, on text whose characters
are bytes (Latin-1). Results are text; bytes that are not UTF-8 (from ``%ff`` in a host) are held as in Python's
"surrogateescape".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from auditor.golang.go_text import quote
from auditor.golang.net import GoNetError, parse_addr

if TYPE_CHECKING:
    from collections.abc import Callable


_ALPHANUMERIC = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_UNRESERVED = frozenset(_ALPHANUMERIC + "-_.~")
_PLAIN_IN_HOST = _UNRESERVED | frozenset("!$&'()*+,;=:[]<>\"")
_PLAIN_IN_PATH = _UNRESERVED | frozenset("$&+,/:;=@")
_PLAIN_IN_USERINFO = _UNRESERVED | frozenset("$&+,;=")
_VALID_IN_PATH = _PLAIN_IN_PATH | frozenset("!'()*[]%")
_VALID_IN_USERINFO = frozenset(_ALPHANUMERIC + "-._:~!$&'()*+,;=%@")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)?:")
_PORT = re.compile(r"(:[0-9]*)?")
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_MAX_QUERY_PARAMETERS = 10_000


class UrlError(ValueError):
    """A text that is not a URL of a request; the message is Go's: ``parse "abc": invalid URI for request``."""


class _UrlError(Exception):
    """The same without the prefix."""


@dataclass(frozen=True, slots=True)
class Url:
    """A URL as url.URL holds it.

    Attributes:
        scheme: In lower case; may be empty.
        opaque: The text after the scheme if it does not begin with a slash.
        user: User name and password, still escaped as `str` of the URL writes them, or None.
        host: With brackets and port, unescaped.
        path: Unescaped.
        raw_path: The path as written, if Go would write it differently.
        raw_query: The text after the question mark, as written.
        force_query: Whether there is a question mark and nothing after it.
        omit_host: Whether there are a scheme and a path, and no ``//``.
    """

    scheme: str = ""
    opaque: str = ""
    user: str | None = None
    host: str = ""
    path: str = ""
    raw_path: str = ""
    raw_query: str = ""
    force_query: bool = False
    omit_host: bool = False

    @property
    def hostname(self) -> str:
        """The host without brackets and port."""
        return self._host_and_port()[0]

    @property
    def port(self) -> str:
        """The port as written; empty if there is none."""
        return self._host_and_port()[1]

    def _host_and_port(self) -> tuple[str, str]:
        host, port = self.host, ""
        colon = host.rfind(":")
        if colon >= 0 and _PORT.fullmatch(host, colon):
            host, port = host[:colon], host[colon + 1 :]
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        return host, port

    @property
    def escaped_path(self) -> str:
        """The path as written, or as Go would write it if that is not valid."""
        if self.raw_path and all(character in _VALID_IN_PATH for character in self.raw_path):
            return self.raw_path
        return "*" if self.path == "*" else _escape(_as_bytes(self.path), _PLAIN_IN_PATH)

    def query(self) -> dict[str, list[str]]:
        """Return the values of the query by name, in order; parts that are malformed are left out.

        Source: url.URL.Query. More than 10,000 parts count as no query.
        """
        values: dict[str, list[str]] = {}
        parts = _as_bytes(self.raw_query).split("&")
        if len(parts) > _MAX_QUERY_PARAMETERS:
            return values
        for part in parts:
            if not part or ";" in part:
                continue
            name, _, value = part.partition("=")
            try:
                name, value = _unescape(name.replace("+", " ")), _unescape(value.replace("+", " "))
            except _UrlError:
                continue
            values.setdefault(_as_text(name), []).append(_as_text(value))
        return values

    def __str__(self) -> str:
        """Return the URL as text, as url.URL.String does."""
        text = f"{self.scheme}:" if self.scheme else ""
        if self.opaque:
            text += self.opaque
        else:
            path = self.escaped_path
            if self.user is not None or self.host:
                user = "" if self.user is None else f"{self.user}@"
                text += f"//{user}{_escape(_as_bytes(self.host), _PLAIN_IN_HOST)}"
            elif self.scheme and self.path and not self.omit_host:
                text += "//"
            if not text and ":" in path.partition("/")[0]:
                text = "./"
            text += path
        return f"{text}?{self.raw_query}" if self.force_query or self.raw_query else text


def is_request_uri(text: str) -> bool:
    """Whether `parse_request_uri` accepts a text."""
    try:
        parse_request_uri(text)
    except UrlError:
        return False
    return True


def parse_request_uri(text: str) -> Url:
    """Parse an absolute URI, an absolute path, or ``*``; a ``#`` has no special meaning.

    Raises:
        UrlError: ``parse "abc": invalid URI for request`` and the like.

    Source: net/url ParseRequestURI of Go 1.26, which treats two colons in the host of http as a malformed port.
    """
    try:
        return _parse(_as_bytes(text))
    except _UrlError as error:
        raise UrlError(f"parse {quote(text)}: {error.args[0]}") from None


def _as_bytes(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")


def _as_text(data: str) -> str:
    return data if data.isascii() else data.encode("latin-1").decode("utf-8", "surrogateescape")


def _parse(raw: str) -> Url:
    if _CONTROL.search(raw):
        raise _UrlError("net/url: invalid control character in URL")
    if not raw:
        raise _UrlError("empty url")
    if raw == "*":
        return Url(path="*")
    scheme, rest = "", raw
    if match := _SCHEME.match(raw):
        if not match[1]:
            raise _UrlError("missing protocol scheme")
        scheme, rest = match[1].lower(), raw[match.end() :]
    force_query = rest.endswith("?") and rest.count("?") == 1
    rest, _, query = rest.partition("?")
    query = _as_text(query)
    if not rest.startswith("/"):
        if not scheme:
            raise _UrlError("invalid URI for request")
        return Url(scheme, opaque=_as_text(rest), raw_query=query, force_query=force_query)
    user, host = None, ""
    has_host = bool(scheme) and rest.startswith("//")
    if has_host:
        authority, slash, path = rest[2:].partition("/")
        user, host = _authority(scheme, authority)
        rest = slash + path
    path = _unescape(rest)
    raw_path = "" if _escape(path, _PLAIN_IN_PATH) == rest else rest
    return Url(
        scheme,
        user=user,
        host=_as_text(host),
        path=_as_text(path),
        raw_path=_as_text(raw_path),
        raw_query=query,
        force_query=force_query,
        omit_host=bool(scheme) and not has_host,
    )


def _authority(scheme: str, authority: str) -> tuple[str | None, str]:
    userinfo, rpartition, host = authority.rpartition("@")
    host = _host(scheme, host)
    if not rpartition:
        return None, host
    if not all(character in _VALID_IN_USERINFO for character in userinfo):
        raise _UrlError("net/url: invalid userinfo")
    name, colon, password = userinfo.partition(":")
    name, password = _unescape(name), _unescape(password)
    return _escape(name, _PLAIN_IN_USERINFO) + colon + _escape(password, _PLAIN_IN_USERINFO), host


def _host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise _UrlError("invalid IP-literal")
    if bracket == 0:
        return _bracketed(host)
    colon = host.find(":")
    if colon >= 0:
        # URLs of databases have lists of hosts with ports.
        if scheme not in ("http", "https"):
            colon = host.rfind(":")
        _check_port(host[colon:])
    return _unescape_host(host)


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise _UrlError(f"invalid port {quote(_as_text(port))} after host")


def _bracketed(host: str) -> str:
    closing = host.rfind("]")
    if closing < 0:
        raise _UrlError("missing ']' in host")
    port = host[closing + 1 :]
    _check_port(port)
    name = host[1:closing]
    zone = name.find("%25")
    if zone < 0:
        zone = len(name)
    unescaped = _unescape_host(name[:zone]) + _unescape_zone(name[zone:])
    try:
        address = parse_addr(_as_text(unescaped))
    except GoNetError as error:
        raise _UrlError(f"invalid host: {error}") from None
    if address.width == 32:
        raise _UrlError("invalid IP-literal")
    return f"[{unescaped}]{port}"


# -- escapes -----------------------------------------------------------------------------------------------------------

_PERCENT = re.compile(r"%([0-9a-fA-F]{2})")


def _escape(data: str, plain: frozenset[str]) -> str:
    return "".join([byte if byte in plain else f"%{ord(byte):02X}" for byte in data])


def _unescape(data: str) -> str:
    if "%" not in data:
        return data
    position = data.find("%")
    while position >= 0:
        if len(data) < position + 3 or data[position + 1] not in _HEXADECIMAL or data[position + 2] not in _HEXADECIMAL:
            raise _bad_escape(data[position : position + 3])
        position = data.find("%", position + 3)
    return _PERCENT.sub(_unescaped, data)


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16))


def _bad_escape(escape: str) -> _UrlError:
    return _UrlError(f"invalid URL escape {quote(_as_text(escape))}")


def _unescape_host(data: str) -> str:
    """Unescape a host, in which only bytes beyond ASCII may be escaped."""
    return _unescape_checked(data, lambda byte: byte >= 0x80)


def _unescape_zone(data: str) -> str:
    """Unescape the zone of an address, which may also have escaped blanks and characters of a host."""
    return _unescape_checked(data, lambda byte: byte == 0x20 or chr(byte) in _PLAIN_IN_HOST)


def _unescape_checked(data: str, may_be_escaped: Callable[[int], bool]) -> str:
    position = 0
    while position < len(data):
        byte = data[position]
        if byte == "%":
            escape = data[position : position + 3]
            if not _PERCENT.fullmatch(escape):
                raise _bad_escape(escape)
            if escape != "%25" and not may_be_escaped(int(escape[1:], 16)):
                raise _bad_escape(escape)
            position += 3
            continue
        if byte < "\x80" and byte not in _PLAIN_IN_HOST:
            raise _UrlError(f"invalid character {quote(byte)} in host name")
        position += 1
    return _PERCENT.sub(_unescaped, data)
