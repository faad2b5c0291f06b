"""CA bundles of conversion webhooks, with the errors of the server's libraries (v0.37.2) for the same bytes."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

import auditor
from auditor.crdcheck.conversion import bundle_error
from tests.crdcheck.test_examples import definition, stored

DER = base64.b64decode(
    "MIIBejCCASGgAwIBAgIUHOqvlMzzJAp4ddjdb43/f+jTVfcwCgYIKoZIzj0EAwIwEjEQMA4GA1UEAwwHZXhhbXBsZTAgFw0yNjEx"
    "MjExNjU1NDVaGA8yMTI2MTAyODE2NTU0NVowEjEQMA4GA1UEAwwHZXhhbXBsZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABG5U"
    "x9EvJMmyXvLJ1UmCJncswB5qKqLlM8iLrfZWyGh7JeVwnYjXje2BOfb9Gt6wiQlKs8gZcYVWi9iAV6gjugajUzBRMB0GA1UdDgQW"
    "BBR+YoRC5uCNQqO4dQ1qjAjPrXniRzAfBgNVHSMEGDAWgBR+YoRC5uCNQqO4dQ1qjAjPrXniRzAPBgNVHRMBAf8EBTADAQH/MAoG"
    "CCqGSM49BAMCA0cAMEQCIB7t/hPrgOlS8X3G+NXZfzl1Js2r+BsElVymXf3fqZZmAiA0JIvwPCEQTEVFsNwByXeqO5rTGCyGBS7a"
    "8DYk8YZODA=="
)
"""A certificate; its key was thrown away."""


def pem(data: bytes, kind: str = "CERTIFICATE", headers: str = "") -> bytes:
    body = base64.encodebytes(data).decode()
    return f"-----BEGIN {kind}-----\n{headers}{body}-----END {kind}-----\n".encode()


PARSE = "failed to parse certificate: x509: "
NO_BLOCK = "unable to parse bytes as PEM block"
NOTHING = "no valid certificate authority data seen"


@pytest.mark.parametrize(
    ("bundle", "expected"),
    [
        (b"", ""),
        (pem(DER), ""),
        (b"junk\n" + pem(DER) + b"rest", ""),
        (pem(DER).replace(b"\n", b"\r\n"), ""),
        (pem(b"garbage") + pem(DER), ""),
        (pem(DER) + pem(b"garbage"), ""),
        (b"hello", NO_BLOCK),
        (b"\n", NO_BLOCK),
        (b" " + pem(DER), NO_BLOCK),
        (pem(DER).replace(b"-----END", b"----END"), NO_BLOCK),
        (b"-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n", NO_BLOCK),
        (pem(DER, "FOO") + b"rest", NO_BLOCK),
        (pem(DER, "FOO"), NOTHING),
        (pem(DER, headers="A: b\n\n"), NOTHING),
        (pem(b""), f"{PARSE}malformed certificate"),
        (pem(b"garbage"), f"{PARSE}malformed certificate"),
        (pem(DER[:100]), f"{PARSE}malformed certificate"),
        (pem(DER + b"x"), f"{PARSE}trailing data"),
        (pem(b"\x30\x03\x02\x01\x01"), f"{PARSE}malformed tbs certificate"),
    ],
)
def test_what_is_wrong_with_a_bundle(bundle: bytes, expected: str) -> None:
    assert bundle_error(bundle) == (f"unable to load root certificates: {expected}" if expected else "")


def webhook(bundle: bytes | None) -> dict[str, Any]:
    client: dict[str, Any] = {"service": {"name": "n", "namespace": "ns"}}
    if bundle is not None:
        client["caBundle"] = base64.b64encode(bundle).decode()
    return {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}


@pytest.mark.parametrize(
    ("old", "established", "refused"),
    [(None, True, True), (b"hello", True, False), (pem(DER), True, True), (None, False, False)],
    ids=["new", "old had it", "old had a good one", "not established"],
)
def test_a_bundle_that_cannot_be_used_is_refused_where_it_is_new(
    old: bytes | None, established: bool, refused: bool
) -> None:
    before = stored(definition(conversion=webhook(old)))
    if not established:
        before["status"]["conditions"] = []
    after = copy.deepcopy(before)
    after["spec"]["conversion"] = webhook(b"hello")
    found = auditor.check_crd_update(before, after).findings
    detail = f"unable to load root certificates: {NO_BLOCK}"
    where = "spec.conversion.webhookClientConfig.caBundle"
    assert [one.message for one in found] == ([f'{where}: Invalid value: "aGVsbG8=": {detail}'] if refused else [])
    assert auditor.check_crd(definition(conversion=webhook(b"hello"))).findings == ()
