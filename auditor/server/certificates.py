"""The X.509 certificates in an object: their public parts.

A certificate is a PEM block `CERTIFICATE` in any text of an object, its metadata excepted; also in base64, as in `data`
of Secrets, `caBundle` and kubeconfigs. Packed values (Helm releases, PKCS #12, JKS) are not opened.

Source: RFC 7468 section 5, RFC 5280 section 4.1; k8s.io/api core/v1 types.go (SecretTypeTLS).
"""

from __future__ import annotations

import base64
import binascii
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.sources.encryption import require_packages
from auditor.sources.manifests.sinks import REDACTED

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterator

    from cryptography import x509

    from auditor.base.records import JsonObject


_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
_END: Final = "-----END CERTIFICATE-----"
_PACKED: Final = re.compile(f"{base64.b64encode(_BEGIN.encode()).decode()}[A-Za-z0-9+/=]*")
"""A PEM block in base64, wherever it begins in a text."""
_TLS: Final = ("data", "tls.crt")
_CA: Final = ("data", "ca.crt")


@dataclass(frozen=True, slots=True)
class Certificate:
    """One certificate, or a value that should be one.

    Attributes:
        field: Where it is; with its number where a value has several.
        subject, issuer: Their names as RFC 4514 writes them.
        names: The subject alternative names.
        begins, expires: When it is valid, in UTC; None if it cannot be read.
        reason: Why it cannot be read; empty if it can.
    """

    field: str
    subject: str = ""
    issuer: str = ""
    names: tuple[str, ...] = ()
    begins: datetime.datetime | None = None
    expires: datetime.datetime | None = None
    reason: str = ""


def certificates_of(obj: JsonObject) -> Iterator[Certificate]:
    """Yield the certificates in an object as stored, and the values that should be certificates and are not.

    Raises:
        SourceError: The package `cryptography` is not installed.
    """
    require_packages("reading certificates", "cryptography")
    is_secret = obj.get("kind") == "Secret" and obj.get("apiVersion") == "v1"
    packed_fields = ("data",) if is_secret else ("binaryData",)
    for path, stored in _texts(obj):
        field, key = ".".join(path), path[-1]
        text = _unpacked(stored) if path[0] in packed_fields else stored
        blocks = [*_blocks(text), *(block for packed in _PACKED.findall(text) for block in _blocks(_unpacked(packed)))]
        if not blocks and key == "caBundle":
            blocks = list(_blocks(_unpacked(text)))
        for number, block in enumerate(blocks, 1):
            yield _read(block, f"{field} #{number}" if len(blocks) > 1 else field)
        is_of_tls = is_secret and obj.get("type") == "kubernetes.io/tls" and path in (_TLS, _CA)
        if not blocks and ((text and (is_of_tls or key == "caBundle")) or (is_of_tls and path == _TLS)):
            missing = "it has no PEM block CERTIFICATE" if text else "it is empty"
            yield Certificate(field, reason="the export redacted it" if stored == REDACTED else missing)


def _texts(obj: JsonObject) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield all texts of an object but those of its metadata, each with its path."""
    todo: list[tuple[tuple[str, ...], Any]] = [((key,), value) for key, value in obj.items() if key != "metadata"]
    while todo:
        path, value = todo.pop()
        if type(value) is str:
            yield path, value
        elif type(value) is dict:
            todo += [((*path, key), below) for key, below in value.items()]
        elif type(value) is list:
            todo += [((*path[:-1], f"{path[-1]}[{number}]"), below) for number, below in enumerate(value)]


def _unpacked(text: str) -> str:
    """Return the bytes of a text in base64, each as one character; the text itself if it is none."""
    try:
        return base64.b64decode(text).decode("latin-1")
    except (binascii.Error, ValueError):
        return text


def _blocks(text: str) -> Iterator[str | None]:
    """Yield the base64 of each PEM block CERTIFICATE; None for one without an end."""
    for part in text.split(_BEGIN)[1:]:
        body, end, _ = part.partition(_END)
        yield "".join(body.replace("\\n", " ").split()) if end else None  # in JSON within a text


def _read(block: str | None, field: str) -> Certificate:
    from cryptography import x509  # noqa: PLC0415 - an optional dependency

    if block is None:
        return Certificate(field, reason="its PEM block has no end")
    try:
        with warnings.catch_warnings(action="ignore"):  # about old forms of certificates
            certificate = x509.load_der_x509_certificate(base64.b64decode(block, validate=True))
            return Certificate(
                field,
                certificate.subject.rfc4514_string(),
                certificate.issuer.rfc4514_string(),
                _names(certificate),
                certificate.not_valid_before_utc,
                certificate.not_valid_after_utc,
            )
    except ValueError:  # its text could have private bytes
        return Certificate(field, reason="its PEM block is no X.509 certificate")


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    """Return the subject alternative names; none if they cannot be read."""
    from cryptography import x509  # noqa: PLC0415

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return tuple(str(name.value) for name in names)
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        return ()
