"""Checks the CA certificates of a conversion webhook.

Certificates are parsed by Python's TLS library, which is about as strict as Go's. The message equals Go's only for
faults of the outer structure of a certificate.

Source: apiserver pkg/util/webhook/validation.go (ValidateCABundle); client-go transport (rootCertPool); encoding/pem.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["bundle_error"]

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
    found: list[str] = []
    at = 0
    for kind, has_headers, data, end in _blocks(bundle):
        at = end
        if kind == b"CERTIFICATE" and not has_headers:
            error = _certificate_error(data)
            if not error:
                return ""
            found.append(error)
    if found:
        text = f"failed to parse certificate: x509: {found[0]}"
    else:
        text = "no valid certificate authority data seen" if at == len(bundle) else "unable to parse bytes as PEM block"
    return f"unable to load root certificates: {text}"


def _blocks(bundle: bytes) -> Iterator[tuple[bytes, bool, bytes, int]]:
    """Yield (type, whether there are headers, content, end offset) of each PEM block."""
    at = 0
    while (block := _BLOCK.search(bundle, max(at - 1, 0) if at else 0)) is not None:
        at = block.end()
        try:
            data = base64.b64decode(_BLANKS.sub(b"", block["body"]), validate=True)
        except (binascii.Error, ValueError):
            continue
        yield block["type"], bool(block["headers"]), data, at


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
