"""Checks ``spec.conversion`` of a definition: strategy, webhook, review versions.

CA certificates are parsed by Python's TLS library, which is about as strict as Go's. The message equals Go's only for
faults of the outer structure of a certificate.

Source: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go; apiserver
pkg/util/webhook/validation.go (ValidateCABundle); client-go transport (rootCertPool); encoding/pem.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from auditor.golang.go_text import quote
from auditor.golang.jsontext import encode
from auditor.golang.url import Url, UrlError, parse_request_uri
from auditor.validation.field_errors import (
    NOT_SUPPORTED,
    finding,
    forbidden,
    invalid,
    not_supported_detail,
    required,
    shown_as,
    shown_text,
    shown_texts,
)
from auditor.validation.name_checks import dns_1035_label, dns_subdomain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.records import Finding, JsonObject
    from auditor.crdcheck.internal import Internal


_BLOCK: Final = re.compile(
    rb"(?:\A|\n)-----BEGIN (?P<type>[^\n]*?)-----[ \t\r]*\n"
    rb"(?P<headers>(?:[^\n:-]*:[^\n]*\n)*)(?P<body>[^-]*?)(?<=\n)-----END (?P=type)-----[ \t\r]*(?:\n|\Z)"
)
_BLANKS: Final = re.compile(rb"[ \t\r\n]+")
_SEQUENCE: Final = 0x30


def bundle_error(bundle: bytes) -> str:
    """Return the server's error for a bundle; empty if at least one of its certificates can be used."""
    if not bundle:
        return ""
    errors: list[str] = []
    position = 0
    for kind, has_headers, data, end in _blocks(bundle):
        position = end
        if kind == b"CERTIFICATE" and not has_headers:
            error = _certificate_error(data)
            if not error:
                return ""
            errors.append(error)
    if errors:
        text = f"failed to parse certificate: x509: {errors[0]}"
    else:
        text = (
            "no valid certificate authority data seen"
            if position == len(bundle)
            else "unable to parse bytes as PEM block"
        )
    return f"unable to load root certificates: {text}"


def _blocks(bundle: bytes) -> Iterator[tuple[bytes, bool, bytes, int]]:
    """Yield (type, whether there are headers, content, end offset) of each PEM block."""
    position = 0
    while (block := _BLOCK.search(bundle, max(position - 1, 0) if position else 0)) is not None:
        position = block.end()
        try:
            data = base64.b64decode(_BLANKS.sub(b"", block["body"]), validate=True)
        except (binascii.Error, ValueError):
            continue
        yield block["type"], bool(block["headers"]), data, position


def _certificate_error(data: bytes) -> str:
    import ssl  # noqa: PLC0415 - only a certificate needs it

    outer = _content(data)
    if outer is None:
        return "malformed certificate"
    start, end = outer
    if end < len(data):
        return "trailing data"
    if data[start : start + 1] != bytes([_SEQUENCE]):
        return "malformed tbs certificate"
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=data)
    except ssl.SSLError:
        return "malformed certificate"
    return ""


def _content(data: bytes) -> tuple[int, int] | None:
    """Return start and end of the content of a DER sequence, or None if it is not one."""
    if len(data) < 2 or data[0] != _SEQUENCE:
        return None
    size, start = data[1], 2
    if size > 0x80:
        start += size - 0x80
        size = int.from_bytes(data[2:start], "big")
    elif size == 0x80:
        return None
    return (start, start + size) if start + size <= len(data) else None


_CHECK: Final = "conversion"
ACCEPTED_REVIEWS: Final = ("v1", "v1beta1")
_FORM: Final = "; desired format: https://host[/path]"
_MAX_PORT: Final = 65535


def enumerated(check: str, path: str, value: str, accepted: tuple[str, ...]) -> list[Finding]:
    """Check that a text is one of a fixed list."""
    if not value:
        return [required(check, path)]
    if value in accepted:
        return []
    return [finding(check, path, NOT_SUPPORTED, value, not_supported_detail(accepted))]


def check_conversion(form: Internal, *, needs_known_review: bool, needs_bundle: bool) -> list[Finding]:
    """Check ``spec.conversion``.

    Args:
        form: The definition.
        needs_known_review: Whether at least one review version must be one that the server supports.
        needs_bundle: Whether a CA bundle, if there is one, must hold a certificate.
    """
    findings: list[Finding] = []
    if form.strategy != "None" and form.preserve:
        detail = "must be None if spec.preserveUnknownFields is true"
        shown = shown_text(form.strategy)
        findings.append(invalid(_CHECK, "spec.conversion.strategy", form.strategy, detail, shown))
    findings += enumerated(_CHECK, "spec.conversion.strategy", form.strategy, ("None", "Webhook"))
    config, reviews = "spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions"
    if form.strategy == "Webhook":
        if form.client is None:
            findings.append(required(_CHECK, config, "required when strategy is set to Webhook"))
        else:
            findings += _client(form.client, config)
            findings += _bundle(form.client.get("caBundle", b""), f"{config}.caBundle") if needs_bundle else []
        return findings + _reviews(form.review_versions or [], reviews, needs_known=needs_known_review)
    detail = "should not be set when strategy is not set to Webhook"
    if form.client is not None:
        findings.append(forbidden(_CHECK, config, detail))
    if form.review_versions:
        findings.append(forbidden(_CHECK, reviews, detail))
    return findings


def _reviews(versions: list[str], path: str, *, needs_known: bool) -> list[Finding]:
    if not versions:
        return [required(_CHECK, path)]
    findings: list[Finding] = []
    for index, version in enumerate(versions):
        where = f"{path}[{index}]"
        if version in versions[:index]:
            findings.append(invalid(_CHECK, where, version, "duplicate version"))
        else:
            findings.extend(invalid(_CHECK, where, version, text) for text in dns_1035_label(version))
    if needs_known and not set(versions) & set(ACCEPTED_REVIEWS):
        detail = f"must include at least one of {', '.join(ACCEPTED_REVIEWS)}"
        findings.append(invalid(_CHECK, path, list(versions), detail, shown_texts(list(versions))))
    return findings


def _client(client: JsonObject, path: str) -> list[Finding]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(_CHECK, path, "exactly one of url or service is required")]
    return _url(url, f"{path}.url") if url is not None else _service(service or {}, f"{path}.service")


def _bundle(bundle: bytes, path: str) -> list[Finding]:
    error = bundle_error(bundle)
    text = base64.b64encode(bundle).decode()
    as_go = f"[]byte{{{', '.join(map(hex, bundle))}}}"
    return [invalid(_CHECK, path, text, error, shown_as(encode(text), as_go))] if error else []


def _parse_url(text: str) -> tuple[Url, str]:
    """Return a URL and its fragment; unlike the URL of a request, it may be relative.

    Source: net/url Parse.
    """
    body, _, fragment = text.partition("#")
    if not body:
        return Url(), fragment
    if body.startswith("//") and not body.startswith("///"):
        return replace(parse_request_uri(f"https:{body}"), scheme=""), fragment
    try:
        return parse_request_uri(body), fragment
    except UrlError as error:
        if not str(error).endswith("invalid URI for request"):
            raise
    if ":" in body.partition("/")[0]:
        raise UrlError(f"parse {quote(body)}: first path segment in URL cannot contain colon")
    return replace(parse_request_uri(f"/{body}"), path=body), fragment


def _url(text: str, path: str) -> list[Finding]:
    try:
        url, fragment = _parse_url(text)
    except UrlError as error:
        return [required(_CHECK, path, f"url must be a valid URL: {error}{_FORM}")]
    findings: list[Finding] = []
    if url.scheme != "https":
        findings.append(invalid(_CHECK, path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not url.host:
        findings.append(invalid(_CHECK, path, url.host, f"host must be specified{_FORM}"))
    if url.user is not None:
        findings.append(invalid(_CHECK, path, url.user, "user information is not permitted in the URL"))
    if fragment:
        findings.append(invalid(_CHECK, path, fragment, "fragments are not permitted in the URL"))
    if url.raw_query:
        findings.append(invalid(_CHECK, path, url.raw_query, "query parameters are not permitted in the URL"))
    return findings


def _service(service: JsonObject, path: str) -> list[Finding]:
    # The server passes name and namespace in the wrong order, so it reports an empty name at the namespace.
    findings = [
        required(_CHECK, f"{path}.{told}")
        for told, key in (("name", "namespace"), ("namespace", "name"))
        if not service.get(key)
    ]
    port = service.get("port", 0)
    if not 1 <= port <= _MAX_PORT:
        findings.append(
            invalid(_CHECK, f"{path}.port", port, "port is not valid: must be between 1 and 65535, inclusive")
        )
    return findings + _path(service.get("path"), f"{path}.path")


def _path(given: str | None, path: str) -> list[Finding]:
    if given is None or given in ("", "/"):
        return []
    if given == "//":
        return [invalid(_CHECK, path, given, "segment[0] may not be empty")]
    findings: list[Finding] = []
    if not given.startswith("/"):
        findings.append(invalid(_CHECK, path, given, "must start with a '/'"))
    rest = given.encode("utf-8", "surrogatepass")[1:].decode("utf-8", "replace")
    for index, step in enumerate(rest.removesuffix("/").split("/")):
        if not step:
            findings.append(invalid(_CHECK, path, given, f"segment[{index}] may not be empty"))
            continue
        findings.extend(invalid(_CHECK, path, given, f"segment[{index}]: {text}") for text in dns_subdomain(step))
    return findings
